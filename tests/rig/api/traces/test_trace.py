# SPDX-License-Identifier: Apache-2.0
"""A trace as arrays, and its summary through the index against all samples."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.trace.trace import Gap
from tests.traces import trace_writer

HZ = 100_000.0
LONG = 3_000_000
LOST = (1_500_000, 1_600_000)


@pytest.fixture(scope="module")
def long_trace(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[rig.SessionTrace, np.ndarray]:
    """A trace of 30 s with 1 s lost and some samples are not to be trusted."""
    folder = tmp_path_factory.mktemp("long")
    current = np.random.default_rng(1).normal(0.01, 1e-3, LONG).astype(np.float32)
    writer = trace_writer(folder, HZ)
    with writer:
        for start, stop in ((0, LOST[0]), (LOST[1], LONG)):
            voltage = np.full(stop - start, 3.0, dtype=np.float32)
            writer.analog(current[start:stop], voltage)
            levels = np.ones(stop - start, dtype=np.uint8)
            levels[100:103] = 0
            writer.sync(levels)
            if start == 0:
                writer.skip(LOST[1] - LOST[0], "for the test")
        writer.gap(Gap(200, 210, "not to be trusted"))
    known = current.astype(np.float64)
    known[LOST[0] : LOST[1]] = np.nan
    known[200:210] = np.nan
    return rig.open_trace(folder / "trace.jls"), known


def test_samples_of_a_window_and_their_times(
    long_trace: tuple[rig.SessionTrace, np.ndarray],
) -> None:
    trace, known = long_trace
    np.testing.assert_array_equal(trace.current(0.0019, 0.0022), known[190:220])
    assert np.isnan(trace.current(0.0020, 0.0021)).all()
    np.testing.assert_allclose(trace.power(0.0, 0.001), 3.0 * known[:100])
    times_s = trace.times(0.0019, 0.0022)
    assert times_s[0] == pytest.approx(190.5 / HZ) and len(times_s) == 30
    assert len(trace.current()) == len(trace.voltage()) == LONG
    assert len(trace.current(40.0, 50.0)) == 0


@pytest.mark.parametrize(
    ("start_s", "stop_s"),
    [(3.0, 100.0), (-5.0, 1.0), (40.0, 50.0), (2.0, 1.0), (math.nan, 1.0)],
)
def test_a_number_of_a_stretch_outside_the_trace_is_refused(
    long_trace: tuple[rig.SessionTrace, np.ndarray], start_s: float, stop_s: float
) -> None:
    trace, _ = long_trace
    numbers = (trace.energy, trace.statistics, trace.histogram, trace.export_bytes)
    for number in numbers:
        with pytest.raises(rig.DataError, match="is no stretch") as caught:
            number(start_s, stop_s)
        assert caught.value.evidence == f"it is {trace.duration_s:.9g} s long"
        assert "inside the trace" in caught.value.try_next
    # The end as it is printed is the end.
    printed_s = float(f"{trace.duration_s:.4g}") + 0.5 / HZ
    assert trace.energy(29.9, printed_s) == trace.energy(29.9) > 0


def test_levels_and_edges_of_sync(
    long_trace: tuple[rig.SessionTrace, np.ndarray],
) -> None:
    trace, _ = long_trace
    assert trace.sync(0.00097, 0.00105).tolist() == [1, 1, 1, 0, 0, 0, 1, 1]
    assert len(trace.sync_times(0.00097, 0.00105)) == 8
    np.testing.assert_allclose(trace.falls(0, 1), [99.5 / HZ])
    np.testing.assert_allclose(trace.rises(0, 1), [102.5 / HZ])


@pytest.mark.parametrize(
    ("start", "stop", "columns"), [(0.0, 30.0, 10), (0.0, 30.0, 700), (3.21, 28.9, 333)]
)
def test_a_summary_through_the_index_is_that_of_all_samples(
    long_trace: tuple[rig.SessionTrace, np.ndarray],
    start: float,
    stop: float,
    columns: int,
) -> None:
    trace, known = long_trace
    table = trace.summary(start, stop, columns, power=True)
    assert columns / 3 < len(table) <= columns
    assert table["start_s"].iloc[0] <= start
    assert table["stop_s"].iloc[-1] >= stop
    for row in table.itertuples():
        part = known[round(row.start_s * HZ) : round(row.stop_s * HZ)]
        part = part[np.isfinite(part)]
        result = (row.current_min_a, row.current_mean_a, row.current_max_a)
        if not len(part):
            assert np.isnan(result).all()
            continue
        np.testing.assert_allclose(
            result, (part.min(), part.mean(), part.max()), rtol=2e-6
        )
        assert row.power_mean_w == pytest.approx(3.0 * part.mean(), rel=2e-6)
    assert table["current_mean_a"].isna().any() == (columns > 30)


def test_a_short_summary_covers_exactly_its_window(
    long_trace: tuple[rig.SessionTrace, np.ndarray],
) -> None:
    trace, known = long_trace
    table = trace.summary(0.01, 0.02, 4)
    assert table["start_s"].tolist() == [0.01, 0.0125, 0.015, 0.0175]
    assert table["current_max_a"].iloc[1] == known[1250:1500].max()
    assert len(trace.summary(0.01, 0.01002, 1000)) == 2
    assert len(trace.summary(50.0, 60.0)) == 0


def test_a_table_of_another_program_is_opened(tmp_path: Path) -> None:
    rows = "".join(f"{k / 1000},{0.001 * (k % 3)}\n" for k in range(300))
    (tmp_path / "log.csv").write_text("time (s),current (A)\n" + rows)
    with rig.open_trace(tmp_path / "log.csv", supply_v=3.0) as trace:
        assert trace.sample_hz == pytest.approx(1000)
        np.testing.assert_allclose(
            trace.current(0.0, 0.003), [0, 0.001, 0.002], atol=1e-9
        )
        np.testing.assert_allclose(
            trace.power(0.0, 0.003), [0, 0.003, 0.006], atol=1e-9
        )
        with pytest.raises(rig.DataError, match="no SYNC"):
            trace.sync()
        assert "\n" not in repr(trace)
