# SPDX-License-Identifier: Apache-2.0
"""The procedure of MLPerf Tiny: windows that are long enough by plan, medians, and
lines in the words of its runner.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.faults.forger import rehash
from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.completion import END, IDLE, Completion, Mark
from rig.model.steps import Idle, Load, Query, Step
from rig.model.trial import Measured, Window
from rig.results import result_lines
from rig.session.planning import open_plan, steps
from rig.session.session import SessionResult, open_bench
from rig.settings.check import checked
from rig.store.provenance import own_revision
from scenarios.mlperf_tiny.scenario import Tiny
from scenarios.tasks.mlperf_tiny.task import MlperfTiny
from scenarios.tasks.null import NullTask
from tests.checking import check
from tests.conftest import ROOT
from tests.samples import sample_of
from tests.scenarios.steps import steps_of

BENCH = ROOT / "benches" / "virtual-tiny.toml"

# Patterns of the submission checker of MLPerf Tiny (mlcommons/tiny,
# tools/submission/submission_checker.py at 319cda8: ACC_PATTERN, check_performance_dir,
# check_power_dir), line by line from the beginning of a line; energy anywhere in it.
THROUGHPUT = re.compile(r"^.* Median throughput is\s+([\d\.]+) inf\./sec\..*")
ENERGY = re.compile(r"Median energy cost is ([\d\.]+) uJ/inf")
TOP_1 = re.compile(r"^.* Top[- ]1%?\s?[:=] ([\d\.]+).*")
AUC = re.compile(r"^.* AUC\s?[:=] ([\d\.]+).*")
PATTERNS = (THROUGHPUT, ENERGY, TOP_1, AUC)


def tiny(**settings: Any) -> Tiny:
    return Tiny.open(
        checked(Tiny.Settings(**settings), "scenario.tiny"), BenchContext()
    )


def null(samples: int = 8) -> NullTask:
    return NullTask(NullTask.Settings(samples=samples, payload_b=16))


def carried_out(
    scenario: Tiny,
    device: Callable[[Step], Completion | None],
    samples: int = 8,
    seed: int = 1,
) -> list[Step]:
    """Return the steps of a plan that is fed with a device's answers."""
    return steps_of(scenario.plan(null(samples), seed), device)


def steady(
    infer_s: float,
    preprocess_s: float = 0.0,
    tick_hz: int = 1_000_000,
    shortest_s: float = 0.0,
    window_s: float = 0.0,
    stamp_s: float = 0.0,
) -> Callable[[Step], Completion | None]:
    """Return a device that always takes as long, but for windows that it cannot make
    shorter than `shortest_s`.

    A window costs `window_s` by itself, an idle time is `stamp_s` longer than asked
    for.
    """
    now_s = [12.3]

    def mark(phase: int, duration_s: float) -> Mark:
        tick = int(now_s[0] * tick_hz)
        now_s[0] += max(duration_s, shortest_s)
        return Mark(phase, tick)

    def answer(step: Step) -> Completion | None:
        match step:
            case Idle(duration_s):
                return Completion((mark(IDLE, duration_s + stamp_s), mark(END, 0.001)))
            case Query():
                infer = (
                    mark(1, preprocess_s * step.repeat),
                    mark(2, infer_s * step.repeat + window_s),
                )
                return Completion((*infer, mark(END, 0.001)))
        return None

    return answer


SUT = SutInfo("a device", "uart", False, 1_000_000, "")


def timed(done: Iterable[Step]) -> list[Query]:
    return [step for step in done if isinstance(step, Query) and not step.warmup]


@given(
    infer_s=st.floats(1e-7, 30.0),
    tick_hz=st.sampled_from([1_000, 32_768, 1_000_000, 100_000_000]),
    shortest_s=st.sampled_from([0.0, 100e-6]),
    seed=st.integers(0, 5),
)
def test_five_windows_of_ten_seconds_and_ten_inferences_for_any_device(
    infer_s: float, tick_hz: int, shortest_s: float, seed: int
) -> None:
    queries = timed(
        carried_out(
            tiny(), steady(infer_s, tick_hz=tick_hz, shortest_s=shortest_s), seed=seed
        )
    )
    assert len(queries) == 5
    for query in queries:
        assert query.repeat >= 10
        length_s = query.repeat * infer_s
        assert length_s >= 10.0
        # And no longer than is of use: the margin, the step of a coarse clock, and the
        # last inference; or the ten inferences.
        assert length_s <= max(10.8 + infer_s, 10 * infer_s * 1.001)
        assert query.limit_s > length_s


def test_each_window_follows_a_load_and_calibrations_of_its_own_input() -> None:
    done = carried_out(tiny(), steady(0.0425))
    assert isinstance(done[0], Idle) and isinstance(done[-1], Idle)
    inputs = [step.index for step in done if isinstance(step, Load)]
    assert len(set(inputs)) == 5
    loaded = -1
    for step in done:
        if isinstance(step, Load):
            loaded = step.index
            calibrated = False
        elif isinstance(step, Query):
            assert step.indices == (loaded,)
            assert step.warmup or calibrated
            calibrated = True


def test_a_calibration_that_pulses_stretch_is_not_believed() -> None:
    # One inference of 1 us seems to last 100 us: taken at its word, the window would be
    # a hundred times too short.
    done = carried_out(tiny(), steady(1e-6, shortest_s=100e-6))
    assert all(query.repeat >= 10_000_000 for query in timed(done))


def test_each_input_is_calibrated_by_itself() -> None:
    slow = steady(0.5)
    fast = steady(0.005)
    first: list[int] = []

    def device(step: Step) -> Completion | None:
        if isinstance(step, Query):
            first.append(step.indices[0])
            return (slow if step.indices[0] == first[0] else fast)(step)
        return slow(step)

    repeats = [query.repeat for query in timed(carried_out(tiny(), device))]
    assert repeats[0] in (21, 22)
    assert repeats[1:] == pytest.approx([2100] * 4, rel=1e-3)


def test_pre_processing_does_not_count_towards_the_ten_seconds() -> None:
    queries = timed(carried_out(tiny(), steady(infer_s=0.01, preprocess_s=0.09)))
    assert [query.repeat for query in queries] == pytest.approx([1050] * 5, rel=1e-3)
    assert all(query.limit_s > 105.0 for query in queries)


@pytest.mark.parametrize("infer_s", [1e-4, 0.0425, 0.3])
def test_what_a_window_costs_by_itself_on_a_slow_uart_makes_no_window_short(
    infer_s: float,
) -> None:
    # At 9600 baud the message of the start drains inside the window, 40 ms, and the
    # time stamps of an idle time take as long.
    device = steady(infer_s, window_s=0.04, stamp_s=0.04)
    took_s = []

    def timed_device(step: Step) -> Completion | None:
        completion = device(step)
        if isinstance(step, Query) and not step.warmup and completion is not None:
            took_s.append((completion.marks[-1].tick - completion.marks[-2].tick) / 1e6)
        return completion

    steps_of(tiny().fitted(SUT).plan(null(), 1), timed_device)
    assert len(took_s) == 5
    assert min(took_s) >= 10.5
    assert max(took_s) <= 10.7 + infer_s


def test_a_window_that_came_out_too_short_is_asked_for_again_and_not_for_ever() -> None:
    # A device that runs a tenth faster in the first window of each input than in its
    # calibrations.
    def asked(hasty: int) -> list[Query]:
        normal = steady(0.01)
        fast = steady(0.009)
        seen = dict[int, int]()

        def device(step: Step) -> Completion | None:
            if isinstance(step, Query) and not step.warmup:
                seen[step.indices[0]] = seen.get(step.indices[0], 0) + 1
                return (fast if seen[step.indices[0]] <= hasty else normal)(step)
            return normal(step)

        return timed(carried_out(tiny(), device))

    assert [query.repeat for query in asked(0)] == pytest.approx([1050] * 5, rel=1e-3)
    assert [query.repeat for query in asked(1)] == pytest.approx(
        [1050, 1167] * 5, rel=2e-3
    )
    assert all(0.009 * query.repeat >= 10.0 for query in asked(1)[1::2])
    stuck = carried_out(tiny(), shrinking())
    assert len(timed(stuck)) == 4 * 5


def shrinking() -> Callable[[Step], Completion | None]:
    """Return a device whose windows last 9 s for any request."""
    normal = steady(0.01)

    def device(step: Step) -> Completion | None:
        if isinstance(step, Query) and not step.warmup:
            return steady(9.0 / step.repeat)(step)
        return normal(step)

    return device


def test_longer_windows_and_more_iterations_can_be_asked_for() -> None:
    assert {
        query.repeat for query in timed(carried_out(tiny(window_s=20.0), steady(0.1)))
    } <= {
        210,
        211,
    }
    assert {
        query.repeat for query in timed(carried_out(tiny(iterations=500), steady(0.1)))
    } == {500}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("window_s", 9.99),
        ("window_s", math.nan),
        ("iterations", 9),
        ("margin", 0.0),
        ("margin", -0.1),
        ("idle_s", 0.0),
        ("limit_s", 0.0),
        ("limit_s", math.inf),
    ],
)
def test_settings_that_would_break_the_rule_are_refused_before_anything_runs(
    key: str, value: float
) -> None:
    with pytest.raises(ConfigError, match=rf"scenario\.tiny\.{key}"):
        tiny(**{key: value})


def test_a_bench_with_shorter_windows_does_not_open() -> None:
    with pytest.raises(ConfigError, match=r"scenario\.tiny\.window_s") as caught:
        open_plan(BENCH, ["scenario.tiny.window_s=1.0"])
    assert "10 s and 10 iterations" in caught.value.try_next


def test_five_inputs_must_differ() -> None:
    class Same(NullTask):
        def payload(self, index: int) -> bytes:
            return super().payload(index % 4)

    task = Same(NullTask.Settings(samples=40, payload_b=16))
    with pytest.raises(ConfigError, match="4 different inputs among 40"):
        steps(tiny(), task, 1)
    assert len(steps(tiny(), null(5), 1)) > 5


def test_the_seed_draws_the_inputs() -> None:
    def drawn(seed: int) -> list[int]:
        return [
            step.index
            for step in steps(tiny(), null(100), seed)
            if isinstance(step, Load)
        ]

    assert drawn(1) == drawn(1) != drawn(2)


def test_accuracy_asks_for_every_sample_once_and_times_none() -> None:
    done = carried_out(tiny(mode="accuracy"), steady(0.01), samples=6)
    queries = [step for step in done if isinstance(step, Query)]
    assert [query.indices for query in queries] == [(index,) for index in range(6)]
    assert all(
        query.repeat == 1 and not query.warmup and not query.timed for query in queries
    )


def window(length_s: float, runs: int, energy_j: float | None = 1e-3) -> Window:
    return Window("infer", 5.0, 5.0 + length_s, length_s / runs, energy_j)


def measured(*windows: tuple[float, int, float | None]) -> Measured:
    """Return five or so samples of (seconds, inferences, energy of one)."""
    preprocess = Window("preprocess", 4.9, 5.0, 1e-4, 1e-6)
    samples = [
        sample_of(
            3 * at,
            [preprocess, window(length_s, runs, energy_j)],
            indices=(at,),
            repeat=runs,
            label="1",
            answer="1",
        )
        for at, (length_s, runs, energy_j) in enumerate(windows)
    ]
    return Measured(tuple(samples), ())


def test_only_windows_by_the_rule_count_and_those_that_were_repeated_are_reported() -> (
    None
):
    first, *rest = measured(*GOOD).samples
    short = replace(first, windows=(first.windows[0], window(9.9, 210)))
    again = Measured((short, first, *rest), ())
    assert tiny().problems(again) == ()
    # As text: power_idle is nan here, and values with nan differ from Python 3.13 on.
    found, due = (
        tiny().summarise(each, ("infer",)) for each in (again, measured(*GOOD))
    )
    assert repr(found) == repr(due)
    reported = "5 windows of 10.000 to 11.000 sec., 10 to 210 inferences"
    assert tiny().lines(measured(*GOOD))[0] == reported
    assert tiny().lines(again)[0] == f"{reported}; 1 repeated, as too short"
    (problem,) = tiny().problems(Measured((short, short, *rest), ()))
    assert "9.9 s and 210 inferences" in problem.detail


GOOD = [
    (10.5, 210, 5e-3),
    (10.5, 200, 4e-3),
    (11.0, 110, 1e-3),
    (10.5, 105, 3e-3),
    (10.0, 10, 2e-3),
]


def test_the_result_is_the_median_of_the_five_windows() -> None:
    metrics = tiny(mode="energy").summarise(measured(*GOOD), ("preprocess", "infer"))
    assert metrics["throughput"].value == pytest.approx(10.0)
    assert metrics["latency_infer"].value == pytest.approx(0.1)
    assert metrics["energy_infer"].value == pytest.approx(3e-3)
    assert metrics["power_infer"].value == pytest.approx(
        15e-3 / sum(length_s / runs for length_s, runs, _ in GOOD)
    )


def test_a_trial_by_the_rules_has_no_problem() -> None:
    assert tiny(mode="energy").problems(measured(*GOOD)) == ()


@pytest.mark.parametrize(
    ("mode", "windows", "said"),
    [
        (
            "performance",
            [*GOOD[:4], (9.999, 100, 1e-3)],
            "1 of 5 windows, shortest of step 12 with 9.999 s and 100 inferences",
        ),
        (
            "performance",
            [*GOOD[:4], (20.0, 9, 1e-3)],
            "1 of 5 windows, shortest of step 12 with 20 s and 9 inferences",
        ),
        (
            "performance",
            GOOD[:4],
            "4 windows were measured, the median is over exactly 5",
        ),
        ("performance", [*GOOD, GOOD[0]], "6 windows were measured"),
        ("energy", [*GOOD[:4], (10.5, 100, None)], "1 of 5 windows have no energy"),
        ("accuracy", [], "no file was answered"),
    ],
)
def test_what_breaks_a_rule_is_a_problem_by_name(
    mode: str, windows: Sequence[Any], said: str
) -> None:
    (problem,) = tiny(mode=mode).problems(measured(*windows))
    assert problem.code == "rule"
    assert said in problem.detail


def test_performance_alone_does_not_ask_for_energy() -> None:
    assert (
        tiny().problems(
            measured(*[(length_s, runs, None) for length_s, runs, _ in GOOD])
        )
        == ()
    )


@given(st.floats(1e-6, 1e9))
def test_a_number_in_a_line_has_no_exponent_and_six_digits(value: float) -> None:
    runs = max(round(12 * value), 1)
    lines = tiny(mode="energy").lines(
        measured(*[(runs / value, runs, value * 1e-6)] * 5)
    )
    for pattern, line in zip((THROUGHPUT, ENERGY), lines[1:], strict=True):
        result = pattern.search(f"neurorig: {line}")
        assert result is not None
        assert float(result[1]) == pytest.approx(value, rel=1e-5)


def run(folder: Path, *overrides: str, trials: int = 1) -> SessionResult:
    with open_bench(
        BENCH, [f"task.mlperf_tiny.cache={folder / 'cache'}", *overrides]
    ) as bench:
        return bench.run(trials, folder / "sessions")


@pytest.fixture(scope="module")
def energy(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    """Return a session of two trials in energy mode, of a device without variation."""
    exact = ["sut.virtual.infer.variation=0.0", "sut.virtual.preprocess.variation=0.0"]
    return run(
        tmp_path_factory.mktemp("energy"), "scenario.tiny.mode=energy", *exact, trials=2
    )


def taken(lines: Iterable[str]) -> list[str]:
    """Return the lines that the submission checker takes a number from."""

    def names_a_result(line: str) -> bool:
        return any(pattern.search(line) for pattern in PATTERNS)

    return list(filter(names_a_result, lines))


#: Statements of a session of a real device with the benchmark's own files, all of them.
MEASURED = {
    "simulated": False,
    "sut": {"simulated": False},
    "monitors": {"vdd": {"simulated": False}},
    "task": {
        "source": "folder",
        "official": True,
        "statement": "the 200 files",
        "samples": 200,
    },
}


def result_lines_of(**facts: Any) -> tuple[str, ...]:
    """Return what results.txt has of a trial in a session with other facts than
    MEASURED."""
    windows = tiny(mode="energy").lines(measured(*GOOD))
    files = ("Top 1% = 87.5000", "AUC = 0.936553")
    return result_lines.of_trial({**MEASURED, **facts}, [*windows, *files], ())


def test_the_checker_takes_each_result_of_a_measured_session() -> None:
    windows, *results = result_lines_of()
    assert taken([windows]) == [] and taken(results) == results and len(results) == 4
    # Other labels stand in each line, and do not make a result another one.
    sensor = "board's own sensor"
    reported = result_lines_of(
        sut={"simulated": False, "origins": {"time": sensor, "energy": sensor}}
    )
    assert f"time: {sensor}" in reported[0] and len(taken(reported)) == 4


@pytest.mark.parametrize(
    ("facts", "mark"),
    [
        ({"simulated": True, "sut": {"simulated": True}}, "simulated"),
        ({"simulated": True, "monitors": {"vdd": {"simulated": True}}}, "simulated"),
        ({"monitors": {"vdd": {"origin": "modelled"}}}, "energy: modelled"),
        ({"task": {"source": "generated", "statement": "16 files"}}, "generated data"),
        ({"task": {"source": "random bytes"}}, "random bytes"),
        (
            {"task": {"source": "folder", "unofficial": "NOT THE EVALUATION SET"}},
            "not the evaluation set",
        ),
        ({"task": {"official": True, "samples": 40, "test_samples": 200}}, "subset"),
        ({"task": {}}, "data not stated"),
    ],
)
def test_the_checker_takes_no_line_of_a_session_that_is_no_result(
    facts: dict[str, Any], mark: str
) -> None:
    lines = result_lines_of(**facts)
    assert taken(lines) == []
    who, _, rest = lines[-2].partition(": Top")
    assert rest == f" 1% = [{mark}] 87.5000"
    assert who.startswith("neurorig, ") and mark in who


def test_on_the_virtual_bench_the_lines_tell_the_truth(energy: SessionResult) -> None:
    assert not energy.content["problems"]
    for number in (1, 2):
        path = energy.folder / f"trial-{number}" / "results.txt"
        lines = path.read_text(encoding="utf-8").splitlines()
        throughput, cost = unmarked(lines[-2:])
        assert float(THROUGHPUT.match(throughput)[1]) == pytest.approx(
            1 / 0.0425, rel=2e-4
        )
        assert float(ENERGY.search(cost)[1]) == pytest.approx(
            0.0425 * 0.045 * 1e6, rel=2e-3
        )
        assert lines == energy.content["trials"][number - 1]["lines"]


def unmarked(lines: Iterable[str]) -> list[str]:
    """Return the lines of a simulated session as those of a measured one."""
    return [line.replace("[simulated] ", "") for line in lines]


def test_every_line_of_a_simulated_session_says_so(energy: SessionResult) -> None:
    assert energy.content["simulated"] is True
    for trial in energy.content["trials"]:
        assert trial["lines"] and all(
            line.startswith("neurorig, simulated, generated data: ")
            for line in trial["lines"]
        )
        assert len(taken(unmarked(trial["lines"]))) == 2 and taken(trial["lines"]) == []


def test_a_session_of_an_earlier_revision_without_marks_passes_and_todays_does_not(
    energy: SessionResult, tmp_path: Path
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(energy.folder, folder)
    worded = ["results.json", "trial-1/results.txt", "trial-2/results.txt"]
    for name in worded:
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("[simulated] ", ""), encoding="utf-8")
    rehash(folder)
    assert {
        finding.name for finding in check(folder).findings if not finding.ok
    } == set(worded)
    for name in ("provenance.json", "results.json"):
        text = (folder / name).read_text(encoding="utf-8")
        other = text.replace(f'"revision": "{own_revision()}"', '"revision": "0123456"')
        (folder / name).write_text(other, encoding="utf-8")
    rehash(folder)
    assert check(folder).ok


def test_only_calibrations_are_shorter_than_ten_seconds(energy: SessionResult) -> None:
    lines = (
        (energy.folder / "trial-1" / "samples.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    windows = [
        line["windows"][-1] for line in map(json.loads, lines) if "windows" in line
    ]
    assert len(windows) == 5
    assert all(10.0 <= each["stop_s"] - each["start_s"] <= 11.0 for each in windows)


def test_the_session_is_found_again_number_by_number_and_a_changed_line_is_noticed(
    energy: SessionResult,
) -> None:
    assert check(energy.folder).ok
    path = energy.folder / "trial-2" / "results.txt"
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(
            text.replace("throughput is [simulated] 2", "throughput is [simulated] 9"),
            encoding="utf-8",
        )
        assert {
            finding.name for finding in check(energy.folder).findings if not finding.ok
        } == {"trial-2/results.txt"}
    finally:
        path.write_text(text, encoding="utf-8")


def test_performance_has_a_line_of_throughput_and_none_of_energy(
    tmp_path: Path,
) -> None:
    lines = unmarked(run(tmp_path).content["trials"][0]["lines"])
    assert sum(bool(THROUGHPUT.match(line)) for line in lines) == 1
    assert not any(
        pattern.search(line) for pattern, line in product((ENERGY, TOP_1, AUC), lines)
    )


def test_a_trial_that_does_not_count_has_no_line_that_a_checker_would_take(
    tmp_path: Path,
) -> None:
    # A device whose clock is fast: by the monitor's, its windows come out short.
    result = run(
        tmp_path,
        "scenario.tiny.mode=energy",
        "scenario.tiny.margin=0.01",
        "sut.virtual.clock_ppm=50000.0",
    )
    assert "rule" in {problem["code"] for problem in result.content["problems"]}
    assert not result.trials[0].valid
    lines = result.content["trials"][0]["lines"]
    assert lines and all(
        line.startswith("neurorig, simulated, generated data: no result: ")
        for line in lines
    )
    assert not any(pattern.search(line) for pattern, line in product(PATTERNS, lines))


@pytest.mark.parametrize(
    ("benchmark", "classes"), [("ic01", 10), ("kws01", 12), ("vww01", 2)]
)
def test_top_1_and_auc_of_generated_data_are_those_of_their_construction(
    tmp_path: Path, benchmark: str, classes: int
) -> None:
    result = run(
        tmp_path,
        "scenario.tiny.mode=accuracy",
        f"task.mlperf_tiny.benchmark={benchmark}",
        "task.mlperf_tiny.files=40",
    )
    assert not result.content["problems"]
    _, top_1, auc = unmarked(result.content["trials"][0]["lines"])
    assert TOP_1.match(top_1)[1] == "87.5000"  # type: ignore[index]
    answers = [
        (
            int(path.stem[-2:].strip("_")),
            struct.unpack(f"<{classes}i", path.read_bytes()[: 4 * classes]),
        )
        for path in tensors(tmp_path)
    ]
    columns = [1] if classes == 2 else range(classes)
    areas = []
    for column in columns:
        pairs = [(label == column, scores[column]) for label, scores in answers]
        areas.append(share_of_pairs(pairs))
    assert float(AUC.match(auc)[1]) == pytest.approx(sum(areas) / len(areas), abs=1e-6)


def test_the_windows_of_ad01_are_averaged_file_by_file(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "scenario.tiny.mode=accuracy",
        "task.mlperf_tiny.benchmark=ad01",
        "task.mlperf_tiny.files=40",
    )
    assert not result.content["problems"]
    files, auc = unmarked(result.content["trials"][0]["lines"])
    assert files.endswith("40 files, 240 inferences")
    means = []
    for path in tensors(tmp_path):
        content = path.read_bytes()
        scores = [
            struct.unpack_from("<i", content, 512 * frame)[0] for frame in range(6)
        ]
        means.append((path.stem.endswith("_1"), sum(scores) / 6))
    assert 0.5 < share_of_pairs(means) < 1.0
    assert float(AUC.match(auc)[1]) == pytest.approx(share_of_pairs(means), abs=1e-6)


def test_single_stream_claims_no_accuracy_of_what_gives_no_answers(
    tmp_path: Path,
) -> None:
    with open_bench(
        ROOT / "benches" / "virtual-null.toml",
        [
            "task.mlperf_tiny.benchmark=ad01",
            f"task.mlperf_tiny.cache={tmp_path / 'cache'}",
            "task.mlperf_tiny.files=2",
        ],
    ) as bench:
        metrics = bench.run(1, tmp_path).metrics
    assert "accuracy" not in metrics and metrics["latency_infer"].value > 0


def tensors(folder: Path) -> list[Path]:
    return sorted((folder / "cache").rglob("*.bin"))


def share_of_pairs(cases: Sequence[tuple[bool, float]]) -> float:
    above = [score for mine, score in cases if mine]
    below = [score for mine, score in cases if not mine]
    won = sum(
        1.0 if high > low else 0.5 if high == low else 0.0
        for high, low in product(above, below)
    )
    return won / (len(above) * len(below))


def test_the_page_shows_lines_that_a_checker_takes_and_settings_that_exist() -> None:
    page = (ROOT / "docs/how-to/MLPERF_TINY.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith("neurorig: ")]
    for pattern in PATTERNS:
        assert sum(bool(pattern.search(line)) for line in shown) == 1
    named = re.findall(
        r"`(\w+)`",
        "".join(
            line.split("|")[1]
            for line in page.splitlines()
            if line.startswith("| `data`, `labels`")
        ),
    )
    fields = MlperfTiny.Settings.__dataclass_fields__
    assert named and set(named) <= set(fields)
    assert set(fields) == set(re.findall(r"`(\w+)`", page)) & set(fields)
