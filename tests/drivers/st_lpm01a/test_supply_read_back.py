# SPDX-License-Identifier: Apache-2.0
"""The supply of an X-NUCLEO-LPM01A is read back: an acknowledgement is no proof that it
is so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rig.errors import BenchError, RigError
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace
from tests.drivers.st_lpm01a.test_driver import BINARY, board, draw, recorded

KINDS = pytest.mark.parametrize("kind", [{}, BINARY], ids=["ascii", "binary"])


def test_a_board_that_acknowledges_on_and_stays_off_is_named() -> None:
    monitor = board(BenchContext(), {"no_effect_of": "pwr on"})
    with pytest.raises(
        BenchError, match="the DUT's supply is off, not on as commanded"
    ) as caught:
        monitor.power(True)
    assert "pwr get" in caught.value.evidence
    monitor.close()


def test_a_board_that_acknowledges_off_and_stays_on_is_named() -> None:
    context = BenchContext()
    monitor = board(context, {"no_effect_of": "pwr off", "only": (2,)})
    monitor.power(True)
    with pytest.raises(
        BenchError, match="does not switch the DUT's supply off"
    ) as caught:
        monitor.power(False)
    assert (
        "pwr get" in caught.value.evidence
        and "may still be on" in caught.value.try_next
    )
    monitor.close()
    assert not context.world.supply_on


@KINDS
def test_a_supply_that_drops_before_a_recording_begins_is_named(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    context = BenchContext()
    monitor = board(context, **kind)
    monitor.power(True)
    context.world.supply_on = False
    with (
        pytest.raises(BenchError, match="off, not on as commanded") as caught,
        monitor.record(tmp_path),
    ):
        pytest.fail("recorded")
    assert "before the recording" in caught.value.evidence
    monitor.close()


@KINDS
def test_a_supply_that_drops_unsaid_in_a_recording_is_named_and_all_of_it_is_a_gap(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    with (
        pytest.raises(BenchError, match="off, not on as commanded") as caught,
        recorded(tmp_path, {"drops_supply_at_s": 0.5}, **kind) as (context, _),
    ):
        draw(context, 0.033, 1000)
    assert "after the recording" in caught.value.evidence
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(0, trace.length)]
    assert "supply" in trace.gaps[0].cause
    assert trace.lost_between(0.0, trace.duration_s) is None


def test_a_supply_that_is_applied_by_the_board_itself_is_named(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = board(context)
    context.world.supply_on = True
    with (
        pytest.raises(BenchError, match="on, not off as commanded"),
        monitor.record(tmp_path),
    ):
        pytest.fail("recorded")
    monitor.close()
    assert not context.world.supply_on


def test_prompt_lines_without_a_request_end_nothing(tmp_path: Path) -> None:
    with recorded(tmp_path, {"unasked": "ack pwr auto"}) as (context, _):
        draw(context, 0.033, 100)
    assert not Trace.open(tmp_path / "trace.jls").gaps


def test_a_board_that_only_says_something_else_is_an_error_with_what_it_said() -> None:
    faults = {"unasked": "ack pwr auto", "no_answer_to": "powershield"}
    with pytest.raises(
        RigError, match="answer of the PowerShield to 'powershield'"
    ) as caught:
        board(BenchContext(), faults)
    assert "ack pwr auto" in caught.value.evidence


# Reactions of the simulated board to commands that the driver does not send, or not so.


class Talk:
    """A bare line to a simulated board under host control, at 1 kHz and without end."""

    def __init__(self, *commands: str) -> None:
        from drivers.st_lpm01a.shell import ShellClient
        from drivers.st_lpm01a.sim.simulator import (
            Lpm01aSimulator,
            Lpm01aSimulatorSettings,
        )

        self.context = BenchContext()
        settings = Lpm01aSimulatorSettings(noise_a=0.0, clock_ppm=0.0)
        self.board = Lpm01aSimulator(settings, self.context)
        self.shell = ShellClient.open(self.board.port, 3_686_400)
        self.shell.drain()
        for command in ("htc", "acqtime inf", "freq 1k", *commands):
            self.shell.command(command)

    def currents(self, duration_ms: int, *in_between: str) -> list[float]:
        """Return the samples (A) of an acquisition; the commands come at a third of
        it."""
        from drivers.st_lpm01a.stream import AsciiParser
        from drivers.st_lpm01a.stream_items import Completed, SampleBlock

        self.shell.command("start")
        draw(self.context, 0.033, duration_ms / 3)
        # Samples may come before the answer, and are none of the shell's.
        heard = self.shell.take()
        for command in in_between:
            self.shell.write(command)
            while f"ack {command}".encode() not in heard:
                heard += self.shell.stream()
        draw(self.context, 0.033, 2 * duration_ms / 3)
        self.shell.write("stop")
        parser = AsciiParser(1000, 1.0)
        result: list[float] = []
        items: list[Any] = []
        while not any(isinstance(item, Completed) for item in items):
            items = parser.feed(heard or self.shell.stream())
            heard = b""
            for item in items:
                if isinstance(item, SampleBlock):
                    result += item.values.tolist()
        return result

    def close(self) -> None:
        self.shell.close()
        self.board.close()


@pytest.mark.parametrize(("end", "stays"), [("on", True), ("off", False)])
def test_auto_is_the_default_and_supplies_the_dut_from_a_start_on(
    end: str, stays: bool
) -> None:
    talk = Talk(f"pwrend {end}")
    assert not talk.shell.supply_on()
    currents = talk.currents(1200)
    assert np.mean(currents) == pytest.approx(0.01, rel=1e-3)
    assert talk.shell.supply_on() == talk.context.world.supply_on == stays
    talk.close()


def test_off_stays_off_in_an_acquisition_and_after_it() -> None:
    talk = Talk("pwr off", "pwrend on")
    assert talk.currents(1200) == [0.0] * 1000 and not talk.shell.supply_on()
    talk.close()


def test_targrst_cuts_the_supply_for_its_time_also_in_an_acquisition() -> None:
    talk = Talk("pwr on")
    currents = np.array(talk.currents(1200, "targrst 100m"))
    assert (currents == 0).sum() == pytest.approx(100, abs=1) and talk.shell.supply_on()
    assert not (currents == 0)[:399].any()  # a trigger delay of 1 ms is the default
    talk.shell.command("targrst 0")
    assert not talk.shell.supply_on()
    talk.close()


def test_trigdelay_puts_the_first_sample_off() -> None:
    talk = Talk("pwr on", "trigdelay 500m")
    draw(talk.context, 0.033, 10)
    assert len(talk.currents(1700)) == 1000 and len(talk.currents(1450)) == 0
    talk.close()


def test_psrst_makes_a_board_as_it_was_at_power_up() -> None:
    talk = Talk("pwr on", "freq 5k", "volt 1800m")
    talk.shell.write("psrst")
    talk.shell.drain()
    assert not talk.context.world.supply_on
    with pytest.raises(BenchError, match="refuses 'freq 5k'") as caught:
        talk.shell.command("freq 5k")
    assert "controlled by host" in caught.value.evidence
    talk.shell.command("htc")
    assert talk.shell.command("volt get") == "3300-03"
    talk.close()
