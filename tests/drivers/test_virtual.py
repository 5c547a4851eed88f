# SPDX-License-Identifier: Apache-2.0
"""The virtual monitor has the errors of its settings, and no others."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from drivers.virtual import VirtualMonitor
from rig.errors import ConfigError, DeadlineError
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.trace.trace import Trace
from tests.waiting import eventually

MS = 1_000_000


def recorded(folder: Path, power_w: float = 0.033, **settings: float) -> Trace:
    context = BenchContext()
    quiet = {"noise_a": 0.0, "lsb_a": 0.0, "clock_ppm": 0.0} | settings
    monitor = VirtualMonitor.open(VirtualMonitor.Settings(**quiet), context)
    monitor.power(True)
    with monitor.record(folder):
        context.world.put(context.world.now_ns(), True, power_w)
        context.world.advance(1000 * MS)
    return Trace.open(folder / "trace.jls")


def current_a(trace: Trace) -> np.ndarray:
    return trace.power_w(0.1, 0.9)[1] / 3.3


def test_without_errors_it_measures_the_truth(tmp_path: Path) -> None:
    assert current_a(recorded(tmp_path)) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize(
    ("setting", "value", "mean_a"), [("gain", 0.02, 0.0102), ("offset_a", 1e-4, 0.0101)]
)
def test_a_calibration_error_shifts_the_mean(
    tmp_path: Path, setting: str, value: float, mean_a: float
) -> None:
    assert np.mean(current_a(recorded(tmp_path, **{setting: value}))) == pytest.approx(
        mean_a, rel=1e-5
    )


def test_an_error_of_the_voltage_is_one_of_the_power_too(tmp_path: Path) -> None:
    # current_a() divides by the true voltage.
    assert np.mean(
        current_a(recorded(tmp_path, voltage_offset_v=0.033))
    ) == pytest.approx(0.0101, rel=1e-5)


@pytest.mark.parametrize(
    ("power_w", "mean_a"), [(0.033, 0.0101 + 1e-4), (0.0165, 0.0051 + 5e-5)]
)
def test_two_ranges_have_errors_of_their_own(
    tmp_path: Path, power_w: float, mean_a: float
) -> None:
    trace = recorded(
        tmp_path,
        power_w,
        gain=0.01,
        offset_a=1e-4,
        low_a=0.007,
        low_gain=0.02,
        low_offset_a=5e-5,
    )
    assert np.mean(current_a(trace)) == pytest.approx(mean_a, rel=1e-5)


@pytest.mark.parametrize("edge_delay_s", [-2e-3, 0.0, 2e-3])
def test_sync_is_seen_later_than_power_by_the_delay(
    tmp_path: Path, edge_delay_s: float
) -> None:
    context = BenchContext()
    monitor = VirtualMonitor.open(
        VirtualMonitor.Settings(
            noise_a=0.0, lsb_a=0.0, clock_ppm=0.0, edge_delay_s=edge_delay_s
        ),
        context,
    )
    monitor.power(True)
    with monitor.record(tmp_path):
        for power_w in (0.01, 0.03, 0.02):
            context.world.put(context.world.now_ns(), False, power_w)
            context.world.put(context.world.now_ns() + MS // 10, True, power_w)
            context.world.advance(20 * MS)
    trace = Trace.open(tmp_path / "trace.jls")
    falls_s = trace.falls_s
    assert len(falls_s) == 3 and np.diff(falls_s) == pytest.approx(0.02, abs=5e-6)
    rise_s = next(
        at_s
        for at_s, power_w in zip(*trace.power_w(0.0, 0.06), strict=True)
        if power_w > 0.02
    )
    assert falls_s[1] - rise_s == pytest.approx(edge_delay_s, abs=1.5 / 200_000)


def test_noise_has_the_stated_deviation_and_no_mean(tmp_path: Path) -> None:
    seen = current_a(recorded(tmp_path, noise_a=1e-3))
    assert np.std(seen) == pytest.approx(1e-3, rel=0.02)
    assert np.mean(seen) == pytest.approx(0.01, abs=5 * 1e-3 / np.sqrt(len(seen)))


def test_the_converter_has_steps(tmp_path: Path) -> None:
    assert np.unique(
        np.rint(current_a(recorded(tmp_path, power_w=0.0345, lsb_a=3e-3)) * 1e6)
    ).tolist() == [9000.0]


@pytest.mark.parametrize("ppm", [-500.0, 500.0])
def test_a_fast_clock_takes_more_samples(tmp_path: Path, ppm: float) -> None:
    assert recorded(tmp_path, clock_ppm=ppm).length == pytest.approx(
        1.01 * 200_000 * (1 + ppm * 1e-6), abs=2
    )


@pytest.mark.parametrize("sample_hz", [0, 999, 1_000_001])
def test_a_rate_it_cannot_keep_is_refused(sample_hz: int) -> None:
    with pytest.raises(ConfigError, match=r"monitor\.virtual\.sample_hz: \d+ Hz"):
        checked(VirtualMonitor.Settings(sample_hz=sample_hz), "monitor.virtual")


@pytest.mark.paced
def test_a_state_that_comes_after_its_time_was_sampled_is_a_gap_not_a_lie(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    started_ns = time.monotonic_ns()
    # A horizon that promises too much: the state below comes 50 ms after its time has
    # been given away.
    context.world.follow(
        lambda: time.monotonic_ns() - started_ns,
        lambda: time.monotonic_ns() - started_ns,
    )
    monitor = VirtualMonitor.open(VirtualMonitor.Settings(), context)
    with monitor.record(tmp_path):
        time.sleep(0.15)  # the recording, until the late state
        late_ns = context.world.now_ns() - 50 * MS
        context.world.put(late_ns, False, 0.5)
        time.sleep(0.1)  # and after it
    monitor.close()
    gaps = Trace.open(tmp_path / "trace.jls").gaps
    assert len(gaps) == 1 and "too late" in gaps[0].cause
    # 50 ms late at 200 kS/s; on a busy machine the thread that samples may lag by some
    # of it.
    assert 1_000 < gaps[0].stop - gaps[0].start < 30_000


def test_states_that_come_late_at_the_end_of_a_recording_are_a_gap_too(
    tmp_path: Path,
) -> None:
    """No sample is taken after them: the log is looked at once more for their sake."""
    context = BenchContext()
    time_ns = [0]
    asked_ns: list[int] = []

    def horizon_ns() -> int:
        asked_ns.append(time_ns[0])
        return time_ns[0]

    context.world.follow(lambda: time_ns[0], horizon_ns)
    monitor = VirtualMonitor.open(VirtualMonitor.Settings(), context)
    with monitor.record(tmp_path):
        time_ns[0] = 300 * MS
        # On a second call it has sampled up to the time of the first.
        eventually(lambda: asked_ns.count(300 * MS) > 1)
        context.world.put(200 * MS, False, 0.5)
        context.world.put(201 * MS, True, 0.01)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert not len(trace.falls_s)
    assert [(gap.start // 1000, gap.stop // 1000) for gap in trace.gaps] == [(39, 59)]
    assert "100.0 ms too late" in trace.gaps[0].cause


def test_a_log_that_never_becomes_complete_ends_the_recording_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivers.virtual._COMPLETE_S", 0.1)
    context = BenchContext()
    time_ns = [0]
    context.world.follow(lambda: time_ns[0], lambda: 0)
    monitor = VirtualMonitor.open(VirtualMonitor.Settings(), context)
    with (
        pytest.raises(DeadlineError, match="end of the simulated device's log"),
        monitor.record(tmp_path),
    ):
        time_ns[0] = 300 * MS
    monitor.close()
