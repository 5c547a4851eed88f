# SPDX-License-Identifier: Apache-2.0
"""What every monitor promises, on its simulator: one row a driver."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from drivers.virtual import VirtualMonitor
from rig.errors import BenchError
from rig.monitor import EnergyMonitor
from rig.table import Table
from rig.trace import Trace

MONITORS: list[Callable[[Table], EnergyMonitor]] = [lambda table: VirtualMonitor.open(VirtualMonitor.Settings(), table)]
MS = 1_000_000


@pytest.fixture(params=MONITORS, ids=["virtual"])
def bench(request: pytest.FixtureRequest) -> tuple[EnergyMonitor, Table]:
    table = Table()
    return request.param(table), table


def draw(table: Table, power_w: float, duration_ms: int, level: bool = True) -> None:
    table.world.put(table.world.now_ns(), level, power_w)
    table.world.advance(duration_ms * MS)


def test_the_energy_of_a_known_load_between_two_edges_is_found(bench: tuple[EnergyMonitor, Table], tmp_path: Path) -> None:
    monitor, table = bench
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(table, 0.01, 50)
        start_ns = table.world.now_ns()
        draw(table, 0.05, 1, level=False)
        draw(table, 0.08, 99)
        stop_ns = table.world.now_ns()
        draw(table, 0.01, 1, level=False)
        draw(table, 0.01, 50)
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == len(trace.rises_s) == 2
    assert (trace.falls_s < trace.rises_s).all(), "edges are in order"
    expected_j = table.world.true_energy_j(start_ns, stop_ns)
    assert trace.energy_j(*trace.falls_s) == pytest.approx(expected_j, rel=5e-4)
    monitor.close()


def test_the_supply_is_off_until_switched_on_and_off_after_close(bench: tuple[EnergyMonitor, Table], tmp_path: Path) -> None:
    monitor, table = bench
    assert not table.world.supply_on
    with monitor.record(tmp_path):
        draw(table, 0.05, 20)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.0, trace.duration_s) == 0.0
    monitor.power(True)
    assert table.world.supply_on
    monitor.close()
    monitor.close()
    assert not table.world.supply_on


def test_an_exception_in_a_recording_leaves_a_closed_trace(bench: tuple[EnergyMonitor, Table], tmp_path: Path) -> None:
    monitor, table = bench
    monitor.power(True)
    with pytest.raises(BenchError, match="cable"), monitor.record(tmp_path):
        draw(table, 0.05, 20)
        raise BenchError("the cable is out")
    assert Trace.open(tmp_path / "trace.jls").duration_s == pytest.approx(0.03, rel=0.01)
    monitor.close()


def test_an_interrupt_while_a_recording_starts_ends_its_thread_and_closes_its_trace(
    bench: tuple[EnergyMonitor, Table], tmp_path: Path
) -> None:
    monitor, table = bench
    threads = threading.active_count()

    def interrupted(duration_ns: int) -> None:
        raise KeyboardInterrupt

    table.world.wait = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), monitor.record(tmp_path):
        pass
    assert threading.active_count() == threads
    assert not list(tmp_path.glob("*.partial"))
    monitor.close()


def test_a_second_recording_sees_nothing_of_the_first(bench: tuple[EnergyMonitor, Table], tmp_path: Path) -> None:
    monitor, table = bench
    monitor.power(True)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            draw(table, 0.05, 5)
            draw(table, 0.05, 1, level=False)
            draw(table, 0.05, 5)
        assert len(Trace.open(tmp_path / name / "trace.jls").falls_s) == 1
    monitor.close()
