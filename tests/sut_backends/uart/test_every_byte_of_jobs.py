# SPDX-License-Identifier: Apache-2.0
"""One fault at every byte of a search and of a stream, in either direction: the right
data or a named error, never a hang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from rig.errors import RigError
from rig.model.steps import Scene, Stream
from sut_backends.shim.messages import OptimizeMessage
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.stream_feeder import Feed
from sut_backends.uart.text_client import TextClient
from tests.length import length
from tests.sut_backends.framed import framed
from tests.sut_backends.lines.spoilt_line import KINDS, Fault, FaultyLine, spread
from tests.sut_backends.uart.core_device import OUTPUT_B, Device, build

COSTS = (-1, -4, -5, -9)
MOVE_US = 250
ANSWER_B = 5
#: Three windows in two slots, 0.6 s apart: a fault is repaired in less.
HZ = 100
WINDOW = 100
HOP = 60
STEP = Stream((Scene("any", (0,), WINDOW + 2 * HOP),), HOP, WINDOW, HZ, limit_s=5.0)
READY_US = [10_000 * (WINDOW + number * HOP) for number in range(3)]
Job = Callable[[Device, FaultyLine, int], None]


@pytest.fixture(scope="module")
def device() -> Device:
    """Build a device."""
    return build()


def enter(line: FaultyLine, nonce: int) -> FramedDut:
    text = TextClient(line, 2.0, line.clock)
    text.attention(2.0)
    assert text.frame()
    client = framed(line, line.clock)
    client.hello(nonce)
    return client


def content(number: int) -> bytes:
    return bytes((number * 31 + at * 7) & 0xFF for at in range(20))


def answer(payload: bytes, length_b: int) -> bytes:
    return bytes((payload[at % len(payload)] + 1) & 0xFF for at in range(length_b))


def search(device: Device, line: FaultyLine, nonce: int) -> None:
    """Search: each threshold at the move that reached it, once, and the output of the
    right input.
    """
    client = enter(line, nonce)
    before = device.jobs
    client.slots.put(1, content(nonce))
    request = OptimizeMessage(
        slot=1,
        seed=nonce,
        timeout_us=1_000_000,
        target=-9,
        guard_us=client.guard_us,
        hold_us=50,
        thresholds=(-3, -5),
    )
    done = client.window(request, 2.0)
    assert [phase for phase, _ in done.marks] == [1, 0x60, 0x61, 0]
    moves = [(tick - done.marks[0][1]) // MOVE_US for _, tick in done.marks]
    assert moves == [0, 2, 3, 4]
    assert done.output == answer(content(nonce), OUTPUT_B)
    assert (done.iterations, device.jobs - before) == (1, 1)


def listen(device: Device, line: FaultyLine, nonce: int) -> None:
    """Play a stream: each window answered once, when it was ready, by what lay in
    it."""
    client = enter(line, nonce)
    before = device.jobs
    windows = [content(nonce + number) for number in range(3)]
    heard = Feed(
        client.slots, STEP, windows, 50, clock=line.clock, sleep=line.sleep
    ).play()
    assert heard.faults == ()
    assert [mark.phase for mark in heard.marks] == [0x20, 1, 0x21, 1, 0x21, 1, 0x21, 0]
    begun_us = [
        mark.tick - heard.marks[0].tick for mark in heard.marks if mark.phase == 1
    ]
    assert all(
        0 <= at_us - ready_us < 20_000
        for at_us, ready_us in zip(begun_us, READY_US, strict=True)
    )
    assert heard.output == b"".join(answer(window, ANSWER_B) for window in windows)
    assert (heard.windows, device.jobs - before) == (3, 3)


def start(device: Device, job: Job, fault: Fault) -> FaultyLine:
    if job is search:
        device.start_searching(COSTS)
    else:
        device.start_listening(ANSWER_B)
    return FaultyLine(device, fault)


def attempt(device: Device, job: Job, fault: Fault) -> tuple[str, FaultyLine]:
    """Do a job on a line with one fault; return how it ended. After an error a new host
    finds the device and gets its data.
    """
    line = start(device, job, fault)
    try:
        job(device, line, 3)
        return "right", line
    except RigError as error:
        assert error.cause
        job(device, FaultyLine(device, Fault()), 7)
        return type(error).__name__, line


@pytest.mark.parametrize("way", ["tx", "rx"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("job", [search, listen])
def test_a_fault_at_any_byte_ends_in_the_right_data_or_a_named_error(
    device: Device, job: Job, kind: str, way: str
) -> None:
    line = start(device, job, Fault())
    enter(line, 3)
    # up to here it is the conversation of test_every_byte.py
    entered_b = line.passed[way]
    ended, line = attempt(device, job, Fault())
    assert ended == "right"
    # A stream takes its time: each byte of it is spoilt in every other way.
    step_b = length(1, 3) if job is search else length(2, 6)
    spoilt = spread(kind, range(entered_b, line.passed[way]), step_b)
    ends = Counter(attempt(device, job, Fault(way, kind, at))[0] for at in spoilt)
    if kind == "cut":
        assert set(ends) <= {"DeadlineError", "RemoteProtocolError", "right"}
    else:
        assert set(ends) == {"right"}
