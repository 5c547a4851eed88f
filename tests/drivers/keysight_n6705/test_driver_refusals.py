# SPDX-License-Identifier: Apache-2.0
"""An N6705 that refuses: at once with an error, by a different value read back, and by
an output that needs time to switch on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.link import CommandRefused, ScpiLink
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.errors import BenchError
from rig.interfaces.context import BenchContext
from rig.simulation.world import NS_PER_S, World

Opened = Callable[..., tuple[KeysightN6705, World]]


@pytest.fixture
def opened() -> Iterator[Opened]:
    monitors: list[KeysightN6705] = []

    def start(faults: dict[str, Any], **settings: Any) -> tuple[KeysightN6705, World]:
        context = BenchContext()
        simulator = N6705SimulatorSettings(faults=SimulatorFaults(**faults))
        monitors.append(
            KeysightN6705.open(
                KeysightN6705.Settings("simulator", simulator=simulator, **settings),
                context,
            )
        )
        return monitors[-1], context.world

    yield start
    for monitor in monitors:
        monitor.close()


@pytest.mark.parametrize(
    "error", ['-113,"Undefined header"', '-222,"Data out of range"']
)
def test_a_refused_command_is_reported_without_waiting_for_an_answer(
    error: str,
) -> None:
    sent: list[bytes] = []
    faults = SimulatorFaults(refuse="FUNC", refuse_error=error)
    simulator = Simulator(N6705SimulatorSettings(faults=faults), World(), 1, 2, 0)
    link = ScpiLink(
        simulator.resource,
        "@py",
        10.0,
        lambda direction, block: sent.append(block) if direction == "tx" else None,
    )
    try:
        with pytest.raises(CommandRefused, match="refused: priority"):
            link.do("FUNC VOLT,(@1)", "priority")
        link.do("EMUL PS2Q,(@1)", "two quadrants")
        # After an answer that did not come in time its name would be asked for.
        assert sent == [
            b"FUNC VOLT,(@1)\n:SYST:ERR?\n",
            b"SYST:ERR?\n",
            b"EMUL PS2Q,(@1)\n:SYST:ERR?\n",
        ]
        # Over USB and VXI-11 a message ends with its transfer.
        sent.clear()
        link.resource = "USB0::0x0957::0x0F07::MY1::INSTR"
        link.do("EMUL PS2Q,(@1)", "two quadrants")
        assert sent == [b"EMUL PS2Q,(@1)\n", b":SYST:ERR?\n"]
    finally:
        link.close()
        simulator.close()


@pytest.mark.parametrize(
    ("header", "settings", "what"),
    [
        ("SENS:ELOG:FUNC:CURR", {}, "data log of current"),
        ("SENS:ELOG:FUNC:VOLT", {}, "data log of voltage"),
        ("SENS:ELOG:CURR:RANG:AUTO", {}, "choice of ranges"),
        ("TRIG:ELOG:SOUR", {"sync": "trigger"}, "trigger of the data log"),
        ("VOLT", {}, "voltage of the supply"),
        ("CURR:LIM", {}, "current limit of the supply"),
        ("SENS:ELOG:PER", {}, "period than asked for"),
    ],
)
def test_a_command_that_does_nothing_without_a_word_is_found_by_reading_back(
    opened: Opened, header: str, settings: dict[str, Any], what: str
) -> None:
    with pytest.raises(BenchError, match=f"another .*{what}"):
        opened({"no_effect_of": header}, **settings)


def test_a_current_range_that_is_not_taken_is_found(opened: Opened) -> None:
    opened({}, current_range="0.1")
    with pytest.raises(
        BenchError, match="another measuring range of current"
    ) as reported:
        opened(
            {"read_back_of": "SENS:ELOG:CURR:RANG?", "read_back": "1E-5"},
            current_range="0.1",
        )
    assert reported.value.evidence == "0.1 set, SENS:ELOG:CURR:RANG? (@1) gave '1E-5'"


def test_an_auxiliary_input_that_is_unknown_has_another_way_named(
    opened: Opened,
) -> None:
    with pytest.raises(CommandRefused, match="input for SYNC") as reported:
        opened(
            {"refuse": "SENS:FUNC:VOLT:INP", "refuse_error": '-113,"Undefined header"'}
        )
    assert 'sync_input = "main"' in reported.value.try_next


def test_a_setting_that_cannot_be_read_back_is_noted_and_no_fault(
    opened: Opened,
) -> None:
    monitor, _ = opened(
        {"refuse": "TRIG:ELOG:SOUR?", "refuse_error": '-113,"Undefined header"'},
        timeout_s=0.2,
    )
    (noted,) = monitor.info.details["refused"]
    assert (
        noted.startswith("trigger of the data log: not read back") and "-113" in noted
    )
    # A long form, in quotation marks or not, is the same word.
    assert (
        opened({"read_back_of": "FUNC?", "read_back": '"VOLTage"'})[0].info.details[
            "refused"
        ]
        == []
    )


def test_an_output_that_wants_time_gets_it(opened: Opened) -> None:
    monitor, world = opened({"settle_s": 0.9})
    before_ns = world.now_ns()
    monitor.power(True)
    assert world.supply_on and world.now_ns() - before_ns == NS_PER_S
    hasty, _ = opened({"settle_s": 0.9}, settle_on_s=0.0)
    with pytest.raises(BenchError, match="output 1 does not go on"):
        hasty.power(True)


def test_an_output_that_was_found_on_has_time_to_go_off(opened: Opened) -> None:
    assert opened({})[1].now_ns() == 0
    assert opened({"output_on": (1,)})[1].now_ns() == 3 * NS_PER_S
    assert opened({"output_on": (1,)}, settle_off_s=0.5)[1].now_ns() == NS_PER_S // 2
