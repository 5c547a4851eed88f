# SPDX-License-Identifier: Apache-2.0
"""Frames and lines of text, in words: from a stream in any pieces, of any bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.bench import plugins
from rig.bench.console import console
from rig.interfaces.console import WireLine
from rig.session.session import open_bench
from sut_backends.shim.console import ShimDecoder
from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import (
    DoneMessage,
    ErrorCode,
    MessageKind,
    RefusalMessage,
    RunMessage,
)
from tests.conftest import ROOT

RUN = encode(Frame(MessageKind.RUN, 7, RunMessage(3, 100, 5000, 50).pack()))
DONE = encode(
    Frame(
        MessageKind.DONE,
        7,
        DoneMessage(0, ((1, 1000), (2, 2000)), 4, 100, b"\x01\x02\x03\x04").pack(),
    )
)
REFUSED = encode(
    Frame(
        MessageKind.ERROR, 8, RefusalMessage(ErrorCode.SLOT, 9, "only 4 slots").pack()
    )
)


def texts(lines: list[WireLine]) -> list[tuple[str, str, str, bool]]:
    return [(line.direction, line.name, line.text, line.ok) for line in lines]


def test_messages_have_their_names_and_fields() -> None:
    decoder = ShimDecoder()
    assert texts(decoder.feed("tx", RUN, 1.0)) == [
        ("tx", "RUN", "#7 slot 3, repeat 100, guard 5000 us, hold 50 us", True)
    ]
    (done,) = decoder.feed("rx", DONE, 2.5)
    assert done.at_s == 2.5 and done.name == "DONE"
    assert "marks (0x01 at 1000, 0x02 at 2000)" in done.text
    assert "output 4 B: 01 02 03 04" in done.text
    assert texts(decoder.feed("rx", REFUSED, 3.0)) == [
        ("rx", "ERROR", "#8 no such slot, detail 9: only 4 slots", False)
    ]


def test_text_before_and_after_frames() -> None:
    decoder = ShimDecoder()
    lines = decoder.feed("tx", b"name%", 0.0)
    lines += decoder.feed("rx", b"m-name-dut-[x]\r\nm-re", 0.0)
    lines += decoder.feed("rx", b"ady\r\n", 0.0)
    lines += decoder.feed("tx", b"frame 1%" + RUN + b"name%", 0.0)
    assert texts(lines) == [
        ("tx", "text", "name", True),
        ("rx", "text", "m-name-dut-[x]", True),
        ("rx", "text", "m-ready", True),
        ("tx", "text", "frame 1", True),
        ("tx", "RUN", "#7 slot 3, repeat 100, guard 5000 us, hold 50 us", True),
        ("tx", "text", "name", True),
    ]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=60))
def test_the_pieces_do_not_matter(sizes: list[int]) -> None:
    stream = DONE + RUN + REFUSED
    whole = texts(ShimDecoder().feed("rx", stream, 0.0))
    decoder = ShimDecoder()
    lines: list[WireLine] = []
    at = 0
    for size in [*sizes, len(stream)]:
        lines += decoder.feed("rx", stream[at : at + size], 0.0)
        at += size
    assert texts(lines) == whole
    assert [line.name for line in lines] == ["DONE", "RUN", "ERROR"]


def test_a_broken_frame_and_babble_are_noise_in_bounded_memory() -> None:
    decoder = ShimDecoder()
    broken = bytearray(RUN)
    broken[4] ^= 0x55
    assert [line.name for line in decoder.feed("rx", bytes(broken), 0.0)] == ["noise"]
    babble = random.Random(1)
    output = 0
    for _ in range(400):
        block = bytes(babble.choices(range(1, 256), k=1000))
        output += len(decoder.feed("rx", block, 0.0))
    assert 1 <= output <= 6
    assert len(decoder._waiting["rx"]) <= 81_000
    assert [line.name for line in decoder.feed("rx", b"\x00" + DONE, 0.0)][-1] == "DONE"


def test_a_backend_without_a_decoder_has_numbers() -> None:
    decoder = plugins.find("sut", "virtual").decoder()
    (line,) = decoder.feed("rx", b"\x01\xff", 0.0)
    assert (line.name, line.text) == ("bytes", "2 B: 01 ff")


@pytest.mark.posix
def test_on_a_real_line_all_is_understood_from_the_first_byte_on(
    tmp_path: Path,
) -> None:
    lines: list[WireLine] = []
    bench = ROOT / "benches" / "posix-null.toml"
    quick = ["task.null.samples=3", "scenario.single_stream.idle_s=0.1"]
    with open_bench(
        bench, quick, listeners=(console("posix", lines.append),)
    ) as opened:
        opened.run(1, tmp_path)
    names = [line.name for line in lines]
    assert names[0] == "text" and "noise" not in names
    assert all(line.ok for line in lines)
    assert {
        "HELLO",
        "CAPS",
        "LOAD",
        "DATA",
        "COMMIT",
        "RUN",
        "ACK",
        "DONE",
        "SYNC",
    } <= set(names)
    assert [line.at_s for line in lines] == sorted(line.at_s for line in lines)
