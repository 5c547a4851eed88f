# SPDX-License-Identifier: Apache-2.0
"""Bytes from a device on an open port while its supply comes on, and the time of the
first request.
"""

from __future__ import annotations

import os
import pty
import threading
import tty
from collections.abc import Callable, Iterator

import pytest

from rig.bench.wire_rows import talk_rows
from rig.errors import DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.model.wiring import Talk, WireName
from sut_backends.uart.backend import UartSut
from sut_backends.uart.connect import PortSettings

BOOT = b"m-init-done\r\nm-ready\r\n"
NAME = b"m-name-dut-[board]\r\nm-ready\r\n"


class Board:
    """A board at a port, as far as its wires reach: `tx`: its bytes arrive, `rx`: it
    receives.
    """

    def __init__(self, tx: bool, rx: bool) -> None:
        self._ours, theirs = pty.openpty()
        tty.setraw(theirs)
        self.port = os.ttyname(theirs)
        self._theirs = theirs
        self._tx, self._rx = tx, rx
        self.pulses = 0
        self._thread = threading.Thread(target=self._serve, name="board")
        self._on = threading.Event()
        self._thread.start()

    def power_on(self) -> None:
        self._on.set()
        self._say(BOOT)

    def close(self) -> None:
        os.close(self._theirs)
        self._thread.join()
        os.close(self._ours)

    def _say(self, text: bytes) -> None:
        if self._tx and self._on.is_set():
            os.write(self._ours, text)

    def _serve(self) -> None:
        heard = b""
        while True:
            try:
                heard += os.read(self._ours, 1000)
            except OSError:  # the port is no longer open
                return
            *commands, heard = heard.split(b"%")
            for command in commands if self._rx and self._on.is_set() else ():
                if command == b"name":
                    self._say(NAME)
                elif command == b"timestamp":
                    self.pulses += 1


@pytest.fixture
def board(request: pytest.FixtureRequest) -> Iterator[Board]:
    made = Board(*request.param)
    yield made
    made.close()


def talk(board: Board) -> Talk:
    def watch(action: Callable[[], None]) -> int:
        action()
        return board.pulses

    settings = PortSettings(port=board.port, timeout_s=0.3, through="nothing")
    return UartSut.talk(settings, BenchContext(), board.power_on, watch)


@pytest.mark.parametrize("board", [(True, True)], indirect=True)
def test_a_board_is_heard_at_power_up_and_answers(board: Board) -> None:
    heard = talk(board)
    assert heard.at_power_up == "m-init-done m-ready"
    assert heard.name == "board"
    assert heard.pulses is None
    assert [row.ok for row in talk_rows(heard, True)] == [True, True, True]


@pytest.mark.parametrize("board", [(False, True)], indirect=True)
def test_a_board_whose_tx_is_open_still_pulses(board: Board) -> None:
    heard = talk(board)
    assert (heard.heard_b, heard.pulses) == (0, 2)
    (row,) = talk_rows(heard, True)
    assert (row.wire, row.ok) == (WireName.TX, False)


@pytest.mark.parametrize("board", [(True, False)], indirect=True)
def test_a_board_whose_rx_is_open_is_still_heard_at_power_up(board: Board) -> None:
    heard = talk(board)
    assert heard.at_power_up == "m-init-done m-ready"
    assert (heard.name, heard.pulses) == ("", 0)
    *_, row = talk_rows(heard, True)
    assert (row.wire, row.ok) == (WireName.RX, False)


def test_a_port_that_is_not_there_switches_nothing_on() -> None:
    switched: list[bool] = []
    settings = PortSettings(port="/dev/ttyNOBODY")
    with pytest.raises(DeviceNotFound):
        UartSut.talk(
            settings, BenchContext(), lambda: switched.append(True), lambda action: None
        )
    assert switched == []


def test_another_line_rate_is_no_missing_ground() -> None:
    *_, row = talk_rows(Talk(heard_b=40, unreadable_b=30, other_baud=9600), True)
    assert (row.wire, row.ok) == (WireName.GROUND, False)
    assert "line rate" in row.cause
    assert row.try_next == "baud = 9600"


def test_without_a_monitor_silence_may_be_a_missing_supply() -> None:
    (row,) = talk_rows(Talk(), False)
    assert "has no supply" in row.cause
