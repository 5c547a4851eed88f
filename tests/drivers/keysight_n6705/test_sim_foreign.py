# SPDX-License-Identifier: Apache-2.0
"""The simulated N6705 answers programs that were written for a real one by others. Here
their messages, over a plain socket; qcodes itself runs in `make peers`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings
from rig.simulation.world import World
from tests.stand_ins.n6705 import MeteredSimulator

NO_ERROR = r'\+0,"No error"'
NUMBER = r"[+-]?\d+(\.\d+)?(E[+-]\d+)?"

#: Messages and what their programs make of the answers, in their order; the DUT draws
#: 36 mW. qcodes 0.58.0, instrument_drivers/Keysight/Keysight_N6705B.py, lines 35 to 93;
#: its `SOUR:VOLT:PROT 3, @(1)` is no channel list.
QCODES = [
    ("*IDN?", r"[^,]+,[^,]+,[^,]+,[^,]+"),
    ("SOURCE:VOLT 1.8, (@1)", None),
    ("SOURCE:VOLT? (@1)", 1.8),
    ("SOURCE:CURR 0.2, (@1)", None),
    ("SOURCE:CURR? (@1)", 0.2),
    ("OUTP:STAT 1, (@1)", None),
    ("OUTP:STAT? (@1)", "1"),
    ("MEAS:VOLT? (@1)", 1.8),
    ("MEAS:CURR? (@1)", 0.02),
    ("SYST:ERR?", NO_ERROR),
    ("VOLT 1.9, @(1)", None),
    ("SYST:ERR?", r'-102,"Syntax error"'),
    ("OUTP:STAT 0, (@1)", None),
    ("MEAS:VOLT? (@1)", 0.0),
    ("MEAS:CURR? (@1)", 0.0),
]
#: github.com/alexeykosinov/n6705b-light at f384d98, n6705b.cpp, lines 14 to 40 and 180
#: to 189.
LIGHT = [
    ("*IDN?", r"[^,]+,[^,]+,[^,]+,[^,]+"),
    ("SOURce:VOLTage 3.0, (@1)", None),
    ("SOURce:CURRent 0.1, (@1)", None),
    ("OUTPut:STATe ON, (@1)", None),
    ("MEASure:SCALar:VOLTage? (@1)", 3.0),
    ("MEASure:SCALar:CURRent? (@1)", 0.012),
    ("MEASure:SCALar:POWEr? (@1)", 0.036),
    ("OUTPut:STATe OFF, (@1)", None),
]
#: github.com/ozan-yzr/N6705-Power-anlyzer-software at effed39, VP_function.py; line 53:
#: "ex +4".
ANALYZER = [
    ("*cls", None),
    ("SYST:CHAN?", r"\+4"),
    ("SYST:CHAN:MOD?  (@1)", "N6781A"),
    ("VOLT 2.4, (@1)", None),
    ("CURR 0.1, (@1)", None),
    ("OUTP ON , (@1)", None),
    ("VOLT?  (@1)", 2.4),
    ("MEAS:POW?  (@1)", 0.036),
    ("OUTP OFF , (@1)", None),
    ("SYST:ERR?", NO_ERROR),
]


@contextmanager
def client() -> Iterator[tuple[socket.socket, World]]:
    world = World()
    world.put(0, True, 0.036)
    modules = ("N6781A", "N6731B", "N6731B", "N6781A")
    settings = N6705SimulatorSettings(clock_ppm=0.0, noise_a=0.0, modules=modules)
    simulator = MeteredSimulator(settings, world, 1, 2, 0)
    try:
        port = int(simulator.resource.split("::")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            yield connection, world
    finally:
        simulator.close()


@pytest.mark.parametrize(
    "messages", [QCODES, LIGHT, ANALYZER], ids=["qcodes", "light", "analyzer"]
)
def test_messages_of_others_get_the_answers_that_they_read(
    messages: list[tuple[str, str | float | None]],
) -> None:
    with client() as (connection, world), connection.makefile("rb") as lines:
        for message, wanted in messages:
            connection.sendall(message.encode() + b"\n")
            if wanted is None:
                continue
            answer = lines.readline().decode().removesuffix("\n")
            if isinstance(wanted, float):
                assert re.fullmatch(NUMBER, answer), (message, answer)
                assert float(answer) == pytest.approx(wanted, rel=1e-6, abs=1e-4), (
                    message
                )
            else:
                assert re.fullmatch(wanted, answer), (message, answer)
        connection.sendall(b"*OPC?\n")
        assert lines.readline() == b"1\n"
        assert not world.supply_on


@pytest.mark.parametrize(
    "message", ["VOLT 1.8", "MEAS:CURR?", "OUTP ON", "SENS:ELOG:PER 0.1"]
)
def test_what_concerns_a_channel_needs_its_number(message: str) -> None:
    with client() as (connection, _), connection.makefile("rb") as lines:
        connection.sendall(f"{message}\nSYST:ERR?\n".encode())
        assert lines.readline() == b'-109,"Missing parameter"\n'
