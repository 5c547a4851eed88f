# SPDX-License-Identifier: Apache-2.0
"""Ends of the mean of bounded values: by the logit, and exact where values are equal or
rare."""

from __future__ import annotations

import pytest
import scipy  # its statistics are imported where they are used: that takes a second

from rig.stats import share_mean
from rig.stats.share_mean import ShareRange


@pytest.mark.parametrize("others", [0, 1, 2])
def test_rare_values_are_as_frequent_as_clopper_and_pearson_allow(others: int) -> None:
    high = scipy.stats.binomtest(others, 25).proportion_ci(0.95, "exact").high
    result = share_mean.rare_ends(0.1, others, 25, ShareRange(-0.5, 1.0))
    assert result == pytest.approx((-0.5, max(-0.5 + 1.5 * high, 0.1)))


def test_equal_values_may_differ_as_rarely_as_their_number_allows() -> None:
    low, high = share_mean.equal_ends(0.25, 10, ShareRange(0.0, 1.0))
    rare = scipy.stats.binomtest(0, 10).proportion_ci(0.95, "exact").high
    assert (low, high) == pytest.approx((0.25 * (1 - rare), 0.25 + 0.75 * rare))
