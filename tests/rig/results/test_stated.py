# SPDX-License-Identifier: Apache-2.0
"""How a metric and its intervals are written."""

from __future__ import annotations

import math

import pytest

from rig.files import typed
from rig.results.document import IntervalResult, MetricResult
from rig.results.metric_result import interval_result
from rig.results.stated import Notes, beside, ends, stated
from rig.stats.interval import Interval


def metric(
    value: float | None, unit: str, same: Interval, other: Interval, error: float | None
) -> MetricResult:
    return MetricResult(
        value=value,
        unit=unit,
        higher_is_better=None,
        standard_error_over_samples=error,
        same_samples=_written(same),
        other_samples=_written(other),
        budget=(),
        per_trial=(),
    )


def _written(interval: Interval) -> IntervalResult:
    """Return an interval as its reader has it: None instead of infinite ends."""
    return typed.from_json(
        IntervalResult, typed.to_json(interval_result(interval)), "an interval"
    )


def test_all_is_in_the_unit_of_the_value_and_each_width_has_two_digits() -> None:
    same = Interval.around(0.88624, 0.000055, 2.0, "budget")
    other = Interval(0.65, 1.2, "jackknife")
    shown = stated(metric(0.88624, "s", same, other, 0.088))
    assert (shown.value, shown.unit) == ("886.24", "ms")
    assert (shown.same_samples, shown.other_samples, shown.standard_error) == (
        "± 0.11",
        "650 to 1200",
        "88",
    )


def test_a_value_far_below_its_width_is_in_the_unit_of_the_width() -> None:
    same = Interval.around(-6e-9, 0.0155, 2.0, "budget")
    shown = stated(metric(-6e-9, "W", same, Interval.missing("one trial"), None))
    assert (shown.value, shown.same_samples, shown.unit) == ("0", "± 31", "mW")


def test_a_share_keeps_the_digits_that_its_narrower_interval_tells() -> None:
    shown = stated(
        metric(
            0.475,
            "1",
            Interval(0.4562, 0.4938, "t"),
            Interval(0.1812, 0.7634, "kg"),
            0.0458,
        )
    )
    assert (shown.value, shown.unit, shown.same_samples, shown.other_samples) == (
        "0.475",
        "",
        "0.456 to 0.494",
        "0.18 to 0.76",
    )


def test_what_is_not_stated_is_none_and_what_has_one_end_says_which() -> None:
    assert ends(_written(Interval.missing("2 cities")), 1.0) == "not known: 2 cities"
    assert ends(_written(Interval(0.0931, math.inf, "ranks")), 0.1) == "at least 0.0931"
    assert ends(_written(Interval(-math.inf, 0.0931, "ranks")), 0.05) == "at most 0.093"
    assert (
        ends(_written(Interval(0.0931, math.inf, "ranks")), None) == "at least 0.09310"
    )
    assert ends(_written(Interval(-math.inf, math.inf, "ranks")), 1.0) == "no bound"


def test_each_end_has_the_digits_of_its_own_distance_from_the_value() -> None:
    assert ends(_written(Interval(150.2, 1_028_530.0, "t")), 448.0) == "150 to 1000000"
    assert ends(_written(Interval(0.5412, 0.99981, "logit")), 0.99) == "0.54 to 0.9998"
    assert ends(_written(Interval(0.0, 0.0312, "exact")), 0.0) == "0.000 to 0.031"


def test_a_long_reason_is_a_note_below_the_table_and_a_short_one_stands_in_its_cell():
    notes = Notes()
    long = "60 samples of 12 recordings, the percentile needs 368"
    short, unknown, known = (
        _written(Interval.missing("2 cities")),
        _written(Interval.missing(long)),
        _written(Interval.around(1.0, 0.05, 2.0, "budget")),
    )
    assert notes.cell(short, 1.0) == "not known: 2 cities"
    cells = [notes.cell(row, 1.0) for row in (unknown, known, unknown)]
    assert cells == ["not known [1]", "± 0.10", "not known [1]"]
    assert notes.lines == [f"[1] not known: {long}"]
    bounded = _written(Interval(0.5, 1.5, "ranks"))
    rows = [beside(row, 1.0, 1.0, notes) for row in (unknown, known, bounded)]
    assert rows == ["(not known [1])", "± 0.10", "(0.50 to 1.50)"]


@pytest.mark.parametrize("value", [None, 0.0, 1.0])
def test_a_value_without_any_width_has_some_digits(value: float | None) -> None:
    shown = stated(
        metric(
            value,
            "1",
            Interval.missing("one trial"),
            Interval.missing("one sample"),
            None,
        )
    )
    assert (
        shown.value == ("-" if value is None else f"{value:.3f}")
        and shown.standard_error == ""
    )


def test_a_width_of_nothing_is_written_as_such() -> None:
    assert (
        ends(_written(Interval.around(1.0, 0.0, 2.0, "equal in all trials")), 1.0)
        == "± 0"
    )
