# SPDX-License-Identifier: Apache-2.0
"""Windows by edges, markers, times, stamps and a threshold, with contents and
uncertainties computed by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rig.errors import ConfigError, DataError
from rig.measure import trace_windows
from rig.measure.spread import spread_of
from rig.measure.stamps import by_stamps
from rig.measure.threshold import by_threshold
from rig.measure.trace_windows import TraceSpan, WindowRow
from rig.measure.with_stamps import with_stamps
from rig.trace.marker import Marker
from rig.trace.trace import TRACE, Trace
from rig.uncertainty.accuracy import Accuracy, Range
from tests.traces import trace_writer

HZ = 1000
#: The standard deviation of an even distribution one wide.
EVEN = 0.288675134594813


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Record a second: 1 mA, between 0.2 s and 0.3 s 5 mA, at 2 V; SYNC is low there
    and from 0.6 s to 0.8 s."""
    folder = tmp_path_factory.mktemp("trace")
    current = np.full(HZ, 1e-3, np.float32)
    current[200:300] = 5e-3
    sync = np.ones(HZ, np.uint8)
    sync[200:300] = 0
    sync[600:800] = 0
    with trace_writer(folder, HZ) as writer:
        writer.analog(current, np.full(HZ, 2.0, np.float32))
        writer.sync(sync)
    return Trace.open(folder / TRACE)


def bounds(spans: list[TraceSpan]) -> list[tuple[str, float, float]]:
    return [
        (span.name, round(span.start_s, 4), round(span.stop_s, 4)) for span in spans
    ]


@pytest.mark.parametrize(
    ("pattern", "due"),
    [
        ("fall-rise", [("1", 0.1995, 0.2995), ("2", 0.5995, 0.7995)]),
        ("rise-fall", [("1", 0.2995, 0.5995)]),
        ("fall-fall", [("1", 0.1995, 0.5995)]),
        ("rise-rise", [("1", 0.2995, 0.7995)]),
    ],
)
def test_a_window_is_from_an_edge_to_the_next_of_the_other_kind(
    trace: Trace, pattern: str, due: list[tuple[str, float, float]]
) -> None:
    spans = trace_windows.by_edges(trace, pattern)
    assert bounds(spans) == due
    assert [span.end_u_s for span in spans] == pytest.approx([EVEN / HZ] * len(spans))


def test_a_window_above_a_threshold_begins_and_ends_within_a_sample(
    trace: Trace,
) -> None:
    (span,) = by_threshold(trace, 2e-3)
    assert (span.name, span.start_s, span.stop_s) == ("1", 0.2, 0.3)
    assert span.end_u_s == pytest.approx(EVEN / HZ)
    # All of it is above, or none.
    for threshold_a in (0.5e-3, 6e-3):
        with pytest.raises(DataError, match="does not rise above"):
            by_threshold(trace, threshold_a)


def test_a_stretch_of_the_second_sample_is_known_and_of_the_first_is_not(
    tmp_path: Path,
) -> None:
    for first, due in ((1, [(0.001, 0.005), (0.008, 0.009)]), (0, [(0.008, 0.009)])):
        folder = tmp_path / str(first)
        folder.mkdir()
        current = np.zeros(20, np.float32)
        current[first:5] = 1.0
        current[8] = 1.0
        current[15:] = 1.0
        with trace_writer(folder, HZ) as writer:
            writer.analog(current, np.ones(20, np.float32))
        spans = by_threshold(Trace.open(folder / TRACE), 0.5)
        assert [(span.start_s, span.stop_s) for span in spans] == due
        assert [span.name for span in spans] == [str(k + 1) for k in range(len(due))]


@pytest.mark.parametrize(
    ("text", "due", "end_u_s"),
    [
        ("0.1 0.25\n0.3 0.4\n", [("1", 0.1, 0.25), ("2", 0.3, 0.4)], [0.1, 0.1]),
        ("0.5\n1.25\n2\n", [("1", 0.5, 1.25), ("2", 1.25, 2.0)], [0.1, 1.0]),
    ],
)
def test_an_end_is_known_to_a_digit_of_its_stamp(
    text: str, due: list[tuple[str, float, float]], end_u_s: list[float], tmp_path: Path
) -> None:
    (tmp_path / "stamps.txt").write_text(text)
    spans = by_stamps(tmp_path / "stamps.txt")
    assert bounds(spans) == due
    # The coarser of its two stamps counts.
    assert [span.end_u_s for span in spans] == pytest.approx(
        [EVEN * digit_s for digit_s in end_u_s]
    )


@pytest.mark.parametrize("text", ["-0.1 0.2\n", "0.2 0.2\n", "0.3 0.2\n", "0.5\n"])
def test_stamps_that_begin_no_window_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "stamps.txt").write_text(text)
    with pytest.raises(DataError):
        by_stamps(tmp_path / "stamps.txt")


@pytest.mark.parametrize(
    ("text", "start_s", "stop_s"),
    [("0-0.5", 0.0, 0.5), ("0.1-2", 0.1, 2.0), ("1e-3-2E-3", 1e-3, 2e-3)],
)
def test_times_have_a_start_and_a_later_stop(
    text: str, start_s: float, stop_s: float
) -> None:
    spans = trace_windows.by_times(["0.5-1", text])
    assert spans[1] == TraceSpan("2", start_s, stop_s)


@pytest.mark.parametrize("text", ["0.5-0.5", "-0.1-1", "1-inf", "1", "a-b", "2-1"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        trace_windows.by_times([text])


def test_markers_make_windows_in_pairs_or_one_after_the_other() -> None:
    def marker(name: str, at_s: float, kind: str = "vertical") -> Marker:
        return Marker(kind=kind, name=name, at_s=at_s)

    paired = [marker("1b", 3.0), marker("1a", 1.0), marker("x", 9.0)]
    assert trace_windows.by_markers(paired) == [TraceSpan("1", 1.0, 3.0)]
    single = [marker("a", 1.0), marker("b", 2.5), marker("t", 2.0, "text")]
    assert trace_windows.by_markers(single) == [TraceSpan("a to b", 1.0, 2.5)]
    texts = [marker("a", 1.0), marker("t", 2.0, "text"), marker("u", 4.0, "text")]
    assert trace_windows.by_markers(texts) == [TraceSpan("t to u", 2.0, 4.0)]
    for odd in ([marker("1a", 1.0)], [marker("a", 1.0)], []):
        with pytest.raises(DataError):
            trace_windows.by_markers(odd)


#: Gain and offset of 1 mA on currents, 1 % of voltages; a clock of 100 ppm.
ACCURACY = Accuracy(
    (Range(1.0, 0.0, 1e-3),), (Range(5.0, 0.01, 0.0),), 100.0, "made up"
)


def test_a_window_by_times_has_its_content_with_the_instruments_uncertainty(
    trace: Trace,
) -> None:
    spans = [TraceSpan("1", 0.1, 0.25), TraceSpan("2", 0.4, 0.5)]
    first, second, total = trace_windows.tabulate(trace, spans, ACCURACY)
    # 100 samples of 1 mA and 50 of 5 mA, at 2 V.
    assert (first.name, first.start_s) == ("1", 0.1)
    assert first.duration_s == pytest.approx(0.15)
    assert first.charge_c == pytest.approx(0.1 * 1e-3 + 0.05 * 5e-3)
    assert first.energy_j == pytest.approx(2 * 3.5e-4)
    assert first.mean_w == pytest.approx(7e-4 / 0.15)
    assert first.mean_a == pytest.approx(3.5e-4 / 0.15)
    assert (first.least_w, first.most_w) == pytest.approx((2e-3, 10e-3))
    offset_as = 1e-3 * 0.15 / math.sqrt(3)
    clock = 100e-6 / math.sqrt(3)
    gain_j = 0.01 * 7e-4 / math.sqrt(3)
    assert first.charge_u_c == pytest.approx(
        math.hypot(offset_as, clock * 3.5e-4), rel=1e-3
    )
    assert first.energy_u_j == pytest.approx(
        math.hypot(2 * offset_as, gain_j, clock * 7e-4), rel=1e-3
    )
    assert first.mean_u_w == pytest.approx(
        math.hypot(2 * offset_as, gain_j) / 0.15, rel=1e-3
    )
    assert first.mean_u_a == pytest.approx(offset_as / 0.15, rel=1e-3)
    assert second.energy_j == pytest.approx(2e-4)
    # Offset and gain are the same in both: they add up.
    assert (total.name, total.start_s) == ("total", None)
    assert total.duration_s == pytest.approx(0.25)
    assert total.energy_j == pytest.approx(9e-4)
    assert total.energy_u_j == pytest.approx(
        math.hypot(2e-3 * 0.25, 0.01 * 9e-4, 100e-6 * 9e-4) / math.sqrt(3), rel=1e-3
    )
    with_intervals = trace_windows.with_intervals(first)
    for unit in ("energy_{}_j", "charge_{}_c", "mean_{}_w", "mean_{}_a"):
        u = getattr(first, unit.format("u"))
        assert getattr(with_intervals, unit.format("u95")) == pytest.approx(
            1.959964 * u
        )


def test_power_alone_has_no_charge_and_no_limits_no_uncertainty(trace: Trace) -> None:
    spans = [TraceSpan("1", 0.1, 0.25)]
    row, _ = trace_windows.tabulate(trace, spans, ACCURACY, has_current=False)
    assert (row.charge_c, row.mean_a, row.charge_u_c, row.mean_u_a) == (None,) * 4
    assert row.energy_u_j is not None
    row, _ = trace_windows.tabulate(trace, spans, None)
    assert (row.energy_u_j, row.mean_u_w, row.charge_u_c, row.mean_u_a) == (None,) * 4
    assert row.charge_c == pytest.approx(3.5e-4)


@pytest.mark.parametrize(("second", "problem"), [(0.25, ""), (0.24, "windows overlap")])
def test_windows_that_overlap_have_no_sum(
    trace: Trace, second: float, problem: str
) -> None:
    spans = [TraceSpan("2", second, 0.5), TraceSpan("1", 0.1, 0.25)]
    *_, total = trace_windows.tabulate(trace, spans, None)
    assert total.problem.startswith(problem)
    assert (total.energy_j is None) is bool(problem)
    assert total.duration_s == pytest.approx(0.15 + 0.5 - second)


def test_the_whole_trace_is_one_window(trace: Trace) -> None:
    assert trace_windows.whole(trace) == [TraceSpan("whole", 0.0, 1.0)]


def test_a_spread_has_the_moments_of_its_windows_each_divided() -> None:
    rows = [WindowRow("w", 0.0, 1.0, energy_j=each) for each in (2.0, 4.0, 12.0)]
    result = spread_of(rows, per=2)
    assert result is not None
    assert (result.windows, result.per) == (3, 2)
    assert (result.mean_j, result.median_j) == (3.0, 2.0)
    # Squares of -2, -1 and 3, over two.
    assert result.deviation_j == pytest.approx(math.sqrt(7))
    assert (result.least_j, result.most_j) == (1.0, 6.0)
    assert result.text() == (
        "energy of each of 2 in a window, 3 windows: mean 3 J, median 2 J,\n"
        "spread 2.6458 J (88 %), 1 J to 6 J"
    )
    assert spread_of(rows[:1]) is None
    assert spread_of([*rows, WindowRow("w", 0.0, 1.0)]) is None
    two = spread_of(rows[:2])
    assert two is not None
    assert two.text().startswith("energy, 2 windows: mean 3 J")


class _Errors:
    """Stamps that cause 3 mJ and 4 mC a second of a window."""

    def energy_u_j(self, start_s: float, stop_s: float) -> float:
        return 3e-3 * (stop_s - start_s)

    def charge_u_c(self, start_s: float, stop_s: float) -> float:
        return 4e-3 * (stop_s - start_s)


def test_stamps_add_in_squares_to_each_window_and_to_the_sum() -> None:
    spans = [TraceSpan("1", 0.0, 1.0), TraceSpan("2", 5.0, 7.0)]
    rows = [
        WindowRow("1", 0.0, 1.0, energy_u_j=4e-3, mean_u_w=4e-3),
        WindowRow("2", 5.0, 2.0, charge_u_c=6e-3, mean_u_a=3e-3),
        WindowRow("total", None, 3.0, energy_u_j=0.0, mean_u_w=0.0, charge_u_c=0.0),
    ]
    stamps: Any = _Errors()
    first, second, total = with_stamps(rows, spans, stamps)
    assert first.energy_u_j == pytest.approx(5e-3)
    assert first.mean_u_w == pytest.approx(5e-3)
    assert (first.charge_u_c, first.mean_u_a) == (None, None)
    assert second.charge_u_c == pytest.approx(10e-3)
    assert second.mean_u_a == pytest.approx(5e-3)
    assert total.energy_u_j == pytest.approx(3e-3 * math.sqrt(5))
    assert total.mean_u_w == pytest.approx(1e-3 * math.sqrt(5))
    assert total.charge_u_c == pytest.approx(4e-3 * math.sqrt(5))
