# SPDX-License-Identifier: Apache-2.0
"""A device that never stops talking: every wait of the text layer ends within its
limit."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rig.errors import DeadlineError, RemoteProtocolError
from sut_backends.uart.text_client import ATTENTION_S, TextClient

LIMIT_S = 2.0
#: The time of a wait beyond its limit: one more look at the line.
SLACK_S = 0.2
ENDLESS_S = 60.0


@dataclass
class Chatter:
    """A line on which `block` comes every 50 ms of its own clock: from the start, or
    once something was written.
    """

    block: bytes
    asked_first: bool = False
    baud: int = 115_200
    name: str = "chatter"
    now_s: float = 0.0
    written: bytes = field(default=b"")

    def clock(self) -> float:
        assert self.now_s < ENDLESS_S, "the wait does not end"
        return self.now_s

    def write(self, block: bytes) -> None:
        self.written += block

    def read(self, timeout_s: float) -> bytes:
        assert self.now_s < ENDLESS_S, "the wait does not end"
        if self.asked_first and not self.written:
            return b""
        self.now_s += 0.05
        return self.block


def client(line: Chatter) -> TextClient:
    return TextClient(line, LIMIT_S, line.clock)  # type: ignore[arg-type]


@pytest.mark.parametrize("block", [b"x", b"\xff"])
def test_bytes_without_a_line_end_are_reported_before_anything_is_asked(
    block: bytes,
) -> None:
    line = Chatter(block)
    with pytest.raises(RemoteProtocolError, match="speaks unasked"):
        client(line).command("profile")
    assert line.now_s <= LIMIT_S + SLACK_S and not line.written


@pytest.mark.parametrize("block", [b"x", b"x\n", b"m-lap-us-1\r\n"])
def test_an_answer_without_end_ends_with_its_limit(block: bytes) -> None:
    line = Chatter(block, asked_first=True)
    with pytest.raises(DeadlineError, match="m-ready"):
        client(line).command("profile")
    assert line.now_s <= LIMIT_S + SLACK_S


def test_an_inference_without_end_ends_with_its_own_limit() -> None:
    line = Chatter(b"m-warmup-start-0\r\n", asked_first=True)
    with pytest.raises(DeadlineError, match="`infer 1 0` within 5 s"):
        client(line).infer(1, 5.0)
    assert line.now_s <= 5.0 + SLACK_S


def test_an_answer_to_frame_that_stays_unclear_ends_the_search_for_frames() -> None:
    line = Chatter(b"m-name-dut-[x]\r\nm-ready\r\n", asked_first=True)
    with pytest.raises((DeadlineError, RemoteProtocolError)):
        client(line).frame()
    assert line.now_s <= 5 * (2 * ATTENTION_S + LIMIT_S)


@pytest.mark.parametrize("block", [b"x", b"x\n"])
def test_a_search_for_the_text_layer_ends_with_its_limit(block: bytes) -> None:
    line = Chatter(block)
    with pytest.raises(RemoteProtocolError, match="talks, but does not answer"):
        client(line).attention(LIMIT_S)
    assert line.now_s <= LIMIT_S + 0.5
