# SPDX-License-Identifier: Apache-2.0
"""A supply that is off: almost no current flows, and the device is silent; else it is
fed through its pins, and this is reported.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator, Lpm01aSimulatorSettings
from drivers.virtual import VirtualMonitor
from rig.bench import probe as probing
from rig.bench.probe import probe
from rig.bench.supply import Reading, off
from rig.bench.wiring import prove_wiring
from rig.errors import Stopped
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.model.wiring import WireName
from rig.store.events import RailState
from sut_backends.hosted.posix import PosixSut
from tests.builds import built
from tests.commands import rig
from tests.sut_backends.uart.test_wiring import Board


@pytest.mark.parametrize(
    ("current_a", "words"),
    [
        (0.0, ""),
        (5e-5, ""),
        (-5e-5, ""),
        (2e-3, "out of a supply that is off"),
        (-2e-3, "into the instrument"),
    ],
)
@pytest.mark.parametrize("reads_voltage", [True, False])
def test_current_of_a_supply_that_is_off_is_named(
    current_a: float, words: str, reads_voltage: bool
) -> None:
    monitor = VirtualMonitor.open(VirtualMonitor.Settings(), BenchContext())
    info = dataclasses.replace(monitor.info, reads_voltage=reads_voltage)
    monitor.close()
    result = off(
        "supply off",
        Reading(0.0, current_a, 0.0, 1e-3, powerless=True, still_a=1e-6),
        info,
    )
    assert result.ok == (not words) and words in result.detail
    assert result.ok or ("SYNC" in result.try_next and "MONITORS.md" in result.try_next)


@pytest.mark.parametrize("fed", [True, False])
def test_a_device_that_answers_without_its_supply_is_named(
    tmp_path: Path, fed: bool
) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    instrument = Lpm01aSimulator(Lpm01aSimulatorSettings(), context)
    device = Board(tx=True, rx=True)
    if fed:
        device.power_on()
    bench = tmp_path / "bench.toml"
    bench.write_text(
        f'[bench]\nname = "fed"\n[sut.uart]\nport = "{device.port}"\ntimeout_s = 0.3\n'
        f'[monitor.st_lpm01a]\nport = "{instrument.port}"\n'
        "[scenario.single_stream]\n[task.null]\n"
    )
    rows = probe(bench)
    result = {}
    try:
        for row in rows:
            result[row.name] = row
            if row.name == "supply off, UART":
                break
    finally:
        rows.close()
        device.close()
        instrument.close()
    assert result["supply off"].ok
    assert result["supply off, UART"].ok == (not fed)
    if fed:
        assert result["supply off, UART"].detail.startswith(
            "board answers without its supply"
        )
        assert "through its pins" in result["supply off, UART"].try_next
    assert not context.world.supply_on


UART = "supply off, UART"
SIMULATORS = {
    "virtual": "",
    "joulescope": 'device = "simulator"',
    "keysight_n6705": 'resource = "simulator"',
    "nordic_ppk2": 'port = "simulator"',
    "otii": 'server = "simulator"',
    "st_lpm01a": 'port = "simulator"',
}


def posix_bench(folder: Path, kind: str, fed: bool) -> Path:
    program = built("posix") / "posix/null"
    path = folder / "bench.toml"
    path.write_text(
        f'[bench]\nname = "fed"\n[sut.posix]\nprogram = "{program}"\n'
        f"fed_by_uart = {str(fed).lower()}\n"
        f"[monitor.{kind}]\n{SIMULATORS[kind]}\n"
        "[scenario.single_stream]\n[task.null]\n"
    )
    return path


@pytest.mark.posix
def test_an_image_of_another_workload_is_named_where_it_refuses_a_sample(
    tmp_path: Path,
) -> None:
    bench = posix_bench(tmp_path, "virtual", False)
    program = built("posix") / "posix/asc"
    rows = list(probe(bench, [f"sut.posix.program={program}"]))
    (failed,) = (row for row in rows if not row.ok)
    assert failed.name == "load" and "refuses this input" in failed.detail
    assert failed.try_next.startswith("it runs asc: flash the image of the bench's")
    assert failed.see == "other-workload"


@pytest.mark.posix
@pytest.mark.parametrize("fed", [True, False])
@pytest.mark.parametrize("kind", SIMULATORS)
def test_a_simulated_device_that_its_uart_feeds_is_found_with_each_instrument(
    tmp_path: Path, kind: str, fed: bool
) -> None:
    rows = probe(posix_bench(tmp_path, kind, fed))
    found = {}
    for row in rows:
        found[row.name] = row
        if row.name == UART:
            break
    rows.close()
    assert found["supply off"].ok
    assert found[UART].ok is (not fed)
    if fed:
        assert "posix answers without its supply" in found[UART].detail
        assert "unplug USB" in found[UART].try_next


@pytest.mark.posix
def test_the_command_line_fails_and_names_the_cable(tmp_path: Path) -> None:
    path = posix_bench(tmp_path, "virtual", True)
    done = rig("probe", path)
    assert done.returncode == 3
    assert f"FAIL  {UART}: posix answers without its supply" in done.stdout
    wired = rig("probe", path, "--set", "sut.posix.fed_by_uart=false")
    assert wired.returncode == 0, wired.stdout
    assert f"PASS  {UART}" in wired.stdout


@pytest.mark.posix
def test_the_proof_of_the_wires_finds_it_too(tmp_path: Path) -> None:
    rows = prove_wiring(posix_bench(tmp_path, "virtual", True))
    second = [row for row in rows if row.wire is WireName.SECOND_SUPPLY]
    assert [row.ok for row in second] == [True, False]
    assert "its UART" in second[1].cause


@pytest.mark.posix
def test_a_stop_while_it_is_asked_leaves_the_supply_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()
    states: list[bool] = []
    powered: list[bool] = []
    monkeypatch.setattr(VirtualMonitor, "power", lambda self, on: powered.append(on))
    overhears = PosixSut.overhears

    def asked(settings: PosixSut.Settings, context: BenchContext) -> str:
        threading.Timer(0.05, stop.request).start()
        return overhears(settings, context)

    monkeypatch.setattr(PosixSut, "overhears", staticmethod(asked))
    monkeypatch.setattr(probing.supply, "unanswered", _never)

    def heard(event: object) -> None:
        if isinstance(event, RailState):
            states.append(event.on)

    path = posix_bench(tmp_path, "virtual", True)
    # A device that is slow to answer: the request to stop comes before its answer.
    override = ["sut.posix.faults.drop=1.0", "sut.posix.timeout_s=30"]
    with pytest.raises(Stopped):
        list(probe(path, override, [heard], stop))
    assert states == [False] and not any(powered)


def _never(name: str, answer: str) -> None:
    raise AssertionError("the answer was judged")
