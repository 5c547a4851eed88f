# SPDX-License-Identifier: Apache-2.0
"""Scatter over strata: variance, degrees of freedom and skewness, against formulas and
drawn values.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import scipy  # its statistics are imported where they are used: that takes a second

from rig.stats.strata import scatter


def test_one_stratum_has_the_variance_freedom_and_skewness_of_a_plain_mean() -> None:
    values = [0.1, 0.4, 0.2, 2.0, 0.3]
    result = scatter([values])
    assert result.variance.value == pytest.approx(scipy.stats.sem(values) ** 2)
    assert result.variance.freedom == 4
    # The skewness of a mean is that of one value over the root of their number.
    deviation = np.std(values, ddof=1)
    third = scipy.stats.kstat(values, 3)
    assert result.skewness == pytest.approx(third / deviation**3 / 5**0.5)


def test_degrees_of_freedom_are_pooled_where_strata_scatter_alike_and_one_strata_s_where_not():
    alike = [[1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]]
    assert scatter(alike).variance.freedom == 8
    one_only = [[1.0, 2.0, 3.0, 4.0, 5.0], [7.0] * 5]
    assert scatter(one_only).variance.freedom == 4
    pairs = [[0.0, 1.0], [0.0, 1000.0], [0.0, 1.0]]
    assert scatter(pairs).variance.freedom == pytest.approx(1, abs=1e-3)


def test_the_variance_of_a_mean_over_unequal_strata_is_that_of_the_mean_of_all_values():
    draw = np.random.default_rng(5)
    means, variances = [], []
    for _ in range(4000):
        strata = [draw.normal(0, 1, 3).tolist(), draw.normal(5, 3, 6).tolist()]
        means.append(np.mean(list(chain.from_iterable(strata))))
        variances.append(scatter(strata).variance.value)
    assert np.mean(variances) == pytest.approx(np.var(means), rel=0.08)


def test_rounding_of_equal_values_is_no_scatter() -> None:
    equal = [0.1 + 0.2, 0.3, 0.3]
    assert equal[0] != equal[1]
    assert scatter([equal, [7.0, 7.0, 7.0]]).variance.value == 0.0
