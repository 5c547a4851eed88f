# SPDX-License-Identifier: Apache-2.0
"""A log of the line is decoded into the backend's own record of the conversation."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import pytest

from rig.check.uart_again import _of_whole
from rig.interfaces.context import BenchContext
from rig.interfaces.recount import WireBlock
from rig.model.completion import SYNC, Completion, Mark
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Load, Query, Step, Sync
from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import MessageKind
from sut_backends.shim.recount import recounted
from sut_backends.uart.backend import UartSut
from tests.sut_backends.shim.test_link import CAPS
from tests.sut_backends.uart.public_device import Build, PublicDevice
from tests.sut_backends.uart.test_peers import sample
from tests.sut_backends.uart.text_devices import (
    EchoingLines,
    EchoingWords,
    WrongWayRound,
)

SIZE_B = 38
STEPS: tuple[Step, ...] = (
    Sync(),
    Idle(0.05),
    Load(1),
    Query((1,), limit_s=5.0, repeat=3),
    Load(2),
    Query((2,), limit_s=5.0),
    Sync(),
)


@contextmanager
def heard(
    device: PublicDevice, context: BenchContext
) -> Iterator[tuple[UartSut, list[WireBlock]]]:
    blocks: list[WireBlock] = []
    began: list[float] = []

    def listen(direction: str, block: bytes) -> None:
        blocks.append(WireBlock(1.0 if began else -1.0, direction, block))

    context.listen(listen)
    with device:
        sut = UartSut.open(UartSut.Settings(port=device.port, layer="text"), context)
        began.append(time.monotonic())
        try:
            yield sut, blocks
        finally:
            sut.close()


@pytest.mark.posix
@pytest.mark.parametrize("energy", [False, True])
@pytest.mark.parametrize(
    "kind", [PublicDevice, WrongWayRound, EchoingLines, EchoingWords]
)
def test_the_text_layer_is_decoded_as_the_client_read_it(
    kind: type[PublicDevice], energy: bool, context: BenchContext
) -> None:
    build = Build(sample_b=SIZE_B, infer_s=0.0, pulse_s=0.0, energy=energy)
    records = []
    with heard(kind(build), context) as (sut, blocks):
        for number, step in enumerate(STEPS):
            payloads = [sample(step.index, SIZE_B)] if isinstance(step, Load) else []
            completion = sut.do(step, payloads)
            if not isinstance(step, Load):
                records.append(StepRecord(number, step, completion))
        reported = list(blocks)
    recount = recounted(reported)
    assert recount.facts["model"] == sut.info.model
    steps = [step for step in recount.steps if step.answer is not None]
    # such a device only pulses: the log has no bursts and idle times
    if energy:
        records = [item for item in records if isinstance(item.step, Query)]
        (result,) = _of_whole(steps, records, False, {})
        assert result == (True, "2 answers decoded again: those of the step records")
        return
    (result,) = _of_whole(steps, records, False, {})
    assert result == (True, "5 answers decoded again: those of the step records")
    wrong = [*records[:2], _longer(records[2]), *records[3:]]
    (other,) = _of_whole(steps, wrong, False, {})
    assert not other[0] and "step 3: the device gave the marks" in other[1]


def block(direction: str, text: str) -> WireBlock:
    return WireBlock(1.0, direction, text.encode())


ANSWER = (
    "m-warmup-start-0 m-warmup-done m-infer-start-1 m-lap-us-10 m-lap-us-30"
    " m-infer-done"
)


def test_the_lines_of_an_io_manager_are_no_answers_of_the_device() -> None:
    lines = [
        f"[dut]: {word}" for word in f"{ANSWER} m-results-[0.250,0.750] m-ready".split()
    ]
    reported = [
        "m-dut-passthrough(infer 1 0)",
        "m-ready",
        "m-lap-us-11",
        *lines,
        "m-lap-us-12",
    ]
    blocks = [
        block("tx", "dut infer 1 0%"),
        block("rx", "\r\n".join(reported) + "\r\n"),
    ]
    (step,) = recounted(blocks).steps
    assert step.answer is not None and [mark.tick for mark in step.answer.marks] == [
        10,
        30,
    ]
    assert step.answer.output.hex() == "fa000000ee020000"


def test_a_text_device_that_restarted_may_have_been_asked_twice() -> None:
    stamps = [("timestamp%", f"m-lap-us-{tick}\r\nm-ready\r\n") for tick in (5, 6)]
    opening = [
        ("name%", "m-name-dut-[x]\r\nm-ready\r\n"),
        ("profile%", "m-profile-[p]\r\nm-model-[m]\r\nm-ready\r\n"),
        ("timestamp%", "m-lap-us-1\r\nm-ready\r\n"),
    ]
    again = [("timestamp%", f"m-lap-us-{tick}\r\nm-ready\r\n") for tick in (7, 8, 9)]
    pairs = [*stamps, *opening, *again]
    ways = chain.from_iterable(zip(("tx", "rx"), pair, strict=True) for pair in pairs)
    blocks = [block(*each) for each in ways]
    steps = [step for step in recounted(blocks).steps if step.answer is not None]
    marks = tuple(Mark(SYNC, tick) for tick in (7, 8, 9))
    (result,) = _of_whole(steps, [StepRecord(0, Sync(), Completion(marks))], False, {})
    assert result[0], result


def _longer(record: StepRecord) -> StepRecord:
    first, last = record.completion.marks
    marks = (first, type(last)(last.phase, last.tick + 1))
    return StepRecord(
        record.number, record.step, Completion(marks, record.completion.output)
    )


def test_whatever_a_log_holds_is_no_error() -> None:
    draw = random.Random(1)
    for _ in range(200):
        blocks = [
            WireBlock(
                draw.random(),
                draw.choice(("tx", "rx")),
                draw.randbytes(draw.randrange(60)),
            )
            for _ in range(20)
        ]
        recounted(blocks)
    assert recounted([]).unread


@pytest.mark.parametrize(
    "kind",
    [
        MessageKind.RUN,
        MessageKind.BATCH,
        MessageKind.IDLE,
        MessageKind.OPTIMIZE,
        MessageKind.STREAM,
    ],
)
def test_a_request_whose_payload_is_no_message_is_left_out(kind: MessageKind) -> None:
    blocks = [
        WireBlock(0.0, "rx", encode(Frame(MessageKind.CAPS, 0, CAPS.pack()))),
        WireBlock(1.0, "tx", encode(Frame(kind, 1, b"\x01"))),
    ]
    heard = recounted(blocks)
    assert heard.facts["name"] == CAPS.device and heard.steps == ()
