# SPDX-License-Identifier: Apache-2.0
"""Gaps of a trace: found by window, against a look at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import DataError
from rig.trace.gaps import Gap, GapIndex, joined, read

GAPS = st.lists(
    st.builds(
        lambda start, length, cause: Gap(start, start + length, cause),
        st.integers(0, 60),
        st.integers(0, 12),
        st.sampled_from(["a", "b"]),
    ),
    max_size=8,
)
WINDOW = st.tuples(st.floats(-5, 80), st.floats(0, 40))
MARGIN = 4


def touching(gaps: list[Gap], start: float, stop: float) -> list[Gap]:
    return [gap for gap in gaps if gap.start < stop and gap.stop > start]


@given(gaps=GAPS, window=WINDOW)
def test_the_first_gap_of_a_window_is_the_first_in_the_file_that_touches_it(
    gaps: list[Gap], window: tuple[float, float]
) -> None:
    start, stop = window[0], window[0] + window[1]
    due = next(iter(touching(gaps, start, stop)), None)
    assert GapIndex(gaps).first(start, stop) == due


@given(gaps=GAPS, window=WINDOW)
def test_lost_samples_are_counted_once_and_not_known_near_an_end(
    gaps: list[Gap], window: tuple[float, float]
) -> None:
    start, stop = window[0], window[0] + window[1]
    hit = touching(gaps, start, stop)
    due: int | None = sum(gap.stop - gap.start for gap in joined(hit))
    if any(gap.start < start + MARGIN or gap.stop > stop - MARGIN for gap in hit):
        due = None
    assert GapIndex(gaps).lost(start, stop, MARGIN) == due


@given(gaps=GAPS, window=st.tuples(st.integers(0, 70), st.integers(0, 40)))
def test_joined_gaps_of_a_window_cover_the_samples_that_its_gaps_cover(
    gaps: list[Gap], window: tuple[int, int]
) -> None:
    start, stop = window[0], window[0] + window[1]

    def covers(spans: Sequence[Gap], k: int) -> bool:
        return any(gap.start <= k < gap.stop for gap in spans)

    due = [covers(gaps, k) for k in range(start, stop)]
    result = GapIndex(gaps).joined(start, stop)
    covered = [covers(result, k) for k in range(start, stop)]
    assert covered == due


def test_a_gap_of_more_samples_than_a_number_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gaps.jsonl"
    path.write_text(f'{{"start": 0, "stop": {10**30}, "cause": "x"}}\n')
    with pytest.raises(DataError, match="another form"):
        read(path)
