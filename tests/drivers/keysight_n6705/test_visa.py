# SPDX-License-Identifier: Apache-2.0
"""The N6705 is reached through any VISA library: pyvisa-py, or a vendor's by pyvisa's
own binding (one built from visa_stub.c); one that is missing is one clear error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import pyvisa
from pyvisa.ctwrapper import IVIVisaLibrary

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.link import CommandRefused, ScpiLink
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.errors import (
    BenchError,
    ConfigError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
)
from rig.interfaces.context import BenchContext
from rig.simulation.world import World
from rig.trace.trace import Trace

MS = 1_000_000
#: A 32-bit number whose bytes are ends of lines but one.
LINE_ENDS_A = float(np.frombuffer(b"\x3d\x0a\x0a\x0a", ">f4")[0])


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build a library; returns the setting that names it."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler: the simulated VISA library cannot be built")
    library = tmp_path_factory.mktemp("visa") / "libvisa.so"
    source = Path(__file__).with_name("visa_stub.c")
    command = [
        compiler,
        "-std=gnu11",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run(command, check=True, timeout=60)
    return f"{library}@ivi"


@pytest.fixture(params=["pyvisa-py", "vendor's"])
def library(request: pytest.FixtureRequest) -> str:
    return (
        "@py"
        if request.param == "pyvisa-py"
        else str(request.getfixturevalue("vendor"))
    )


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def simulator(world: World) -> Iterator[Simulator]:
    simulator = Simulator(
        N6705SimulatorSettings(clock_ppm=0.0, noise_a=0.0), world, 1, 2, 0
    )
    yield simulator
    simulator.close()


def recorded(library: str, folder: Path, **faults: object) -> tuple[Trace, bool]:
    """Record a second through a library; returns the trace, and whether the supply is
    still on."""
    context = BenchContext(seed=3)
    simulator = N6705SimulatorSettings(faults=SimulatorFaults(**faults))  # type: ignore[arg-type]
    settings = KeysightN6705.Settings(
        resource="simulator", visa_library=library, timeout_s=0.5, simulator=simulator
    )
    monitor = KeysightN6705.open(settings, context)
    try:
        monitor.power(True)
        with monitor.record(folder):
            for level, power_w, duration_ms in (
                (True, 0.033, 400),
                (False, 0.05, 5),
                (True, 3.3 * LINE_ENDS_A, 595),
            ):
                context.world.put(context.world.now_ns(), level, power_w)
                context.world.advance(duration_ms * MS)
    finally:
        monitor.close()
    return Trace.open(folder / "trace.jls"), context.world.supply_on


# What both libraries do


def test_the_vendors_library_gives_the_same_trace_as_pyvisa_py_to_the_last_bit(
    vendor: str, tmp_path: Path
) -> None:
    traces = []
    for name, library in (("py", "@py"), ("vendor", vendor)):
        (tmp_path / name).mkdir()
        trace, supply_on = recorded(library, tmp_path / name)
        traces.append(trace)
        assert not supply_on and trace.gaps == ()
    assert np.array_equal(
        traces[0].power_w(0.0, 1.0)[1], traces[1].power_w(0.0, 1.0)[1]
    )
    assert len(traces[0].falls_s) == 1 and np.array_equal(
        traces[0].falls_s, traces[1].falls_s
    )


@pytest.mark.parametrize("records", [0, 5, 32_767, 32_768])
def test_a_block_of_any_length_is_read_exactly_and_the_next_answer_is_its_own(
    simulator: Simulator, world: World, library: str, records: int
) -> None:
    link = ScpiLink(simulator.resource, library, 10.0)
    link.do(
        "FORM REAL;:FORM:BORD NORM;:VOLT 3.3,(@1);:CURR:LIM 0.2,(@1);:OUTP ON,(@1)",
        "supply",
    )
    link.do(
        "SENS:ELOG:FUNC:CURR ON,(@1);VOLT ON,(@1);:SENS:ELOG:PER"
        " 0.0002048,(@1);:TRIG:ELOG:SOUR BUS,(@1)",
        "log",
    )
    link.do("INIT:ELOG (@1);:TRIG:ELOG (@1)", "start")
    # One step: each record must stand in its place.
    first = records - min(1000, records // 2)
    for count, current_a in ((first, 0.01), (records - first, LINE_ENDS_A)):
        world.put(world.now_ns(), True, 3.3 * current_a)
        world.advance(count * 204_800)
    values = link.block("FETC:ELOG? 100000,(@1)", "fetch").reshape(-1, 2)
    assert len(values) == records and values.dtype == np.float64
    assert np.array_equal(
        values[:, 1], np.full(records, np.float32(3.3), dtype=np.float64)
    )
    assert values[:first, 0] == pytest.approx(np.full(first, 0.01))
    assert values[first:, 0] == pytest.approx(np.full(records - first, LINE_ENDS_A))
    assert link.ask("*OPC?", "next") == "1"
    link.require_no_errors("after", "*OPC?")
    link.close()


def test_a_refusal_is_reported_with_its_code(
    simulator: Simulator, library: str
) -> None:
    link = ScpiLink(simulator.resource, library, 0.2)
    with pytest.raises(CommandRefused, match="refused: a step") as reported:
        link.ask("NONSENSE?", "a step")
    assert reported.value.code == -113
    assert link.ask("*OPC?", "next") == "1"
    link.close()


def test_a_block_that_ends_early_is_reported(library: str, tmp_path: Path) -> None:
    with pytest.raises(RemoteProtocolError, match="before its announced length"):
        recorded(library, tmp_path, short_block_at=2)


def test_a_lost_connection_is_reported_and_the_supply_switched_off_by_another_one(
    library: str, tmp_path: Path
) -> None:
    context = BenchContext()
    simulator = N6705SimulatorSettings(faults=SimulatorFaults(drop_at_s=0.05))
    settings = KeysightN6705.Settings(
        "simulator", library, timeout_s=0.5, simulator=simulator
    )
    monitor = KeysightN6705.open(settings, context)
    monitor.power(True)
    with (
        pytest.raises(DeviceLost, match="does not answer any more"),
        monitor.record(tmp_path),
    ):
        context.world.advance(100 * MS)
    assert context.world.supply_on
    monitor.close()
    assert not context.world.supply_on


def test_no_instrument_at_the_address_is_reported(
    simulator: Simulator, library: str
) -> None:
    simulator.close()
    with pytest.raises(DeviceNotFound, match="no instrument"):
        KeysightN6705.open(
            KeysightN6705.Settings(simulator.resource, library, timeout_s=0.2),
            BenchContext(),
        )


# What only a vendor's library says


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        ("0xBFFF0072", DeviceBusy, "is in use"),
        ("0xBFFF000F", DeviceBusy, "is in use"),
        ("0xBFFF0012", ConfigError, "is no VISA resource"),
        ("0xBFFF0011", DeviceNotFound, "no instrument at"),
    ],
    ids=["busy", "locked", "invalid name", "not found"],
)
def test_what_the_library_says_on_opening_is_translated(
    vendor: str,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    kind: type[BenchError | ConfigError],
    told: str,
) -> None:
    monkeypatch.setenv("VISA_STUB_OPEN", status)
    with pytest.raises(kind, match=told) as caught:
        ScpiLink("TCPIP0::127.0.0.1::5025::SOCKET", vendor, 0.2)
    assert caught.value.evidence and caught.value.try_next


@pytest.mark.parametrize(
    "setting",
    [
        "@ivi",
        "/nowhere/libvisa.so",
        "/nowhere/libvisa.so@ivi",
        "libc.so.6@ivi",
        "@nothing",
    ],
    ids=lambda setting: setting,
)
def test_a_library_that_is_missing_or_none_is_one_error_that_says_what_to_try(
    setting: str,
) -> None:
    if setting == "@ivi" and IVIVisaLibrary.get_library_paths():
        pytest.skip("a vendor's VISA library is installed here")
    resource = "TCPIP0::192.0.2.1::5025::SOCKET"
    with pytest.raises(ConfigError) as reported:
        KeysightN6705.open(
            KeysightN6705.Settings(resource=resource, visa_library=setting),
            BenchContext(),
        )
    assert (
        reported.value.cause
        == f"monitor.keysight_n6705.visa_library: the VISA library {setting!r} cannot"
        " be loaded"
    )
    assert reported.value.evidence
    assert (
        '"@py"' in reported.value.try_next
        and "Keysight IO Libraries" in reported.value.try_next
    )
    assert not getattr(reported.value, "__notes__", ())


def test_the_setting_reaches_pyvisa(vendor: str, simulator: Simulator) -> None:
    manager = pyvisa.ResourceManager(vendor)
    before = len(manager.list_opened_resources())
    link = ScpiLink(simulator.resource, vendor, 0.2)
    assert len(manager.list_opened_resources()) == before + 1
    link.close()
