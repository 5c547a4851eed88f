# SPDX-License-Identifier: Apache-2.0
"""An N6705 found with its output on, or at another voltage: the simulated instrument is
looked at from outside, independently of the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import pyvisa

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.link import CommandRefused
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.errors import (
    ConfigError,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.simulation.world import World

TWO = ("N6781A", "N6781A")


class Instrument:
    """A simulated instrument that stays when the driver has gone; `ask` is another
    program's connection.
    """

    def __init__(self, modules: tuple[str, ...], faults: dict[str, Any]) -> None:
        settings = N6705SimulatorSettings(
            modules=modules, faults=SimulatorFaults(**faults)
        )
        self.simulator = Simulator(settings, World(), 1, 2, 0)

    def open(self, **settings: Any) -> None:
        """Open the driver on it and let go of it."""
        KeysightN6705.open(
            KeysightN6705.Settings(self.simulator.resource, timeout_s=0.4, **settings),
            BenchContext(),
        ).close()

    def ask(self, message: str) -> str:
        session = pyvisa.ResourceManager("@py").open_resource(
            self.simulator.resource,
            read_termination="\n",
            write_termination="\n",
            timeout=3000,
        )
        try:
            return (
                str(session.query(f"{message};*OPC?"))
                .removesuffix("1")
                .removesuffix(";")
            )
        finally:
            session.close()


Found = Callable[..., Instrument]


@pytest.fixture
def found() -> Iterator[Found]:
    instruments: list[Instrument] = []

    def put(modules: tuple[str, ...] = TWO, **faults: Any) -> Instrument:
        instruments.append(Instrument(modules, faults))
        return instruments[-1]

    yield put
    for instrument in instruments:
        instrument.simulator.close()


def notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


# Found on


@pytest.mark.parametrize(
    ("modules", "faults", "kind", "told"),
    [
        (("N6781A", "N6731B"), {}, ConfigError, "cannot see the SYNC line"),
        (("N6781A",), {}, DeviceNotFound, "no module at channel 2"),
        (
            ("N6731B", "N6781A"),
            {},
            ConfigError,
            "cannot log voltage and current at once",
        ),
        (TWO, {"option": "055"}, DeviceNotFound, "no data logger"),
        (TWO, {"refuse": "SYST:CHAN:OPT?"}, CommandRefused, "options of the modules"),
        (TWO, {"refuse": "SYST:CHAN?"}, CommandRefused, "number of channels"),
        (TWO, {"refuse": "SYST:CHAN:MOD?"}, CommandRefused, "models of the modules"),
        (
            TWO,
            {"read_back_of": "SYST:CHAN?", "read_back": "two"},
            RemoteProtocolError,
            "no number",
        ),
        (TWO, {"refuse": "EMUL"}, CommandRefused, "two-quadrant supply"),
        (TWO, {"late": "OUTP?", "mute": True}, DeviceLost, "does not answer any more"),
    ],
    ids=lambda value: (
        " ".join(f"{name}={one}" for name, one in value.items())
        if isinstance(value, dict)
        else None
    ),
)
def test_a_supply_found_on_is_off_after_a_set_up_that_fails(
    found: Found,
    modules: tuple[str, ...],
    faults: dict[str, Any],
    kind: type[RigError],
    told: str,
) -> None:
    instrument = found(modules, output_on=(1,), **faults)
    with pytest.raises(kind, match=told) as caught:
        instrument.open()
    assert notes(caught.value) == []
    assert instrument.ask("OUTP? (@1)") == "0"


def test_a_supply_found_on_that_refuses_to_go_off_is_reported_as_still_on(
    found: Found,
) -> None:
    instrument = found(output_on=(1,), refuse="OUTP")
    with pytest.raises(CommandRefused, match="output 1 off") as caught:
        instrument.open()
    assert notes(caught.value) == [
        "the supply may still be on: the N6705 refused: output 1 off"
    ]
    assert instrument.ask("OUTP? (@1)") == "1"


def test_a_supply_in_an_unknown_state_may_still_be_on(
    found: Found,
) -> None:
    instrument = found(output_on=(1,), read_back_of="OUTP?", read_back="yes")
    with pytest.raises(RemoteProtocolError, match="state of the outputs") as caught:
        instrument.open()
    assert notes(caught.value) == [
        "the supply may still be on: state of the output: the N6705 answered no number"
    ]


def test_a_channel_that_does_not_exist_has_no_supply_that_could_be_on(
    found: Found,
) -> None:
    with pytest.raises(DeviceNotFound, match="no module at channel 3") as caught:
        found(output_on=(1,)).open(channel=3)
    assert notes(caught.value) == []


def test_the_output_of_a_module_that_cannot_be_the_sync_channel_stays_as_it_is(
    found: Found,
) -> None:
    instrument = found(("N6781A", "N6731B"), output_on=(2,))
    with pytest.raises(ConfigError, match="cannot see the SYNC line"):
        instrument.open()
    assert instrument.ask("OUTP? (@2)") == "1"


# Found at another voltage


@pytest.mark.parametrize(
    ("left", "wanted_v"), [("12", 3.3), ("0.5", 3.3), ("3.3", 12.0), ("20", 0.6)]
)
def test_any_voltage_that_was_left_can_be_changed_into_any_other(
    found: Found, left: str, wanted_v: float
) -> None:
    instrument = found()
    instrument.ask(f"VOLT:RANG {left},(@1);:VOLT {left},(@1);:SYST:ERR?")
    assert float(instrument.ask("VOLT? (@1)")) == float(left)
    instrument.open(supply_v=wanted_v)
    assert float(instrument.ask("VOLT? (@1)")) == pytest.approx(wanted_v)


@pytest.mark.parametrize(
    ("message", "error", "volt"),
    [
        ("VOLT:RANG 3.3,(@1)", "-221", 12.0),
        ("VOLT:RANG 3.3,(@1);:SYST:CHAN?;:VOLT 3.3,(@1)", "-221", 3.3),
        ("VOLT:RANG 3.3,(@1);:VOLT 3.3,(@1)", "+0", 3.3),
        ("VOLT 3.3,(@1);:VOLT:RANG 3.3,(@1)", "+0", 3.3),
        ("VOLT 3.3,(@1);:VOLT:RANG 3.3,(@1);:SYST:CHAN?;:VOLT 12,(@1)", "-221", 3.3),
        ("VOLT:RANG 20.5,(@1)", "-222", 12.0),
    ],
)
def test_the_simulator_takes_voltage_and_range_of_one_message_together(
    found: Found, message: str, error: str, volt: float
) -> None:
    instrument = found()
    instrument.ask("VOLT 12,(@1)")
    instrument.ask(message)
    assert instrument.ask("SYST:ERR?").split(",")[0] == error
    assert float(instrument.ask("VOLT? (@1)")) == volt
