# SPDX-License-Identifier: Apache-2.0
"""`rig scan` with instruments of each maker: serial numbers, problems, and lines for a
bench file that open each instrument.

Simulators replace the makers' libraries, whose lists are written here as the libraries
print them.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import pyvisa
from click.testing import CliRunner
from pyvisa import rname
from pyvisa.constants import StatusCode
from pyvisa.errors import VisaIOError
from pyvisa_py import sessions
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from drivers.joulescope.sim.settings import JoulescopeFaults
from drivers.joulescope.sim.simulator import (
    JoulescopeSimulatorSettings as JoulescopeSettings,
)
from drivers.joulescope.sim.simulator import SimulatedDriver, SimulatedInstrument
from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from drivers.st_lpm01a.sim.shell import Lpm01aSimulatorSettings as Lpm01aSettings
from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator
from rig.cli.main import rig
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import FoundInstrument
from rig.simulation.world import World

#: An N6705B, an N6705C, and an oscilloscope of the same maker, as a vendor's library
#: prints them.
N6705B = "USB0::0x0957::0x0F07::MY53004321::0::INSTR"
N6705C = "USB0::0x2A8D::0x0F02::MY56001234::0::INSTR"
OSCILLOSCOPE = "USB0::0x0957::0x1796::MY51360001::0::INSTR"
BUSY = VisaIOError(StatusCode.error_resource_busy)


class Vendor:
    """pyvisa's manager: names, each with a simulator or the error of opening it. The
    vendor's library may be missing: then no name is listed, as pyvisa-py would also
    list instruments of the network.
    """

    def __init__(self) -> None:
        self.behind: dict[str, Simulator | Exception] = {}
        self.opened: list[str] = []
        self.missing = False
        self._real = pyvisa.ResourceManager("@py")

    def __call__(self, library: str = "") -> Vendor:
        if self.missing and library == "@ivi":
            raise OSError("could not find a VISA library")
        return self

    def list_resources(self, query: str = "?*::INSTR") -> tuple[str, ...]:
        assert not self.missing
        return tuple(rname.filter(self.behind, query))

    def open_resource(self, name: str, **options: Any) -> Any:
        self.opened.append(name)
        result = self.behind[name]
        if isinstance(result, Exception):
            raise result
        return self._real.open_resource(result.resource, **options)


@pytest.fixture
def n6705() -> Iterator[Callable[..., Simulator]]:
    with ExitStack() as stack:

        def make(**faults: Any) -> Simulator:
            simulator = Simulator(
                N6705SimulatorSettings(faults=SimulatorFaults(**faults)),
                World(),
                1,
                2,
                0,
            )
            stack.callback(simulator.close)
            return simulator

        yield make


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Vendor:
    result = Vendor()
    monkeypatch.setattr(pyvisa, "ResourceManager", result)
    return result


# --- The N6705 through a vendor's VISA library


def test_an_n6705_at_usb_is_found_by_its_identity_and_its_lines_open_it(
    vendor: Vendor, n6705: Callable[..., Simulator]
) -> None:
    vendor.behind = {OSCILLOSCOPE: n6705(), N6705C: n6705()}
    [result] = KeysightN6705.scan()
    assert (result.name, result.serial, result.problem, result.try_next) == (
        "Keysight N6705C",
        "SIMULATED",
        "",
        "",
    )
    assert vendor.opened == [N6705C], "nobody else's instrument is asked for its name"
    settings = KeysightN6705.Settings(**tomllib.loads(result.setting))
    monitor = KeysightN6705.open(settings, BenchContext())
    assert settings.visa_library == "@ivi", (
        "whatever the environment names as the default"
    )
    assert monitor.info.serial == "SIMULATED" and not monitor.info.simulated
    monitor.close()


@pytest.mark.parametrize(
    "name",
    [N6705B, N6705C, N6705C.replace("x2A8D", "x2a8d"), N6705B.replace("USB0", "USB1")],
)
def test_each_identity_of_an_n6705_is_known(
    vendor: Vendor, n6705: Callable[..., Simulator], name: str
) -> None:
    vendor.behind = {name: n6705()}
    assert [result.serial for result in KeysightN6705.scan()] == ["SIMULATED"]


def only(found: list[FoundInstrument]) -> FoundInstrument:
    [item] = found
    assert item.serial == "" and item.setting.startswith(f'resource = "{N6705B}"')
    return item


def test_an_n6705_that_another_program_holds_is_reported_as_in_use(
    vendor: Vendor,
) -> None:
    vendor.behind = {N6705B: BUSY}
    result = only(KeysightN6705.scan())
    assert (
        result.problem.startswith(f"{N6705B} is in use")
        and result.try_next == "close the other program"
    )


def test_a_silent_n6705_is_reported_as_silent(
    vendor: Vendor, n6705: Callable[..., Simulator]
) -> None:
    vendor.behind = {N6705B: n6705(late="*IDN?", mute=True)}
    result = only(KeysightN6705.scan())
    assert (
        result.problem.startswith(f"no instrument answers at {N6705B}")
        and "switched on" in result.try_next
    )


def test_what_has_the_identity_of_an_n6705_and_another_name_is_not_taken_for_one(
    vendor: Vendor, n6705: Callable[..., Simulator]
) -> None:
    vendor.behind = {N6705B: n6705(idn="Keysight Technologies,N6700C,MY1,1.0")}
    result = only(KeysightN6705.scan())
    assert "is no N6705" in result.problem and "N6705C" in result.try_next


def test_one_that_fails_hides_no_other(
    vendor: Vendor, n6705: Callable[..., Simulator]
) -> None:
    vendor.behind = {N6705B: BUSY, N6705C: n6705()}
    assert [
        (result.serial, bool(result.problem)) for result in KeysightN6705.scan()
    ] == [
        ("", True),
        ("SIMULATED", False),
    ]


# --- All three, through the command


@pytest.fixture
def joulescope(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a simulated Joulescope as the module of its maker."""
    pytest.importorskip("pyjoulescope_driver")

    def attach(serial: str, **faults: Any) -> None:
        class Driver(SimulatedDriver):
            def __init__(self) -> None:
                super().__init__()
                self._desk = ExitStack()
                instrument = SimulatedInstrument(
                    JoulescopeSettings(
                        serials=(serial,), faults=JoulescopeFaults(**faults)
                    ),
                    World(),
                )
                self._desk.enter_context(self.attached(instrument))

            def finalize(self, timeout: float | None = None) -> None:
                self._desk.close()
                super().finalize(timeout)

        monkeypatch.setitem(
            sys.modules, "pyjoulescope_driver", SimpleNamespace(Driver=Driver)
        )

    return attach


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put serial ports into the list of pyserial: device, identity of an LPM01A or of
    something else, and serial number.
    """

    def attach(*listed: tuple[str, int, str]) -> None:
        result = []
        for device, product, serial in listed:
            port = ListPortInfo(device)
            port.vid = 0x0483
            port.pid = product
            port.serial_number = serial
            port.description = "STM32 STLink"
            result.append(port)
        monkeypatch.setattr(list_ports, "comports", lambda: result)

    return attach


LPM01A = 0x5740
ST_LINK = 0x374B


def scanned() -> tuple[int, dict[str, dict[str, str]]]:
    """Run the command; returns its exit code, and the rows of the three makers and of
    serial ports.
    """
    answer = CliRunner().invoke(rig, ["scan", "--json"], standalone_mode=False)
    assert answer.exception is None, answer.output
    kinds = ("joulescope", "keysight_n6705", "st_lpm01a", "serial port")
    # What this machine itself has is not ours.
    rows = [row for row in json.loads(answer.stdout) if row["kind"] in kinds]
    assert [row["kind"] for row in rows] == list(kinds), "each once"
    return answer.return_value, {row["kind"]: row for row in rows}


def test_a_scan_lists_an_instrument_of_each_maker_with_its_number_and_its_lines(
    vendor: Vendor,
    n6705: Callable[..., Simulator],
    joulescope: Callable[..., None],
    ports: Callable[..., None],
    tmp_path: Path,
) -> None:
    vendor.behind = {N6705C: n6705()}
    joulescope("000415")
    (tmp_path / "device").touch()
    board = Lpm01aSimulator(Lpm01aSettings(), BenchContext())
    try:
        ports(
            (board.port, LPM01A, "2059"), (str(tmp_path / "device"), ST_LINK, "0667FF")
        )
        _, rows = scanned()
    finally:
        board.close()
    assert {row["state"] for row in rows.values()} == {"found"}
    assert {kind: row["serial"] for kind, row in rows.items()} == {
        "joulescope": "000415",
        "keysight_n6705": "SIMULATED",
        "st_lpm01a": "2059",
        "serial port": "0667FF",
    }
    settings = [tomllib.loads(row["setting"]) for row in rows.values()]
    assert settings[0] == {"monitor": {"joulescope": {"device": "u/js220/000415"}}}
    assert settings[1]["monitor"]["keysight_n6705"]["resource"] == N6705C
    assert settings[2:] == [
        {"monitor": {"st_lpm01a": {"port": board.port}}},
        {"sut": {"uart": {"port": str(tmp_path / "device")}}},
    ]


def test_a_scan_says_of_each_instrument_what_is_wrong_with_it(
    vendor: Vendor,
    joulescope: Callable[..., None],
    ports: Callable[..., None],
    tmp_path: Path,
) -> None:
    vendor.behind = {N6705C: BUSY}
    joulescope("000415", busy=True)
    (tmp_path / "device").touch()
    ports(
        (str(tmp_path / "gone"), LPM01A, "2059"),
        (str(tmp_path / "device"), ST_LINK, "0667FF"),
    )
    code, rows = scanned()
    assert code == 3
    assert [row["state"] for row in rows.values()] == ["problem"] * 3 + ["found"]
    output = {kind: row["problem"] for kind, row in rows.items()}
    assert (
        "000415 is attached but does not open" in output["joulescope"]
        and rows["joulescope"]["serial"] == "000415"
    )
    assert output["keysight_n6705"].startswith(f"{N6705C} is in use")
    assert (
        output["st_lpm01a"] == f"the port {tmp_path / 'gone'} may not be opened"
        and rows["st_lpm01a"]["serial"] == "2059"
    )
    assert all(row["try_next"] for row in rows.values() if row["problem"])
    plain = CliRunner().invoke(
        rig, ["scan"], standalone_mode=False, env={"COLUMNS": "80"}
    )
    for problem in (N6705C, "does not open", "may not be opened"):
        assert problem in plain.stdout


# --- The N6705 with pyvisa-py and PyUSB, without a vendor's library


class Plugged:
    """A USB device as PyUSB shows it: a configuration with one interface, of class
    USBTMC by default.
    """

    def __init__(
        self, vendor: int, product: int, serial: str, interface_class: int = 0xFE
    ) -> None:
        self.idVendor = vendor
        self.idProduct = product
        self.serial_number = serial
        self._interface = SimpleNamespace(
            bInterfaceClass=interface_class, bInterfaceSubClass=3, index=0
        )

    def __iter__(self) -> Iterator[list[SimpleNamespace]]:
        return iter([[self._interface]])


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Plugged]]:
    """Put PyUSB, as far as pyvisa-py looks for instruments with it, in front of a list
    of devices.
    """
    devices: list[Plugged] = []

    def find(
        find_all: bool = False, custom_match: Callable[[Plugged], bool] | None = None
    ) -> Any:
        result = [
            device for device in devices if custom_match is None or custom_match(device)
        ]
        return result if find_all else next(iter(result), None)

    def find_descriptor(
        configuration: list[SimpleNamespace], find_all: bool = False, **wanted: int
    ) -> list[SimpleNamespace]:
        matching = configuration
        for name, value in wanted.items():
            matching = [each for each in matching if getattr(each, name) == value]
        return matching

    def error(name: str) -> type[Exception]:
        return type(name, (Exception,), {})

    kept = without_usb()
    monkeypatch.setattr(
        sessions.Session, "_session_classes", dict(sessions.Session._session_classes)
    )
    for name, content in (
        ("usb", {}),
        (
            "usb.core",
            {
                "find": find,
                "USBError": error("USBError"),
                "NoBackendError": error("NoBackendError"),
            },
        ),
        ("usb.util", {"find_descriptor": find_descriptor}),
    ):
        put(name, ModuleType(name))
        vars(sys.modules[name]).update(content)
    yield devices
    without_usb()
    for name, module in kept.items():
        put(name, module)


def put(name: str, module: ModuleType) -> None:
    """Make a module one that was imported."""
    parent, _, own = name.rpartition(".")
    sys.modules[name] = module
    if parent:
        setattr(sys.modules[parent], own, module)


def without_usb() -> dict[str, ModuleType]:
    """Make PyUSB, and what of pyvisa-py uses it, modules that were not imported yet;
    return those that were.
    """
    names = [
        name
        for name in sorted(sys.modules)
        if re.match(r"usb(\.|$)|pyvisa_py\.(protocols\.)?usb", name)
    ]
    for name in names:
        parent, _, own = name.rpartition(".")
        vars(sys.modules.get(parent, ModuleType(parent))).pop(own, None)
    return {name: sys.modules.pop(name) for name in names}


def test_pyvisa_py_finds_an_n6705_whose_identity_it_prints_in_decimals(
    vendor: Vendor, n6705: Callable[..., Simulator], plugged: list[Plugged]
) -> None:
    vendor.missing = True
    names = [
        "USB0::2391::3847::MY53004321::0::INSTR",
        "USB0::10893::3842::MY56001234::0::INSTR",
    ]
    vendor.behind = {name: n6705() for name in names}
    plugged += [
        Plugged(0x0957, 0x0F07, "MY53004321"),
        Plugged(0x0957, 0x1796, "an oscilloscope"),
        Plugged(0x2A8D, 0x0F02, "MY56001234"),
        Plugged(0x0483, 0x374B, "no instrument", interface_class=0xFF),
    ]
    result = KeysightN6705.scan()
    assert (
        vendor.opened == names and [item.serial for item in result] == ["SIMULATED"] * 2
    )
    assert [tomllib.loads(item.setting) for item in result] == [
        {"resource": name} for name in names
    ]


def test_pyvisa_py_without_an_instrument_finds_none(
    vendor: Vendor, plugged: list[Plugged]
) -> None:
    vendor.missing = True
    assert KeysightN6705.scan() == []


def test_what_the_library_says_of_one_that_does_not_open_is_reported(
    vendor: Vendor,
) -> None:
    vendor.behind = {
        N6705B: Exception("failed to set configuration\n [Errno 16] Resource busy")
    }  # as pyvisa-py 0.8.1 raises it
    assert only(KeysightN6705.scan()).problem.endswith(
        "failed to set configuration [Errno 16] Resource busy"
    )
