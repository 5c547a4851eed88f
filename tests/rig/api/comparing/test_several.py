# SPDX-License-Identifier: Apache-2.0
"""Many sessions compared with the first: the rate of false differences, by simulation,
and metrics that are no values of one quantity.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rig
from rig.api.comparing import several
from rig.api.comparing.comparable import obstacle
from rig.api.comparing.comparison import compare
from rig.api.comparing.metric_pairs import ComparisonOutcome, pair
from rig.api.sessions.session import Session
from rig.cli.main import rig as command
from rig.errors import DataError
from rig.model.metric import Statistic
from rig.model.origin import Origin
from rig.results.document import BinomialInterval, IntervalResult, MetricResult, Results
from rig.results.origins import SessionOrigins
from rig.session.session import open_bench
from rig.stats import simultaneous
from rig.stats.binomial import Share
from rig.uncertainty.budget import Part
from tests.conftest import VIRTUAL_NULL
from tests.recorded import recorded

OTHERS = 12
RUNS = 400
TRIALS = 5


def interval(low: float, high: float, u: float | None = None) -> IntervalResult:
    return IntervalResult(
        low=low,
        high=high,
        method="",
        units="",
        reason="",
        standard_uncertainty=u,
        coverage_factor=None,
        expanded_uncertainty=None,
    )


def metric(value: float, found: IntervalResult, *parts: Part) -> MetricResult:
    return MetricResult(
        value=value,
        unit="J",
        higher_is_better=None,
        standard_error_over_samples=None,
        same_samples=found,
        other_samples=found,
        budget=parts,
        per_trial=(),
    )


def measured(rng: np.random.Generator) -> MetricResult:
    """Return a metric of five trials of a device without a difference to others."""
    values = rng.normal(1.0, 0.01, TRIALS)
    u = float(values.std(ddof=1)) / math.sqrt(TRIALS)
    scatter = Part(
        component="scatter of trials",
        standard_uncertainty=u,
        type="A",
        shape=f"t{TRIALS - 1}",
        counted=True,
    )
    return metric(float(values.mean()), interval(0, 2, u), scatter)


@pytest.mark.computes
def test_one_in_twenty_comparisons_of_a_metric_has_a_false_difference() -> None:
    rng = np.random.default_rng(7)
    wrong = {1: 0, OTHERS: 0}
    for _ in range(RUNS):
        first, *others = (measured(rng) for _ in range(OTHERS + 1))
        for comparisons in wrong:
            found = (
                pair("energy", first, other, (), comparisons=comparisons)
                for other in others
            )
            wrong[comparisons] += any(
                one.outcome is ComparisonOutcome.DIFFERS for one in found
            )
    # 5 % and three standard deviations of a binomial count; without the widening the
    # first session's own error alone makes it several times that.
    most = 0.05 * RUNS + 3 * math.sqrt(0.05 * 0.95 * RUNS)
    assert wrong[OTHERS] <= most
    assert wrong[1] > 3 * most / 2


@pytest.mark.parametrize("freedom", [1, 3, 29])
def test_the_factor_of_several_is_students(freedom: int) -> None:
    from scipy.stats import t

    single = float(t.ppf(0.975, freedom))
    expected = float(t.ppf(1 - 0.025 / 10, freedom))
    assert simultaneous.factor(single, 10) == pytest.approx(expected, rel=1e-6)
    assert simultaneous.factor(single, 1) == single


def part(name: str, u: float, shape: str) -> Part:
    return Part(
        component=name, standard_uncertainty=u, type="B", shape=shape, counted=True
    )


@pytest.mark.parametrize("comparisons", [4, 9])
def test_the_factor_of_several_holds_where_a_short_tail_hides_a_long_one(
    comparisons: int,
) -> None:
    rng = np.random.default_rng(5)
    count = 1_000_000
    drawn = rng.uniform(-math.sqrt(3), math.sqrt(3), (2, count)).sum(axis=0)
    drawn += 0.3 * rng.standard_t(2, (2, count)).sum(axis=0)
    expected = float(np.quantile(np.abs(drawn), simultaneous.level(comparisons)))
    parts = part("gain", 1.0, "rectangular"), part("scatter", 0.3, "t2")
    one = metric(1.0, interval(0, 2, math.hypot(1.0, 0.3)), *parts)
    found = pair("energy", one, one, (), comparisons=comparisons).apart
    assert found is not None
    assert found.expanded_uncertainty == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("factor", "least"), [(12.706, 17.96), (4.303, 4.62)])
def test_errors_with_long_tails_may_add_up(factor: float, least: float) -> None:
    found = replace(interval(0, 2, 1.0), coverage_factor=factor)
    one = metric(1.0, found)
    spread = pair("energy", one, one, (), same_samples=False).apart
    # The quantile of the sum of two equal Student t of one and of two degrees.
    assert spread is not None
    assert spread.expanded_uncertainty >= least * math.sqrt(2)


def share(right: int, total: int) -> MetricResult:
    low, high = Share(right, total).interval()
    found = metric(right / total, interval(low, high))
    binomial = BinomialInterval(low, high, "", total)
    return replace(found, statistic=Statistic.SHARE, binomial=binomial)


def test_a_share_is_compared_by_its_interval_at_the_level_of_one_of_many() -> None:
    near, far = share(72, 100), share(95, 100)
    first = share(50, 100)
    outcomes = [
        pair("a", first, one, (), comparisons=count).outcome
        for one, count in ((near, 1), (near, 49), (far, 1), (far, 49))
    ]
    differs, not_shown = ComparisonOutcome.DIFFERS, ComparisonOutcome.NOT_SHOWN
    assert outcomes == [differs, not_shown, differs, differs]


def test_an_interval_that_is_known_at_95_percent_alone_says_so() -> None:
    first, other = metric(1.0, interval(0.9, 1.1)), metric(2.0, interval(1.9, 2.1))
    alone = pair("p99", first, other, ())
    one_of_two = pair("p99", first, other, (), comparisons=2)
    assert alone.outcome is ComparisonOutcome.DIFFERS
    assert one_of_two.outcome is ComparisonOutcome.IF_ALONE
    assert "no higher level" in one_of_two.reason


def record(root: Path) -> None:
    few = ("task.null.samples=3", "scenario.single_stream.idle_s=0.05")
    for name, more in (
        ("first", ()),
        ("second", ("sut.virtual.infer.power_w=0.09",)),
        ("third", ("task.null.samples=2",)),
        ("seeded", ("task.null.seed=9",)),
    ):
        with open_bench(VIRTUAL_NULL, [*few, *more]) as bench:
            bench.run(3, root).folder.rename(root / name)
    shutil.copytree(root / "first", root / "none")
    (root / "none" / "results.json").write_text("{}")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "several", record)


def sessions(root: Path, *names: str) -> list[Session]:
    return [rig.open_session(root / name) for name in names]


def test_differences_are_those_of_two_sessions_with_wider_intervals(root: Path) -> None:
    found = several.compare_several(sessions(root, "first", "second", "third"))
    two = compare(*sessions(root, "first", "second"))
    [energy] = [one for one in found.metrics if one.name == "energy_total"]
    several_pair = energy.rows[1][2]
    [pair_of_two] = [one for one in two.metrics if one.name == "energy_total"]
    assert several_pair is not None and several_pair.apart and pair_of_two.apart
    assert several_pair.difference == pair_of_two.difference
    assert several_pair.apart.standard_uncertainty == (
        pair_of_two.apart.standard_uncertainty
    )
    wider = several_pair.apart.expanded_uncertainty
    assert wider > pair_of_two.apart.expanded_uncertainty
    assert several_pair.outcome is ComparisonOutcome.DIFFERS
    assert any("different samples" in note for note, at in found.notes if at == (3,))


def test_a_metric_s_outcomes_are_counted_and_what_differs_is_named(
    root: Path,
) -> None:
    names = ("first", "second", "third", "second", "third", "second", "second", "third")
    found = several.compare_several(sessions(root, *names))
    [energy] = [one for one in found.metrics if one.name == "energy_total"]
    assert energy.summary == "differs: sessions 2, 4, 6, 7; cannot be said: 3"
    _, printed = run(*(root / name for name in names[:3]))
    assert "energy_total  differs: session 2; cannot be said: 1" in printed


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([7], "7"),
        ([2, 3], "2, 3"),
        ([2, 3, 4], "2-4"),
        ([1, 3, 4, 5, 7, 9, 10, 11, 12], "1, 3-5, 7, 9-12"),
    ],
)
def test_numbers_in_a_row_are_shown_by_their_ends(
    numbers: list[int], text: str
) -> None:
    assert several.in_ranges(numbers) == text


def test_a_session_that_is_named_twice_counts_once(root: Path) -> None:
    """As in `rig compare sessions/REFERENCE sessions/*`: else one comparison more would
    widen all intervals.
    """
    again = root / "second" / ".." / "first"
    names = [root / "first", again, root / "second", root / "third"]
    tree = json.loads(run(*names, "--json")[1])["differences"]
    assert tree["comparisons"] == 2
    assert tree["sessions"] == [str(root / name) for name in ("first", *names[2:])]


def test_a_first_session_without_results_is_refused(root: Path) -> None:
    with pytest.raises(DataError, match="no results, and the others are compared"):
        several.compare_several(sessions(root, "none", "first"))
    found = several.compare_several(sessions(root, "first", "none", "second"))
    assert [row[0].number for row in found.metrics[0].rows] == [1, 3]


_Change = Callable[[Results], Results]


def _monitor(results: Results, kind: str, *fed: str) -> Results:
    rails = {
        rail: replace(info, kind=kind)
        for rail, info in results.provenance.monitors.items()
    }
    metadata = {"components_included": list(fed)} if fed else {}
    provenance = replace(results.provenance, monitors=rails, metadata=metadata)
    return replace(results, provenance=provenance)


_MEASURED = SessionOrigins(Origin.MEASURED, Origin.MEASURED)
_CHANGES: dict[str, tuple[_Change, str, str]] = {
    "task": (lambda found: replace(found, task="other"), "1", "tasks differ"),
    "scenario": (lambda found: replace(found, scenario="x"), "J", "scenarios differ"),
    "data": (
        lambda found: replace(found, data=replace(found.data, source="real")),
        "1",
        "data differ",
    ),
    "times": (lambda found: replace(found, origins=_MEASURED), "s", "of the times"),
    "energies": (lambda found: replace(found, origins=_MEASURED), "W", "of the ener"),
    "monitor": (lambda found: _monitor(found, "rapl"), "J", "monitors differ"),
    "system": (lambda found: replace(found, sut="other"), "s", "simulated systems"),
    "supply": (lambda found: replace(found, sut="other"), "J", "simulated energies"),
}


@pytest.mark.parametrize("name", _CHANGES)
def test_metrics_of_another_quantity_are_not_comparable(name: str, root: Path) -> None:
    results = rig.open_session(root / "first").results
    change, unit, reason = _CHANGES[name]
    assert obstacle(results, results, unit) == ""
    assert reason in obstacle(results, change(results), unit)
    if name not in ("task", "scenario", "data"):
        assert obstacle(results, change(results), "1") == ""
    row = share(1, 2)
    found = pair("x", row, row, (), why_not="the tasks differ")
    assert found.outcome is ComparisonOutcome.NOT_COMPARABLE
    assert found.difference is None


def test_two_monitors_are_compared_if_both_benches_state_one_supply(root: Path) -> None:
    results = rig.open_session(root / "first").results
    one, other = (_monitor(results, kind, "board") for kind in ("ppk2", "js220"))
    assert obstacle(one, other, "J") == ""
    chip = _monitor(results, "js220", "chip")
    assert "components_included" in obstacle(one, chip, "J")


def run(*words: str | Path) -> tuple[int | None, str]:
    """Return the exit code, None where the command raised, and its output."""
    arguments = ["compare", *map(str, words)]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    return done.return_value, done.stdout


def test_forms_have_the_numbers_of_the_table(root: Path, tmp_path: Path) -> None:
    names = [root / name for name in ("first", "second", "third")]
    code, printed = run(*names, "--metric", "energy_total", "--output", tmp_path)
    # Three trials are too few for a verdict.
    assert code == 4 and "differs" in printed
    tree = json.loads((tmp_path / "differences.json").read_text())
    assert tree["schema"] == "neurorig-differences-1" and tree["comparisons"] == 2
    assert [row["outcome"] for row in tree["rows"]][:2] == ["the first", "differs"]
    with (tmp_path / "differences.csv").open() as lines:
        row = list(csv.DictReader(lines))[1]
    assert float(row["difference"]) == tree["rows"][1]["difference"] > 0
    assert "SIMULATED" in row["labels"]
    page = (tmp_path / "differences.md").read_text()
    assert page.startswith("* SIMULATED: every session\n")
    assert page.count("### energy_total") == 1
    assert "* energy_total: differs: session 2; cannot be said: 1" in page

    code, printed = run(*names, "--metric", "energy_total", "--json")
    assert json.loads(printed)["differences"] == tree
    words = ["compare", *map(str, names), "--metric", "energy_totl"]
    refused = CliRunner().invoke(command, words).exception
    assert isinstance(refused, DataError) and "energy_total" in refused.try_next


def test_sessions_of_several_tasks_have_no_table_of_backends(
    root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(root / "first", other)
    tree = json.loads((other / "results.json").read_text())
    tree["task"] = tree["provenance"]["task"]["name"] = "words"
    (other / "results.json").write_text(json.dumps(tree))
    code, printed = run(root / "first", root / "second", other, "--json")
    tree = json.loads(printed)
    # A file was changed after the run.
    assert code == 1 and list(tree) == ["differences"]
    outcomes = {row["outcome"] for row in tree["differences"]["rows"][2::3]}
    assert outcomes == {"not comparable"}


def test_sessions_of_other_samples_have_no_table_of_backends(root: Path) -> None:
    same = [root / name for name in ("first", "second", "first")]
    assert len(json.loads(run(*same, "--json")[1])) > 1
    _, printed = run(*same[:2], root / "seeded", "--json")
    assert list(json.loads(printed)) == ["differences"]
    found = several.compare_several(sessions(root, "first", "seeded"))
    assert {row["samples"] for row in several.records(found)} == {"other"}


def test_a_session_without_a_finished_trial_is_listed(
    root: Path, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    shutil.copytree(root / "first", killed)
    tree = json.loads((killed / "results.json").read_text())
    (killed / "results.json").write_text(json.dumps(tree | {"metrics": {}}))
    for trial in killed.glob("trial-*"):
        shutil.rmtree(trial)
    code, printed = run(root / "first", root / "second", killed, "--json")
    sessions_of = json.loads(printed)["differences"]["sessions"]
    assert code == 1 and sessions_of[-1] == str(killed)


def test_each_of_several_sessions_is_compared_with_a_baseline(root: Path) -> None:
    words = ("--baseline", root / "first", "--metric", "energy_total", "--json")
    code, printed = run(root / "second", root / "first", *words)
    found = json.loads(printed)["sessions"]
    # A session is no baseline of itself.
    assert code == 1 and [one["outcome"] for one in found] == ["fail", "not tested"]
    code, printed = run(root / "second", root / "second", *words)
    found = json.loads(printed)["sessions"]
    assert code == 1 and [one["outcome"] for one in found] == ["fail", "fail"]
