# SPDX-License-Identifier: Apache-2.0
"""The stored relation of an instrument to UTC is small and dates any sample."""

from __future__ import annotations

from bisect import bisect_right

from drivers.joulescope.block import TimeMap, TimeMaps

HZ = 2_000_000
MINUTE_S = 60
HOUR_S = 3600
TIME64_HZ = 2**30


def utc(count: int) -> int:
    """Return the true UTC of a count: the counter gains 20 ppm in the first half hour,
    and loses 30 after it.
    """
    turn = HOUR_S * HZ // 2
    first = min(count, turn)
    after = max(count - turn, 0)
    return round((first / (1 + 20e-6) + after / (1 - 30e-6)) / HZ * TIME64_HZ)


def test_any_sample_of_an_hour_can_be_dated_from_what_is_kept() -> None:
    maps = TimeMaps()
    for second in range(HOUR_S):
        count = second * HZ
        rate_hz = HZ * (1 + 20e-6 if second < HOUR_S // 2 else 1 - 30e-6)
        for _ in range(3):  # several blocks come with each map
            maps.note(TimeMap(utc(count), count, rate_hz))
    summary = maps.summary
    kept = summary["kept"]
    assert summary["count"] == HOUR_S and len(kept) <= HOUR_S // MINUTE_S + 1, "little"
    assert (
        summary["first"] == kept[0]
        and summary["last"]["offset_counter"] == (HOUR_S - 1) * HZ
    )
    starts = [item["offset_counter"] for item in kept]
    for count in range(0, HOUR_S * HZ, 7_777_777):
        used = kept[bisect_right(starts, count) - 1]
        told_utc = (
            used["offset_time"]
            + (count - used["offset_counter"]) * TIME64_HZ / used["counter_rate"]
        )
        # Within a minute the clock may have turned by 50 ppm.
        assert abs(told_utc - utc(count)) <= 50e-6 * MINUTE_S * TIME64_HZ


def test_where_no_block_came_nothing_is_known() -> None:
    assert TimeMaps().summary == {
        "count": 0,
        "first": {},
        "kept": [],
        "last": {},
        "counter_rates_hz": None,
    }


def test_a_counter_that_begins_again_is_followed_and_one_without_a_rate_fills_no_memory():
    maps = TimeMaps()
    for second in (*range(0, 6000, 61), *range(0, 600, 61)):
        maps.note(TimeMap(utc(second * HZ), second * HZ, float(HZ)))
    counts = [item["offset_counter"] for item in maps.summary["kept"]]
    assert 0 in counts[1:], "from there on, later samples have a map of their own"
    still = TimeMaps()
    for number in range(1000):
        still.note(TimeMap(number, number, 0.0))
    assert still.summary["count"] == 1000 and len(still.summary["kept"]) == 1
