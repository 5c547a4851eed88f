# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from sut_backends.shim.frame import Frame, FrameDecoder, decode, encode
from tests.length import length

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "vectors" / "frames.json").read_text(
        encoding="utf-8"
    )
)

frames = st.builds(
    Frame, st.integers(1, 255), st.integers(0, 255), st.binary(max_size=256)
)
text_or_noise = st.binary(max_size=40).map(
    lambda noise: noise.replace(b"\x00", b"\x01")
)


def cases(name: str) -> Any:
    return pytest.mark.parametrize("case", VECTORS[name], ids=lambda case: case["name"])


@cases("cobs")
def test_cobs_gives_the_code_of_the_shared_vectors(case: dict[str, str]) -> None:
    assert cobs.encode(bytes.fromhex(case["decoded"])).hex() == case["encoded"]
    assert cobs.decode(bytes.fromhex(case["encoded"])).hex() == case["decoded"]


@cases("frames")
def test_frames_of_the_shared_vectors_are_written_and_read(
    case: dict[str, Any],
) -> None:
    frame = Frame(case["type"], case["seq"], bytes.fromhex(case["payload"]))
    code = bytes.fromhex(case["encoded"])
    assert encode(frame) == code
    assert FrameDecoder(len(frame.payload)).feed(code) == [frame]
    one_by_one = FrameDecoder(len(frame.payload))
    result = []
    for byte in code:
        result += one_by_one.feed(bytes([byte]))
    assert result == [frame]


@cases("bad")
def test_bad_streams_of_the_shared_vectors_give_no_frame_and_spoil_none(
    case: dict[str, Any],
) -> None:
    decoder = FrameDecoder(case["max_payload"])
    good = Frame(0x02, 9, b"behind")
    assert decoder.feed(bytes.fromhex(case["stream"]) + encode(good)) == [good]
    assert decoder.dropped >= (case["name"] != "only delimiters")


@settings(max_examples=length(100, 40))
@given(st.binary(max_size=1200))
def test_cobs_round_trip_has_no_zero_and_the_least_overhead(content: bytes) -> None:
    code = cobs.encode(content)
    assert 0 not in code
    assert cobs.decode(code) == content
    assert len(code) <= len(content) + len(content) // 254 + 1


@settings(max_examples=length(100, 40))
@given(
    st.lists(frames, max_size=5), st.lists(st.integers(1, 40), min_size=1), st.data()
)
def test_any_chunks_with_noise_between_frames_give_exactly_the_frames(
    sent: list[Frame], sizes: list[int], data: st.DataObject
) -> None:
    stream = b"".join(data.draw(text_or_noise) + encode(frame) for frame in sent)
    decoder = FrameDecoder(256)
    received = list[Frame]()
    at = 0
    turn = 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        received += decoder.feed(stream[at : at + size])
        at = at + size
        turn = turn + 1
    assert received == sent


@settings(max_examples=length(100, 40))
@given(frames, st.data())
def test_a_changed_byte_never_gives_another_frame(
    frame: Frame, data: st.DataObject
) -> None:
    code = bytearray(encode(frame))
    code[data.draw(st.integers(0, len(code) - 1))] ^= data.draw(st.integers(1, 255))
    received = FrameDecoder(256).feed(bytes(code))
    assert received in ([], [frame])  # a changed delimiter may leave the frame whole


@settings(max_examples=length(100, 40))
@given(frames, st.data())
def test_a_lost_or_doubled_byte_never_gives_another_frame(
    frame: Frame, data: st.DataObject
) -> None:
    code = encode(frame)
    at = data.draw(st.integers(0, len(code) - 1))
    for spoilt in (code[:at] + code[at + 1 :], code[: at + 1] + code[at:]):
        assert FrameDecoder(256).feed(spoilt) in ([], [frame])


@settings(max_examples=length(100, 40))
@given(st.binary(max_size=400))
def test_decode_of_anything_raises_value_error_or_gives_a_frame_that_encodes_back(
    code: bytes,
) -> None:
    try:
        frame = decode(code)
    except ValueError:
        return
    assert decode(encode(frame)[1:-1]) == frame


def test_a_babbling_line_takes_bounded_memory_and_is_counted_once() -> None:
    decoder = FrameDecoder(64)
    for _ in range(1000):
        assert decoder.feed(b"U" * 100) == []
    assert len(decoder.pending) < 1000
    assert decoder.feed(b"\x00") == []
    assert decoder.dropped == 1
    assert decoder.dropped_tail.endswith(b"UUU")


def test_crc_is_the_one_of_zlib() -> None:
    body = b"\x02\x07abc"
    assert cobs.decode(encode(Frame(2, 7, b"abc"))[1:-1]) == body + zlib.crc32(
        body
    ).to_bytes(4, "little")
