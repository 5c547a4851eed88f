# SPDX-License-Identifier: Apache-2.0
"""The device side of the protocol: the firmware's answers, stored frames, a fault at
any byte."""

from __future__ import annotations

import json
import struct
import zlib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import RigError
from sut_backends.served.device import ServedDevice
from sut_backends.shim.frame import Frame, FrameDecoder, encode
from sut_backends.shim.messages import MessageKind as Kind
from sut_backends.uart.text_client import TextClient
from tests.length import length
from tests.sut_backends.framed import framed, run_slot
from tests.sut_backends.lines.spoilt_line import KINDS, Fault, FaultyLine
from tests.sut_backends.served.serving import TimedDevice, echo
from tests.sut_backends.uart.core_device import Device, build

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "vectors" / "frames.json").read_text(
        encoding="utf-8"
    )
)
HELLO = struct.pack("<IB", 0x25222222, 1)
CONTENT = bytes(range(100))
SUM = zlib.crc32(CONTENT)
GUARD_US = 1000


def load(slot: int, length_b: int = 100, crc: int = SUM) -> tuple[int, bytes]:
    return Kind.LOAD, struct.pack("<HII", slot, length_b, crc)


def data(offset_b: int, content: bytes) -> tuple[int, bytes]:
    return Kind.DATA, struct.pack("<I", offset_b) + content


def run(slot: int, repeat: int = 1) -> tuple[int, bytes]:
    return Kind.RUN, struct.pack("<HIIH", slot, repeat, GUARD_US, 50)


#: Requests in order, each with how far its number is ahead of the next one.
CONVERSATION: list[tuple[int, tuple[int, bytes]]] = [
    (0, (Kind.PING, b"before HELLO")),
    (0, (Kind.HELLO, HELLO[:4])),
    (0, (Kind.HELLO, HELLO[:4] + b"\x07")),
    (0, (Kind.HELLO, HELLO)),
    (0, (Kind.HELLO, HELLO)),
    (0, (Kind.PING, b"abc")),
    (-1, (Kind.PING, b"abc")),
    (-2, (Kind.PING, b"abc")),
    (5, (Kind.PING, b"abc")),
    (0, (Kind.PONG, b"an echo")),
    (0, (0x7E, b"")),
    (0, (Kind.RUN, b"short")),
    (0, run(0)),
    (0, run(999)),
    (0, (Kind.COMMIT, struct.pack("<H", 0))),
    (0, (Kind.COMMIT, struct.pack("<H", 999))),
    (0, data(0, b"no slot")),
    (0, (Kind.DATA, b"abcd")),
    (0, load(999)),
    (0, load(0, 2**31)),
    (0, load(0)),
    (0, data(90, bytes(11))),
    (1, data(50, CONTENT[50:])),
    (3, (Kind.COMMIT, struct.pack("<H", 0))),
    (0, data(0, CONTENT[:50])),
    (-1, data(50, CONTENT[50:])),
    (0, (Kind.COMMIT, struct.pack("<H", 1))),
    (0, (Kind.COMMIT, struct.pack("<H", 0))),
    (0, load(1, 100, 1)),
    (0, data(0, CONTENT[:50])),
    (0, (Kind.COMMIT, struct.pack("<H", 1))),
    (0, load(1, 100, 1)),
    (0, data(0, CONTENT[:50])),
    (0, data(50, CONTENT[50:])),
    (0, (Kind.COMMIT, struct.pack("<H", 1))),
    (0, run(1)),
    (0, run(0, 0)),
    (0, run(0)),
    (0, (Kind.BATCH, struct.pack("<IIH", 1, GUARD_US, 50))),
    (0, (Kind.RESULT, struct.pack("<I", 2**31))),
    (0, (Kind.SYNC, struct.pack("<BIIH", 1, 100, GUARD_US, 50))),
    (0, (Kind.IDLE, struct.pack("<IIH", 1000, GUARD_US, 50))),
    (-1, (Kind.IDLE, struct.pack("<IIH", 1000, GUARD_US, 50))),
    (0, (Kind.STREAM, struct.pack("<4IH", 0, *[1] * 3, 0))),
    (0, (Kind.TEXT, b"")),
]


def told(frames: list[Frame]) -> list[tuple[Any, ...]]:
    """Return what frames say that every device says in the same words."""
    output: list[tuple[Any, ...]] = []
    for frame in frames:
        match frame.kind:
            case Kind.ERROR:
                output.append(("ERROR", frame.seq, frame.payload[0]))
            case Kind.ACK:
                output.append(("ACK", frame.seq, frame.payload))
            case Kind.DONE:
                marks = struct.unpack_from("<H", frame.payload, 2)[0]
                phases = frame.payload[12 : 12 + 9 * marks : 9]
                output.append(
                    ("DONE", frame.seq, frame.payload[:2], phases, frame.payload[8:12])
                )
            case Kind.CAPS:
                output.append(("CAPS", frame.seq, frame.payload[:5]))
            case kind:
                output.append((kind, frame.seq, frame.payload))
    return output


def conversation(device: Device | TimedDevice) -> list[list[tuple[Any, ...]]]:
    """Return the answers to each request of the conversation."""
    decoder = FrameDecoder(1024)

    def answer(block: bytes) -> bytes:
        device.send(block, 0)
        output = b""
        end_us = device.now_us + 1_000_000
        while device.now_us < end_us:
            output += device.listen(end_us - device.now_us)
        return output

    assert b"m-ready" in answer(b"name%")
    assert answer(b"frame 2%").startswith(b"e-[")
    assert answer(b"frame 1%").endswith(b"m-frame-[1]\r\nm-ready\r\n")
    answers = []
    expected = 0
    greeted = False
    for ahead, (kind, payload) in CONVERSATION:
        number = (expected + ahead) % 256
        answers.append(told(decoder.feed(answer(encode(Frame(kind, number, payload))))))
        first = answers[-1][0] if answers[-1] else ("nothing",)
        if first[0] == "ACK":
            expected = first[1]
        elif first[0] == "CAPS":
            expected = expected if greeted else (number + 1) % 256
            greeted = True
        elif kind != Kind.HELLO and ahead == 0 and answers[-1]:
            expected = (number + 1) % 256
    assert b"m-ready" in answer(b"name%")
    return answers


def test_a_served_device_answers_each_request_as_the_firmware_does() -> None:
    firmware = build()
    firmware.start()
    due = conversation(firmware)
    for request, output, wanted in zip(
        CONVERSATION, conversation(TimedDevice(echo())), due, strict=True
    ):
        # The core of this test knows no streams, and says so before it looks at the
        # numbers.
        assert output == wanted or request[1][0] == Kind.STREAM, request
    kinds = {answer[0] for answer in chain.from_iterable(due)}
    assert {"ACK", "ERROR", "DONE", "CAPS", Kind.STATUS, Kind.PONG} <= kinds


def in_frames() -> ServedDevice:
    device = ServedDevice(echo(), lambda: b"")
    device.receive(b"frame 1%", 0.0)
    return device


@pytest.mark.parametrize("case", VECTORS["frames"], ids=lambda case: case["name"])
def test_each_stored_frame_is_answered_or_is_a_devices_own(
    case: dict[str, Any],
) -> None:
    answers = FrameDecoder(1024).feed(
        in_frames().receive(bytes.fromhex(case["encoded"]), 0.0)
    )
    too_long = len(case["payload"]) // 2 > 1024
    assert len(answers) == (0 if case["type"] >= Kind.ACK or too_long else 1)


# Requests of more than 64 bytes are not for this device.
BAD = [case for case in VECTORS["bad"] if "limit" not in case["name"]]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
def test_nothing_is_answered_to_a_bad_stream_and_the_frame_behind_it_is(
    case: dict[str, Any],
) -> None:
    device = in_frames()
    behind = encode(Frame(Kind.HELLO, 9, HELLO))
    answers = FrameDecoder(1024).feed(
        device.receive(bytes.fromhex(case["stream"]) + behind, 0.0)
    )
    assert [(frame.kind, frame.seq) for frame in answers] == [(Kind.CAPS, 9)]


@given(st.lists(st.binary(max_size=90), max_size=8), st.booleans())
def test_after_any_noise_name_leads_back_to_text(
    pieces: list[bytes], framed: bool
) -> None:
    device = in_frames() if framed else ServedDevice(echo(), lambda: b"")
    for number, piece in enumerate(pieces):
        device.receive(piece, number * 1.0)
        device.silence(number * 1.0 + 0.5)
    device.receive(b"name%", 100.0)
    device.silence(101.0)
    assert device.receive(b"name%", 102.0).endswith(
        b"m-name-dut-[virtual device]\r\nm-ready\r\n"
    )


def converse(line: FaultyLine, nonce: int) -> bytes:
    """Find the device, load, run, fetch the output, and leave."""
    text = TextClient(line, 2.0, line.clock)
    text.attention(2.0)
    assert text.frame()
    client = framed(line, line.clock)
    client.hello(nonce)
    client.slots.put(1, CONTENT)
    done = run_slot(client, 1, repeat=2)
    assert [phase for phase, _ in done.marks] == [1, 2, 0]
    assert done.iterations == 2
    try:
        client.leave()
    except RigError:
        text.attention(0.0)
    return done.output


PASSED = FaultyLine(TimedDevice(echo()), Fault())  # type: ignore[arg-type]
assert converse(PASSED, 1) == CONTENT[:64]


@settings(max_examples=length(150, 50))
@given(
    st.sampled_from(["tx", "rx"]),
    st.sampled_from(sorted(KINDS)),
    st.integers(0, max(PASSED.passed.values())),
)
def test_a_fault_at_any_byte_gives_the_right_data_or_a_named_error(
    way: str, kind: str, at: int
) -> None:
    device = TimedDevice(echo())
    line = FaultyLine(device, Fault(way, kind, at))  # type: ignore[arg-type]
    try:
        assert converse(line, 1) == CONTENT[:64]
    except RigError as error:
        assert kind == "cut" and error.cause
