# SPDX-License-Identifier: Apache-2.0
"""The newest seconds: the content of the picture, and that the memory does not grow."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from rig.live.block import COLUMN_S, LiveBlock
from rig.live.recent import Recent


def block(
    start: int,
    count: int,
    rail: str = "",
    trace: int = 1,
    value: float | None = None,
    lost: int = 0,
) -> LiveBlock:
    """Return columns whose mean is their number."""
    numbers = np.arange(start, start + count, dtype=np.float32)
    mean_w = numbers if value is None else np.full(count, value, dtype=np.float32)
    edges_s = numbers[::100].astype(np.float64) * COLUMN_S
    return LiveBlock(
        rail,
        start * COLUMN_S,
        COLUMN_S,
        mean_w - 1,
        mean_w=mean_w,
        most_w=mean_w + 1,
        falls_s=edges_s,
        rises_s=edges_s + 1e-4,
        lost=lost,
        trace=trace,
        at_s=time.monotonic(),
    )


def test_the_picture_is_of_the_newest_columns() -> None:
    recent = Recent(1.0)
    for start in range(0, 5000, 70):
        recent(block(start, 70))
    picture = recent.picture(1.0, 10_000)
    assert picture is not None
    assert picture.mean_w.tolist() == list(range(3040, 5040))
    assert picture.start_s == pytest.approx(3040 * COLUMN_S)
    assert picture.stop_s == pytest.approx(5040 * COLUMN_S)
    assert picture.times_s[0] == pytest.approx(3040.5 * COLUMN_S)
    half = recent.picture(0.5, 10_000)
    assert half is not None and half.mean_w.tolist() == list(range(4040, 5040))
    assert half.falls_s.min() >= half.start_s


def test_groups_lie_still_while_the_picture_moves_and_lose_no_spike() -> None:
    recent = Recent(10.0)
    recent(block(0, 4000, value=1.0))
    recent(block(4000, 1, value=50.0))
    seen = []
    for start in range(4001, 5000, 37):
        recent(block(start, 37, value=1.0))
        picture = recent.picture(2.0, 300)
        assert picture is not None and len(picture.mean_w) <= 300
        assert picture.most_w.max() == 51.0 and picture.least_w.min() == 0.0
        at = int(picture.most_w.argmax())
        seen.append(round((picture.start_s + at * picture.column_s) / COLUMN_S))
    assert len(set(seen)) == 1


def test_what_is_missing_is_no_number_and_a_new_trace_begins_again() -> None:
    recent = Recent(10.0)
    recent(block(0, 100))
    recent(block(150, 50, lost=50_000))
    picture = recent.picture(10.0, 1000)
    assert picture is not None
    assert (
        np.isnan(picture.mean_w[100:150]).all()
        and np.isfinite(picture.mean_w[150:]).all()
    )
    assert picture.lost == 50_000
    recent(block(0, 20, trace=2))
    picture = recent.picture(10.0, 1000)
    assert picture is not None and (picture.trace, len(picture.mean_w)) == (2, 20)
    assert picture.lost == 0


def test_rails_are_apart_and_nothing_is_nothing() -> None:
    recent = Recent(1.0)
    assert recent.picture(1.0, 100) is None and recent.newest_age_s == float("inf")
    recent(block(0, 10, "core"))
    recent(block(0, 30, "io"))
    assert recent.rails == ("core", "io")
    picture = recent.picture(1.0, 100, "io")
    assert picture is not None and (picture.rail, len(picture.mean_w)) == ("io", 30)
    assert recent.picture(1.0, 100, "other") is None
    assert 0 <= recent.newest_age_s < 60
    recent.clear()
    assert recent.rails == ()


def test_memory_does_not_grow_over_an_hour() -> None:
    recent = Recent(30.0)
    seconds = [block(at * 2000, 2000) for at in range(2)]

    def hour(begin: int, count: int) -> None:
        for second in range(begin, begin + count):
            each = seconds[second % 2]
            recent(
                LiveBlock(
                    "",
                    float(second),
                    COLUMN_S,
                    each.least_w,
                    mean_w=each.mean_w,
                    most_w=each.most_w,
                    falls_s=each.falls_s + second,
                    rises_s=each.rises_s + second,
                    lost=0,
                )
            )

    hour(0, 60)
    size_b = recent.size_b
    tracemalloc.start()
    try:
        hour(60, 60)
        first_b, _ = tracemalloc.get_traced_memory()
        hour(120, 3600)
        last_b, most_b = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert recent.size_b == size_b == 3 * 4 * (round(30.0 / COLUMN_S) + 1)
    assert last_b - first_b < 20_000
    assert most_b - first_b < 500_000


def test_a_block_longer_than_the_ring_leaves_its_end() -> None:
    recent = Recent(0.1)
    recent(block(0, 1000))
    picture = recent.picture(1.0, 1000)
    assert picture is not None
    assert picture.mean_w.tolist() == list(range(1000 - len(picture.mean_w), 1000))
    assert 200 <= len(picture.mean_w) <= 201
