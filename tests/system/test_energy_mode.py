# SPDX-License-Identifier: Apache-2.0
"""Firmware built for energy mode prints no time stamps and only pulses SYNC: the
monitor's edges are the only clock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, pairwise
from pathlib import Path

import pytest

from drivers.st_lpm01a.driver import StLpm01a
from drivers.st_lpm01a.sim.simulator import Lpm01aFaults, Lpm01aSimulatorSettings
from rig.interfaces.context import BenchContext
from rig.measure.measure import MeasuredTrial, Rail, measure
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Load, Query, Step, Sync
from rig.model.trial import Counts, Window
from rig.timebase.edge_clock import EDGE_CLOCK
from rig.trace.trace import TRACE, Trace
from sut_backends.hosted.sync_wire import EdgeWire, Power
from sut_backends.uart.backend import UartSut
from tests.sut_backends.uart.public_device import Build, PublicDevice

pytestmark = pytest.mark.posix

SAMPLE = bytes([3]) + bytes(488) + b"\x5a"
STEPS: tuple[Step, ...] = (
    Idle(0.3),
    Load(0),
    Query((0,), repeat=10),
    Query((0,), repeat=20),
    Idle(0.3),
)
REPEATS = (10, 20)
PHASES = {"start": 0x02, "stop": 0x00}


@contextmanager
def wired(context: BenchContext) -> Iterator[PublicDevice]:
    """Give a public device in energy mode whose pulses and power are states of the
    simulated world.
    """
    read_fd, write_fd = os.pipe()
    edges = EdgeWire(
        read_fd, context.world, Power(), time.monotonic_ns() - context.world.now_ns()
    )

    def pulse(level: bool, what: str) -> None:
        now_ns = time.monotonic_ns()
        os.write(
            write_fd,
            f"{now_ns} {now_ns} {level:d} {PHASES.get(what, 0x50)} 0\n".encode(),
        )

    try:
        with PublicDevice(Build(energy=True, infer_s=0.01, on_pulse=pulse)) as device:
            yield device
    finally:
        os.close(write_fd)
        edges.close()


def measured(
    folder: Path, faults: Lpm01aFaults | None = None
) -> tuple[MeasuredTrial, list[float], list[float]]:
    """Return the measurement of two windows, and the true duration (s) and energy (J)
    of an inference in each.
    """
    context = BenchContext(seed=5)
    simulator = Lpm01aSimulatorSettings(clock_ppm=0.0, faults=faults or Lpm01aFaults())
    with ExitStack() as stack:
        monitor = stack.enter_context(
            closing(
                StLpm01a.open(
                    StLpm01a.Settings(port="simulator", simulator=simulator), context
                )
            )
        )
        monitor.power(True)
        device = stack.enter_context(wired(context))
        sut = stack.enter_context(
            closing(
                UartSut.open(
                    UartSut.Settings(port=device.port, simulated=True), context
                )
            )
        )
        with monitor.record(folder):
            done = [
                StepRecord(0, Sync(), sut.do(Sync())),
                *carried_out(sut),
                StepRecord(len(STEPS) + 1, Sync(), sut.do(Sync())),
            ]
        rail = Rail("", Trace.open(folder / TRACE), monitor.info.accuracy)
        info = sut.info
    assert info.clock == EDGE_CLOCK
    return measure(
        done, ("infer",), info.tick_hz, info.sync_hold_s, rails=[rail], clock=info.clock
    ), *truth(context)


def carried_out(sut: UartSut) -> Iterator[StepRecord]:
    for number, step in enumerate(STEPS, start=1):
        match step:
            case Load(index):
                sut.do(Load(index), [SAMPLE])
            case _:
                yield StepRecord(number, step, sut.do(step))


def truth(context: BenchContext) -> tuple[list[float], list[float]]:
    states = context.world.states()
    falls = [
        after for before, after in pairwise(states) if before.level and not after.level
    ]
    ends = [
        (fall, stop) for fall, stop in pairwise(falls) if fall.power_w == Power().infer
    ]
    shares = [
        (start.time_ns, stop.time_ns, repeat)
        for (start, stop), repeat in zip(ends, REPEATS, strict=True)
    ]
    lasted_s = [
        (stop_ns - start_ns) / 1e9 / repeat for start_ns, stop_ns, repeat in shares
    ]
    return lasted_s, [
        context.world.true_energy_j(start_ns, stop_ns) / repeat
        for start_ns, stop_ns, repeat in shares
    ]


def test_the_windows_of_a_device_that_tells_no_time_are_measured_between_its_edges(
    tmp_path: Path,
) -> None:
    outcome, lasted_s, drawn_j = measured(tmp_path)
    assert outcome.problems == ()
    assert outcome.counts == Counts(24, 24, 24)
    for window, true_s, true_j, repeat in zip(
        windows(outcome), lasted_s, drawn_j, REPEATS, strict=True
    ):
        # An edge is known to one sample of 0.2 ms.
        assert window.latency_s == pytest.approx(true_s, abs=2 * 200e-6 / repeat)
        assert window.energy_j == pytest.approx(
            true_j, abs=2 * 200e-6 * Power().infer / repeat, rel=1e-3
        )
    for idle in outcome.measured.idles:
        assert idle.latency_s >= 0.3 - 200e-6
        assert idle.energy_j == pytest.approx(Power().idle * idle.latency_s, rel=0.01)


def test_one_edge_that_the_monitor_missed_leaves_no_window_and_is_named(
    tmp_path: Path,
) -> None:
    outcome, _, _ = measured(tmp_path, Lpm01aFaults(event_skipped=9))
    assert [problem.code for problem in outcome.problems] == ["edges"]
    assert "24 marks, 23 falling edges" in outcome.problems[0].detail
    assert outcome.measured.samples == outcome.measured.idles == ()


def windows(outcome: MeasuredTrial) -> list[Window]:
    samples = outcome.measured.samples
    return list(chain.from_iterable(sample.windows for sample in samples))
