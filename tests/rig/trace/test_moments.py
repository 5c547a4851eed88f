# SPDX-License-Identifier: Apache-2.0
"""Moments of values in blocks against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.trace import moments
from rig.trace.moments import Moments

WHOLE = st.integers(-50, 50)


@given(
    blocks=st.lists(st.lists(WHOLE, max_size=5), max_size=4),
    parts=st.lists(st.tuples(WHOLE, st.integers(-1, 4)), max_size=3),
)
def test_values_in_blocks_and_parts_of_values_have_their_weighted_moments(
    blocks: list[list[int]], parts: list[tuple[int, int]]
) -> None:
    result = Moments()
    for block in blocks:
        result.add(np.array(block, dtype=np.float32))
    for value, quarters in parts:
        result.add_part(value, quarters / 4)
    weighed = [(value, Fraction(1)) for value in chain.from_iterable(blocks)]
    weighed += [(value, Fraction(count, 4)) for value, count in parts if count > 0]
    weight = sum(share for _, share in weighed)
    assert result.weight == weight
    if not weight:
        assert math.isnan(result.variance)
        assert (result.least, result.most) == (math.inf, -math.inf)
        return
    mean = sum(value * share for value, share in weighed) / weight
    squares = sum((value - mean) ** 2 * share for value, share in weighed)
    assert result.mean == pytest.approx(float(mean), abs=1e-9)
    assert result.squares == pytest.approx(float(squares), abs=1e-9)
    assert result.variance == pytest.approx(float(squares / weight), abs=1e-9)
    values = [value for value, _ in weighed]
    assert (result.least, result.most) == (min(values), max(values))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_blocks_that_no_cache_holds_have_the_moments_of_a_row(more: int) -> None:
    count = 2 * moments._CHUNK + more
    result = Moments()
    result.add(np.arange(count, dtype=np.float32))
    # Of 0 to n - 1: (n - 1) / 2 and (n**2 - 1) / 12.
    assert result.weight == count
    assert result.mean == pytest.approx((count - 1) / 2)
    assert result.variance == pytest.approx((count**2 - 1) / 12)
    assert (result.least, result.most) == (0.0, count - 1)
