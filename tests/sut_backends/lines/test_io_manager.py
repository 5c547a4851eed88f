# SPDX-License-Identifier: Apache-2.0
"""The rig with an IO manager of another make, which passes commands and lines but no
frames. Ours is in tests/firmware.
"""

from __future__ import annotations

import os
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from select import select

import pytest
import serial

from rig.errors import DeadlineError, ProtocolError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query, Sync
from sut_backends.hosted.posix import DutProcess
from sut_backends.lines.io_manager import IoManagerLine
from sut_backends.uart.backend import UartSut
from sut_backends.uart.connect import open_line

pytestmark = pytest.mark.posix

Start = Callable[..., DutProcess]


class Stranger:
    """An interface board as it is publicly described: `dut X` is echoed with an m-ready
    of its own, then come the DUT's lines.
    """

    def __init__(self, dut_port: str) -> None:
        self._dut = serial.Serial(dut_port, timeout=5)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for fd in (self._master, self._slave):
            os.close(fd)
        self._dut.close()

    def _serve(self) -> None:
        words = b""
        while not self._stop.is_set():
            if select([self._master], [], [], 0.02)[0]:
                words += os.read(self._master, 100)
            while b"%" in words:
                command, _, words = words.partition(b"%")
                self._answer(command)

    def _answer(self, command: bytes) -> None:
        word, _, rest = command.partition(b" ")
        if word == b"name":
            self._say(b"Some Enhanced Interface Board")
        elif word == b"dut":
            self._say(b"m-dut-passthrough(" + rest + b")")
        self._say(b"m-ready")
        if word == b"dut":
            self._pass(rest)

    def _pass(self, command: bytes) -> None:
        self._dut.write(command + b"%")
        line = b""
        while line != b"m-ready" and (line := self._dut.readline()):
            line = line.rstrip()
            self._say(b"[dut]: " + line)

    def _say(self, line: bytes) -> None:
        os.write(self._master, line + b"\r\n")


@pytest.fixture
def stranger(start_dut: Start) -> Iterator[Stranger]:
    stranger = Stranger(start_dut().port)
    yield stranger
    stranger.close()


@contextmanager
def opened(port: str, context: BenchContext, **settings: str) -> Iterator[UartSut]:
    sut = UartSut.open(UartSut.Settings(port=port, **settings), context)  # type: ignore[arg-type]
    try:
        yield sut
    finally:
        sut.close()


def test_it_is_found_by_itself_and_the_text_layer_is_spoken(
    stranger: Stranger, context: BenchContext
) -> None:
    with opened(stranger.port, context) as sut:
        assert (
            sut.info.link == f"{stranger.port} through an IO manager, 115200 baud, text"
        )
        sut.do(Load(0), [bytes(range(100))])
        done = sut.do(Query((0,), limit_s=5.0))
        assert done.marks[1].tick > done.marks[0].tick
        assert len(sut.do(Sync()).marks) == 8


def test_frames_are_refused_before_the_dut_is_lost_in_them(
    stranger: Stranger, context: BenchContext
) -> None:
    with (
        pytest.raises(SutError) as raised,
        opened(stranger.port, context, layer="framed"),
    ):
        pass
    assert "knows only the text layer" in str(raised.value)
    with opened(stranger.port, context, layer="text") as sut:
        assert sut.info.name == "posix"


def test_told_that_there_is_none_the_rig_does_not_look_for_one(
    stranger: Stranger, context: BenchContext
) -> None:
    with (
        pytest.raises((DeadlineError, ProtocolError)),
        opened(stranger.port, context, through="nothing"),
    ):
        pass


def test_in_front_of_a_dut_it_changes_no_byte(
    start_dut: Start, context: BenchContext
) -> None:
    reported: list[tuple[str, bytes]] = []
    context.listen(lambda direction, block: reported.append((direction, block)))
    line = open_line(start_dut().port, UartSut.Settings(port=""), context)
    assert isinstance(line, IoManagerLine)
    line.write(b"name%")
    heard = b""
    while not heard.endswith(b"m-ready\r\n"):
        heard += line.read(1.0)
    line.write(b"name%")
    line.close()
    assert heard == b"m-name-dut-[posix]\r\nm-ready\r\n"
    assert (
        b"".join(block for direction, block in reported if direction == "tx")
        == b"name%name%"
    )
