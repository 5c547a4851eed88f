# SPDX-License-Identifier: Apache-2.0
"""The supply of an X-NUCLEO-LPM01A: off after each failure, and reported where the
board does not switch it off.
"""

from __future__ import annotations

from typing import Any

import pytest

from drivers.st_lpm01a.shell import ShellClient
from drivers.st_lpm01a.sim.simulator import (
    Lpm01aFaults,
    Lpm01aSimulator,
    Lpm01aSimulatorSettings,
)
from rig.errors import BenchError, DeadlineError, RigError
from rig.interfaces.context import BenchContext
from tests.drivers.st_lpm01a.test_driver import board
from tests.waiting import own_threads

OFF = "the PowerShield does not switch the DUT's supply off"
NOTE = f"the supply may still be on: {OFF}"


def found_on(
    faults: dict[str, Any], true: dict[str, Any] | None = None, **more: Any
) -> tuple[RigError, bool]:
    """Open a board in vain whose supply is on; return why, and whether it still is."""
    context = BenchContext()
    threads = own_threads()
    with pytest.raises(RigError) as caught:
        board(context, {"supply_found_on": True} | faults, true, **more)
    assert own_threads() == threads
    return caught.value, context.world.supply_on


@pytest.mark.parametrize(
    "pwr_get",
    ["ack pwr get {state}", "ack pwr get\r\n\r\npwr {state}", "pwr {state}", "{state}"],
)
def test_a_supply_found_on_is_switched_off_and_reported(pwr_get: str) -> None:
    context = BenchContext()
    monitor = board(context, {"supply_found_on": True}, {"pwr_get": pwr_get})
    assert (
        monitor.info.details["supply_on_at_open"] is True
        and not context.world.supply_on
    )
    monitor.close()


@pytest.mark.parametrize(
    "pwr_get",
    ["ack pwr get {state}", "ack pwr get\r\n\r\npwr {state}", "pwr {state}", "{state}"],
)
def test_a_supply_found_off_is_reported_as_that(pwr_get: str) -> None:
    monitor = board(BenchContext(), true={"pwr_get": pwr_get})
    assert monitor.info.details["supply_on_at_open"] is False
    monitor.close()


@pytest.mark.parametrize(
    "command",
    [
        *(
            "pwr get",
            "powershield",
            "version",
            "status",
            "acqtime",
            "trigsrc",
            "trigdelay",
            "pwrend",
            "eventsrc",
            "output",
        ),
        *("funcmode", "format", "freq", "volt 3300m", "volt get"),
    ],
)
def test_whatever_is_refused_while_the_board_is_set_up_its_supply_is_off(
    command: str,
) -> None:
    error, on = found_on({"error_to": command})
    assert (
        f"refuses '{command}" in error.cause
        and not getattr(error, "__notes__", ())
        and not on
    )


@pytest.mark.parametrize("command", ["pwr get", "version", "volt 3300m"])
def test_whatever_is_not_answered_while_the_board_is_set_up_its_supply_is_off(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivers.st_lpm01a.driver._CALIBRATION_S", 0.5)
    error, on = found_on({"no_answer_to": command})
    assert (
        f"to '{command}'" in error.cause
        and not getattr(error, "__notes__", ())
        and not on
    )


def test_firmware_that_is_too_old_for_events_is_switched_off() -> None:
    error, on = found_on({}, {"firmware": "1.0.5"})
    assert (
        "too old for events" in error.cause
        and not getattr(error, "__notes__", ())
        and not on
    )


@pytest.mark.parametrize(
    ("events", "words"),
    [(True, "too old for events at D7"), (False, "too old for the command pwr")],
)
def test_firmware_that_cannot_switch_off_is_too_old_and_its_supply_may_still_be_on(
    events: bool, words: str
) -> None:
    error, on = found_on({}, {"firmware": "1.0.1"}, events=events)
    assert words in error.cause and error.__notes__ == [NOTE] and on


@pytest.mark.parametrize(
    ("fault", "kind"), [("error_to", BenchError), ("no_answer_to", DeadlineError)]
)
def test_a_board_that_is_not_the_hosts_to_control_may_still_supply_the_dut(
    fault: str, kind: type[RigError]
) -> None:
    error, on = found_on({fault: "htc"})
    assert (
        type(error) is kind
        and "'htc'" in error.cause
        and error.__notes__ == [NOTE]
        and on
    )


@pytest.mark.parametrize("fault", ["error_to", "no_answer_to"])
@pytest.mark.parametrize(
    ("only", "stays"),
    [((1,), False), ((), True)],
    ids=["off at the second try", "never off"],
)
def test_a_board_that_does_not_switch_off_while_it_is_set_up_says_so_once(
    fault: str, only: tuple[int, ...], stays: bool
) -> None:
    error, on = found_on({fault: "pwr off", "only": only})
    assert (
        type(error) is BenchError
        and error.cause == OFF
        and "'pwr off'" in error.evidence
    )
    assert "the supply may still be on" in error.try_next and not getattr(
        error, "__notes__", ()
    )
    assert on == stays


@pytest.mark.parametrize(
    "command",
    ["htc", "pwr get", "pwr off", "version", "pwrend on", "volt 3300m", "status"],
)
def test_an_interrupt_while_an_answer_is_due_leaves_the_supply_off_and_raises_no_false_alarm(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ShellClient.write
    context = BenchContext()

    def interrupted(shell: ShellClient, text: str) -> None:
        write(shell, text)
        if text == command:
            monkeypatch.setattr(ShellClient, "write", write)
            raise KeyboardInterrupt

    monkeypatch.setattr(ShellClient, "write", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        board(context, {"supply_found_on": True})
    assert not context.world.supply_on and not getattr(caught.value, "__notes__", ())


def powered(faults: dict[str, Any]) -> tuple[Any, BenchContext]:
    context = BenchContext()
    monitor = board(context, faults)
    monitor.power(True)
    assert context.world.supply_on
    return monitor, context


def test_switching_off_switches_off() -> None:
    monitor, context = powered({})
    monitor.power(False)
    assert not context.world.supply_on and monitor.voltage_v == 0
    monitor.close()


@pytest.mark.parametrize("fault", ["error_to", "no_answer_to"])
def test_a_supply_that_does_not_go_off_is_an_error_and_closing_tries_again(
    fault: str,
) -> None:
    monitor, context = powered({fault: "pwr off", "only": (2,)})
    with pytest.raises(BenchError, match=OFF) as caught:
        monitor.power(False)
    assert "may still be on" in caught.value.try_next and context.world.supply_on
    monitor.close()
    assert not context.world.supply_on


@pytest.mark.parametrize("fault", ["error_to", "no_answer_to"])
def test_closing_a_board_that_does_not_switch_off_says_so_once_and_lets_go_of_it(
    fault: str,
) -> None:
    threads = own_threads()
    monitor, context = powered({fault: "pwr off", "only": (2, 3)})
    with pytest.raises(BenchError, match=OFF) as caught:
        monitor.close()
    assert "may still be on" in caught.value.try_next and context.world.supply_on
    assert own_threads() == threads
    monitor.close()


def test_a_simulated_board_that_is_not_switched_off_goes_on_to_supply_the_dut() -> None:
    context = BenchContext()
    Lpm01aSimulator(
        Lpm01aSimulatorSettings(faults=Lpm01aFaults(supply_found_on=True)), context
    ).close()
    assert context.world.supply_on
