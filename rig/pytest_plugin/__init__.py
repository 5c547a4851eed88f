# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: benches and their sessions as fixtures; docs/tutorials/PYTHON.md
explains it.

    def test_energy(rig_session):
        assert rig_session.metrics["energy_infer"].surely_below(2e-3)

`rig_bench` is the open bench, `rig_session` one finished session of it,
`rig_regression` that session against the baseline of `--rig-baseline`. A test runs on
each bench of `--rig-bench` (default: the built-in virtual one), or on that of its
marker:

    @pytest.mark.rig(bench="benches/virtual-asc.toml", set={"task.asc.samples": 12},
    trials=3)

An invalid session fails every test that uses it.

pytest imports this module in every run if the rig is installed, so that what
takes long to import is imported where it is used.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rig.errors import ConfigError, RigError
from rig.files.shipped import DEMO
from rig.units import quantity

if TYPE_CHECKING:
    from rig.api.bench import OpenBench
    from rig.api.comparing.regression import SessionRegression
    from rig.pytest_plugin.tested import TestedSession

VIRTUAL = DEMO
_MARKER = (
    "rig(bench=FILE, set={KEY: VALUE}, trials=N): the bench of this test's rig_bench"
    " and rig_session, settings that override keys of its file, and how many trials a"
    " session has; FILE is relative to the folder of the test"
)
_KEYS = ("bench", "set", "trials")


@dataclass(frozen=True, slots=True)
class BenchChoice:
    """A bench file, the settings that override its keys, and the trials of a session
    (None: as many as the file says).
    """

    bench: Path = VIRTUAL
    settings: tuple[str, ...] = ()
    trials: int | None = None


_SESSIONS = pytest.StashKey["dict[BenchChoice, TestedSession]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rig", "measurement rig")
    group.addoption(
        "--rig-bench",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help=(
            "bench file; given several times, each test runs on each (default: the"
            " built-in virtual bench)"
        ),
    )
    group.addoption(
        "--rig-set",
        action="append",
        default=[],
        metavar="A.B=V",
        help="override a key of the bench files; may be repeated",
    )
    group.addoption(
        "--rig-trials",
        type=_trials,
        default=None,
        metavar="N",
        help="trials of a session (default: as many as the bench file says)",
    )
    group.addoption(
        "--rig-sessions",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep the sessions here (default: pytest's own folder)",
    )
    group.addoption(
        "--rig-baseline",
        type=Path,
        default=None,
        metavar="DIR",
        help="a session, or a folder of them, that rig_regression compares with",
    )
    group.addoption(
        "--rig-false-alarms",
        type=float,
        default=0.01,
        metavar="P",
        help="how often rig_regression may fail a session without a change (0.01)",
    )
    group.addoption(
        "--rig-skip",
        action="store_true",
        help=(
            "skip the tests of a bench that does not open, instead of failing them; a"
            " wrong bench file fails them all the same"
        ),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return which benches the tests run on, and, where one is named, what must stand
    beside its numbers.
    """
    # The built-in one is not opened here: every run of pytest prints this line, most of
    # them for tests of other things.
    return [
        f"rig bench: {choice.bench}{'' if choice.bench == VIRTUAL else _marked(choice)}"
        for choice in _of_options(config)
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a test that uses a bench with its benches."""
    if "rig_choice" not in metafunc.fixturenames:
        return
    choices = _of_options(metafunc.config)
    marker = metafunc.definition.get_closest_marker("rig")
    if marker is not None:
        choices = _of_marker(marker, choices, metafunc.definition.path.parent)
    names = [choice.bench.stem for choice in choices]
    metafunc.parametrize(
        "rig_choice", choices, indirect=True, ids=names, scope="session"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadgroup`, give the tests of each bench one worker."""
    benches = {choice.bench.stem for choice in _of_options(config)}
    if config.getvalue("dist") != "loadgroup" or len(benches) < 2:
        return None
    from rig.pytest_plugin.by_bench import ByBench

    return ByBench(config, log, benches)


@pytest.fixture(scope="session")
def rig_choice(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config
) -> BenchChoice:
    """Return which bench a test is to use."""
    chosen: BenchChoice = getattr(request, "param", _of_options(pytestconfig)[0])
    return chosen


@pytest.fixture(scope="session")
def rig_bench(
    rig_choice: BenchChoice, pytestconfig: pytest.Config
) -> Iterator[OpenBench]:
    """Open the bench once for all its tests; its supply is off when they are over."""
    with ExitStack() as stack:
        bench = _opened(stack, rig_choice, pytestconfig.getoption("--rig-sessions"))
        # Outside of the handler of an error: pytest would print the handled error as
        # well.
        if isinstance(bench, RigError):
            text = f"the bench {rig_choice.bench} does not open: {bench}"
            if pytestconfig.getoption("--rig-skip") and not isinstance(
                bench, ConfigError
            ):
                pytest.skip(text)
            pytest.fail(text, pytrace=False)
        yield bench


def _opened(
    stack: ExitStack, choice: BenchChoice, root: str | None
) -> OpenBench | RigError:
    """Return the open bench, or why it does not open."""
    from rig.api.bench import open_bench
    from rig.store.session_folder import refuse_unwritable

    try:
        if root:
            refuse_unwritable(Path(root), "another folder: --rig-sessions FOLDER")
        return stack.enter_context(open_bench(choice.bench, choice.settings))
    except RigError as error:
        return error


@pytest.fixture(scope="session")
def rig_session(
    rig_choice: BenchChoice,
    rig_bench: OpenBench,
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
) -> TestedSession:
    """Run the bench once for all its tests; an invalid session fails each of them."""
    from rig.pytest_plugin.tested import TestedSession

    known = pytestconfig.stash.setdefault(_SESSIONS, {})
    if rig_choice not in known:
        root = pytestconfig.getoption("--rig-sessions") or tmp_path_factory.mktemp(
            "rig-sessions"
        )
        ran = _ran(rig_bench, rig_choice, root)
        if isinstance(ran, RigError):
            pytest.fail(f"the bench {rig_choice.bench} failed: {ran}", pytrace=False)
        known[rig_choice] = TestedSession(ran)
    session = known[rig_choice]
    if not session.valid:
        pytest.fail(
            f"the session {session.path} is invalid:\n{session.invalid_because}",
            pytrace=False,
        )
    return session


@pytest.fixture(scope="session")
def rig_regression(
    rig_session: TestedSession, pytestconfig: pytest.Config
) -> SessionRegression:
    """Compare the session with the baseline of `--rig-baseline`; true where no metric
    is shown to be worse. Without a baseline the test is skipped.
    """
    from rig.api.comparing.regression import against_baseline

    baseline = pytestconfig.getoption("--rig-baseline")
    if baseline is None:
        pytest.skip("there is no baseline: --rig-baseline DIR")
    rate = pytestconfig.getoption("--rig-false-alarms")
    return against_baseline(rig_session.path, baseline, rate)


def _ran(bench: OpenBench, choice: BenchChoice, root: Path) -> Path | RigError:
    """Return the folder of a new session, or why there is none."""
    try:
        return bench.run(choice.trials, root).path
    except RigError as error:
        return error


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Show an error of the rig without the library exception that it translates: its
    evidence has that. `--full-trace` shows all.
    """
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, RigError) and not item.config.getoption("fulltrace"):
        error.__cause__ = None
        error.__suppress_context__ = True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Clear the metrics that the previous test looked up."""
    for session in item.config.stash.get(_SESSIONS, {}).values():
        session.tested.looked_up.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note the sessions of a test, and the metrics that it looked up, as its
    properties: JUnit's XML has them.
    """
    try:
        return (yield)
    finally:
        if item.config.stash.get(_SESSIONS, {}):
            _note_sessions(item)


def _note_sessions(item: pytest.Item) -> None:
    from rig.pytest_plugin.tested import TestedSession, properties

    for used in getattr(item, "funcargs", {}).values():
        if isinstance(used, TestedSession):
            item.user_properties.extend(
                properties(used, item.config.invocation_params.dir)
            )


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison of a metric with a number: value, both intervals,
    verdict."""
    if "rig.api.sessions.metric" not in sys.modules:
        return None  # so neither side is a metric
    from rig.api.sessions.metric import SessionMetric

    metric, limit = (left, right) if isinstance(left, SessionMetric) else (right, left)
    if not isinstance(metric, SessionMetric) or not isinstance(limit, int | float):
        return None
    sides = [metric.name, quantity(limit, metric.unit)]
    if metric is not left:
        sides.reverse()
    return [f" {op} ".join(sides), *metric.statement().splitlines()]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print for each session that tests used its folder, its verdict, and what must
    stand beside its numbers.
    """
    for session in config.stash.get(_SESSIONS, {}).values():
        verdict = session.verdict.outcome.upper()
        texts = ", ".join(session.labels)
        terminalreporter.write_line(
            f"rig session: {session.path}: {verdict}{f' ({texts})' if texts else ''}"
        )


def _trials(text: str) -> int:
    from rig.session.trial_count import trial_count

    try:
        return trial_count(int(text))
    except (ValueError, ConfigError):
        raise ArgumentTypeError(f"{text!r} is no whole number, 1 or more") from None


def _of_options(config: pytest.Config) -> list[BenchChoice]:
    settings = tuple(config.getoption("--rig-set"))
    trials = config.getoption("--rig-trials")
    benches = config.getoption("--rig-bench") or [VIRTUAL]
    return [BenchChoice(bench, settings, trials) for bench in benches]


def _of_marker(
    marker: pytest.Mark, choices: list[BenchChoice], folder: Path
) -> list[BenchChoice]:
    """Return the choices of the options as a marker changes them."""
    if marker.args or set(marker.kwargs) - set(_KEYS):
        raise pytest.UsageError(
            f"the rig marker has {', '.join(_KEYS)}, each by its name"
        )
    from rig.api.bench import overrides
    from rig.session.trial_count import trial_count

    arguments: Mapping[str, Any] = marker.kwargs
    if bench := arguments.get("bench"):
        choices = [BenchChoice(folder / bench, choices[0].settings, choices[0].trials)]
    try:
        more = tuple(overrides(arguments.get("set", ())))
        if (trials := arguments.get("trials")) is not None:
            trials = trial_count(trials)
    except ConfigError as error:
        raise pytest.UsageError(f"the rig marker: {error}") from error
    return [
        BenchChoice(
            bench=choice.bench,
            settings=choice.settings + more,
            trials=choice.trials if trials is None else trials,
        )
        for choice in choices
    ]


def _marked(choice: BenchChoice) -> str:
    from rig.results import labels
    from rig.session.planning import open_plan

    try:
        _, task, _ = open_plan(choice.bench, choice.settings)
    except RigError:
        return ""  # the fixtures report the error
    marks = labels.of_task({"samples": len(task)} | task.provenance())
    return f" ({labels.texts(marks)})" if marks else ""
