# SPDX-License-Identifier: Apache-2.0
"""The stated rate of false alarms, by simulation: sessions without a change."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.stats import binom

import rig
from rig.api.archive.collected import Collected
from rig.api.comparing import regression
from rig.api.comparing.regression import Regressed, against_baseline, compared
from rig.cli.main import rig as command
from rig.errors import ConfigError, DataError
from rig.model.metric import Statistic
from rig.results.document import BinomialInterval, IntervalResult, MetricResult
from rig.results.verdict import Outcome
from rig.uncertainty.budget import Part
from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.computes

RUNS = 4000
LEVEL = 0.02
_NO_INTERVAL = IntervalResult(
    low=None,
    high=None,
    method="",
    units="",
    reason="not known",
    standard_uncertainty=None,
    coverage_factor=None,
    expanded_uncertainty=None,
)


def metric(
    value: float,
    uncertainty: float | None = None,
    parts: Sequence[Part] = (),
    answers: int = 0,
    better: bool | None = False,
) -> MetricResult:
    interval = replace(_NO_INTERVAL, reason="", standard_uncertainty=uncertainty)
    return MetricResult(
        value=value,
        unit="1" if answers else "J",
        higher_is_better=better,
        statistic=Statistic.SHARE if answers else Statistic.MEAN,
        standard_error_over_samples=None,
        same_samples=interval,
        other_samples=_NO_INTERVAL,
        binomial=BinomialInterval(0.0, 1.0, "", answers) if answers else None,
        budget=tuple(parts),
        per_trial=(),
    )


def measured(
    rng: np.random.Generator, truth: float, trials: int, gain_u: float
) -> MetricResult:
    """Return a session as an instrument with an unknown gain sees it."""
    gain = 1 + rng.uniform(-1, 1) * gain_u * math.sqrt(3)
    values = truth * gain + rng.normal(0, 0.01, trials)
    scatter = float(values.std(ddof=1)) / math.sqrt(trials)
    parts = [
        Part(
            component="scatter of trials",
            standard_uncertainty=scatter,
            type="A",
            shape=f"t{trials - 1}",
            counted=True,
        ),
        Part(
            component="current gain",
            standard_uncertainty=gain_u,
            type="B",
            shape="rectangular",
            counted=True,
        ),
    ]
    return metric(float(values.mean()), math.hypot(scatter, gain_u), parts)


def alarms(worse: Sequence[bool]) -> int:
    return sum(worse)


def test_the_scatter_of_baseline_sessions_gives_just_the_stated_rate() -> None:
    rng = np.random.default_rng(11)
    for count in (3, 5, 12):
        worse = []
        for _ in range(RUNS):
            values = rng.normal(1.0, 0.03, count + 1)
            new, *earlier = map(metric, map(float, values))
            found = compared("energy", new, earlier, LEVEL)
            worse.append(found.outcome is Regressed.WORSE)
        low, high = binom.interval(0.999, RUNS, LEVEL)
        assert low <= alarms(worse) <= high


@pytest.mark.parametrize(("trials", "gain_u"), [(5, 0.0), (3, 0.0), (5, 0.01)])
def test_the_uncertainties_of_two_sessions_give_at_most_the_stated_rate(
    trials: int, gain_u: float
) -> None:
    rng = np.random.default_rng(12)
    worse = []
    for _ in range(RUNS):
        pair = [measured(rng, 1.0, trials, gain_u) for _ in range(2)]
        found = compared("energy", pair[0], pair[1:], LEVEL)
        worse.append(found.outcome is Regressed.WORSE)
    assert alarms(worse) <= binom.ppf(0.999, RUNS, LEVEL)
    # A gain that differs within hard limits is counted as if it had none.
    assert gain_u or alarms(worse)


def test_a_share_gives_at_most_the_stated_rate_and_finds_a_loss() -> None:
    rng = np.random.default_rng(13)
    right = rng.binomial(200, 0.9, (1500, 2)) / 200
    worse = [
        compared(
            "accuracy",
            metric(float(new), answers=200, better=True),
            [metric(float(old), answers=200, better=True)],
            LEVEL,
        ).outcome
        is Regressed.WORSE
        for new, old in right
    ]
    assert alarms(worse) <= binom.ppf(0.999, 1500, LEVEL)
    earlier = [metric(0.9, answers=200, better=True)]
    lost = compared("accuracy", metric(0.7, answers=200, better=True), earlier, LEVEL)
    assert lost.outcome is Regressed.WORSE and lost.worse_by == pytest.approx(0.2)


def test_a_clear_loss_is_found_and_a_gain_is_none() -> None:
    rng = np.random.default_rng(14)
    earlier = [measured(rng, 1.0, 5, 0.001)]
    worse = compared("energy", measured(rng, 1.2, 5, 0.001), earlier, LEVEL)
    better = compared("energy", measured(rng, 0.8, 5, 0.001), earlier, LEVEL)
    assert worse.outcome is Regressed.WORSE
    assert better.outcome is Regressed.NOT_SHOWN and better.worse_by < 0


def test_a_metric_that_cannot_be_compared_says_why() -> None:
    new = metric(1.0, 0.1)
    for other, reason in (
        (metric(1.0, 0.1, better=None), "no direction"),
        (metric(1.0), "three baseline sessions are needed"),
    ):
        found = compared("energy", other, [new], LEVEL)
        assert found.outcome is Regressed.NOT_TESTED and reason in found.method
    equal = compared("energy", new, [new, new, new], LEVEL)
    assert "no scatter" in equal.method
    assert "a value is missing" in compared("energy", new, [], LEVEL).method


def record(root: Path, *overrides: str) -> Path:
    few = ("task.null.samples=4", "scenario.single_stream.idle_s=0.05")
    with rig.open_bench(VIRTUAL_NULL, [*few, *overrides]) as bench:
        return bench.run(3, root=root).path


def test_sessions_of_another_bench_are_no_baseline(tmp_path: Path) -> None:
    new = record(tmp_path / "new")
    record(tmp_path / "old", 'bench.name="another"')
    with pytest.raises(DataError, match="no session to compare"):
        against_baseline(new, tmp_path / "old")
    with pytest.raises(ConfigError, match="rate of false alarms of 2"):
        against_baseline(new, tmp_path / "old", 2.0)
    record(tmp_path / "old")
    found = against_baseline(new, tmp_path / "old")
    assert found.outcome is Outcome.PASS and len(found.baseline) == 1
    assert "SIMULATED" in found.labels
    rate = found.false_alarms
    slow = record(tmp_path / "slow", "sut.virtual.infer.duration_s=0.06")
    worse = against_baseline(slow, tmp_path / "old")
    assert worse.outcome is Outcome.FAIL and rate == 0.01
    worse_by = {
        one.name: one.worse_by
        for one in worse.metrics
        if one.outcome is Regressed.WORSE
    }
    assert worse_by["latency_total"] == pytest.approx(0.018, rel=0.02)
    assert not worse and "FAIL: worse: latency_total by 0.01" in repr(worse)


def test_a_session_without_a_baseline_does_not_stop_the_others(tmp_path: Path) -> None:
    other = record(tmp_path / "new", 'bench.name="another"')
    new = record(tmp_path / "new", "bench.seed=2")
    slow = record(tmp_path / "new", "sut.virtual.infer.duration_s=0.06")
    old = tmp_path / "old"
    record(old)

    def compared_by(*sessions: Path) -> Result:
        words = ["compare", *map(str, sessions), "--baseline", str(old), "--json"]
        return CliRunner().invoke(command, words, standalone_mode=False)

    done = compared_by(other, new)
    tree = json.loads(done.stdout)["sessions"]
    assert [one["outcome"] for one in tree] == ["not tested", "pass"]
    assert "no session to compare" in tree[0]["reason"], "says what it lacks"
    assert "bench another" in tree[0]["reason"]
    assert tree[0]["session"] == str(other) and tree[0]["metrics"] == []
    assert done.return_value == 4
    assert "NOT TESTED" in done.stderr and other.name in done.stderr
    assert compared_by(other, new, slow).return_value == 1, "a regression outweighs it"
    for none in ((other,), (other, other)):
        assert compared_by(*none).return_value == 4, "none was compared"
    words = ["compare", str(new), "--baseline", str(old), "--metric", "energy_totl"]
    wrong = CliRunner().invoke(command, words, standalone_mode=False)
    assert isinstance(wrong.exception, DataError), "a misspelt metric is no verdict"


def test_many_sessions_read_their_baseline_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = [record(tmp_path / "new", f"bench.seed={seed}") for seed in (1, 2, 3)]
    record(tmp_path / "old")
    read: list[Path] = []
    collected = regression.collected

    def counted(path: Path) -> Collected:
        read.append(path)
        return collected(path)

    monkeypatch.setattr(regression, "collected", counted)
    words = ["compare", *map(str, new), "--baseline", str(tmp_path / "old")]
    done = CliRunner().invoke(command, [*words, "--metric", "energy_total"])
    assert "1 metric against 1 session" in " ".join(done.output.split())
    assert sorted(read) == sorted([*new, *(tmp_path / "old").iterdir()])
