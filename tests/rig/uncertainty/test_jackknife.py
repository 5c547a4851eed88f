# SPDX-License-Identifier: Apache-2.0
"""The jackknife's variances and skewness, against direct formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from rig.model.metric import Metric
from rig.model.trial import Measured, Trial
from rig.stats.containing import Variance
from rig.uncertainty import jackknife
from rig.uncertainty.jackknife import Deleted
from tests.samples import sample_of

VALUES = st.lists(st.integers(0, 20), min_size=3, max_size=7)


def left_out(rows: list[list[float]], counts: list[int] | None = None) -> Deleted:
    """Return the means of each trial without each group of equal values."""
    table = np.array(rows, dtype=float)
    sizes = np.array(counts or [1] * table.shape[1], dtype=float)
    sums = table * sizes
    total = sums.sum(axis=1, keepdims=True)
    values = (total - sums) / (sizes.sum() - sizes)
    remaining = np.broadcast_to(sizes.sum() - sizes, table.shape)
    return Deleted(values, remaining, np.ones(table.shape, bool))


@given(VALUES)
def test_the_variance_of_a_mean_by_its_groups_is_that_of_the_mean_of_their_means(
    values: list[int],
) -> None:
    deleted = left_out([[float(value) for value in values]])
    whole = [(float(np.mean(values)), len(values))]
    result = deleted.variance(whole, np.ones(len(values)))
    assert result.value == pytest.approx(
        np.var(values, ddof=1) / len(values), abs=1e-12
    )
    assert result.freedom == len(values) - 1


@given(VALUES, st.integers(2, 4), st.integers(0, 99))
def test_variances_within_trials_are_those_of_differences_and_of_each_trial(
    values: list[int], trials: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    table = random.integers(0, 20, (trials, len(values))).astype(float)
    deleted = left_out(table.tolist())
    count = len(values)

    def of_mean(row: np.ndarray) -> float:
        return float(np.var(row, ddof=1)) / count

    own = sum(of_mean(row) for row in table) / trials**2
    assert deleted.variance_within(shared=False) == pytest.approx(own)
    apart = table - table.mean(axis=0)
    shared = sum(of_mean(row) for row in apart) / (trials * (trials - 1))
    assert deleted.variance_within(shared=True) == pytest.approx(shared, abs=1e-12)


def test_a_group_that_is_in_one_trial_only_counts_there() -> None:
    values = np.array([[1.0, 3.0, 9.0], [2.0, 2.0, 6.0]])
    present = np.array([[True, True, False], [False, False, True]])
    deleted = Deleted(values, np.ones((2, 3)), present)
    # Two values, a distance of one from their mean each; and a single one.
    assert deleted.variance_within(shared=False) == pytest.approx((1 / 2 * 2) / 4)


@given(
    st.lists(st.integers(0, 30), min_size=6, max_size=9).filter(
        lambda v: len(set(v)) > 2
    )
)
def test_the_skewness_of_a_mean_is_that_of_its_groups_without_bias(
    values: list[int],
) -> None:
    deleted = left_out([[float(value) for value in values]])
    mean = float(np.mean(values))
    # A group at the mean has no effect when it is left out.
    if any(abs(value - mean) < 1e-9 for value in values):
        return
    expected = scipy.stats.skew(values, bias=False) / math.sqrt(len(values))
    assert deleted.skewness(mean) == pytest.approx(expected, abs=1e-9)


def test_few_or_equal_groups_have_no_skewness() -> None:
    assert left_out([[1.0, 2.0, 3.0, 4.0, 9.0]]).skewness(3.8) == 0.0
    assert left_out([[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]]).skewness(4.0) == 0.0
    assert left_out([[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]).skewness(25 / 6) != 0.0
    assert left_out([[1.0] * 7]).skewness(1.0) == 0.0


def test_events_of_a_group_are_those_that_are_gone_without_it() -> None:
    # Three groups of 4, 2 and 2 answers, with 3, 0 and 2 right, in each of two trials.
    deleted = left_out([[0.75, 0.0, 1.0], [0.5, 0.5, 0.5]], [4, 2, 2])
    sizes, events = deleted.events([(5 / 8, 8), (0.5, 8)])
    assert sizes.tolist() == [8, 4, 4]
    assert events == pytest.approx([5.0, 1.0, 3.0])
    assert deleted.complete


def test_groups_weigh_as_many_values_as_they_have_or_else_as_many_samples() -> None:
    deleted = left_out([[1.0, 3.0, 8.0]], [4, 1, 1])
    whole = 15 / 6
    result = deleted.variance([(whole, 6)], np.ones(3))
    weights = np.array([4, 1, 1]) / 6
    away = deleted.values[0] - whole
    assert result.value == pytest.approx(float(np.sum(away**2 * (1 - weights))))
    # Without a certain number of values: the samples of those that matter.
    weights = np.array([0.25, 0.25, 0.5])
    for count in (6, 7):
        unknown = Deleted(deleted.values, deleted.counts * 0 + count, deleted.present)
        result = unknown.variance([(whole, 6)], np.array([1.0, 1.0, 2.0]))
        assert result.value == pytest.approx(float(np.sum(away**2 * (1 - weights))))
    still = Deleted(np.full((1, 3), whole), deleted.counts * 0 + 7, deleted.present)
    assert still.variance([(whole, 6)], np.ones(3)) == Variance(0.0, 1.0)


def trial(values: list[float]) -> Trial:
    samples = tuple(sample_of(k, (), scores=(value,)) for k, value in enumerate(values))
    measured = Measured(samples, ())
    return Trial(1, 1, measured, summarise(measured), None)


def summarise(measured: Measured) -> dict[str, Metric]:
    values = [sample.scores[0] for sample in measured.samples]
    return {
        "mean": Metric(float(np.mean(values)), "s", None, len(values)),
        "median": Metric.of_percentile(values, 50, "s"),
    }


def test_each_sample_is_left_out_of_all_trials_in_turn() -> None:
    rows = [[1.0, 2.0, 6.0, 9.0], [2.0, 4.0, 6.0, 8.0]]
    knife = jackknife.jackknife([trial(row) for row in rows], [], summarise)
    assert knife.shared
    assert knife.clusters.count == 4
    result = knife.deleted["mean"]
    for row, values, counts in zip(rows, result.values, result.counts, strict=True):
        expected = [np.mean(np.delete(row, k)) for k in range(4)]
        assert values == pytest.approx(expected)
        assert counts.tolist() == [3.0] * 4
    assert knife.whole["mean"] == [(4.5, 4), (5.0, 4)]
    means = np.mean(rows, axis=0)
    assert knife.chosen("mean").value == pytest.approx(np.var(means, ddof=1) / 4)
    # Of a percentile: the share of values up to that of all, which is 5.
    assert knife.whole["median"] == [(0.5, 4), (0.5, 4)]
    below = [(2 - (value <= 5)) / 3 for value in rows[0]]
    assert knife.deleted["median"].values[0] == pytest.approx(below)
    joint = knife.scatter("mean", Variance(1.0, 1.0))
    assert joint.repeated == Variance(1.0, 1.0)
    assert joint.both == pytest.approx(result.variance_within(shared=True))
    alone = jackknife.jackknife([trial(rows[0])], [], summarise)
    assert alone.scatter("mean", Variance(1.0, 1.0)).both == math.inf


def test_trials_of_other_samples_are_not_shared_and_few_groups_are_not_left_out() -> (
    None
):
    rows = [trial([1.0, 2.0, 3.0]), trial([1.0, 2.0, 3.0, 4.0])]
    knife = jackknife.jackknife(rows, [], summarise)
    assert not knife.shared
    assert knife.deleted["mean"].present.tolist() == [[True] * 3 + [False], [True] * 4]
    # The fourth sample is not in the first trial: it stays whole.
    assert knife.deleted["mean"].values[0, 3] == 2.0
    assert jackknife.jackknife([trial([1.0, 2.0])], [], summarise).deleted == {}


def test_the_share_of_values_up_to_a_cut_is_counted_also_beside_one_without_a_number() -> (
    None
):
    values = (1.0, 2.0, 2.0, 5.0)
    ordered = Metric(2.0, "s", None, 4, percent=50.0, values=values)
    mixed = Metric(math.nan, "s", None, 5, values=(2.0, math.nan, 1.0, 5.0, 2.0))
    result = jackknife.numbers(
        {"a": ordered, "b": mixed, "c": ordered}, {"a": 2.0, "b": 2.0}
    )
    assert result == {"a": (0.75, 4), "b": (0.6, 5), "c": (2.0, 4)}
    nothing = Metric(1.0, "s", None, 0)
    assert math.isnan(jackknife.numbers({"a": nothing}, {"a": 2.0})["a"][0])
