# SPDX-License-Identifier: Apache-2.0
"""The Joulescope driver measures the truth through its simulator, and reports every
fault that the instrument can have.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from packaging.version import Version

from drivers.block_lag import BlockLag
from drivers.joulescope import driver as joulescope
from drivers.joulescope.block import StreamBlock, TimeMap
from drivers.joulescope.driver import Joulescope
from drivers.joulescope.shared import Shared
from drivers.joulescope.sim.settings import JoulescopeFaults
from drivers.joulescope.sim.simulator import (
    JoulescopeSimulatorSettings,
    SimulatedDriver,
    SimulatedInstrument,
)
from drivers.joulescope.stream_merger import CURRENT, SYNC, VOLTAGE, Lanes
from rig.errors import BenchError, ConfigError, DeviceBusy, DeviceLost, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.simulation.world import World
from rig.trace.gaps import joined
from rig.trace.trace import SAID, Trace
from tests.length import length
from tests.traces import trace_writer
from tests.waiting import own_threads

MS = 1_000_000
TICKS_PER_MS = 2_000
MODELS = ("js220", "js110")
#: A JS320 is a JS220 on another counter: with it where that matters.
EVERY = (*MODELS, "js320")


class Bench:
    """A table with a simulated Joulescope, and the actions of a test on it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.context = folder, BenchContext()
        self.opened: list[Joulescope] = []

    def open(
        self,
        model: str = "js220",
        faults: JoulescopeFaults | None = None,
        simulator: dict[str, Any] | None = None,
        **more: Any,
    ) -> Joulescope:
        quiet = {
            "model": model,
            "clock_ppm": 0.0,
            "faults": faults or JoulescopeFaults(),
        } | (simulator or {})
        chosen = {"device": "simulator"} | more
        settings = Joulescope.Settings(
            simulator=JoulescopeSimulatorSettings(**quiet), **chosen
        )
        monitor = Joulescope.open(checked(settings, "monitor.joulescope"), self.context)
        self.opened.append(monitor)
        return monitor

    def live(self) -> None:
        began_ns = time.monotonic_ns()
        self.context.world.follow(
            lambda: time.monotonic_ns() - began_ns,
            lambda: time.monotonic_ns() - began_ns,
        )

    def draw(self, power_w: float, duration_ms: float, level: bool = True) -> None:
        world = self.context.world
        world.put(world.now_ns(), level, power_w)
        world.wait(round(duration_ms * MS))

    def pulse(self, duration_ms: float) -> None:
        """Draw 33 mW for a while; SYNC is low in its first millisecond."""
        self.draw(0.033, 1, level=False)
        self.draw(0.033, duration_ms - 1)

    def trace(self) -> Trace:
        return Trace.open(self.folder / "trace.jls")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from opened(tmp_path)


def opened(tmp_path: Path) -> Iterator[Bench]:
    """Yield a bench, and check that all of it is released."""
    threads = own_threads()
    bench = Bench(tmp_path)
    yield bench
    for monitor in bench.opened:
        monitor.close()
    assert own_threads() == threads, "a thread outlives its monitor"
    assert not bench.context.world.supply_on
    assert (
        not logging.getLogger("jsdrv").handlers
        and not logging.getLogger("jsdrv").filters
    )
    assert not list(tmp_path.rglob("*.partial"))


@contextmanager
def simulated(
    world: World | None = None, **settings: Any
) -> Iterator[tuple[SimulatedDriver, str]]:
    """Yield a simulated driver object with one desk attached, and the path of the first
    instrument on it.
    """
    driver = SimulatedDriver()
    try:
        with driver.attached(
            SimulatedInstrument(
                JoulescopeSimulatorSettings(**settings), world or World()
            )
        ) as paths:
            yield driver, paths[0] if paths else ""
    finally:
        driver.finalize()


def three_pulses(bench: Bench, monitor: Joulescope) -> Trace:
    """Record three pulses that begin 100 ms apart, 60 ms after the start."""
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 50)
        for _ in range(3):
            bench.pulse(100)
    return bench.trace()


def assert_pulses(trace: Trace, first_s: float = 0.060) -> None:
    assert trace.falls_s == pytest.approx(first_s + np.array([0.0, 0.1, 0.2]), abs=2e-6)
    assert trace.rises_s == pytest.approx(
        first_s + np.array([0.001, 0.101, 0.201]), abs=2e-6
    )


# --- The truth


@pytest.mark.parametrize("model", EVERY)
def test_the_energy_of_a_known_waveform_is_found_within_the_stated_uncertainty(
    bench: Bench, model: str
) -> None:
    errors = {
        "gain": 0.002,
        "offset_a": 5e-6,
        "voltage_gain": -0.002,
        "noise_a": 30e-6,
        "clock_ppm": 40.0,
    }
    monitor = bench.open(model, simulator=errors)
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.01, 100)
        start_ns = bench.context.world.now_ns()
        bench.draw(0.05, 1, level=False)
        for power_w in np.linspace(0.001, 0.3, 50):
            bench.draw(power_w, 7.3)
        stop_ns = bench.context.world.now_ns()
        bench.draw(0.01, 1, level=False)
        bench.draw(0.01, 50)
    trace = bench.trace()
    promised = monitor.info.accuracy
    expected_j = bench.context.world.true_energy_j(start_ns, stop_ns)
    seen_j = trace.energy_j(*trace.falls_s)
    in_use = next(row for row in promised.current if row.up_to >= 0.1)
    limit_j = (
        expected_j * (in_use.gain + promised.voltage[-1].gain)
        + in_use.offset * 3.3 * (stop_ns - start_ns) / 1e9
    )
    assert seen_j == pytest.approx(expected_j, abs=limit_j)
    assert seen_j == pytest.approx(expected_j * 1.002 * 0.998, rel=2e-4), (
        "the errors are the simulated ones and no others"
    )
    assert np.diff(trace.falls_s)[0] == pytest.approx(
        (stop_ns - start_ns) / 1e9 * (1 + 40e-6), abs=1e-6
    )
    assert not trace.gaps


@pytest.mark.parametrize("model", EVERY)
def test_edges_and_levels_are_where_they_happened(bench: Bench, model: str) -> None:
    trace = three_pulses(bench, bench.open(model))
    assert len(trace.falls_s) == len(trace.rises_s) == 3
    start_s = trace.falls_s[0]
    assert start_s == pytest.approx(0.060, abs=2e-4), (
        "the streams begin one after the other"
    )
    assert_pulses(trace, start_s)
    assert trace.mean_w(0.0, start_s) == pytest.approx(0.0033 * 50 / 60, rel=5e-3)
    assert trace.mean_w(start_s, start_s + 0.3 - 1e-3) == pytest.approx(0.033, rel=1e-6)


def test_no_current_flows_while_the_supply_is_off(bench: Bench) -> None:
    monitor = bench.open(simulator={"noise_a": 1e-6})
    with monitor.record(bench.folder):
        bench.draw(0.05, 100)
    trace = bench.trace()
    assert trace.mean_w(0.0, trace.duration_s) == 0.0


@pytest.mark.paced
@pytest.mark.parametrize("model", EVERY)
def test_in_real_time_it_records_what_happened(bench: Bench, model: str) -> None:
    bench.live()
    monitor = bench.open(model)
    monitor.power(True)
    with monitor.record(bench.folder) as recording:
        bench.draw(0.0033, 200)
        start_ns = bench.context.world.now_ns()
        bench.pulse(300)
        stop_ns = bench.context.world.now_ns()
        bench.pulse(100)
        recording.check()
    trace = bench.trace()
    assert len(trace.falls_s) == 2 and not trace.gaps
    # The state is put a little after the time that is read: on a busy machine by some
    # of a millisecond.
    assert np.diff(trace.falls_s)[0] == pytest.approx(
        (stop_ns - start_ns) / 1e9, abs=0.02
    )
    assert trace.energy_j(*trace.falls_s) == pytest.approx(
        0.033 * np.diff(trace.falls_s)[0], rel=1e-3
    )


@pytest.mark.paced
@pytest.mark.parametrize("model", MODELS)
def test_what_happened_before_the_end_is_in_the_trace_also_where_unfinished_blocks_are_discarded(
    bench: Bench, model: str
) -> None:
    bench.live()
    monitor = bench.open(model, simulator={"discards": True})
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 211)
        bench.draw(0.033, 1, level=False)
        bench.draw(0.033, 3)
    assert len(bench.trace().falls_s) == len(bench.trace().rises_s) == 1


@pytest.mark.parametrize(
    ("model", "gpi", "edges"),
    [("js220", 0, 3), ("js220", 3, 0), ("js110", 0, 3), ("js110", 1, 0)],
)
def test_sync_is_read_from_the_input_that_is_named(
    bench: Bench, model: str, gpi: int, edges: int
) -> None:
    assert len(three_pulses(bench, bench.open(model, gpi=gpi)).falls_s) == edges


def test_either_input_of_a_js110_shows_its_line_and_no_converter_noise(
    bench: Bench,
) -> None:
    trace = three_pulses(bench, bench.open("js110", gpi=1, simulator={"sync_gpi": 1}))
    assert_pulses(trace, trace.falls_s[0])


@pytest.mark.parametrize(("wired", "edges"), [(False, 0), (True, 3)])
def test_an_external_reference_needs_its_wire(
    bench: Bench, wired: bool, edges: int
) -> None:
    monitor = bench.open(reference="external", simulator={"vref_wired": wired})
    assert len(three_pulses(bench, monitor).falls_s) == edges


# --- JoulescopeFaults of the streams


@pytest.mark.parametrize(
    ("model", "signal"), [*product(["js220"], ["all", "i", "v", "gpi"]), ("js320", "v")]
)
def test_lost_samples_that_are_numbered_are_one_gap_over_all_three_signals(
    bench: Bench, model: str, signal: str
) -> None:
    # 20 ms from 152 ms on: the second pulse's edges at 160 and 161 ms are lost with
    # them.
    faults = JoulescopeFaults(
        drop_at_tick=152 * TICKS_PER_MS,
        drop_ticks=20 * TICKS_PER_MS,
        drop_signal=signal,
    )
    trace = three_pulses(bench, bench.open(model, faults=faults))
    [gap] = trace.gaps
    assert gap.stop - gap.start == pytest.approx(20_000, abs=8), (
        "as much as was lost, up to a byte of SYNC"
    )
    assert gap.start == pytest.approx(152_000, abs=200)
    assert {
        "all": "current and voltage and sync",
        "i": "current",
        "v": "voltage",
        "gpi": "sync",
    }[signal] in gap.cause
    assert trace.falls_s == pytest.approx(
        trace.falls_s[0] + np.array([0.0, 0.2]), abs=2e-6
    ), "no phantom edge, no shifted one"
    assert trace.rises_s == pytest.approx(
        trace.falls_s[0] + np.array([0.001, 0.201]), abs=2e-6
    )


def test_lost_gpi_makes_no_edge_where_the_line_changed_meanwhile(bench: Bench) -> None:
    faults = JoulescopeFaults(
        drop_at_tick=round(159.5 * TICKS_PER_MS),
        drop_ticks=1 * TICKS_PER_MS,
        drop_signal="gpi",
    )
    trace = three_pulses(bench, bench.open(faults=faults))
    assert len(trace.gaps) == 1
    assert len(trace.falls_s) == 2 and len(trace.rises_s) == 3, (
        "the fall was lost, the rise after it was seen"
    )


def kept(bench: Bench) -> dict[str, Any]:
    """Return the description of the recording, beside its trace."""
    content: dict[str, Any] = json.loads((bench.folder / SAID).read_text())
    return content


@pytest.mark.parametrize("model", EVERY)
def test_a_block_that_comes_twice_is_written_once(bench: Bench, model: str) -> None:
    monitor = bench.open(
        model, faults=JoulescopeFaults(duplicate_at_tick=100 * TICKS_PER_MS)
    )
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 50)
        for _ in range(3):
            bench.pulse(100)
    trace = bench.trace()
    assert kept(bench)["repeated_blocks"] == 1 and not trace.gaps
    assert trace.duration_s == pytest.approx(0.360, abs=3e-4)
    assert_pulses(trace, trace.falls_s[0])


@pytest.mark.parametrize("model", EVERY)
def test_a_gpi_that_begins_later_moves_the_start_of_the_trace(
    bench: Bench, model: str
) -> None:
    trace = three_pulses(
        bench,
        bench.open(model, faults=JoulescopeFaults(gpi_late_ticks=20 * TICKS_PER_MS)),
    )
    assert trace.duration_s == pytest.approx(0.340, abs=3e-4) and not trace.gaps
    assert_pulses(trace, trace.falls_s[0])
    assert trace.mean_w(trace.falls_s[0], trace.falls_s[0] + 0.25) == pytest.approx(
        0.033, rel=1e-6
    ), "still aligned"


@pytest.mark.parametrize("model", EVERY)
def test_a_corrected_time_map_is_noted_and_moves_no_sample(
    bench: Bench, model: str
) -> None:
    monitor = bench.open(
        model, faults=JoulescopeFaults(time_map_at_tick=150 * TICKS_PER_MS)
    )
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 50)
        for _ in range(3):
            bench.pulse(100)
    assert kept(bench)["time_maps"]["count"] >= 2
    counter_hz = 16e6 if model == "js320" else 2e6
    assert kept(bench)["time_maps"]["counter_rates_hz"] == pytest.approx(
        (counter_hz, counter_hz * (1 + 5e-6)), rel=1e-9
    )
    # The trace begins after the streams, 10 ms before the first power.
    first = kept(bench)["first_sample_counter"]
    began = kept(bench)["time_maps"]["first"]["offset_counter"]
    assert 0 <= (first - began) / counter_hz < 1e-3
    trace = bench.trace()
    assert_pulses(trace, trace.falls_s[0])
    assert not trace.gaps


def test_samples_without_a_number_are_a_gap(bench: Bench) -> None:
    trace = three_pulses(
        bench,
        bench.open(
            faults=JoulescopeFaults(nan_at_tick=190 * TICKS_PER_MS, nan_samples=137)
        ),
    )
    [gap] = trace.gaps
    assert gap.stop - gap.start == 137 and "no number" in gap.cause
    assert_pulses(trace, trace.falls_s[0])


@pytest.mark.parametrize("packets", [1, 2, 3, 4, 158])
def test_a_js110_that_warns_of_lost_packets_has_a_gap_where_they_must_be_and_the_rest_in_its_place(
    bench: Bench, packets: int
) -> None:
    # Only every fourth number of packets is whole bytes of SYNC.
    monitor = bench.open(
        "js110",
        faults=JoulescopeFaults(
            drop_at_tick=200 * TICKS_PER_MS, drop_ticks=packets * 126
        ),
    )
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 50)
        for _ in range(5):
            bench.pulse(100)
    trace = bench.trace()
    about, lost = sorted(trace.gaps, key=lambda gap: gap.start)
    assert (
        about.start <= 200 * TICKS_PER_MS <= about.stop == lost.start
        and "pkt_index skip" in about.cause
    )
    assert lost.stop - lost.start == packets * 126
    assert lost.stop - about.start < 160 * TICKS_PER_MS
    assert trace.duration_s == pytest.approx(0.560, abs=3e-4), (
        "the ids went on as if nothing had happened"
    )
    # The pulse at 160 ms lies where no edge is trusted.
    pulses_s = trace.falls_s[0] + np.array([0.0, 0.2, 0.3, 0.4])
    assert trace.falls_s == pytest.approx(pulses_s, abs=2e-6), (
        "edges are where they happened"
    )
    assert trace.rises_s == pytest.approx(pulses_s + 0.001, abs=2e-6)
    assert trace.mean_w(*trace.falls_s[-2:]) == pytest.approx(0.033, rel=1e-6)


@pytest.mark.parametrize("packets", [1, 100, 512])
def test_what_the_host_driver_fills_for_a_js110_is_not_counted_again(
    bench: Bench, packets: int
) -> None:
    monitor = bench.open(
        "js110",
        faults=JoulescopeFaults(
            drop_at_tick=200 * TICKS_PER_MS, drop_ticks=packets * 126, drop_filled=True
        ),
    )
    trace = three_pulses(bench, monitor)
    assert all("no number" in gap.cause for gap in trace.gaps)
    [lost] = joined(list(trace.gaps))
    assert lost.stop - lost.start == packets * 126
    # SYNC is high while packets get lost, and reads low: that makes no edge.
    assert_pulses(trace, trace.falls_s[0])
    output = json.loads((bench.folder / "recording.json").read_text())
    assert output["losses_filled"] == [
        f"pkt_index skip: expected 3174, received {3174 + packets} ({packets} frames)"
    ]


def test_more_packets_than_the_host_driver_fills_are_counted(bench: Bench) -> None:
    faults = JoulescopeFaults(
        drop_at_tick=200 * TICKS_PER_MS, drop_ticks=513 * 126, drop_filled=True
    )
    monitor = bench.open("js110", faults=faults)
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 50)
        for _ in range(5):
            bench.pulse(100)
    trace = bench.trace()
    assert [
        gap.stop - gap.start for gap in trace.gaps if "pkt_index" not in gap.cause
    ] == [513 * 126]
    # Those at 160 and 260 ms lie where no edge is trusted.
    assert trace.falls_s - trace.falls_s[0] == pytest.approx([0.0, 0.3, 0.4], abs=2e-6)


def test_a_time_map_after_a_lost_packet_of_a_js110_moves_no_edge(bench: Bench) -> None:
    faults = JoulescopeFaults(
        drop_at_tick=100 * TICKS_PER_MS,
        drop_ticks=126,
        time_map_at_tick=240 * TICKS_PER_MS,
    )
    monitor = bench.open("js110", faults=faults)
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0033, 150)
        for _ in range(3):
            bench.pulse(100)
    assert kept(bench)["time_maps"]["count"] == 2
    trace = bench.trace()
    assert_pulses(trace, trace.falls_s[0])


def test_a_js110_that_loses_packets_twice_counts_both(bench: Bench) -> None:
    monitor = bench.open("js110")
    warn = logging.getLogger("jsdrv").warning
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.033, 100)
        for received in (107, 5):
            warn(
                "pkt_index skip: expected %d, received %d",
                100 if received == 107 else 65_535,
                received,
            )
        bench.draw(0.033, 400)
    # No sample was lost: the reported losses make the trace longer by 7 and 6 packets
    # of 126 samples.
    assert bench.trace().length == pytest.approx(0.510 * 2e6 + 13 * 126, abs=600)


@pytest.mark.alone  # samples that are late for want of a processor look like missing ones
def test_a_js110_that_loses_samples_without_a_word_is_found_out_by_the_hosts_clock(
    bench: Bench,
) -> None:
    bench.live()
    faults = JoulescopeFaults(
        drop_at_tick=1300 * TICKS_PER_MS,
        drop_ticks=200 * TICKS_PER_MS,
        drop_unlogged=True,
    )
    monitor = bench.open("js110", faults=faults)
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.033, 3000)
    gaps = bench.trace().gaps
    assert len(gaps) == 1 and "missing somewhere in here" in gaps[0].cause
    assert gaps[0].start <= 1300 * TICKS_PER_MS <= gaps[0].stop + 70 * TICKS_PER_MS


def test_leaps_of_virtual_time_are_no_loss(bench: Bench) -> None:
    monitor = bench.open("js110")
    monitor.power(True)
    with monitor.record(bench.folder):
        for duration_ms in (1, 700, 1, 1500, 3):
            bench.draw(0.033, duration_ms)
    assert not bench.trace().gaps


def test_an_unplugged_instrument_is_lost_and_its_data_is_kept(bench: Bench) -> None:
    monitor = bench.open(faults=JoulescopeFaults(remove_at_tick=210 * TICKS_PER_MS))
    monitor.power(True)
    with (
        pytest.raises(DeviceLost, match="is gone"),
        monitor.record(bench.folder) as recording,
    ):
        bench.draw(0.033, 300)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            recording.check()
    trace = bench.trace()
    assert trace.duration_s == pytest.approx(0.200, abs=0.001), (
        "the blocks that were complete"
    )
    with pytest.raises(DeviceLost):
        monitor.power(True)
    monitor.close()
    bench.context.world.supply_on = False  # it can no longer be switched off


def test_an_instrument_unplugged_unnoticed_is_lost_at_the_end(bench: Bench) -> None:
    monitor = bench.open(faults=JoulescopeFaults(remove_at_tick=110 * TICKS_PER_MS))
    with pytest.raises(DeviceLost), monitor.record(bench.folder):
        bench.draw(0.033, 300)
        bench.draw(0.033, 300)
    assert bench.trace().duration_s == pytest.approx(0.100, abs=0.001)


@pytest.mark.parametrize(
    ("mute", "topic"), [("i", "s/i"), ("v", "s/v"), ("gpi", "s/gpi/0")]
)
def test_a_stream_that_stays_silent_is_named(
    bench: Bench, mute: str, topic: str
) -> None:
    monitor = bench.open(faults=JoulescopeFaults(mute=mute))
    with (
        pytest.raises(BenchError, match="sends no") as caught,
        monitor.record(bench.folder),
    ):
        bench.draw(0.033, 300)
    assert f"{topic}/!data is silent" in caught.value.evidence
    assert caught.value.evidence.count("silent") == 1


def test_in_real_time_a_silent_stream_is_reported_before_anything_is_measured(
    bench: Bench,
) -> None:
    bench.live()
    monitor = bench.open(faults=JoulescopeFaults(mute="gpi"))
    with (
        pytest.raises(BenchError, match=r"no sync|sync is silent"),
        monitor.record(bench.folder),
    ):
        pytest.fail("the recording began")


def test_a_stream_that_falls_silent_is_reported_while_recording(bench: Bench) -> None:
    # Lost from 100 ms on, and never again: the others go on.
    faults = JoulescopeFaults(
        drop_at_tick=100 * TICKS_PER_MS, drop_ticks=10**9, drop_signal="v"
    )
    monitor = bench.open(faults=faults)
    with (
        pytest.raises(BenchError, match="voltage is silent"),
        monitor.record(bench.folder) as recording,
    ):
        for _ in range(100):
            bench.draw(0.033, 100)
            recording.check()
        pytest.fail("nobody noticed")


# --- JoulescopeFaults of settings and of opening


@pytest.mark.parametrize(
    ("model", "topic"),
    [("js220", "c/gpio/vref"), ("js110", "s/extio/voltage"), ("js220", "h/fs")],
)
def test_a_setting_that_does_not_stick_is_named_with_both_values(
    bench: Bench, model: str, topic: str
) -> None:
    with pytest.raises(BenchError, match="does not keep") as caught:
        bench.open(model, faults=JoulescopeFaults(misread=topic, misread_as=77))
    assert (
        topic in caught.value.evidence
        and "77" in caught.value.evidence
        and "wanted" in caught.value.evidence
    )


@pytest.mark.parametrize("topic", ["h/fs", "s/v/range/mode", "c/gpio/vref"])
def test_a_topic_without_acknowledgement_is_named(bench: Bench, topic: str) -> None:
    with pytest.raises(BenchError, match=f"does not answer to {topic}"):
        bench.open(faults=JoulescopeFaults(refuse=topic))


def test_the_supply_is_switched_off_after_an_error(bench: Bench) -> None:
    monitor = bench.open(faults=JoulescopeFaults(mute="i"))
    monitor.power(True)
    with pytest.raises(BenchError), monitor.record(bench.folder):
        bench.draw(0.033, 100)
    monitor.close()
    monitor.close()
    assert not bench.context.world.supply_on


@pytest.mark.parametrize("model", EVERY)
def test_a_supply_found_on_is_switched_off_and_reported(
    bench: Bench, model: str
) -> None:
    monitor = bench.open(model, faults=JoulescopeFaults(found_on=True))
    assert not bench.context.world.supply_on
    assert (
        monitor.info.details["supply_found_on"] is True
        and "found on" in monitor.info.details["note"]
    )


@pytest.mark.parametrize("model", EVERY)
def test_opening_never_connects_the_supply(bench: Bench, model: str) -> None:
    seen = []
    world = bench.context.world

    class Watched(World):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "supply_on":
                seen.append(value)
            super().__setattr__(name, value)

    world.__class__ = Watched
    monitor = bench.open(model)
    assert seen and not any(seen)
    assert monitor.info.details["supply_found_on"] is False


def test_of_several_instruments_one_must_be_named(bench: Bench) -> None:
    several = {"serials": ("000415", "000416")}
    with pytest.raises(ConfigError, match="several") as caught:
        bench.open(simulator=several)
    assert "u/js220/000415, u/js220/000416" in caught.value.evidence
    for device in (
        "simulator/000416",
        "simulator/JS220-000416",
        "simulator/u/js220/000416",
    ):
        monitor = bench.open(simulator=several, device=device)
        assert monitor.info.serial == "000416"
        monitor.close()
    with pytest.raises(DeviceNotFound, match="no Joulescope 000417"):
        bench.open(simulator=several, device="simulator/000417")
    with pytest.raises(DeviceNotFound, match="no Joulescope is attached"):
        bench.open(simulator={"serials": ()})


def test_an_instrument_that_another_program_has_is_busy(bench: Bench) -> None:
    with pytest.raises(DeviceBusy, match="does not open"):
        bench.open(faults=JoulescopeFaults(busy=True))


@pytest.mark.parametrize(
    ("model", "wrong", "key"),
    [
        ("js220", {"gpi": 4}, "gpi"),
        ("js220", {"reference": "1.8 V"}, "reference"),
        ("js220", {"current_range": "2 A"}, "current_range"),
        ("js220", {"voltage_range": "5 V"}, "voltage_range"),
        ("js110", {"gpi": 2}, "gpi"),
        ("js110", {"reference": "external"}, "reference"),
        ("js110", {"voltage_range": "auto"}, "voltage_range"),
        ("js110", {"current_range": "1 A"}, "current_range"),
        ("js320", {"current_range": "2 A"}, "current_range"),
        ("js9", {}, "simulator.model"),
        ("js220", {"start_s": 0.0}, "start_s"),
    ],
)
def test_what_a_model_cannot_do_is_refused(
    bench: Bench, model: str, wrong: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        bench.open(model, **wrong)
    assert caught.value.path == f"monitor.joulescope.{key}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"supply_v": 0.0},
        {"share": 1.5},
        {"noise_a": -1.0},
        {"clock_ppm": 1e6},
        {"model": "js221"},
    ],
)
def test_an_instrument_that_cannot_be_is_not_simulated(
    bench: Bench, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        bench.open(simulator=wrong)


@pytest.mark.parametrize(
    ("model", "top"), [("js220", "180 mA"), ("js110", "2 A"), ("js320", "180 mA")]
)
def test_a_fixed_range_is_set_and_is_the_only_one_promised(
    bench: Bench, model: str, top: str
) -> None:
    monitor = bench.open(model, current_range=top)
    assert (
        len(monitor.info.accuracy.current) == 1 and not monitor.info.accuracy.verified
    )
    assert three_pulses(bench, monitor).mean_w(0.1, 0.3) == pytest.approx(
        0.033, rel=1e-6
    )
    assert (
        len(
            bench.open(
                "js220", simulator={"serials": ("000416",)}
            ).info.accuracy.current
        )
        == 6
    )


def test_the_instrument_says_what_it_is(bench: Bench) -> None:
    info = bench.open().info
    assert (info.name, info.serial, info.simulated, info.sample_hz, info.edge_hz) == (
        "Joulescope JS220",
        "000415",
        True,
        1e6,
        2e6,
    )
    assert (
        info.details["c/fw/version"] == "1.3.0"
        and info.details["s/fpga/version"] == "1.3.3"
    )
    js110 = bench.open("js110", current_range="auto")
    assert (
        js110.info.sample_hz == 2e6 and "4.5 us" in js110.info.details["range_switch"]
    )


def test_a_js320_states_that_its_limits_are_not_its_own_and_a_fault_of_its_firmware(
    bench: Bench,
) -> None:
    monitor = bench.open("js320")
    info = monitor.info
    assert (info.name, info.sample_hz, info.edge_hz) == ("Joulescope JS320", 1e6, 2e6)
    assert info.accuracy.source.startswith("not stated") and not info.accuracy.verified
    assert not info.accuracy.year
    # The simulated firmware is older.
    assert (
        info.details["c/fw/version"] == "1.1.2" and "2.2 A" in info.details["fw_note"]
    )
    settings = Joulescope.Settings(device="u/js320/8w2a")
    assert Joulescope.restated(settings, info) == info
    sampling = Joulescope.sampling(settings)
    assert (sampling.sample_hz, sampling.edge_hz) == (1e6, 2e6)


def test_inputs_of_a_js320_that_are_decimated_more_are_not_taken_for_full_rate(
    bench: Bench,
) -> None:
    # Another program has changed them, unseen by this one.
    monitor = bench.open("js320")
    monitor.power(True)
    simulated = joulescope.SIMULATED
    with simulated.use() as driver:
        driver.publish("u/js320/000415/s/gpi/+/dwnN/N", 16)
    with (
        pytest.raises(BenchError, match="stream of sync is not at full rate") as caught,
        monitor.record(bench.folder),
    ):
        bench.draw(0.033, 300)
    assert caught.value.evidence == "2000000 Hz over 2, not 2000000 Hz over 1"


def test_a_calibration_file_takes_the_place_of_the_makers_limits(
    bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "calibration.toml"
    row = "up_to = 10.0\ngain = 0.0001\noffset = 0.0\n"
    file.write_text(
        "clock_ppm = 1.0\nsource = 'certificate 7'\nverified = "
        f"true\n[[current]]\n{row}[[voltage]]\n{row}",
        encoding="utf-8",
    )
    assert bench.open(calibration=str(file)).info.accuracy.source == "certificate 7"


# --- Finding instruments


def test_a_scan_names_what_is_attached_and_what_is_wrong_with_it() -> None:
    world = World()
    for model, busy, problem in (
        ("js220", False, ""),
        ("js110", True, "does not open"),
        ("js320", False, ""),
    ):
        with simulated(
            world, model=model, serials=("1", "2"), faults=JoulescopeFaults(busy=busy)
        ) as (driver, _):
            rows = joulescope.found(driver, Shared(SimulatedDriver))
        assert [row.serial for row in rows] == ["1", "2"]
        assert [row.setting for row in rows] == [
            f'device = "u/{model}/1"',
            f'device = "u/{model}/2"',
        ]
        assert all(
            problem in row.problem and bool(row.problem) == bool(problem)
            for row in rows
        )
        assert not world.supply_on


def test_without_the_makers_driver_there_is_nothing_to_scan_and_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyjoulescope_driver", None)
    assert Joulescope.scan() == []
    with pytest.raises(ConfigError, match="not installed") as caught:
        Joulescope.open(Joulescope.Settings(), BenchContext())
    assert "neurorig[joulescope]" in caught.value.try_next


def test_the_real_driver_without_an_instrument_says_so() -> None:
    pytest.importorskip("pyjoulescope_driver")
    if Joulescope.scan():
        pytest.skip("an instrument is attached")
    with pytest.raises(DeviceNotFound, match="no Joulescope is attached"):
        Joulescope.open(Joulescope.Settings(), BenchContext())


# --- The simulator keeps to the interface of the maker's driver


def collected(model: str, duration_ms: int = 300) -> dict[str, list[dict[str, Any]]]:
    world = World()
    blocks: dict[str, list[dict[str, Any]]] = {}
    with simulated(world, model=model) as (driver, path):

        def receive(topic: str, value: Any) -> None:
            blocks.setdefault(topic.removeprefix(f"{path}/"), []).append(value)

        driver.open(path, "restore")
        driver.subscribe(path, "pub", receive)
        world.advance(50 * MS)
        assert not [topic for topic in blocks if topic.endswith("!data")], (
            "nothing comes before a stream is switched on"
        )
        for topic in ("s/i", "s/v", "s/gpi/0"):
            driver.publish(f"{path}/{topic}/ctrl", "on")
            assert driver.query(f"{path}/{topic}/ctrl") == 1
        world.advance(duration_ms * MS)
        driver.close(path)
        driver.unsubscribe(path, receive)
    return blocks


@pytest.mark.parametrize(
    ("model", "counter_hz", "decimate", "input_decimate", "analog", "first"),
    [
        ("js220", 2_000_000, 2, 1, 50_022, 2**32),
        ("js110", 2_000_000, 1, 1, 65_394, 0),
        # Its inputs as they are at first: the first of 16 samples is sent.
        ("js320", 16_000_000, 16, 16, 50_022, 2**32),
    ],
    ids=EVERY,
)
def test_blocks_have_the_form_of_the_real_ones(
    model: str,
    counter_hz: int,
    decimate: int,
    input_decimate: int,
    analog: int,
    first: int,
) -> None:
    blocks = collected(model)
    for topic, element, size, kind in (
        ("s/i", decimate, analog, "f4"),
        ("s/v", decimate, analog, "f4"),
        ("s/gpi/0", input_decimate, 12_500 if model == "js110" else 12_600, "u1"),
    ):
        rows = blocks[f"{topic}/!data"]
        expected = rows[0]["sample_id"]
        assert expected >= first
        for row in rows:
            assert set(row) == {
                "sample_id",
                "utc",
                "field_id",
                "index",
                "sample_rate",
                "decimate_factor",
                "time_map",
                "data",
            }
            assert (
                row["sample_rate"] == counter_hz
                and row["decimate_factor"] == element
                and row["data"].dtype == np.dtype(kind)
            )
            assert (
                row["sample_id"] == expected
                and type(row["sample_id"]) is type(row["utc"]) is int
            )
            expected += len(row["data"]) * element * (8 if kind == "u1" else 1)
        assert all(len(row["data"]) == size for row in rows[:-1])
    starts = {
        blocks[f"{topic}/!data"][0]["sample_id"] for topic in ("s/i", "s/v", "s/gpi/0")
    }
    assert len(starts) == 3, "streams are not aligned"


def test_errors_are_those_of_the_binding(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []

    def receive(topic: str, value: Any) -> None:
        heard.append(value)
        raise KeyError(topic)

    with simulated() as (driver, path):
        with pytest.raises(TimeoutError, match="jsdrv_open timed out"):
            driver.open("u/js220/999999")
        with pytest.raises(TimeoutError, match="jsdrv_publish timed out"):
            driver.publish(f"{path}/h/fs", 2_000_000)
        driver.open(path)
        with pytest.raises(ValueError, match="Unsupported value type"):
            driver.publish(f"{path}/h/fs", np.int64(2_000_000))
        with pytest.raises(RuntimeError, match="NOT_FOUND"):
            driver.query(f"{path}/no/such")
        with pytest.raises(TimeoutError):
            driver.publish(f"{path}/c/gpio/voltage", 3300)
        with pytest.raises(RuntimeError, match="PARAMETER_INVALID"):
            driver.publish(f"{path}/c/gpio/vref", "5V0")
        driver.subscribe(f"{path}/s/i/range/mode", "pub_retain", receive)
        driver.publish(f"{path}/s/i/range/mode", "auto")
        driver.unsubscribe(f"{path}/s/i/range/mode", receive)
    assert heard[0] == 0
    assert "_on_cmd_publish_cbk" in caplog.text, (
        "an exception of a callback is logged and swallowed"
    )


def test_a_js110_opened_with_defaults_connects_the_supply_as_the_real_one_does():
    world = World()
    with simulated(world, model="js110") as (driver, path):
        driver.open(path, "restore")
        assert not world.supply_on
        driver.close(path)
        driver.open(path, "defaults")
        assert world.supply_on


def test_the_real_driver_has_what_the_simulated_one_has() -> None:
    real = pytest.importorskip("pyjoulescope_driver").Driver
    for name in [
        name
        for name in vars(SimulatedDriver)
        if not name.startswith("_") and name != "attached"
    ]:
        assert callable(getattr(real, name)), name
    assert "log_level" in dir(real)


def test_the_installed_host_driver_tells_losses_of_a_js110_in_a_form_that_is_known():
    binding = pytest.importorskip("pyjoulescope_driver.binding")
    form = "pkt_index skip: expected %d, received %d"
    if Version(version("pyjoulescope_driver")) >= Version("2.5"):
        form += " (%lu frames)"  # and fills lost samples, drop_filled of the simulator
    assert re.findall(
        rb"pkt_index skip[ -~]*", Path(binding.__file__).read_bytes()
    ) == [form.encode()]


# --- Merging, without an instrument


def block(sample_id: int, data: np.ndarray, decimate: int) -> StreamBlock:
    return StreamBlock(sample_id, 2_000_000, decimate, data, TimeMap(0, 0, 2e6))


def merged(
    folder: Path, feeds: list[tuple[str, StreamBlock]], per: int, together: int = 1
) -> tuple[np.ndarray, np.ndarray, Trace]:
    with trace_writer(folder, 2e6 / per, 2e6) as writer:
        lanes = Lanes(writer, per)
        for number, (signal, each) in enumerate(feeds, start=1):
            lanes.feed(signal, each, more=number % together != 0)
        lanes.finish()
    trace = Trace.open(folder / "trace.jls")
    return trace.power_w(0.0, trace.duration_s)[1], trace.falls_s, trace


@settings(max_examples=length(20, 8), deadline=None)
@given(
    seed=some.integers(0, 2**32),
    per=some.sampled_from([1, 2]),
    together=some.sampled_from([1, 5, 10_000]),
)
def test_however_the_streams_are_cut_repeated_and_taken_together_the_trace_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int, per: int, together: int
) -> None:
    random = np.random.default_rng(seed)
    samples = 4000
    current = random.random(samples, dtype=np.float32)
    levels = np.repeat(
        random.integers(0, 2, 1 + samples * per // 64, dtype=np.uint8), 64
    )[: samples * per]
    first_id = int(random.integers(0, 2**40)) * per
    feeds: list[tuple[float, str, dict[str, Any]]] = []
    starts = {}
    for signal, step, data in (
        (CURRENT, 1, current),
        (VOLTAGE, 1, np.ones_like(current)),
        (SYNC, 8, levels),
    ):
        at = int(random.integers(0, 20)) * step
        came = 0.0
        starts[signal] = -(-at // per) if signal == SYNC else at
        while at < len(data):
            count = int(random.integers(1, 60)) * step
            # The grid of a repeated block of SYNC may be any.
            back = (
                int(random.integers(0, 30)) if random.random() < 0.2 and at > 200 else 0
            )
            piece = data[at - back : at + count]
            piece = piece[: len(piece) // step * step]
            if not len(piece):
                break
            came = max(came, at / len(data)) + random.random() * 0.002
            packed = np.packbits(piece, bitorder="little") if signal == SYNC else piece
            feeds.append(
                (
                    came,
                    signal,
                    block(
                        first_id + (at - back) * (1 if signal == SYNC else per),
                        packed,
                        1 if signal == SYNC else per,
                    ),
                )
            )
            at += len(piece) - back
    ordered = [
        (signal, each) for _, signal, each in sorted(feeds, key=lambda row: row[0])
    ]
    power, falls_s, trace = merged(
        tmp_path_factory.mktemp("cut"), ordered, per, together
    )
    origin = max(starts.values())
    offset = int(np.flatnonzero(np.isclose(current[: origin + 9], power[0]))[-1])
    assert origin <= offset < origin + 8
    assert not trace.gaps and len(power) > samples - offset - 16
    np.testing.assert_array_equal(
        power.astype(np.float32), current[offset : offset + len(power)]
    )
    seen = levels[offset * per : (offset + len(power)) * per].view(np.int8)
    expected = (np.flatnonzero(np.diff(seen) < 0) + 0.5) / 2e6
    assert falls_s == pytest.approx(expected, abs=1e-12)


def test_gaps_of_two_signals_that_overlap_are_one(tmp_path: Path) -> None:
    ones = np.ones(4000, dtype=np.float32)
    high = np.full(1000, 255, dtype=np.uint8)
    feeds = [
        (CURRENT, block(0, ones[:1000], 2)),
        (VOLTAGE, block(0, ones, 2)),
        (SYNC, block(0, high[:300], 1)),
        (CURRENT, block(2 * 1500, ones[:2500], 2)),
        (SYNC, block(8 * 500, high[:500], 1)),
    ]
    power, falls_s, trace = merged(tmp_path, feeds, 2)
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(1000, 2000)]
    assert (
        len(power) == 4000
        and np.isnan(power[1000:2000]).all()
        and np.isfinite(np.delete(power, np.s_[1000:2000])).all()
    )
    assert not len(falls_s)


def test_a_stream_may_be_silent_while_the_others_are_switched_off(
    tmp_path: Path,
) -> None:
    ones = np.ones(1_100_000, dtype=np.float32)
    with trace_writer(tmp_path, 1e6, 2e6) as writer:
        lanes = Lanes(writer, 2)
        with pytest.raises(BenchError, match="silent"):
            lanes.feed(CURRENT, block(0, ones, 2))
        lanes.ending = True
        lanes.feed(CURRENT, block(2_200_000, ones, 2))


def test_blocks_at_another_rate_or_from_an_older_stream_are_refused(
    tmp_path: Path,
) -> None:
    ones = np.ones(1000, dtype=np.float32)
    with trace_writer(tmp_path, 1e6, 2e6) as writer:
        lanes = Lanes(writer, 2)
        with pytest.raises(BenchError, match="full rate"):
            lanes.feed(CURRENT, block(0, ones, 4))
        lanes.feed(CURRENT, block(10_000_000, ones, 2))
        with pytest.raises(BenchError, match="began anew"):
            lanes.feed(CURRENT, block(0, ones, 2))


def test_a_counter_that_jumps_for_minutes_is_an_error_not_a_full_disk(
    tmp_path: Path,
) -> None:
    ones = np.ones(1000, dtype=np.float32)
    with trace_writer(tmp_path, 1e6, 2e6) as writer:
        lanes = Lanes(writer, 2)
        lanes.feed(CURRENT, block(0, ones, 2))
        with pytest.raises(BenchError, match="jumps"):
            lanes.feed(CURRENT, block(2**32, ones, 2))


def test_seconds_lost_by_all_streams_are_a_gap(tmp_path: Path) -> None:
    ones = np.ones(1000, dtype=np.float32)
    high = np.full(250, 255, dtype=np.uint8)
    values = {CURRENT: (ones, 2), VOLTAGE: (ones, 2), SYNC: (high, 1)}
    feeds = [
        (signal, block(at, *values[signal]))
        for at, signal in product((0, 6_000_000), values)
    ]
    _, _, trace = merged(tmp_path, feeds, 2)
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(1000, 3_000_000)]


# --- The host's clock against the ids


def losses(lags_ms: list[float], ppm: float = 0.0) -> list[Any]:
    lag = BlockLag(2_000_000)
    result = []
    for number, lag_ms in enumerate(lags_ms):
        stop_tick = (number + 1) * 65_394
        result.append(
            lag.arrived(
                stop_tick, round(stop_tick * 500 * (1 + ppm * 1e-6) + lag_ms * MS)
            )
        )
    return [each for each in [*result, lag.last()] if each is not None]


def test_a_host_that_is_late_now_and_then_loses_no_data() -> None:
    random = np.random.default_rng(1)
    jitter = np.where(
        random.random(2000) < 0.7, random.random(2000) * 200, random.random(2000) * 3
    )
    assert losses([*jitter]) == []


def test_crystals_that_drift_apart_lose_no_data() -> None:
    assert losses([1.0] * 10_000, ppm=150.0) == []


def test_a_delay_that_stays_is_a_loss_with_its_span() -> None:
    [loss] = losses([1.0] * 100 + [26.0] * 100)
    assert loss.first_tick <= 100 * 65_394 <= loss.stop_tick
    assert loss.lost_ns == pytest.approx(25 * MS, rel=0.01)
