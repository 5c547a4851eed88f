# SPDX-License-Identifier: Apache-2.0
"""Devices that the runner of MLPerf Tiny drives, driven; and what must not pass for an
answer of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from benchmarks.paced_line import PacedLine
from rig.errors import DeadlineError, RemoteProtocolError, RigError, SutError
from rig.interfaces.context import BenchContext
from rig.model.steps import Load, Query
from sut_backends.uart import rates_to_try
from sut_backends.uart.backend import UartSut
from sut_backends.uart.text_client import TextClient
from tests.sut_backends.uart.public_device import Build, PublicDevice
from tests.sut_backends.uart.test_peers import answer, sample
from tests.sut_backends.uart.text_devices import (
    Announcing,
    Echoing,
    EchoingLines,
    EchoingWords,
    Late,
    StreamingOnly,
    WakeWord,
    WrongWayRound,
)

pytestmark = pytest.mark.posix

SIZE_B = 38
QUICK = Build(sample_b=SIZE_B, infer_s=0.0, pulse_s=0.0)
ENERGY = Build(sample_b=SIZE_B, infer_s=0.0, pulse_s=0.0, energy=True)


@contextmanager
def driven(
    device: PublicDevice, context: BenchContext, layer: str = "auto"
) -> Iterator[UartSut]:
    with device:
        sut = UartSut.open(UartSut.Settings(port=device.port, layer=layer), context)
        try:
            yield sut
        finally:
            sut.close()


def answers(sut: UartSut, number: int) -> int:
    sut.do(Load(number), [sample(number, SIZE_B)])
    return answer(sut.do(Query((number,), limit_s=5.0)).output)


@pytest.mark.parametrize(
    ("kind", "echo"),
    [
        (WrongWayRound, None),
        (Echoing, "{}%"),
        (EchoingLines, "{}%"),
        (EchoingWords, "{}"),
    ],
)
@pytest.mark.parametrize("build", [QUICK, ENERGY])
def test_line_ends_the_wrong_way_round_and_echoes_are_read(
    kind: type[PublicDevice], echo: str | None, build: Build, context: BenchContext
) -> None:
    device = kind(build)
    with driven(device, context) as sut:
        assert (sut.info.model, sut.info.details.get("echo")) == ("kws01", echo)
        assert [answers(sut, number) for number in range(3)] == [0, 1, 2]
    assert not device.crashed


def test_the_lines_of_the_public_firmware_for_streaming_wake_words_are_read(
    context: BenchContext,
) -> None:
    with driven(Announcing(ENERGY), context) as sut:
        assert (sut.info.name, sut.info.details["timestamp_mode"]) == (
            "unspecified",
            "energy",
        )
        assert [answers(sut, number) for number in range(3)] == [0, 1, 2]
    with (
        driven(StreamingOnly(ENERGY), context) as sut,
        pytest.raises(SutError, match="refused `infer 1 0`") as caught,
    ):
        answers(sut, 0)
    assert caught.value.evidence == "Unrecognized command infer"


def test_ready_350_ms_after_the_rest_is_waited_for(context: BenchContext) -> None:
    with driven(Late(QUICK), context, "text") as sut:
        assert answers(sut, 5) == 5


def test_a_bridge_of_160_ms_each_way_is_waited_for(context: BenchContext) -> None:
    with (
        PublicDevice(QUICK) as device,
        PacedLine(device.port, 1_000_000, 0.16) as bridge,
    ):
        sut = UartSut.open(UartSut.Settings(port=bridge.path, layer="text"), context)
        assert answers(sut, 6) == 6
        sut.line.close()


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        ("profile", b"prfile"),
        ("db load 38", b"db load 3"),
        ("infer 1 0", b"infer 10 0"),
    ],
)
def test_an_echo_of_anything_but_what_was_sent_is_no_answer(
    sent: str, echoed: bytes, context: BenchContext
) -> None:
    device = EchoingLines(QUICK)
    device.spoil = (sent, echoed)
    with (
        pytest.raises(RemoteProtocolError, match="echoes another command") as caught,
        driven(device, context, "text") as sut,
    ):
        answers(sut, 0)
    assert (
        repr(f"{sent}%") in caught.value.evidence
        and echoed.decode() in caught.value.evidence
    )


def test_a_command_that_the_device_received_otherwise_is_reported(
    context: BenchContext,
) -> None:
    device = Announcing(ENERGY)
    device.heard_wrong = ("infer 1 0", "infer 1")
    with (
        driven(device, context, "text") as sut,
        pytest.raises(RemoteProtocolError, match="echoes another command"),
    ):
        answers(sut, 0)


class TurningLines(EchoingLines):
    """Begins to echo, or ceases to, when it is asked for its profile."""

    starts = True

    def _echo(self, command: str) -> bytes:
        asked = any("profile" in each for each in [*self.commands, command])
        return super()._echo(command) if asked == self.starts else b""


@pytest.mark.parametrize("starts", [True, False])
def test_an_echo_that_comes_or_goes_is_reported(
    starts: bool, context: BenchContext
) -> None:
    device = TurningLines(QUICK)
    device.starts = starts
    with pytest.raises(RigError) as caught, driven(device, context, "text") as sut:
        answers(sut, 0)
    assert isinstance(caught.value, RemoteProtocolError | DeadlineError)
    assert "profile%" in caught.value.evidence or "timestamp%" in caught.value.evidence


def test_no_other_line_rate_is_advised_where_a_port_has_none(
    context: BenchContext,
) -> None:
    class Deaf(PublicDevice):
        def _hear(self, byte: int) -> None:
            """Send no byte."""

        def boot(self) -> None:
            """Send no byte."""

    with Deaf(QUICK) as device:
        port, failed = UartSut.probe(
            UartSut.Settings(port=device.port, timeout_s=0.3), context
        )
    assert (port.ok, failed.ok) == (True, False)
    assert "a pseudo terminal has no line rate" in failed.try_next
    assert "9600" not in failed.try_next
    assert "9600" in rates_to_try.others("/dev/ttyUSB0", 115_200)
    assert "9600" not in rates_to_try.others("socket://there:2000", 115_200)
    cdc = rates_to_try.others("/dev/ttyACM0", 115_200)
    assert "a microcontroller's own USB port has no line rate" in cdc and "9600" in cdc


@dataclass
class Slow:
    """A device whose answers take `takes_s` of its own clock each, one after the other:
    the end of one and the begin of the next come in one piece, as a USB adapter hands
    them over.
    """

    takes_s: float
    baud: int = 115_200
    name: str = "slow"
    now_s: float = 0.0
    due: list[tuple[float, bytes]] = field(default_factory=list)
    busy_s: float = 0.0

    def clock(self) -> float:
        return self.now_s

    def write(self, block: bytes) -> None:
        answer = b"m-name-dut-[x]\r\n" if block == b"name%" else b"m-lap-us-7\r\n"
        begin_s = max(self.now_s, self.busy_s)
        self.busy_s = begin_s + self.takes_s
        self.due += [(begin_s, answer), (self.busy_s, b"m-ready\r\n")]

    def read(self, timeout_s: float) -> bytes:
        end_s = self.now_s + timeout_s
        self.now_s = min(max(self.due[0][0], self.now_s), end_s) if self.due else end_s
        came = [block for at_s, block in self.due if at_s <= self.now_s]
        self.due = self.due[len(came) :]
        return b"".join(came)


@pytest.mark.parametrize("takes_s", [0.0, 0.25, 0.31, 0.35, 0.5, 0.7])
def test_a_late_end_that_comes_with_the_next_answer_is_an_answer(
    takes_s: float,
) -> None:
    line = Slow(takes_s)
    client = TextClient(line, 2.0, line.clock)  # type: ignore[arg-type]
    assert client.attention(2.0) == "x"
    assert client.command("timestamp") == ["m-lap-us-7"]
    assert not line.due


def windows_of(sut: UartSut, count: int) -> list[bytes]:
    outputs = []
    for number in range(count):
        sut.do(Load(number), [sample(number, SIZE_B)])
        query = Query((number,), limit_s=5.0, timed=False, window=number)
        outputs.append(sut.do(query).output)
    return outputs


def sums(count: int) -> list[bytes]:
    total = 0
    found = []
    for number in range(count):
        total += sum(sample(number, SIZE_B))
        found.append(bytes((total * factor - 128) % 256 for factor in (1, 3, 7)))
    return found


def test_windows_of_a_stream_go_to_the_public_firmware_one_by_one(
    context: BenchContext,
) -> None:
    with driven(WakeWord(ENERGY), context) as sut:
        assert windows_of(sut, 4) == sums(4)
        assert windows_of(sut, 3) == sums(3)
        with pytest.raises(RigError, match="not loaded"):
            sut.do(Query((2,), timed=False, window=3))


def test_a_workload_need_not_show_its_features(context: BenchContext) -> None:
    device = WakeWord(ENERGY)
    device.shows_features = False
    with driven(device, context) as sut:
        assert windows_of(sut, 2) == sums(2)


@pytest.mark.parametrize("lose", ["x", ", +1"])
def test_a_spoilt_answer_to_a_window_is_refused(
    lose: str, context: BenchContext
) -> None:
    device = WakeWord(ENERGY)
    device.lose = lose
    with (
        driven(device, context) as sut,
        pytest.raises(RemoteProtocolError, match="extract_uart_stream"),
    ):
        windows_of(sut, 1)
