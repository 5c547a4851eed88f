# SPDX-License-Identifier: Apache-2.0
"""Columns of samples, and coarser ones of these, against a loop over single samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.trace import reduce
from rig.trace.reduce import Table

SAMPLES = st.lists(
    st.tuples(
        st.integers(-9, 9) | st.just(math.nan), st.integers(-9, 9) | st.just(math.inf)
    ),
    max_size=24,
)
#: Without any that is no number: these take another way.
KNOWN = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=24)


def column(samples: list[tuple[float, float]]) -> list[float]:
    """Return least, mean and most of current, voltage and power, and the count."""
    known = [
        (amperes, volts, amperes * volts)
        for amperes, volts in samples
        if math.isfinite(amperes) and math.isfinite(volts)
    ]
    rows: list[float] = []
    for signal in zip(*known, strict=True):
        rows += [min(signal), sum(signal) / len(signal), max(signal)]
    return [*(rows or [math.nan] * 9), len(known)]


def columns(table: Table) -> list[list[float]]:
    return np.vstack([table.rows, table.known]).T.tolist()


@given(
    samples=SAMPLES | KNOWN,
    first=st.integers(0, 9),
    width=st.integers(1, 6),
    times=st.integers(1, 3),
)
def test_columns_begin_at_multiples_of_their_width_and_join_to_coarser_ones(
    samples: list[tuple[float, float]], first: int, width: int, times: int
) -> None:
    arrays = np.array(samples, dtype=np.float32).reshape(-1, 2)
    table = reduce.of_samples(arrays[:, 0].copy(), arrays[:, 1].copy(), first, width)
    grouped: dict[int, list[tuple[float, float]]] = {}
    coarse: dict[int, list[tuple[float, float]]] = {}
    for number, sample in enumerate(samples, start=first):
        grouped.setdefault(number // width, []).append(sample)
        coarse.setdefault(number // width // times, []).append(sample)
    assert len(table) == len(grouped)
    for result, members in zip(columns(table), grouped.values(), strict=True):
        assert result == pytest.approx(column(members), nan_ok=True, rel=1e-6)
    places = list(grouped)
    starts = [
        at
        for at, position in enumerate(places)
        if not at or position // times != places[at - 1] // times
    ]
    joined = reduce.coarser(table, np.array(starts, dtype=np.int64))
    for result, members in zip(columns(joined), coarse.values(), strict=True):
        assert result == pytest.approx(column(members), nan_ok=True, rel=1e-6)


def test_no_tables_are_an_empty_one_and_several_are_one_after_the_other() -> None:
    assert len(reduce.joined([])) == 0
    assert reduce.joined([]).rows.shape == (9, 0)
    item = Table(np.arange(18.0).reshape(9, 2), np.array([1, 2]))
    other = Table(np.arange(9.0).reshape(9, 1), np.array([3]))
    both = reduce.joined([item, other])
    assert both.known.tolist() == [1, 2, 3]
    assert both.rows[4].tolist() == [8.0, 9.0, 4.0]
