# SPDX-License-Identifier: Apache-2.0
"""Levels of a trace and the borders of columns, against counting."""

from __future__ import annotations

import math
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.trace import gaps, levels, reduce
from rig.trace.levels import ENTRY, Hidden, Levels, borders
from rig.trace.trace import Gap, Trace
from tests.traces import trace_writer


@given(
    first=st.integers(0, 5000),
    length=st.integers(1, 5000),
    columns=st.integers(1, 40),
    entry=st.sampled_from([1, 7, 256]),
)
def test_columns_cover_what_is_asked_and_are_as_narrow_as_their_number_allows(
    first: int, length: int, columns: int, entry: int
) -> None:
    last = first + length
    bounds = borders(first, last, columns, entry)
    widths = set(np.diff(bounds).tolist())
    assert len(widths) == 1
    (width,) = widths
    assert width % entry == 0
    assert not any(bounds % width)
    assert bounds[0] <= first < bounds[1]
    assert bounds[-2] < last <= bounds[-1]
    assert len(bounds) - 1 <= columns
    # With a column less, or two where one more would begin before, they are narrower.
    if columns > 2:
        assert width < length / (columns - 2) + entry
    assert width <= max(2 * length, last) + entry


def test_nothing_has_one_border_and_no_column() -> None:
    assert borders(7, 7, 4, 1).tolist() == [0]
    assert borders(8, 7, 4, 1).tolist() == [0]


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    """Return the current, in hundredths, of 20 entries of the second level and some."""
    random = np.random.default_rng(3)
    count = 20 * 16 * ENTRY + 100
    current = random.integers(-99, 99, count).astype(np.float32)
    current[5000:5300] = np.nan
    return current


@pytest.fixture(scope="module")
def built(samples: np.ndarray) -> Levels:
    """Return the levels of these samples at 2 V."""
    volts = np.full(len(samples), 2.0, np.float32)
    return Levels.of(len(samples), reduce.of_samples(samples, volts, 0, ENTRY))


@pytest.mark.parametrize(
    ("first", "last", "columns", "width"),
    [
        (0, 2048, 8, 256),
        (300, 6000, 25, 256),
        (0, 16 * 256 * 20 + 100, 5, 4096 * 5),
        (0, 16 * 256 * 4 * 4, 4, 4096 * 4),
        (10_000, 82_000, 300, 256),
    ],
)
def test_columns_of_levels_have_least_mean_and_most_of_their_samples(
    samples: np.ndarray,
    built: Levels,
    first: int,
    last: int,
    columns: int,
    width: int,
) -> None:
    bounds, table = built.columns(first, last, columns)
    assert bounds[1] - bounds[0] == width
    assert bounds[0] <= first
    assert bounds[-1] >= last
    assert len(table) == len(bounds) - 1 <= columns
    for position in range(len(table)):
        part = samples[bounds[position] : bounds[position + 1]]
        known = part[np.isfinite(part)].astype(float)
        assert table.known[position] == len(known)
        if not len(known):
            assert np.isnan(table.rows[:, position]).all()
            continue
        least, mean, most = known.min(), known.mean(), known.max()
        expected = [least, mean, most, 2, 2, 2, 2 * least, 2 * mean, 2 * most]
        assert table.rows[:, position] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_each_level_has_a_sixteenth_of_the_entries_until_sixteen_are_left(
    built: Levels,
) -> None:
    assert [len(table) for table in built.tables] == [321, 21, 2]
    assert built.tables[1].rows.dtype == np.float32
    assert built.tables[1].known.dtype == np.int32


@pytest.mark.parametrize(
    ("first", "hidden"),
    [
        (0, [2, 3, 4]),
        (3, [0, 1, 6]),
        (5, [4, 5, 6]),
        (12, []),
    ],
)
def test_samples_in_gaps_are_hidden(first: int, hidden: list[int]) -> None:
    gaps = Hidden([Gap(2, 5, "lost"), Gap(9, 12, "lost")])
    item, other = np.ones(7, np.float32), np.ones(7, np.float32)
    gaps.hide(first, item, other)
    assert np.flatnonzero(np.isnan(item)).tolist() == hidden
    assert np.flatnonzero(np.isnan(other)).tolist() == hidden
    span = set(range(first, first + 7))
    met = [bool(span & set(range(*gap))) for gap in ((2, 5), (9, 12))]
    assert gaps.touch(first, first + 7).tolist() == np.flatnonzero(met).tolist()


@given(
    st.lists(st.sampled_from(["ok", "ok", "current", "voltage"]), max_size=30),
    st.lists(st.integers(1, 29), max_size=3),
)
def test_stretches_without_numbers_are_found_across_blocks(
    kinds: list[str], cuts: list[int]
) -> None:
    current = np.array([math.nan if k == "current" else 1.0 for k in kinds], np.float32)
    voltage = np.array([math.inf if k == "voltage" else 1.0 for k in kinds], np.float32)
    result: list[Gap] = []
    bounds = [0, *sorted({cut for cut in cuts if cut < len(kinds)}), len(kinds)]
    for start, stop in pairwise(bounds):
        part = slice(start, stop)
        runs = gaps.unreadable(current[part], voltage[part]) + start
        result += [Gap(first, last, "") for first, last in runs.tolist()]
    result = gaps.joined(result)
    missing = [position for position, kind in enumerate(kinds) if kind != "ok"]
    covered = list(chain.from_iterable(range(gap.start, gap.stop) for gap in result))
    assert covered == missing
    for before, behind in pairwise(result):
        assert before.stop < behind.start


def test_a_trace_is_read_whole_and_can_be_stopped(tmp_path: Path) -> None:
    current = np.arange(1000, dtype=np.float32) % 7
    voltage = np.full(1000, 3.0, np.float32)
    with trace_writer(tmp_path, 1000.0, sync_kind="voltage") as writer:
        writer.analog(current, voltage)
    trace = Trace.open(tmp_path / "trace.jls")
    shares: list[float] = []
    built = levels.build(trace, shares.append)
    assert built is not None
    assert shares == [1.0]
    assert built.length == 1000
    assert built.unknown == ()
    assert built.tables[0].known.tolist() == [256, 256, 256, 232]
    assert built.tables[0].rows[1, 3] == pytest.approx(current[768:].mean())
    assert levels.build(trace, stopped=lambda: True) is None
