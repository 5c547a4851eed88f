# SPDX-License-Identifier: Apache-2.0
"""The two intervals of a metric: the same samples measured again, and other samples of
their kind.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy
from rich.console import Console

from benchmarks.populations import Draw, areas, jitter
from rig.api.sessions.session import open_session
from rig.cli.printed.result_tables import print_results
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.model.catalogue import Entry
from rig.model.metric import Metric
from rig.model.steps import Plan
from rig.model.trial import Measured, Trial, Window
from rig.results import document, results
from rig.session.session import SessionResult, open_bench
from rig.stats.binomial import Share, student
from rig.stats.containing import Variance
from rig.stats.interval import Interval, Intervals
from rig.stats.summary import mean, standard_error
from rig.stats.two_way import TwoWay
from rig.store.session_folder import SessionFolder
from rig.uncertainty import budget, other_samples, same_samples
from rig.uncertainty.budget import Part
from rig.uncertainty.clusters import RECORDING, Clusters
from rig.uncertainty.jackknife import Deleted, Jackknife, jackknife
from tests.conftest import ROOT
from tests.length import length
from tests.samples import sample_of

Run = Callable[..., SessionResult]


def both(draw: Draw, name: str) -> Intervals:
    knife = jackknife(draw.trials, draw.catalogue, draw.summarise)
    single = [trial.metrics[name] for trial in draw.trials]
    return other_samples.intervals(
        name, single, budget.of_metric(name, draw.trials), knife
    )


def same(draw: Draw, name: str) -> Interval:
    single = [trial.metrics[name] for trial in draw.trials]
    return same_samples.interval(
        single, budget.of_metric(name, draw.trials), shared=True
    )


def answered(right: Sequence[Sequence[bool]], trials: int = 1) -> Draw:
    """Return trials of recordings whose samples were answered as given, each time."""

    def summarise(measured: Measured) -> dict[str, Metric]:
        return {
            "accuracy": Metric.of_share([sample.correct for sample in measured.samples])
        }

    flat = []
    for number, recording in enumerate(right):
        flat += [(number, ok) for ok in recording]
    window = Window("infer", 0.0, 1.0, 1.0, None)
    samples = tuple(
        sample_of(n, [window], label="a", answer="a" if ok else "b", correct=ok)
        for n, (_, ok) in enumerate(flat)
    )
    measured = Measured(samples, ())
    result = tuple(
        Trial(number, number, measured, summarise(measured), None)
        for number in range(1, trials + 1)
    )
    return Draw(
        result, tuple(Entry("a", f"clip {number}") for number, _ in flat), summarise
    )


#: Twelve recordings of ten samples: some are nearly all right, some nearly all wrong.
ALIKE = [
    [True] * right + [False] * (10 - right)
    for right in (10, 10, 9, 9, 8, 7, 5, 4, 2, 1, 0, 0)
]


def test_the_share_of_clustered_samples_is_the_logit_of_cr2() -> None:
    result = both(answered(ALIKE, trials=5), "accuracy").other_samples
    shares = [mean(list(map(float, recording))) for recording in ALIKE]
    # Recordings of one size: CR2 is the variance of the mean of their shares (Cochran,
    # Sampling Techniques, 9.2), known with one degree of freedom less than there are
    # recordings.
    at = mean(shares)
    away = student(11) * (standard_error(shares) or 0.0) / (at * (1 - at))
    for end, sign in ((result.low, -1), (result.high, 1)):
        logit = math.log(end / (1 - end))
        assert logit == pytest.approx(math.log(at / (1 - at)) + sign * away, rel=2e-3)
    assert result.units == "12 recordings" and "CR2" in result.method


def test_the_clustered_interval_is_wider_than_the_binomial_one_for_any_trials():
    low, high = Share(65, 120).interval()
    once, often = (
        both(answered(ALIKE, trials), "accuracy").other_samples for trials in (1, 5)
    )
    assert once.high - once.low > 1.8 * (high - low)
    assert (once.low, once.high) == (
        pytest.approx(often.low),
        pytest.approx(often.high),
    )


def test_where_all_are_right_each_recording_counts_once() -> None:
    result = both(answered([[True] * 10] * 12, trials=5), "accuracy")
    assert (result.other_samples.low, result.other_samples.high) == Share(
        12, 12
    ).interval()
    # Not one of 600 answers differed: so rare a change may yet (Clopper and Pearson).
    assert (
        result.same_samples.low == pytest.approx(0.025 ** (1 / 600))
        and result.same_samples.high == 1.0
    )


def test_one_wrong_recording_is_little_knowledge_of_how_recordings_differ() -> None:
    result = both(
        answered([[True] * 10] * 11 + [[False] * 10]), "accuracy"
    ).other_samples
    low, high = Share(11, 12).interval()
    assert result.low == pytest.approx(low, abs=0.1) and result.high == pytest.approx(
        high, abs=0.02
    )


@pytest.mark.parametrize(("count", "units"), [(1, "1 recording"), (2, "2 recordings")])
def test_one_or_two_recordings_make_no_statement_about_others(
    count: int, units: str
) -> None:
    result = both(
        answered([[True, False] * 5] * count, trials=5), "accuracy"
    ).other_samples
    assert not result.known and result.reason == units


def timed(latencies_s: Sequence[float]) -> Draw:
    """Return five trials of samples that take as long as given, but for a thousandth
    that differs from run to run.
    """

    def summarise(measured: Measured) -> dict[str, Metric]:
        values_s = [sample.windows[0].latency_s for sample in measured.samples]
        return {
            "latency_infer": Metric(
                mean(values_s), "s", standard_error(values_s), len(values_s)
            )
        }

    rng = random.Random(4)
    result = []
    for number in range(1, 6):
        windows = [
            Window("infer", 0.0, 1.0, at_s * rng.gauss(1, 1e-3), None)
            for at_s in latencies_s
        ]
        samples = tuple(
            sample_of(n, [window], label="a", answer="a")
            for n, window in enumerate(windows)
        )
        measured = Measured(samples, ())
        result.append(Trial(number, number, measured, summarise(measured), None))
    return Draw(tuple(result), (), summarise)


def test_only_other_samples_state_that_latency_depends_on_the_choice_of_samples():
    """One image whose latency depends on the sample: over 40 and over 10 samples it
    differed by 14 times the stated uncertainty.
    """
    rng = random.Random(14)
    latencies_s = [rng.gauss(0.040, 0.004) for _ in range(40)]
    forty, ten = (
        both(timed(latencies_s[:count]), "latency_infer") for count in (40, 10)
    )
    apart = abs(mean(latencies_s) - mean(latencies_s[:10]))
    assert apart > 14 * math.hypot(half(ten.same_samples), half(forty.same_samples))
    assert apart < math.hypot(half(ten.other_samples), half(forty.other_samples))
    for result, count in ((forty, 40), (ten, 10)):
        error = standard_error(latencies_s[:count]) or 0.0
        assert half(result.other_samples) == pytest.approx(
            student(count - 1) * error, rel=0.1
        )
        assert result.other_samples.units == f"{count} samples"


@pytest.mark.parametrize("towards", [1.0, -1.0])
def test_a_mean_of_skewed_clusters_reaches_farther_to_the_side_of_their_tail(
    towards: float,
) -> None:
    values_s = [
        1.0 + towards * more
        for more in (0.01, 0.02, 0.02, 0.03, 0.04, 0.05, 0.06, 0.45)
    ]
    result = both(timed(values_s), "latency_infer").other_samples
    at = mean(values_s)
    even = student(7) * (standard_error(values_s) or 0.0)
    tail, other = (
        (result.high - at, at - result.low)
        if towards > 0
        else (at - result.low, result.high - at)
    )
    assert other == pytest.approx(even, rel=0.02) and "Hall 1992" in result.method
    # Solved by hand: T + a (T^2 / 3 + 1 / 6) + a^2 T^3 / 27 = -2.365, with the skewness
    # of eight values, for T.
    error = standard_error(values_s) or 1.0
    centre = mean(values_s)
    cube = mean([(value - centre) ** 3 for value in values_s])
    square = mean([(value - centre) ** 2 for value in values_s])
    a = abs(cube) / square**1.5 * math.sqrt(7) / 6
    t = -tail / error
    assert t + a * (t**2 / 3 + 1 / 6) + a**2 * t**3 / 27 == pytest.approx(
        -student(7), rel=0.02
    )


def test_the_area_under_a_curve_has_an_interval_within_0_and_1() -> None:
    draw = areas(20, 2)(random.Random(2))
    at = draw.trials[0].metrics["auc"].value
    result = both(draw, "auc")
    knife = jackknife(draw.trials, draw.catalogue, draw.summarise)
    low = result.other_samples.low
    high = result.other_samples.high
    chosen = knife.chosen("auc")
    half = student(chosen.freedom) * math.sqrt(chosen.value) / (at * (1 - at))
    assert math.log(high / (1 - high)) - math.log(low / (1 - low)) == pytest.approx(
        2 * half, rel=0.01
    )
    assert 0 < low < at < high < 1 and result.other_samples.units == "20 recordings"
    # No score differed in five trials of 20 cases. A pair is in order as before if both
    # of its cases are, and 100 cases leave a change of each of them open.
    cases = 5 * draw.trials[0].metrics["auc"].n
    same = result.same_samples
    assert cases == 100
    assert same.low == pytest.approx(at * 0.025 ** (2 / cases / at))
    assert 1 - same.high == pytest.approx((1 - at) * 0.025 ** (2 / cases / (1 - at)))
    assert same.low < at < same.high


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_an_area_without_scatter_at_its_end_has_no_interval_for_others(
    at: float,
) -> None:
    draw = areas(20, 2)(random.Random(2))
    metric = draw.trials[0].metrics["auc"]
    value = replace(metric, value=at, standard_error=0.0)
    trials = [replace(trial, metrics={"auc": value}) for trial in draw.trials]
    knife = jackknife(trials, draw.catalogue, lambda measured: {"auc": value})
    found = other_samples.intervals(
        "auc", [value] * len(trials), budget.of_metric("auc", trials), knife
    )
    assert not found.other_samples.known
    assert "pair is in order" in found.other_samples.reason


def test_streams_differ_by_more_than_one_measured_again_and_no_more_than_others(
    run_stream: Run,
) -> None:
    # As they were found first, each +- 0.11 ms.
    expected_s = {1: 0.886, 2: 0.993, 3: 0.852}
    result = [
        run_stream(f"scenario.real_time.stream_seed={seed}").content["metrics"][
            "latency_onset"
        ]
        for seed in list(expected_s)[: length(3, 2)]
    ]
    values_s = [metric["value"] for metric in result]
    assert values_s == pytest.approx([*expected_s.values()][: len(result)], abs=1e-3)
    for metric in result:
        same = metric["same_samples"]
        other = metric["other_samples"]
        assert same["expanded_uncertainty"] < 1e-3 and "cities" in other["units"]
        assert all(other["low"] < value_s < other["high"] for value_s in values_s)


def test_a_table_says_how_few_cities_there_are_where_it_would_show_an_interval(
    run_stream: Run,
) -> None:
    result = run_stream("scenario.real_time.duration_s=9")
    out = io.StringIO()
    print_results(Console(file=out, width=200), open_session(result.folder).results)
    rows = [
        line
        for line in out.getvalue().splitlines()
        if line.strip().startswith("accuracy")
    ]
    assert "not known: 1 city" in rows[0]
    printed = str(open_session(result.folder).metrics["accuracy"])
    assert "for other samples not known: 1 city (SIMULATED, " in printed


def test_a_percentile_is_stated_from_the_count_in_one_trial_on_that_its_rank_needs():
    few = jitter(367)(random.Random(1))
    many = jitter(368)(random.Random(1))
    refused, stated = (same(draw, "latency_infer_p99") for draw in (few, many))
    assert not refused.known
    assert refused.reason == "367 values a trial, the percentile needs 368"
    assert stated.known and stated.units == "5 trials"
    other = both(jitter(74)(random.Random(1)), "latency_infer_p99").other_samples
    assert other.reason == "74 samples, the percentile needs 368"


def test_a_percentile_has_the_scatter_of_the_trials_and_their_distance_from_the_whole():
    draw = jitter(10)(random.Random(3))
    single = [trial.metrics["latency_infer_p50"] for trial in draw.trials]
    of_trials = [metric.value for metric in single]
    at = same_samples.value(single)
    result = same(draw, "latency_infer_p50")
    error = standard_error(of_trials) or 0.0
    half_s = math.hypot(student(4) * error, at - mean(of_trials))
    assert (result.low, result.high) == (
        pytest.approx(at - half_s),
        pytest.approx(at + half_s),
    )
    assert "4 degrees of freedom" in result.method


def test_a_percentile_of_two_trials_says_that_it_has_one_degree_of_freedom() -> None:
    draw = jitter(10)(random.Random(3))
    result = same(replace(draw, trials=draw.trials[:2]), "latency_infer_p50")
    assert "one degree of freedom" in result.method and result.units == "2 trials"
    once = same(replace(draw, trials=draw.trials[:1]), "latency_infer_p50")
    values = sorted(draw.trials[0].metrics["latency_infer_p50"].values)
    # 2 and 9 of 10 (David and Nagaraja, 7.1): one or none of ten below the median has
    # 1.1 %.
    assert (once.low, once.high) == (
        values[1],
        values[8],
    ) and "only trial" in once.method


def test_metrics_that_no_sample_moves_have_one_interval_twice(run_virtual: Run) -> None:
    metric = run_virtual("task.null.samples=5", trials=3).content["metrics"][
        "power_idle"
    ]
    for end in ("low", "high"):
        assert metric["other_samples"][end] == pytest.approx(
            metric["same_samples"][end], rel=1e-5
        )


def test_the_standard_error_of_neurobench_is_that_over_samples(
    run_virtual: Run,
) -> None:
    result = run_virtual("task.null.samples=12", trials=2)
    metric = result.content["metrics"]["latency_infer"]
    errors = []
    for trial in result.trials:
        latencies_s = [sample.windows[1].latency_s for sample in trial.measured.samples]
        errors.append(standard_error(latencies_s) or 0.0)
    assert metric["standard_error_over_samples"] == pytest.approx(mean(errors))


class Knowing(Scenario):
    """A scenario that knows the interval of one of its metrics."""

    name = "knowing"

    def plan(self, task: Task, seed: int) -> Plan:
        raise NotImplementedError

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        return {
            name: Metric(float(len(measured.samples)), "s")
            for name in ("known", "other")
        }

    def intervals(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> Mapping[str, Intervals]:
        bound = Interval(0.5, math.inf, f"of {len(trials)} trials", "7 searches")
        return {"known": Intervals(bound, Interval.missing("too few"))}


def test_the_intervals_of_a_scenario_go_before_the_general_ones(
    run_virtual: Run,
) -> None:
    result = run_virtual(trials=2)
    context = replace(
        results.Context.of(SessionFolder(result.folder)), scenario=Knowing()
    )
    trials = [
        replace(trial, metrics=context.summarise(trial.measured))
        for trial in result.trials
    ]
    metrics = document.to_json(results.derive(context, trials))["metrics"]
    same = metrics["known"]["same_samples"]
    other = metrics["known"]["other_samples"]
    assert (same["low"], same["high"], same["method"], same["units"]) == (
        0.5,
        None,
        "of 2 trials",
        "7 searches",
    )
    assert (other["low"], other["reason"]) == (None, "too few")
    assert metrics["other"]["same_samples"]["method"] != same["method"]


def half(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


@pytest.fixture
def run_stream(tmp_path: Path) -> Run:
    def run(*overrides: str) -> SessionResult:
        with open_bench(
            ROOT / "benches" / "virtual-real-time.toml", overrides
        ) as bench:
            return bench.run(2, tmp_path)

    return run


# The parts, by hand


def recordings(
    values: list[float], counts: list[int], *, at: float, count: int | None = None
) -> Jackknife:
    """Return one trial of a share `at`, with its values without each recording."""
    sizes = np.array(counts, dtype=float)
    total = int(sizes.sum())
    deleted = Deleted(
        np.array([values]), total - sizes[None, :], np.ones((1, len(counts)), bool)
    )
    groups = tuple(frozenset({number}) for number in range(len(counts)))
    clusters = Clusters(groups, count or len(counts), RECORDING)
    return Jackknife(clusters, {"share": deleted}, {"share": [(at, total)]}, True)


def test_recordings_that_differ_less_than_by_chance_count_as_their_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def recorded(at: float, variance: float, n: float, freedom: float) -> float:
        asked.append((at, variance, n, freedom))
        return 10.0 * len(asked)

    monkeypatch.setattr(other_samples, "effective_size", recorded)
    # 3, 2 and 3 right of 4, 2 and 4: without each 5/6, 6/8 and 5/6 are right.
    knife = recordings([5 / 6, 6 / 8, 5 / 6], [4, 2, 4], at=0.8, count=6)
    assert other_samples._differing("share", 0.8, knife) == 2
    assert other_samples._differing("share", 0.2, knife) == 3
    assert other_samples._effective_size("share", 0.8, 9.0, knife) == 20.0
    (at, alike, n, freedom), (_, chosen, _, differing) = asked
    # Answers of one recording that are all alike: as many groups stand for six.
    assert (at, n) == (0.8, 9.0)
    assert alike == pytest.approx(0.8 * 0.2 * (16 + 4 + 16) / 100 * 3 / 6)
    assert freedom == knife.chosen("share").freedom
    assert chosen == knife.chosen("share").value
    assert differing == min(2, freedom)
    # Without one that differs, or with a smaller size than if all were alike.
    asked.clear()
    right = recordings([1.0, 1.0, 1.0], [4, 2, 4], at=1.0)
    assert other_samples._effective_size("share", 1.0, 9.0, right) == 3.0
    assert asked == []


@pytest.mark.parametrize("skewness", [0.3, -0.8, 1e-3, 0.0])
def test_a_skewed_interval_has_the_ends_that_solve_halls_equation(
    skewness: float,
) -> None:
    even = Interval.around(10.0, 0.5, 2.2, "even")
    result = other_samples._skewed(even, 10.0, skewness)

    def ended(k: float) -> float:
        def excess(t: float) -> float:
            cubic = skewness**2 * t**3 / 27
            return t + skewness * (t**2 / 3 + 1 / 6) + cubic - k

        return 10 - 0.5 * scipy.optimize.brentq(excess, -50, 50)

    ends = min(8.9, ended(2.2)), max(11.1, ended(-2.2))
    if abs(skewness) < 0.01:
        assert result is even
    else:
        assert (result.low, result.high) == pytest.approx(ends)
        assert result.standard_uncertainty == 0.5
        assert "Hall" in result.method


@pytest.mark.parametrize(
    ("chosen", "repeated", "parts"),
    [
        (0.0, 0.0, []),
        (0.0, 4.0, [(2.0, "t3")]),
        (9.0, 4.0, None),
    ],
)
def test_a_scatter_of_trials_alone_is_students(
    chosen: float, repeated: float, parts: list[tuple[float, str]] | None
) -> None:
    scatter = TwoWay(Variance(chosen, 5.0), Variance(repeated, 3.0))
    if parts is None:
        parts = [(math.sqrt(13.0), scatter.shape)]
    assert other_samples._scattered(scatter) == parts


def test_the_scatter_that_a_budget_counts_has_its_degrees_of_freedom() -> None:
    def part(shape: str) -> Part:
        return Part(
            component="scatter of trials",
            standard_uncertainty=3.0,
            type="A",
            shape=shape,
            counted=True,
        )

    assert other_samples._variance([]) == Variance(0.0, 1.0)
    assert other_samples._variance([part("t4")]) == Variance(9.0, 4.0)
    assert other_samples._variance([part("normal")]).value == 9.0
    assert other_samples._variance([part("normal")]).freedom >= 1000
