# SPDX-License-Identifier: Apache-2.0
"""The contract of every monitor, on its simulator: a row for each driver, and for each
further way of recording.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.host_counters.ina3221 import Ina3221
from drivers.host_counters.nvml import Nvml
from drivers.host_counters.rapl import Rapl
from drivers.host_counters.sim.ina3221 import Ina3221Simulator
from drivers.host_counters.sim.nvml import NvmlSimulator
from drivers.host_counters.sim.rapl import RaplSimulator
from drivers.ina_monitor.driver import InaMonitor
from drivers.joulescope.driver import Joulescope
from drivers.joulescope.sim.simulator import (
    JoulescopeSimulatorSettings as SimulatedJoulescope,
)
from drivers.keysight_n6705.driver import KeysightN6705
from drivers.nordic_ppk2.driver import NordicPpk2
from drivers.otii.driver import Otii
from drivers.playback import Playback
from drivers.st_lpm01a.driver import StLpm01a
from drivers.virtual import VirtualMonitor
from drivers.xylo_board.driver import XyloBoard
from rig.errors import BenchError
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import EnergyMonitor
from rig.measure.measure import Rail, measure
from rig.model.completion import END, SYNC, Completion, Mark
from rig.model.step_record import StepRecord
from rig.model.steps import Query, Sync
from rig.trace.trace import EDGES, Trace
from rig.uncertainty.window_effects import energy_u_j, ranges_a
from tests.calibrations import VIRTUAL_MONITOR
from tests.waiting import own_threads


def joulescope(context: BenchContext, model: Any) -> EnergyMonitor:
    simulator = SimulatedJoulescope(model=model)
    return Joulescope.open(
        Joulescope.Settings(device="simulator", simulator=simulator), context
    )


def lpm01a(context: BenchContext, **settings: Any) -> EnergyMonitor:
    return StLpm01a.open(StLpm01a.Settings(port="simulator", **settings), context)


def ppk2(context: BenchContext, **settings: Any) -> EnergyMonitor:
    return NordicPpk2.open(NordicPpk2.Settings(port="simulator", **settings), context)


def ina_monitor(context: BenchContext, **settings: Any) -> EnergyMonitor:
    return InaMonitor.open(
        InaMonitor.Settings(port="simulator", shunt_ohm=1.0, **settings), context
    )


def n6705(context: BenchContext, **settings: Any) -> EnergyMonitor:
    return KeysightN6705.open(
        KeysightN6705.Settings(resource="simulator", **settings), context
    )


#: All that see the edges of a SYNC line.
EDGED: dict[str, Callable[[BenchContext], EnergyMonitor]] = {
    "virtual": lambda context: VirtualMonitor.open(VirtualMonitor.Settings(), context),
    "js220": lambda context: Joulescope.open(
        Joulescope.Settings(device="simulator"), context
    ),
    "js110": lambda context: joulescope(context, "js110"),
    "js320": lambda context: joulescope(context, "js320"),
    "lpm01a": lpm01a,
    "lpm01a energy": lambda context: lpm01a(context, output="energy", sample_hz=1000),
    "ppk2": ppk2,
    "otii": lambda context: Otii.open(Otii.Settings(server="simulator"), context),
    "n6705": n6705,
    "n6705 io manager": lambda context: n6705(context, sync="io_manager"),
}
#: All that see one, or its first edge alone.
SYNCED = EDGED | {"n6705 trigger": lambda context: n6705(context, sync="trigger")}
#: All that supply the DUT or are wired to its supply.
MONITORS = SYNCED | {
    "lpm01a binary": lambda context: lpm01a(
        context, format="bin_hexa", sample_hz=10_000
    )
}
#: The same, with a supply that is on before they are opened.
FOUND_ON: dict[str, Callable[[BenchContext], EnergyMonitor]] = {
    "virtual": lambda context: VirtualMonitor.open(
        VirtualMonitor.Settings(), supplied(context)
    ),
    "js220": lambda context: Joulescope.open(
        faulty(Joulescope.Settings(device="simulator"), found_on=True), context
    ),
    "js110": lambda context: Joulescope.open(
        faulty(
            Joulescope.Settings(
                device="simulator", simulator=SimulatedJoulescope(model="js110")
            ),
            found_on=True,
        ),
        context,
    ),
    "lpm01a": lambda context: StLpm01a.open(
        faulty(StLpm01a.Settings(port="simulator"), supply_found_on=True), context
    ),
    "ppk2": lambda context: NordicPpk2.open(
        faulty(NordicPpk2.Settings(port="simulator"), supply_found_on=True), context
    ),
    "otii": lambda context: Otii.open(
        faulty(Otii.Settings(server="simulator"), supply_found_on=True), context
    ),
    "n6705": lambda context: KeysightN6705.open(
        faulty(KeysightN6705.Settings(resource="simulator"), output_on=(1,)), context
    ),
}
#: Monitors that cannot switch the supply off: counters of the host they run on, and
#: recordings.
UNSWITCHED: dict[str, Callable[[BenchContext], EnergyMonitor]] = {
    "rapl": lambda context: Rapl.open(
        Rapl.Settings(
            root="simulator",
            gain_limit=0.03,
            simulator=RaplSimulator.Settings(base_w=BASE_W["rapl"]),
        ),
        context,
    ),
    "ina3221": lambda context: Ina3221.open(
        Ina3221.Settings(
            root="simulator",
            simulator=Ina3221Simulator.Settings(base_w=BASE_W["ina3221"]),
        ),
        context,
    ),
    "nvml": lambda context: Nvml.open(
        Nvml.Settings(
            uuid="simulator", simulator=NvmlSimulator.Settings(base_w=BASE_W["nvml"])
        ),
        context,
    ),
    "xylo_board": lambda context: XyloBoard.open(
        XyloBoard.Settings(channel="digital", events="simulator", gain_limit=0.01),
        context,
    ),
    "playback": lambda context: played(context),
}
#: A chip beside an AVR board, which sees edges and switches nothing.
INA_MONITORS: dict[str, Callable[[BenchContext], EnergyMonitor]] = {
    "ina219": lambda context: ina_monitor(context, chip="ina219"),
    "ina226": lambda context: ina_monitor(context, chip="ina226", sample_hz=1000),
    "ina228": lambda context: ina_monitor(context, chip="ina228", most_a=0.04),
}
UNSWITCHED |= INA_MONITORS
SEEING = EDGED | INA_MONITORS
EVERY = MONITORS | UNSWITCHED
#: Monitors whose recording waits only for the first edge.
WAITING = ("n6705 io manager", "n6705 trigger")
#: Power that a simulated host draws beside the load.
BASE_W = {"rapl": 5.0, "nvml": 20.0, "ina3221": 4.0}
MS = 1_000_000
PULSE_MS = 2
PULSES = 24
PHASES = ("one", "two", "three")
Bench = tuple[EnergyMonitor, BenchContext]


@dataclass(slots=True)
class Load:
    """The power that was drawn: true times of the recording's beginning and of the
    edges, and the true energy of each window.
    """

    began_ns: int
    falls_ns: list[int] = field(default_factory=list)
    rises_ns: list[int] = field(default_factory=list)
    energies_j: list[float] = field(default_factory=list)

    @property
    def windows_ns(self) -> list[tuple[int, int]]:
        return list(pairwise(self.falls_ns[PULSES:]))


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    context = BenchContext(folder=tmp_path)
    monitor = EVERY[request.param](context)
    yield monitor, context
    monitor.close()


def each_of(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bench", names, indirect=True)


def played(context: BenchContext) -> EnergyMonitor:
    """Open the playback of a virtual recording of the known load."""
    folder = context.folder / "original"
    rehearsal = BenchContext()
    folder.mkdir()
    recorder = VirtualMonitor.open(VirtualMonitor.Settings(), rehearsal)
    known_load(recorder, rehearsal, folder)
    recorder.close()
    (folder / "calibration.toml").write_text(VIRTUAL_MONITOR)
    settings = Playback.Settings(
        path=str(folder / "trace.jls"),
        calibration=str(folder / "calibration.toml"),
        start_s=0.01,
    )
    return Playback.open(settings, context)


def faulty(settings: Any, **fault: Any) -> Any:
    """Return a monitor's settings with something wrong with its simulator."""
    return replace(
        settings,
        simulator=replace(
            settings.simulator, faults=replace(settings.simulator.faults, **fault)
        ),
    )


def supplied(context: BenchContext) -> BenchContext:
    context.world.supply_on = True
    return context


def draw(
    context: BenchContext, power_w: float, duration_ms: float, level: bool = True
) -> None:
    context.world.put(context.world.now_ns(), level, power_w)
    context.world.advance(round(duration_ms * MS))


def pulse(context: BenchContext, power_w: float, duration_ms: float) -> tuple[int, int]:
    """Draw power from a falling edge on; return the true times of the edges."""
    fall_ns = context.world.now_ns()
    draw(context, power_w, PULSE_MS, level=False)
    rise_ns = context.world.now_ns()
    draw(context, power_w, duration_ms - PULSE_MS)
    return fall_ns, rise_ns


def known_load(
    monitor: EnergyMonitor, context: BenchContext, folder: Path
) -> tuple[Trace, Load]:
    """Record 10 mW with uneven pulses, then windows of 50, 80 and 20 mW between edges;
    what counts its own host's energy slowly gets watts, for longer.
    """
    power_w, times = (1000.0, 30.0) if monitor.info.sync == "clock" else (1.0, 1.0)
    rest = 0.01 * power_w
    monitor.power(True)
    load = Load(context.world.now_ns())
    with monitor.record(folder):
        draw(context, rest, 50.05 * times)
        # No two intervals are alike, and pulses fall on all parts of a period; 20
        # periods of the slowest events apart.
        parts = [
            (rest, (42 + 10 * (0.618034 * number % 1)) * times)
            for number in range(PULSES)
        ]
        windows = [
            (0.05 * power_w, 101.123 * times),
            (0.08 * power_w, 97.77 * times),
            (0.02 * power_w, 120.4 * times),
        ]
        for each_w, duration_ms in (*parts, *windows, (rest, 50)):
            fall_ns, rise_ns = pulse(context, each_w, duration_ms)
            load.falls_ns.append(fall_ns)
            load.rises_ns.append(rise_ns)
    base_w = BASE_W.get(monitor.info.kind, 0.0)
    load.energies_j = [
        context.world.true_energy_j(*window) + base_w * (window[1] - window[0]) / 1e9
        for window in load.windows_ns
    ]
    return Trace.open(folder / "trace.jls"), load


def stated(
    monitor: EnergyMonitor, context: BenchContext, trace: Trace, load: Load
) -> list[tuple[float, float]]:
    """Return energy and standard uncertainty (J) of each window as a session states
    them, of a device whose clock is true.
    """
    info = monitor.info
    if info.sync == "none":
        # A session refuses it; `rig measure` takes times, here from where the trace
        # begins.
        times_s = [
            ((start_ns - load.began_ns) / 1e9, (stop_ns - load.began_ns) / 1e9)
            for start_ns, stop_ns in load.windows_ns
        ]
        result = trace.integrals(times_s, ranges_a(info.accuracy), steps_at_ends=True)
        return [
            (
                each.energy_j,
                energy_u_j(each, info.accuracy, info.sample_hz, info.edge_hz),
            )
            for each in result
        ]
    ticks = [context.world.monotonic_ns + fall_ns for fall_ns in load.falls_ns]
    burst = tuple(Mark(SYNC, tick) for tick in ticks[:PULSES])
    marks = tuple(
        Mark(phase, tick)
        for phase, tick in zip((1, 2, 3, END), ticks[PULSES:], strict=True)
    )
    done = [
        StepRecord(0, Sync(), Completion(burst, iterations=0)),
        StepRecord(1, Query((0,)), Completion(marks, iterations=1)),
    ]
    outcome = measure(
        done,
        PHASES,
        1e9,
        PULSE_MS / 1e3,
        rails=[Rail("", trace, info.accuracy)],
        clock="CLOCK_MONOTONIC",
    )
    assert outcome.problems == ()
    windows = outcome.measured.samples[0].windows
    assert [window.phase for window in windows] == list(PHASES)
    return [(window.energy_j or 0.0, window.energy_u_j or 0.0) for window in windows]


@each_of(EVERY)
def test_the_energies_of_a_known_load_are_found_within_their_uncertainties(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    trace, load = known_load(monitor, context, tmp_path)
    for (found_j, uncertainty_j), expected_j in zip(
        stated(monitor, context, trace, load), load.energies_j, strict=True
    ):
        assert abs(found_j - expected_j) < 2 * uncertainty_j, (
            found_j,
            expected_j,
            uncertainty_j,
        )
        # A simulator is better than its limits: a wrong scale or a lost sample would
        # show.
        assert found_j == pytest.approx(expected_j, rel=2e-3)
    assert not trace.gaps


@each_of([*SEEING, "playback"])
def test_many_edges_are_found_in_their_order_where_they_happened(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    trace, load = known_load(monitor, context, tmp_path)
    info = monitor.info
    stamped = monitor.info.sync == "stamps"
    assert len(trace.falls_s) == len(load.falls_ns) == PULSES + len(PHASES) + 1
    assert len(trace.rises_s) == (0 if stamped else len(load.rises_ns)), (
        "an instrument that stamps edges tells of falls alone"
    )
    found_s = np.concatenate([trace.falls_s, trace.rises_s])
    order = np.argsort(found_s, kind="stable")
    assert stamped or (order < len(trace.falls_s)).tolist() == [True, False] * len(
        trace.falls_s
    ), "falls alternate with rises"
    true_s = (
        np.array(load.falls_ns if stamped else [*load.falls_ns, *load.rises_ns]) / 1e9
    )
    apart_s = np.subtract.outer(found_s, found_s)
    true_apart_s = np.subtract.outer(true_s, true_s)
    # Each of two edges is known to half a period either way.
    limit_s = 1 / info.edge_hz + np.abs(true_apart_s) * info.accuracy.clock_ppm * 1e-6
    assert (np.abs(apart_s - true_apart_s) <= limit_s).all(), (apart_s - true_apart_s)[
        0
    ] * info.edge_hz


# The clock of an IO manager is trusted so little that its edges may lie anywhere near.
@each_of([name for name in (*SEEING, "playback") if name != "n6705 io manager"])
def test_an_edge_at_which_the_power_steps_lies_where_it_does(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    trace, _ = known_load(monitor, context, tmp_path)
    fall_s = float(trace.falls_s[PULSES])
    low_w = trace.mean_w(fall_s - 0.02, fall_s - 0.005)
    high_w = trace.mean_w(fall_s + 0.005, fall_s + 0.02)
    assert high_w / low_w == pytest.approx(5.0, rel=2e-3)
    share = (trace.mean_w(fall_s - 0.02, fall_s + 0.02) - low_w) / (high_w - low_w)
    assert (
        abs(0.02 - 0.04 * share)
        <= 1 / monitor.info.edge_hz + monitor.info.accuracy.edge_s
    )


@pytest.mark.parametrize("name", ["lpm01a", "lpm01a energy", "n6705 io manager"])
def test_edges_that_an_instrument_stamps_are_written_in_the_order_they_had(
    name: str, tmp_path: Path
) -> None:
    context = BenchContext()
    monitor = EDGED[name](context)
    try:
        load = known_load(monitor, context, tmp_path)[1]
    finally:
        monitor.close()
    lines = [json.loads(line) for line in (tmp_path / EDGES).read_text().splitlines()]
    times_s = [line["at_s"] for line in lines]
    # A trace sorts its input.
    assert len(times_s) == len(load.falls_ns) and all(
        earlier < later for earlier, later in pairwise(times_s)
    )
    assert all(line["fall"] for line in lines)


def test_the_same_load_has_the_same_energy_on_every_instrument_within_their_uncertainties(
    tmp_path: Path,
) -> None:
    result: dict[str, list[tuple[float, float]]] = {}
    for name in MONITORS:
        (tmp_path / name).mkdir()
        context = BenchContext()
        monitor = MONITORS[name](context)
        try:
            result[name] = stated(
                monitor, context, *known_load(monitor, context, tmp_path / name)
            )
        finally:
            monitor.close()
    for item, others in product(result, repeat=2):
        for (one_j, one_u_j), (other_j, other_u_j) in zip(
            result[item], result[others], strict=True
        ):
            assert abs(one_j - other_j) <= 2 * (one_u_j**2 + other_u_j**2) ** 0.5, (
                item,
                others,
                result,
            )


@each_of(EVERY)
def test_the_limits_of_error_say_where_they_come_from(bench: Bench) -> None:
    accuracy = bench[0].info.accuracy
    assert len(accuracy.source) > 20 and accuracy.clock_ppm >= 0
    assert accuracy.current[-1].up_to > 0 and accuracy.voltage[-1].up_to > 0


@each_of(MONITORS)
def test_the_supply_is_off_until_switched_on_and_off_after_close(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    assert not context.world.supply_on
    with monitor.record(tmp_path):
        pulse(context, 0.05, 20)
    trace = Trace.open(tmp_path / "trace.jls")
    assert abs(trace.mean_w(0.0, trace.duration_s)) < 0.05 * 0.001
    monitor.power(True)
    assert context.world.supply_on
    monitor.power(False)
    assert not context.world.supply_on
    monitor.power(True)
    monitor.close()
    monitor.close()
    assert not context.world.supply_on


@pytest.mark.parametrize("name", FOUND_ON)
def test_a_supply_found_on_is_off_once_the_monitor_is_open(name: str) -> None:
    context = BenchContext()
    monitor = FOUND_ON[name](context)
    on = context.world.supply_on
    monitor.close()
    assert not on


@each_of(EVERY)
def test_an_exception_in_a_recording_leaves_a_closed_trace_and_no_supply(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    monitor.power(True)
    with pytest.raises(BenchError, match="cable"), monitor.record(tmp_path):
        pulse(context, 0.05, 42)
        raise BenchError("the cable is out")
    duration_s = Trace.open(tmp_path / "trace.jls").duration_s
    assert duration_s >= 0.04
    assert duration_s < 0.6 or monitor.info.kind == "playback", (
        "start and end of a recording take their time"
    )
    monitor.close()
    assert not context.world.supply_on or monitor.info.kind in (
        "ina_monitor",
        *UNSWITCHED,
    )


@each_of([name for name in EVERY if name not in WAITING])
def test_an_interrupt_while_a_recording_starts_ends_its_threads_and_closes_its_trace(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    threads = own_threads()

    def interrupted(duration_ns: int) -> None:
        raise KeyboardInterrupt

    context.world.wait = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), monitor.record(tmp_path):
        pass
    assert own_threads() <= threads
    assert not list(tmp_path.glob("*.partial"))
    monitor.close()


@each_of(SYNCED)
def test_a_second_recording_sees_nothing_of_the_first(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    monitor.power(True)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            draw(context, 0.05, 5)
            draw(context, 0.05, 2, level=False)
            draw(context, 0.05, 5)
        assert len(Trace.open(tmp_path / name / "trace.jls").falls_s) == 1


@each_of(EVERY)
def test_closing_twice_and_after_a_recording_is_allowed(
    bench: Bench, tmp_path: Path
) -> None:
    monitor, context = bench
    with monitor.record(tmp_path):
        pulse(context, 0.05, 42)
    monitor.close()
    monitor.close()
