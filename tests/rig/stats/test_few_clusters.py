# SPDX-License-Identifier: Apache-2.0
"""The variance of a mean over few clusters."""

from __future__ import annotations

import numpy as np
import pytest

from rig.stats.binomial import student
from rig.stats.few_clusters import cr2, freedom


def left_out(sizes: list[int], means: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of a mean without each cluster, and the clusters' weights."""
    n = np.array(sizes, dtype=float)
    sums = n * np.array(means)
    without = (sums.sum() - sums) / (n.sum() - n)
    return without - sums.sum() / n.sum(), n / n.sum()


def test_clusters_of_one_size_have_the_variance_of_the_mean_of_their_means() -> None:
    means = [0.2, 0.5, 0.9, 0.4]
    result = cr2(*left_out([6] * 4, means))
    assert (
        result.value == pytest.approx(np.var(means, ddof=1) / 4) and result.freedom == 3
    )


def test_the_variance_of_clusters_of_many_sizes_is_that_of_bell_and_mccaffrey() -> None:
    sizes, means = [12, 4, 4], [0.5, 0.8, 0.1]
    n = np.array(sizes, dtype=float)
    at = float(n @ means) / n.sum()
    away = n * (np.array(means) - at)
    expected = float(np.sum(away**2 / (1 - n / n.sum()))) / n.sum() ** 2
    assert cr2(*left_out(sizes, means)).value == pytest.approx(expected)


@pytest.mark.parametrize(
    "sizes", [[12, 4, 4], [16, 6, 4, 2, 2], [20, 8, 6, 4, 4, 2, 2, 2], [40] + [1] * 9]
)
def test_students_t_with_the_degrees_of_freedom_covers_the_mean_of_clusters(
    sizes: list[int],
) -> None:
    """Drawn again: 200 000 times normal means of clusters, whose mean by size is 0."""
    weights = np.array(sizes, dtype=float) / sum(sizes)
    means = np.random.default_rng(5).standard_normal((200_000, len(sizes)))
    at = means @ weights
    squares = weights**2 * (means - at[:, None]) ** 2
    variance = (squares / (1 - weights)).sum(axis=1)
    known = freedom(tuple(sorted(weights.tolist())))
    inside = np.mean(np.abs(at) < student(known) * np.sqrt(variance))
    assert inside == pytest.approx(0.95, abs=0.003)


def test_a_cluster_without_values_counts_for_none() -> None:
    away, weights = left_out([6] * 4, [0.2, 0.5, 0.9, 0.4])
    more = cr2(np.append(away, 0.0), np.append(weights, 0.0))
    assert more == cr2(away, weights)


def test_one_large_cluster_leaves_about_one_degree_of_freedom() -> None:
    assert freedom((0.001, 0.001, 0.998)) == pytest.approx(1.0, abs=0.01)
    assert freedom((1.0,)) == 0.0
