# SPDX-License-Identifier: Apache-2.0
"""Instruments at a serial port: an error while one is opened leaves the port free and
the supply off.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from drivers.nordic_ppk2.driver import NordicPpk2
from drivers.nordic_ppk2.sim.settings import Ppk2Faults, Ppk2SimulatorSettings
from drivers.nordic_ppk2.sim.simulator import Ppk2Simulator
from drivers.st_lpm01a.driver import StLpm01a
from drivers.st_lpm01a.sim.simulator import (
    Lpm01aFaults,
    Lpm01aSimulator,
    Lpm01aSimulatorSettings,
)
from rig.errors import BenchError, ConfigError
from rig.host.pseudo_terminal import unread_b
from rig.host.serial_port import SerialPort
from rig.interfaces.context import BenchContext


def ppk2(context: BenchContext) -> Ppk2Simulator:
    faults = Ppk2Faults(supply_found_on=True)
    return Ppk2Simulator(Ppk2SimulatorSettings(faults=faults), context)


def lpm01a(context: BenchContext) -> Lpm01aSimulator:
    faults = Lpm01aFaults(supply_found_on=True)
    return Lpm01aSimulator(Lpm01aSimulatorSettings(faults=faults), context)


INSTRUMENTS = [
    pytest.param(ppk2, NordicPpk2, id="ppk2"),
    pytest.param(lpm01a, StLpm01a, id="lpm01a"),
]


@pytest.mark.parametrize(("simulator", "driver"), INSTRUMENTS)
def test_a_calibration_that_cannot_be_read_leaves_the_port_free(
    simulator: Callable[[BenchContext], Any], driver: Any
) -> None:
    simulated = simulator(BenchContext())
    settings = driver.Settings(port=simulated.port, calibration="/no/such/file.toml")
    # The error is kept: it must not be its end that closes the port.
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        driver.open(settings, BenchContext())
    SerialPort.open(simulated.port, 115_200).close()
    simulated.close()
    assert caught.value.try_next


def test_an_answer_to_an_interrupted_question_does_not_prove_that_a_ppk2_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = BenchContext()
    simulated = ppk2(context)
    opened = NordicPpk2.open(NordicPpk2.Settings(port=simulated.port), BenchContext())
    read = SerialPort.read

    def interrupt(self: SerialPort, timeout_s: float) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(SerialPort, "read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        opened.power(True)
    end_s = time.monotonic() + 5
    while not unread_b(simulated._slave):
        assert time.monotonic() < end_s, "the answer does not come"
    # The answer is under way, and from now on the instrument obeys no command.
    monkeypatch.setattr(simulated, "_obey", lambda command: None)
    monkeypatch.setattr(SerialPort, "read", read)
    with pytest.raises(BenchError, match="may not have switched"):
        opened.close()
    simulated.close()
