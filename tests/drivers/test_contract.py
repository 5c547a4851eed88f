# SPDX-License-Identifier: Apache-2.0
"""What every monitor promises, on its simulator: one row a driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivers.joulescope.driver import Joulescope
from drivers.joulescope.simulator import SimulatorSettings as SimulatedJoulescope
from drivers.keysight_n6705.driver import KeysightN6705
from drivers.onboard.nvml import Nvml
from drivers.onboard.rapl import Rapl
from drivers.st_lpm01a.driver import StLpm01a
from drivers.virtual import VirtualMonitor
from rig.errors import BenchError
from rig.monitor import EnergyMonitor
from rig.table import Table
from rig.trace import Integral, Trace
from rig.uncertainty import energy_u_j, ranges_a

#: All that see a SYNC line.
MONITORS: dict[str, Callable[[Table], EnergyMonitor]] = {
    "virtual": lambda table: VirtualMonitor.open(VirtualMonitor.Settings(), table),
    "js220": lambda table: Joulescope.open(Joulescope.Settings(device="simulator"), table),
    "js110": lambda table: Joulescope.open(
        Joulescope.Settings(device="simulator", simulator=SimulatedJoulescope(model="js110")), table
    ),
    "lpm01a": lambda table: StLpm01a.open(StLpm01a.Settings(port="simulator"), table),
    "n6705": lambda table: KeysightN6705.open(KeysightN6705.Settings(resource="simulator"), table),
}
#: The same, with a supply that is on before they are opened.
FOUND_ON: dict[str, Callable[[Table], EnergyMonitor]] = {
    "virtual": lambda table: VirtualMonitor.open(VirtualMonitor.Settings(), supplied(table)),
    "js220": lambda table: Joulescope.open(faulty(Joulescope.Settings(device="simulator"), found_on=True), table),
    "js110": lambda table: Joulescope.open(
        faulty(Joulescope.Settings(device="simulator", simulator=SimulatedJoulescope(model="js110")), found_on=True), table
    ),
    "lpm01a": lambda table: StLpm01a.open(faulty(StLpm01a.Settings(port="simulator"), supply_found_on=True), table),
    "n6705": lambda table: KeysightN6705.open(faulty(KeysightN6705.Settings(resource="simulator"), output_on=(1,)), table),
}
#: Those that see none, and cannot switch off what they measure: the host they run on.
ONBOARD: dict[str, Callable[[Table], EnergyMonitor]] = {
    "rapl": lambda table: Rapl.open(Rapl.Settings(root="simulator", gain_limit=0.03), table),
    "nvml": lambda table: Nvml.open(Nvml.Settings(uuid="simulator"), table),
}
MS = 1_000_000
Bench = tuple[EnergyMonitor, Table]


@pytest.fixture(params=MONITORS)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    table = Table()
    monitor = MONITORS[request.param](table)
    yield monitor, table
    monitor.close()


@pytest.fixture(params=MONITORS | ONBOARD)
def any_bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    table = Table()
    monitor = (MONITORS | ONBOARD)[request.param](table)
    yield monitor, table
    monitor.close()


def faulty(settings: Any, **fault: Any) -> Any:
    """Return a monitor's settings with something wrong with its simulator."""
    return replace(settings, simulator=replace(settings.simulator, faults=replace(settings.simulator.faults, **fault)))


def supplied(table: Table) -> Table:
    table.world.supply_on = True
    return table


def draw(table: Table, power_w: float, duration_ms: float, level: bool = True) -> None:
    table.world.put(table.world.now_ns(), level, power_w)
    table.world.advance(round(duration_ms * MS))


def known_load(monitor: EnergyMonitor, table: Table, folder: Path) -> tuple[Trace, float]:
    """Record 10 mW, then 50 and 80 mW between two edges, and return the trace with the true energy between them."""
    monitor.power(True)
    with monitor.record(folder):
        draw(table, 0.01, 50.05)
        start_ns = table.world.now_ns()
        draw(table, 0.05, 2, level=False)
        draw(table, 0.08, 99.123)
        stop_ns = table.world.now_ns()
        draw(table, 0.01, 2, level=False)
        draw(table, 0.01, 50)
    return Trace.open(folder / "trace.jls"), table.world.true_energy_j(start_ns, stop_ns)


def between_edges(monitor: EnergyMonitor, trace: Trace) -> Integral:
    start_s, stop_s = trace.falls_s
    return trace.integrals([(float(start_s), float(stop_s))], ranges_a(monitor.info.accuracy), steps_at_ends=True)[0]


def test_the_energy_of_a_known_load_between_two_edges_is_found_within_its_uncertainty(bench: Bench, tmp_path: Path) -> None:
    monitor, table = bench
    trace, expected_j = known_load(monitor, table, tmp_path)
    assert len(trace.falls_s) == 2 and trace.falls_s[0] < trace.falls_s[1]
    info = monitor.info
    found = between_edges(monitor, trace)
    uncertainty_j = energy_u_j(found, info.accuracy, info.sample_hz, info.edge_hz)
    assert abs(found.energy_j - expected_j) < 2 * uncertainty_j, (found.energy_j, expected_j, uncertainty_j)
    # A simulator is better than its limits: a wrong scale or a lost sample would show.
    assert found.energy_j == pytest.approx(expected_j, rel=2e-3)
    assert not trace.gaps


def test_the_same_load_has_the_same_energy_on_every_instrument_within_their_uncertainties(tmp_path: Path) -> None:
    found: dict[str, tuple[float, float]] = {}
    for name in MONITORS:
        (tmp_path / name).mkdir()
        table = Table()
        monitor = MONITORS[name](table)
        try:
            integral = between_edges(monitor, known_load(monitor, table, tmp_path / name)[0])
            info = monitor.info
            found[name] = integral.energy_j, energy_u_j(integral, info.accuracy, info.sample_hz, info.edge_hz)
        finally:
            monitor.close()
    for one, (one_j, one_u_j) in found.items():
        for other, (other_j, other_u_j) in found.items():
            assert abs(one_j - other_j) <= 2 * (one_u_j**2 + other_u_j**2) ** 0.5, (one, other, found)


def test_the_limits_of_error_say_where_they_come_from(any_bench: Bench) -> None:
    accuracy = any_bench[0].info.accuracy
    assert len(accuracy.source) > 20 and accuracy.clock_ppm >= 0
    assert accuracy.current[-1].up_to > 0 and accuracy.voltage[-1].up_to > 0


def test_the_supply_is_off_until_switched_on_and_off_after_close(bench: Bench, tmp_path: Path) -> None:
    monitor, table = bench
    assert not table.world.supply_on
    with monitor.record(tmp_path):
        draw(table, 0.05, 20)
    trace = Trace.open(tmp_path / "trace.jls")
    assert abs(trace.mean_w(0.0, trace.duration_s)) < 0.05 * 0.001
    monitor.power(True)
    assert table.world.supply_on
    monitor.power(False)
    assert not table.world.supply_on
    monitor.power(True)
    monitor.close()
    monitor.close()
    assert not table.world.supply_on


@pytest.mark.parametrize("name", FOUND_ON)
def test_a_supply_found_on_is_off_once_the_monitor_is_open(name: str) -> None:
    table = Table()
    monitor = FOUND_ON[name](table)
    on = table.world.supply_on
    monitor.close()
    assert not on


def test_an_exception_in_a_recording_leaves_a_closed_trace_and_the_supply_goes_off(any_bench: Bench, tmp_path: Path) -> None:
    monitor, table = any_bench
    monitor.power(True)
    with pytest.raises(BenchError, match="cable"), monitor.record(tmp_path):
        draw(table, 0.05, 40)
        raise BenchError("the cable is out")
    assert 0.04 <= Trace.open(tmp_path / "trace.jls").duration_s < 0.6, "start and end of a recording take their time"
    monitor.close()
    assert not table.world.supply_on or monitor.info.kind in ONBOARD


def test_an_interrupt_while_a_recording_starts_ends_its_threads_and_closes_its_trace(any_bench: Bench, tmp_path: Path) -> None:
    monitor, table = any_bench
    threads = threading.active_count()

    def interrupted(duration_ns: int) -> None:
        raise KeyboardInterrupt

    table.world.wait = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), monitor.record(tmp_path):
        pass
    assert threading.active_count() <= threads
    assert not list(tmp_path.glob("*.partial"))
    monitor.close()


def test_a_second_recording_sees_nothing_of_the_first(bench: Bench, tmp_path: Path) -> None:
    monitor, table = bench
    monitor.power(True)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            draw(table, 0.05, 5)
            draw(table, 0.05, 2, level=False)
            draw(table, 0.05, 5)
        assert len(Trace.open(tmp_path / name / "trace.jls").falls_s) == 1


def test_closing_twice_and_after_a_recording_is_allowed(any_bench: Bench, tmp_path: Path) -> None:
    monitor, table = any_bench
    with monitor.record(tmp_path):
        draw(table, 0.05, 40)
    monitor.close()
    monitor.close()
