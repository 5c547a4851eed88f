# SPDX-License-Identifier: Apache-2.0
"""The processor's energy counters: no joule is lost between counter and trace, and
every way to fail says what to do.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyjls
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.host_counters.grid import CounterGrid, counted
from drivers.host_counters.rapl import Rapl, ZoneCounter, modulus_nj, zones
from drivers.host_counters.recording import CounterRecording, HostClock, Polling
from drivers.host_counters.sim.rapl import FAULTS, RaplSimulator
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin
from rig.settings.check import checked
from rig.simulation.world import World
from rig.trace.trace import Trace
from tests.length import length
from tests.waiting import own_threads

MS = 1_000_000
SIMULATED = Rapl.Settings(root="simulator")
NOBODY = 65534


def about(folder: Path) -> dict[str, object]:
    result: list[dict[str, object]] = []
    reader = pyjls.Reader(str(folder / "trace.jls"))
    reader.user_data(
        lambda meta, data: (
            result.append(data if isinstance(data, dict) else json.loads(data))
            if meta == 1
            else None
        )
    )
    reader.close()
    return result[0]


def draw(context: BenchContext, power_w: float, duration_ms: int) -> None:
    context.world.put(context.world.now_ns(), True, power_w)
    context.world.advance(duration_ms * MS)


# -- the grid
# --------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.integers(1, 300_000_000), st.integers(0, 10**12)),
    min_size=1,
    max_size=60,
)


@settings(max_examples=length(100, 30))
@given(STEPS, st.integers(1, 1000), st.floats(0, 1e6))
def test_the_energy_of_all_samples_and_of_the_rest_is_the_difference_of_the_counter(
    steps: list[tuple[int, int]], sample_hz: int, first_j: float
) -> None:
    grid = CounterGrid(sample_hz, 1.0)
    time_ns = 5_000
    energy_nj = 0
    samples = [grid.put(time_ns, first_j)]
    for step_ns, step_nj in steps:
        time_ns = time_ns + step_ns
        energy_nj = energy_nj + step_nj
        samples.append(grid.put(time_ns, first_j + energy_nj * 1e-9))
    total_j = (
        float(np.sum(np.concatenate(samples), dtype=np.float64)) / sample_hz
        + grid.rest_j
    )
    assert total_j == pytest.approx(
        energy_nj * 1e-9, rel=1e-9, abs=1e-9 * max(first_j, 1e-3)
    )


@settings(max_examples=length(100, 30))
@given(STEPS, st.sampled_from([1, 7, 100, 1000]))
def test_at_every_time_of_the_grid_the_samples_add_up_to_the_straight_line_between_readings(
    steps: list[tuple[int, int]], sample_hz: int
) -> None:
    grid = CounterGrid(sample_hz, 1.0)
    times = np.concatenate([[0], np.cumsum([step_ns for step_ns, _ in steps])])
    energies = (
        np.concatenate([[0], np.cumsum([step_nj for _, step_nj in steps])]) * 1e-9
    )
    samples = np.concatenate(
        [grid.put(int(t), float(e)) for t, e in zip(times, energies, strict=True)]
    ).astype(np.float64)
    ends_ns = np.arange(1, len(samples) + 1) * 1e9 / sample_hz
    assert np.cumsum(samples) / sample_hz == pytest.approx(
        np.interp(ends_ns, times, energies), rel=1e-6, abs=1e-6
    )
    assert 0 <= times[-1] - len(samples) * 1e9 / sample_hz < 1e9 / sample_hz + 1, (
        "only the last, unfinished sample is missing"
    )


def test_a_stretch_without_readings_is_a_gap_from_its_first_to_its_last_sample():
    grid = CounterGrid(100, 0.05)
    for time_ns in (0, 10 * MS, 20 * MS, 95 * MS, 105 * MS):
        grid.put(time_ns, time_ns * 1e-9)
    assert [(gap.start, gap.stop) for gap in grid.gaps()] == [(2, 10)]
    assert not list(grid.gaps())


def test_readings_out_of_order_are_refused() -> None:
    grid = CounterGrid(100, 0.05)
    grid.put(10, 0.0)
    with pytest.raises(ValueError, match="comes after"):
        grid.put(10, 0.0)


@given(st.integers(1, 1000), st.integers(0, 10**6), st.data())
def test_a_step_across_the_wrap_is_as_long_as_any_other(
    modulus: int, start: int, data: st.DataObject
) -> None:
    step = data.draw(st.integers(0, modulus - 1))
    assert (
        counted(start % modulus, (start + step) % modulus, modulus, modulus - 1) == step
    )


def test_a_step_back_that_no_wrap_explains_is_none() -> None:
    assert counted(100, 99, 1000, 998) is None
    assert counted(100, 99, None, 998) is None
    assert counted(100, 1100, None, 998) is None


@pytest.mark.parametrize(
    ("largest_uj", "modulus"),
    [
        (262_143_328_850, 2**32 * 61_035),
        (65_712_999_613, 2**32 * 15_300),
        (65_532_610_987, 2**32 * 15_258),
        (1000, 1_001_000),
    ],
)
def test_the_range_that_the_kernel_shows_is_one_unit_short_of_the_wrap(
    largest_uj: int, modulus: int
) -> None:
    assert modulus_nj(largest_uj) == modulus


# -- a recording
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 4_000_000_000, 2**32 - 30_000])
@pytest.mark.parametrize("poll_hz", [30, 100, 1000])
def test_the_energy_of_a_known_load_is_found_also_across_a_wrap(
    tmp_path: Path, first: int, poll_hz: int
) -> None:
    context = BenchContext()
    settings = replace(
        SIMULATED,
        poll_hz=poll_hz,
        longest_s=0.1,
        simulator=RaplSimulator.Settings(first=first),
    )
    monitor = Rapl.open(settings, context)
    with monitor.record(tmp_path):
        draw(context, 2.0, 200)
        draw(context, 12.0, 300)
        draw(context, 2.0, 200)
        end_ns = context.world.now_ns()
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.gaps == () and len(trace.falls_s) == len(trace.rises_s) == 0
    start_ns = int(str(about(tmp_path)["start_monotonic_ns"])) - World().monotonic_ns
    stop_s = trace.duration_s
    expected_j = (
        context.world.true_energy_j(start_ns, start_ns + round(stop_s * 1e9))
        + 5.0 * stop_s
    )
    # The counter is late by up to 1 ms at either end, at 17 W; 3 ppm is the rounding of
    # the kernel's unit.
    assert trace.energy_j(0.0, stop_s) == pytest.approx(
        expected_j, abs=2e-3 * 17.0 + 1e-4
    )
    assert start_ns + stop_s * 1e9 >= end_ns, "everything up to the end is there"


def test_the_trace_says_where_its_time_0_lies_on_the_clock_of_the_host(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    context.world.advance(123 * MS)
    monitor = Rapl.open(SIMULATED, context)
    context.world.advance(100 * MS)
    with monitor.record(tmp_path):
        draw(context, 1.0, 195)
        draw(context, 21.0, 200)
    monitor.close()
    held = about(tmp_path)
    trace = Trace.open(tmp_path / "trace.jls")
    start_s = (int(str(held["start_monotonic_ns"])) - World().monotonic_ns) * 1e-9
    times_s, power_w = trace.power_w(0.0, trace.duration_s)
    step_s = start_s + float(times_s[int(np.argmax(power_w > 16.0))])
    assert step_s == pytest.approx(0.123 + 0.1 + 0.05 + 0.195, abs=0.012)
    assert held["simulated"] is True and "1 V stands in" in str(held["voltage"])


def test_the_clock_of_the_host_may_err(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = Rapl.open(
        replace(SIMULATED, simulator=RaplSimulator.Settings(clock_ppm=20_000.0)),
        context,
    )
    with monitor.record(tmp_path):
        draw(context, 1.0, 2000)
    monitor.close()
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.5, 1.5) == pytest.approx(
        6.0 / 1.02, rel=1e-3
    )


def test_a_part_that_is_switched_off_draws_no_current_and_is_no_fault(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = Rapl.open(replace(SIMULATED, domain="uncore"), context)
    with monitor.record(tmp_path):
        draw(context, 10.0, 1500)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert (
        trace.energy_j(0.0, trace.duration_s) == 0.0
        and trace.gaps == ()
        and trace.duration_s > 1.5
    )


@pytest.mark.parametrize(
    ("domain", "share"),
    [("package-0/core", 0.7), ("dram", 0.25), ("psys", 1.5), ("intel-rapl:0:2", 0.25)],
)
def test_each_domain_is_recorded_in_its_own_unit(
    tmp_path: Path, domain: str, share: float
) -> None:
    context = BenchContext()
    monitor = Rapl.open(replace(SIMULATED, domain=domain), context)
    with monitor.record(tmp_path):
        draw(context, 15.0, 1000)
    monitor.close()
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.2, 0.8) == pytest.approx(
        20.0 * share, rel=2e-3
    )


def test_a_second_recording_sees_nothing_of_the_first(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = Rapl.open(SIMULATED, context)
    for name, power_w in (("one", 50.0), ("two", 1.0)):
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            draw(context, power_w, 300)
        context.world.advance(5_000 * MS)
        trace = Trace.open(tmp_path / name / "trace.jls")
        assert trace.mean_w(0.1, trace.duration_s - 0.05) == pytest.approx(
            power_w + 5.0, rel=0.03
        )
    monitor.close()


def test_a_long_step_of_virtual_time_is_recorded_whole(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = Rapl.open(SIMULATED, context)
    with monitor.record(tmp_path):
        draw(context, 3.0, 20_000)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert (
        trace.duration_s > 20.0
        and trace.mean_w(1.0, 19.0) == pytest.approx(8.0, rel=1e-4)
        and trace.gaps == ()
    )


def test_an_exception_in_a_recording_leaves_a_closed_trace_and_no_thread(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    threads = own_threads()
    monitor = Rapl.open(SIMULATED, context)
    with pytest.raises(BenchError, match="cable"), monitor.record(tmp_path):
        draw(context, 1.0, 200)
        raise BenchError("the cable is out")
    monitor.close()
    assert Trace.open(tmp_path / "trace.jls").duration_s == pytest.approx(
        0.25, abs=0.02
    )
    assert own_threads() == threads


def test_an_interrupt_while_a_recording_starts_ends_its_thread(tmp_path: Path) -> None:
    context = BenchContext()
    threads = own_threads()
    monitor = Rapl.open(SIMULATED, context)

    def interrupted(duration_ns: int) -> None:
        raise KeyboardInterrupt

    context.world.wait = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), monitor.record(tmp_path):
        pass
    monitor.close()
    assert own_threads() == threads and not list(tmp_path.glob("*.partial"))


def test_closing_removes_the_simulated_files_and_may_be_done_twice() -> None:
    monitor = Rapl.open(SIMULATED, BenchContext())
    assert monitor.simulator and monitor.simulator.root.exists()
    monitor.power(False)
    monitor.close()
    monitor.close()
    assert not monitor.simulator.root.exists()


# -- what can go wrong
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Run as the user nobody for a while: root may read every file."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def recorded_with(
    fault: str, folder: Path, settings: Rapl.Settings = SIMULATED
) -> None:
    context = BenchContext()
    monitor = Rapl.open(settings, context)
    assert monitor.simulator is not None
    try:
        with monitor.record(folder) as recording:
            draw(context, 1.0, 300)
            monitor.simulator.fault = fault
            draw(context, 1.0, 3000)
            recording.check()
    finally:
        monitor.close()


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("vanish", DeviceLost, "is gone"),
        ("backwards", BenchError, "ran backwards"),
        ("stuck", BenchError, "stands still"),
        ("garbage", BenchError, "shows no number"),
    ],
)
def test_each_fault_of_the_counter_is_its_own_error_and_what_was_before_is_kept(
    tmp_path: Path, fault: str, kind: type[BenchError], message: str
) -> None:
    assert fault in FAULTS
    with pytest.raises(kind, match=message) as caught:
        recorded_with(fault, tmp_path)
    assert (
        type(caught.value) is kind and caught.value.evidence and caught.value.try_next
    )
    trace = Trace.open(tmp_path / "trace.jls")
    assert (
        trace.duration_s >= 0.2
        and trace.mean_w(0.05, 0.2) == pytest.approx(6.0, rel=0.02)
        and trace.gaps == ()
    )


def test_a_counter_that_only_root_may_read_tells_how_to_change_that(
    unprivileged: None,
) -> None:
    simulator = RaplSimulator(RaplSimulator.Settings(), BenchContext().world)
    simulator.fault = "permission"
    simulator.counter.updated()
    settings = Rapl.Settings(root=str(simulator.root), gain_limit=0.1)
    with pytest.raises(BenchError, match="no permission") as caught:
        Rapl.open(settings, BenchContext())
    assert "chmod" in caught.value.try_next and "udev" in caught.value.try_next
    result = Rapl.scan(str(simulator.root))
    assert len(result) == 5 and all(
        "no permission" in row.problem and "chmod" in row.try_next for row in result
    )
    simulator.close()


def test_slow_updates_of_the_counter_are_gaps_and_their_energy_is_not_lost(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = Rapl.open(
        replace(SIMULATED, simulator=RaplSimulator.Settings(update_s=0.2)), context
    )
    with monitor.record(tmp_path):
        draw(context, 5.0, 2000)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.gaps and all(
        trace.gap_between(at, at + 0.05) for at in (0.1, 0.5, 1.0, 1.5)
    )
    assert trace.mean_w(0.2, 1.4) == pytest.approx(10.0, rel=0.06)


def test_a_thread_that_got_no_processor_leaves_one_gap_with_the_right_energy(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = Rapl.open(SIMULATED, context)
    assert monitor.simulator is not None
    with monitor.record(tmp_path):
        draw(context, 1.0, 300)
        monitor.simulator.counter.stall_s = 0.2
        draw(context, 1.0, 1000)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.gaps) == 1 and "not read for 2" in trace.gaps[0].cause
    assert 20 <= trace.gaps[0].stop - trace.gaps[0].start <= 23
    assert trace.mean_w(0.1, 1.2) == pytest.approx(6.0, rel=2e-3)


class Scripted(HostClock):
    """A counter of 6 W that takes 8 ms to read on request; its own clock."""

    name = "a scripted counter"
    always_moves = False

    def __init__(self, slow: set[int]) -> None:
        self.time_ns = 0
        self.reads = 0
        self.slow = slow

    def now_ns(self) -> int:
        return self.time_ns

    read_ns = now_ns

    def let_pass(self, duration_ns: int) -> None:
        threading.Event().wait(0.05)

    def wait_until(self, time_ns: int, sooner: threading.Event | None) -> None:
        self.time_ns = max(time_ns, self.time_ns)

    def count(self) -> int:
        count = 6 * self.time_ns
        self.reads = self.reads + 1
        self.time_ns += 8 * MS if self.reads in self.slow else 0
        return count

    def energy_j(self, previous: int, present: int, elapsed_s: float) -> float:
        return (present - previous) * 1e-9


@pytest.mark.paced
def test_a_reading_that_took_long_is_left_out_counted_and_its_energy_comes_with_the_next(
    tmp_path: Path,
) -> None:
    counter = Scripted({20, 30, 40})
    polling = Polling(100, longest_s=0.05, spread_s=0.005, start_s=0.0, lag_s=0.0)
    with CounterRecording(
        counter, counter, polling, tmp_path, source="scripted", serial="", about={}
    ) as recording:
        pass
    assert recording.discarded == 3
    trace = Trace.open(tmp_path / "trace.jls")
    assert (
        trace.power_w(0.0, trace.duration_s)[1] == pytest.approx(6.0, rel=1e-6)
        and trace.gaps == ()
    )


def test_a_counter_that_can_never_be_read_in_time_is_an_error(tmp_path: Path) -> None:
    counter = Scripted(set(range(10, 10_000)))
    polling = Polling(100, longest_s=0.05, spread_s=0.005, start_s=0.0, lag_s=0.0)
    with (
        pytest.raises(BenchError, match="cannot be read in time"),
        CounterRecording(
            counter, counter, polling, tmp_path, source="scripted", serial="", about={}
        ),
    ):
        threading.Event().wait(0.1)


def test_a_domain_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(DeviceNotFound, match="no energy counter named gpu") as caught:
        Rapl.open(replace(SIMULATED, domain="gpu"), BenchContext())
    assert (
        "package-0, package-0/core, package-0/uncore, package-0/dram, psys"
        in caught.value.evidence
    )


def test_a_machine_without_counters_names_a_possible_reason(tmp_path: Path) -> None:
    with pytest.raises(DeviceNotFound, match="no energy counters") as caught:
        Rapl.open(Rapl.Settings(root=str(tmp_path), gain_limit=0.1), BenchContext())
    assert "virtual machines" in caught.value.try_next
    assert Rapl.scan(str(tmp_path)) == []


def test_a_second_view_of_the_same_package_goes_by_its_folder(tmp_path: Path) -> None:
    for folder in ("intel-rapl:0", "intel-rapl-mmio:0"):
        (tmp_path / folder).mkdir()
        for name, text in (
            ("name", "package-0"),
            ("energy_uj", "17"),
            ("max_energy_range_uj", "262143328850"),
        ):
            (tmp_path / folder / name).write_text(text + "\n")
    assert [zone.label for zone in zones(tmp_path)] == [
        "intel-rapl-mmio:0",
        "package-0",
    ]
    monitor = Rapl.open(
        Rapl.Settings(root=str(tmp_path), gain_limit=0.1), BenchContext()
    )
    assert monitor.info.details["zone"] == "intel-rapl:0"
    # These files are not the kernel's.
    assert monitor.info.simulated
    assert monitor.info.origin is Origin.SIMULATED
    assert Rapl.origin(Rapl.Settings()) is Origin.OWN_SENSOR


def test_a_step_across_the_wrap_counts_the_unit_that_the_range_leaves_out(
    tmp_path: Path,
) -> None:
    for name, text in (
        ("name", "package-0"),
        ("energy_uj", "17"),
        ("max_energy_range_uj", "262143328850"),
    ):
        (tmp_path / name).write_text(text + "\n")
    counter = ZoneCounter(zones_of(tmp_path))
    assert counter.energy_j(262_143_328_850, 0, 0.01) == pytest.approx(
        61.035e-6, abs=1e-6
    )
    with pytest.raises(BenchError, match="ran backwards"):
        counter.energy_j(100_000_000_000, 99_999_000_000, 0.01)
    with pytest.raises(BenchError, match="ran backwards"):
        counter.energy_j(100, 200, 3600.0)  # it may have wrapped more than once


def zones_of(folder: Path):  # type: ignore[no-untyped-def]
    from drivers.host_counters.rapl import Zone

    return Zone(folder, "package-0", "package-0")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"root": "sys"}, "root"),
        ({"poll_hz": 0}, "poll_hz"),
        ({"poll_hz": 1001}, "poll_hz"),
        ({"longest_s": 0.005}, "longest_s"),
        ({"gain_limit": 1.0}, "gain_limit"),
        ({"simulator": RaplSimulator.Settings(update_s=0.0)}, "simulator.update_s"),
    ],
)
def test_a_setting_outside_its_limits_is_named(
    change: dict[str, object], path: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        settings = replace(SIMULATED, **change)  # type: ignore[arg-type]
        Rapl.open(checked(settings, "monitor.rapl"), BenchContext())
    assert caught.value.path == f"monitor.rapl.{path}"


def test_without_a_limit_of_error_a_real_counter_is_refused_and_a_claimed_one_is_called_claimed(
    tmp_path: Path,
) -> None:
    simulator = RaplSimulator(RaplSimulator.Settings(), BenchContext().world)
    with pytest.raises(ConfigError, match="not known") as caught:
        Rapl.open(Rapl.Settings(root=str(simulator.root)), BenchContext())
    assert (
        caught.value.path == "monitor.rapl.gain_limit"
        and "calibration" in caught.value.try_next
    )
    claimed = Rapl.open(
        Rapl.Settings(root=str(simulator.root), gain_limit=0.1), BenchContext()
    ).info
    assert (
        claimed.accuracy.current[0].gain == 0.1
        and not claimed.accuracy.verified
        and "bench file" in claimed.accuracy.source
    )
    assert claimed.sync == "clock"
    text = (
        'clock_ppm = 1.0\nsource = "own comparison"\n[[current]]\nup_to = 500.0\ngain ='
        " 0.03\noffset = 1.0\n"
    )
    (tmp_path / "mine.toml").write_text(
        text + "[[voltage]]\nup_to = 1.0\ngain = 0.0\noffset = 0.0\n"
    )
    calibrated = Rapl.open(
        Rapl.Settings(
            root=str(simulator.root), calibration=str(tmp_path / "mine.toml")
        ),
        BenchContext(),
    ).info
    assert calibrated.accuracy.source == "own comparison"
    simulator.close()


def test_a_scan_lists_every_counter_with_its_line_for_the_bench_file() -> None:
    simulator = RaplSimulator(RaplSimulator.Settings(), BenchContext().world)
    result = Rapl.scan(str(simulator.root))
    assert [row.setting for row in result][:2] == [
        'domain = "package-0"',
        'domain = "package-0/core"',
    ]
    assert not any(row.problem for row in result)
    simulator.close()


def test_files_that_change_by_themselves_are_polled_in_real_time(
    tmp_path: Path,
) -> None:
    (tmp_path / "intel-rapl:0").mkdir()
    begun_ns = time.monotonic_ns()
    ended = threading.Event()
    for name, text in (
        ("name", "package-0"),
        ("energy_uj", "000000000000"),
        ("max_energy_range_uj", "262143328850"),
    ):
        (tmp_path / "intel-rapl:0" / name).write_text(text)

    def count_on() -> None:
        with (tmp_path / "intel-rapl:0" / "energy_uj").open("r+b", buffering=0) as file:
            while not ended.wait(0.001):
                file.seek(0)
                # 10 W
                file.write(f"{(time.monotonic_ns() - begun_ns) // 100:012d}".encode())

    thread = threading.Thread(target=count_on)
    thread.start()
    try:
        monitor = Rapl.open(
            Rapl.Settings(root=str(tmp_path), gain_limit=0.1), BenchContext()
        )
        before_ns = time.monotonic_ns()
        with monitor.record(tmp_path):
            time.sleep(0.5)  # the length of the recording
            after_ns = time.monotonic_ns()
        monitor.close()
    finally:
        ended.set()
        thread.join()
    trace = Trace.open(tmp_path / "trace.jls")
    start_ns = int(str(about(tmp_path)["start_monotonic_ns"]))
    assert before_ns <= start_ns and after_ns <= start_ns + trace.duration_s * 1e9
    assert trace.mean_w(0.0, trace.duration_s) == pytest.approx(
        10.0, rel=0.2
    )  # the thread above may be late
    assert about(tmp_path)["simulated"] is True


def test_a_live_world_is_followed_and_complete_to_the_end(tmp_path: Path) -> None:
    context = BenchContext()
    begun_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - begun_ns,
        lambda: time.monotonic_ns() - begun_ns - 100 * MS,
    )
    monitor = Rapl.open(SIMULATED, context)
    with monitor.record(tmp_path):
        context.world.put(context.world.now_ns(), True, 7.0)
        time.sleep(0.4)  # the length of the recording
        stop_ns = context.world.now_ns()
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    start_ns = int(str(about(tmp_path)["start_monotonic_ns"])) - World().monotonic_ns
    assert start_ns + trace.duration_s * 1e9 >= stop_ns
    assert trace.gaps == () and trace.mean_w(0.2, 0.4) == pytest.approx(12.0, rel=5e-3)
