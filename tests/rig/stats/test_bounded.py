# SPDX-License-Identifier: Apache-2.0
"""Ends of intervals between 0 and 1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.stats.binomial import Share
from rig.stats.bounded import by_logit, hull, unchanged


def test_the_ends_are_as_far_from_the_value_as_logits() -> None:
    low, high = by_logit(0.8, 0.1)
    middle = math.log(4)
    assert math.log(low / (1 - low)) == pytest.approx(middle - 0.1 / 0.16)
    assert math.log(high / (1 - high)) == pytest.approx(middle + 0.1 / 0.16)


@given(at=st.floats(1e-6, 1 - 1e-6), half=st.floats(0, 1e3), more=st.floats(0, 1e3))
def test_a_wider_half_moves_both_ends_out_and_neither_leaves_0_to_1(
    at: float, half: float, more: float
) -> None:
    low, high = by_logit(at, half)
    lower, higher = by_logit(at, half + more)
    assert 0 <= lower <= low + 1e-12 and high - 1e-12 <= higher <= 1
    assert low <= at + 1e-12 and high >= at - 1e-12


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_all_alike_has_no_logit(at: float) -> None:
    assert by_logit(at, 0.3) == (at, at)


def test_answers_that_never_changed_leave_open_what_clopper_and_pearson_do() -> None:
    low, high = unchanged(1.0, 100)
    assert (low, high) == (pytest.approx(Share(100, 100).interval()[0]), 1.0)
    low, high = unchanged(0.75, 100)
    assert low == pytest.approx(0.75 * Share(75, 75).interval()[0])
    assert high == pytest.approx(0.75 + 0.25 * Share(0, 25).interval()[1])


def test_the_hull_has_the_least_and_the_greatest_end() -> None:
    assert hull((0.2, 0.5), (0.1, 0.4)) == (0.1, 0.5)
