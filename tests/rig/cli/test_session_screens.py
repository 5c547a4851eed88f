# SPDX-License-Identifier: Apache-2.0
"""What commands on sessions print, as stored in screens/: the good case, and what users
meet."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rig.api.support import bundle
from rig.api.support.bundle import Bundle, BundleFile
from rig.bench import config
from rig.cli.main import rig as command
from rig.errors import Stopped
from rig.host.stop import Stop
from rig.session.session import open_bench
from rig.store.events import Event, TrialFinished
from rig.submission import about, build, entries, mlperf_tiny
from tests import screens
from tests.conftest import ROOT, VIRTUAL_NULL
from tests.recorded import recorded

SCREENS = Path(__file__).parent / "screens"
#: Lines of a terminal, and the command and its exit code.
LINES = 24 + 2
NOW = time.struct_time((2026, 11, 24, 14, 0, 0, 1, 328, 0))
FEW = ("task.null.samples=4", "scenario.single_stream.idle_s=0.1")
#: Folders of the sessions that are recorded, as a user finds them.
GOOD = "sessions/20261124T120000Z-virtual-null"
OTHER = "sessions/20261124T121500Z-virtual-null"
CUT_OFF = "sessions/20261124T123000Z-virtual-null"
GRID = "sessions/20261124T124500Z-virtual-qubo"
CHANGED = "sessions/20261124T130000Z-virtual-null"
DAMAGED = "sessions/20261124T131500Z-virtual-null"
EDITED = "sessions/20261124T133000Z-virtual-null"
WORDS = "sessions/20261124T134500Z-virtual-tiny"
#: Options of a submission to MLPerf Tiny.
TINY = (
    *("--division", "open", "--submitter", "lab"),
    *("--system", "board.json", "--to", "new"),
)


def record(root: Path) -> None:
    """Record the sessions: one of five trials, one of more power, one cut off, and a
    grid."""
    sessions = root / "sessions"
    for name, trials, more in (
        (GOOD, 5, ()),
        (OTHER, 5, ("sut.virtual.infer.power_w=0.09",)),
    ):
        with open_bench(VIRTUAL_NULL, [*FEW, *more]) as bench:
            bench.run(trials, sessions).folder.rename(root / name)
    stop = Stop()

    def after_one(event: Event) -> None:
        if isinstance(event, TrialFinished):
            stop.request()

    with pytest.raises(Stopped), open_bench(VIRTUAL_NULL, FEW, stop=stop) as bench:
        bench.run(2, sessions, (after_one,))
    [folder] = {
        path for path in sessions.iterdir() if path.name not in (GOOD[9:], OTHER[9:])
    }
    folder.rename(root / CUT_OFF)
    small = ("task.qubo.nodes=[10]",)
    with open_bench(ROOT / "benches" / "virtual-qubo.toml", small) as bench:
        bench.run(1, sessions).folder.rename(root / GRID)
    quick = ("monitor.virtual.sample_hz=5000", "sut.virtual.sync_hold_us=800")
    with open_bench(ROOT / "benches" / "virtual-tiny.toml", quick) as bench:
        bench.run(1, sessions).folder.rename(root / WORDS)
    (root / "board.json").write_text(mlperf_tiny.template())
    for name in (CHANGED, DAMAGED, EDITED):
        shutil.copytree(root / GOOD, root / name)
    results = root / CHANGED / "results.json"
    text = results.read_text(encoding="utf-8")
    results.write_text(
        text.replace('"value": 1.0', '"value": 0.5', 1), encoding="utf-8"
    )
    (root / DAMAGED / "trial-2" / "trace.jls").write_bytes(b"no trace")
    (root / EDITED / "events.jsonl").write_text("{\n")
    (root / "empty").mkdir()
    read = entries.read(root / GRID)
    about_it = about.AuthorStatements()
    request = build.SubmissionRequest(sessions=(read,), about=about_it, beside=root)
    build.build(request, root / "submission")
    (root / "claim.toml").write_text("energy_infer = 1e-5\n", encoding="utf-8")
    (root / "small.toml").write_text(
        config.load(VIRTUAL_NULL, FEW).toml(), encoding="utf-8"
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "gmtime", lambda *_: NOW)
        return recorded(tmp_path_factory, "screens", record)


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in the folder with the sessions, which are only read."""
    monkeypatch.chdir(place)
    return place


READ: dict[str, tuple[str, ...]] = {
    "audit-no-bench": ("audit", GOOD),
    "audit-no-audit": ("audit", GOOD, "--check"),
    "audit-no-session": ("audit", "empty", "--bench", "small.toml"),
    "audit-other-task": (
        *("audit", GOOD, "--bench", "small.toml"),
        *("--set", "task.qubo.nodes=[10]"),
    ),
    "check": ("check", GOOD),
    "check-claim": ("check", GOOD, "--claim", "claim.toml"),
    "check-wide": ("check", CHANGED, "--wide"),
    "check-changed": ("check", CHANGED),
    "check-damaged-trace": ("check", DAMAGED),
    "check-cut-off": ("check", CUT_OFF),
    "check-no-session": ("check", "empty"),
    "check-wrong-option": ("check", GOOD, "--replacement"),
    "compare": ("compare", GOOD, OTHER),
    "compare-all": ("compare", GOOD, OTHER, "--all"),
    "compare-baseline": ("compare", OTHER, "--baseline", GOOD),
    "compare-baseline-lacking": ("compare", GRID, OTHER, "--baseline", GOOD),
    "compare-baseline-none": ("compare", OTHER, "--baseline", "empty"),
    "compare-backends": ("compare", GOOD, OTHER, CHANGED),
    "compare-changed": ("compare", GOOD, CHANGED),
    "compare-cut-off": ("compare", GOOD, CUT_OFF),
    "compare-other-task": ("compare", GOOD, GRID),
    "compare-several": ("compare", GOOD, GRID, WORDS, CUT_OFF),
    "compare-no-session": ("compare", GOOD, "empty"),
    "compare-nothing": ("compare",),
    "coverage": ("coverage", GRID),
    "coverage-no-grid": ("coverage", GOOD),
    "coverage-no-session": ("coverage", "empty"),
    "coverage-edited": ("coverage", EDITED),
    "report-cut-off": ("report", CUT_OFF),
    "report-no-session": ("report", "empty"),
    "bundle-no-session": ("bundle", "nosuch"),
    "bundle-no-bench": ("bundle", "--bench", "nosuch.toml"),
    "bundle-no-folder": ("bundle", "--out", "nosuch/support.zip"),
    "resume-finished": ("resume", GOOD),
    "resume-no-session": ("resume", "empty"),
    "resume-edited": ("resume", EDITED),
    "site-no-folder": ("site", GOOD, "--to", "claim.toml"),
    "site-no-sessions": ("site", "empty", "--to", "site"),
    "site-no-to": ("site", GOOD),
    "results": ("results", GOOD, OTHER, CUT_OFF),
    "results-no-metric": ("results", GOOD, "--metric", "energy_infr"),
    "results-no-history": ("results", GOOD, "--picture", "history.svg"),
    "results-no-session": ("results", "empty"),
    "sessions-no-tagged": ("sessions", "--tag", "nosuch", "good"),
    "sessions-none-found": ("sessions", "nosuch"),
    "submission-check": ("submission", "check", "submission"),
    "submission-check-no-folder": ("submission", "check", "nosuch"),
    "submission-check-no-submission": ("submission", "check", GOOD),
    "submission-check-no-seeds": ("submission", "check", "submission", "--seeds", "a"),
    "submit-neurobench-no-task": ("submit", "neurobench", GOOD, "--to", "new"),
    "submit-neurobench-cut-off": ("submit", "neurobench", CUT_OFF, "--to", "new"),
    "submit-neurobench-there": ("submit", "neurobench", GRID, "--to", "submission"),
    "submit-neurobench-wrong-about": (
        *("submit", "neurobench", GRID, "--to", "new"),
        *("--about", "claim.toml"),
    ),
    "submit-about-there": ("submit", "about", "claim.toml"),
    "submit-about-no-folder": ("submit", "about", "nosuch/about.toml"),
    "submit-about-no-file": ("submit", "about"),
    "submit-mlperf-tiny-no-division": ("submit", "mlperf-tiny", GOOD, *TINY[2:]),
    "submit-mlperf-tiny-other-task": ("submit", "mlperf-tiny", GOOD, *TINY),
    "submit-mlperf-tiny-wrong-system": (
        *("submit", "mlperf-tiny", GOOD, *TINY[:4]),
        *("--system", "claim.toml", "--to", "new"),
    ),
    "submit-mlperf-tiny-simulated": ("submit", "mlperf-tiny", WORDS, *TINY),
    "demo-no-bench": ("demo", "--bench", "nosuch.toml"),
    "demo-wrong-option": ("demo", "--trials", "3"),
    "demo-wrong-bench": ("demo", "--bench", "claim.toml"),
}
WRITING: dict[str, tuple[str, ...]] = {
    "audit": (
        *("audit", GOOD, "--bench", "small.toml", "--to", "new"),
        *("--trials", "1"),
    ),
    "audit-changed": ("audit", CHANGED, "--bench", "small.toml", "--to", "new"),
    "report": ("report", GOOD),
    "report-changed": ("report", CHANGED),
    "resume": ("resume", CUT_OFF),
    "demo": ("demo", "--bench", "small.toml", "--sessions", "new"),
    "bundle": ("bundle", GOOD),
    "qubo-rescore": ("qubo", "rescore", GRID),
    "submit-about": ("submit", "about", "about.toml"),
    "submit-neurobench": ("submit", "neurobench", GRID, "--to", "new"),
    "site": ("site", GOOD, OTHER, CUT_OFF, "--to", "site"),
}
#: One of each kind of screen; details may take more.
ONE_SCREEN = (
    "check",
    "check-changed",
    "compare",
    "coverage",
    "resume",
    "demo",
    "bundle",
    "qubo-rescore",
    "submit-about",
    "submit-neurobench",
)


@pytest.mark.parametrize("name", READ)
def test_a_screen_is_the_stored_one(name: str, here: Path) -> None:
    result = screens.every(
        lambda width, piped: screens.of_command(width, piped, *READ[name])
    )
    screens.compare(SCREENS / f"{name}.txt", result)


@pytest.mark.parametrize("name", WRITING)
def test_a_screen_of_what_writes_is_the_stored_one(
    name: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "gmtime", lambda *_: NOW)
    files = tuple(
        BundleFile(f"session/{file}", what, "x" * size_b)
        for file, what, size_b in (
            ("bench.toml", "the bench file as resolved", 1_400),
            ("trial-1/uart.txt", "times and lengths on the link, at its end", 63_000),
        )
    )
    monkeypatch.setattr(
        bundle, "collect", lambda *_, **__: Bundle(files, serials_kept=False)
    )

    def show(width: int, piped: bool) -> str:
        folder = tmp_path / f"{width}-{piped}"
        shutil.copytree(place, folder)
        monkeypatch.chdir(folder)
        return screens.of_command(width, piped, *WRITING[name])

    screens.compare(SCREENS / f"{name}.txt", screens.every(show))


@pytest.mark.parametrize("name", [*READ, *WRITING])
def test_nothing_is_wider_than_the_terminal(name: str) -> None:
    assert not screens.wider((SCREENS / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ONE_SCREEN)
def test_a_good_case_is_one_screen(name: str) -> None:
    text = (SCREENS / f"{name}.txt").read_text(encoding="utf-8")
    for screen in text.split("=====")[1:]:
        assert len(screen.rstrip().splitlines()) - 1 <= LINES


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_comparison_has_its_outcomes_at_every_width(width: int, here: Path) -> None:
    text = screens.of_command(width, False, *READ["compare"])
    table = text[text.index("B less A") :]
    assert table.count("differs") >= 5 and "…" not in text
    several = screens.of_command(width, False, *READ["compare-several"])
    assert "…" not in several and "not comparable" in " ".join(several.split())
    for name in ("results", "sessions"):
        words = READ.get(name, ("sessions",))
        listed = screens.of_command(width, False, *words)
        assert "…" not in listed and listed.count(GOOD[9:]) >= 1
        assert width == 100 or "in a wider terminal" in " ".join(listed.split())


@pytest.mark.parametrize("more", [(), ("--all",)])
def test_two_sessions_of_different_tasks_say_why(
    more: tuple[str, ...], here: Path
) -> None:
    text = screens.of_command(100, False, *READ["compare-other-task"], *more)
    assert ": not comparable: the tasks differ: null; qubo" in " ".join(text.split())


def printed(words: tuple[str, ...], code: int) -> Any:
    """Return the JSON that a command prints, which is all of its standard output."""
    done = CliRunner().invoke(command, [*words, "--json"], standalone_mode=False)
    assert (done.return_value or 0) == code, done.output
    assert done.stderr
    return json.loads(done.stdout)


def test_json_of_a_check_has_outcome_labels_chain_and_findings(here: Path) -> None:
    good = printed(READ["check"], 0)
    assert (good["outcome"], good["status"], good["claim"]) == ("pass", "success", {})
    assert [label["text"] for label in good["labels"]] == ["SIMULATED", "RANDOM BYTES"]
    assert len(good["chain"]) == 64 and all(
        finding["ok"] for finding in good["findings"]
    )
    changed = printed(READ["check-changed"], 1)
    assert changed["outcome"] == "fail"
    bad = {finding["name"] for finding in changed["findings"] if not finding["ok"]}
    assert bad == {"results.json"}
    assert printed(READ["check-cut-off"], 1)["outcome"] == "invalid"
    claimed = printed(READ["check-claim"], 1)
    assert claimed["outcome"] == "pass"
    assert {each["outcome"] for each in claimed["claim"].values()} == {"fail"}


def test_a_claim_on_a_changed_session_is_not_tested(here: Path) -> None:
    words = ("check", CHANGED, "--claim", "claim.toml")
    text = screens.of_command(80, True, *words)
    assert "the claim is not tested" in text and "exit code 1" in text


def test_json_of_two_sessions_has_outcomes_labels_and_what_differs(here: Path) -> None:
    result = printed(READ["compare"], 0)
    assert [session["outcome"] for session in result["sessions"]] == ["pass", "pass"]
    energy = next(row for row in result["metrics"] if row["metric"] == "energy_infer")
    assert energy["outcome"] == "differs" and energy["unit"] == "J"
    assert energy["difference"] == energy["second"]["value"] - energy["first"]["value"]
    assert "bench.sut.virtual.infer.power_w" in {
        change["path"] for change in result["changes"]
    }
    changed = printed(READ["compare-changed"], 1)["sessions"][1]
    assert changed["outcome"] == "invalid"
    assert changed["labels"][-1]["text"] == "CHANGED AFTER THE RUN"


def test_a_session_without_results_stands_in_json_with_its_error(
    here: Path, tmp_path: Path
) -> None:
    broken = shutil.copytree(GOOD, tmp_path / "broken")
    (broken / "results.json").write_text("{", encoding="utf-8")
    result = printed(("compare", GOOD, str(broken)), 1)
    assert result["sessions"][0]["error"] == "" and result["metrics"] == []
    assert result["sessions"][1]["outcome"] is None and result["sessions"][1]["error"]


def test_json_of_several_sessions_is_the_one_that_is_written(here: Path) -> None:
    result = printed(READ["compare-backends"], 1)
    assert result["schema"] == "neurorig-backends-1" and len(result["rows"]) == 3


def test_the_chain_is_printed_by_the_check_alone() -> None:
    texts = {
        name: (SCREENS / f"{name}.txt").read_text(encoding="utf-8")
        for name in ("check", "demo")
    }
    assert "chain" in texts["check"] and "chain" not in texts["demo"]
