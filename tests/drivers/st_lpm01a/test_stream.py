# SPDX-License-Identifier: Apache-2.0
"""The X-NUCLEO-LPM01A, with losses on its line: each sample lies at its true place or
in a gap, or an error is raised.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drivers.st_lpm01a.binary import BinaryParser
from drivers.st_lpm01a.driver import StLpm01a
from drivers.st_lpm01a.sim.simulator import (
    Lpm01aFaults,
    Lpm01aSimulator,
    Lpm01aSimulatorSettings,
)
from drivers.st_lpm01a.stream import AsciiParser
from drivers.st_lpm01a.stream_items import (
    AcquisitionEnd,
    Item,
    Lost,
    SampleBlock,
    StreamEdge,
    Suspect,
    Tail,
)
from rig.errors import BenchError, DeadlineError, RigError
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace
from tests.drivers.st_lpm01a.test_driver import BINARY, QUIET, board, draw, recorded
from tests.length import length
from tests.waiting import eventually

HZ = 5000
COUNT = 3350
CONFIRMED = 3000
EVENTS = (3, 3, 700, 999, 1000, 1500, 2500, 2999, 3001, 3340)
SUMMARY = (
    b"\r\nsummary beg\r\n1000-07\r\n3000-07\r\nsummary end\r\n\r\nPowerShield > "
    b"Acquisition completed\r\n"
)
#: Every sample has a value of its own, so each tells where it truly lies.
TRUTH = {
    AsciiParser: [(1000 + k) / 1e7 for k in range(COUNT)],
    BinaryParser: [(655 + k) / 65_536 for k in range(COUNT)],
}
Kind = type[AsciiParser | BinaryParser]


def pieces(kind: Kind) -> Iterator[bytes]:
    """Yield a stream piece by piece, as the board's manual writes it."""
    for k in range(COUNT):
        if k % 1000 == 0:
            ms = k * 1000 // HZ
            ascii_stamp = b"\r\nTimeStamp: 000s %03dms, buff 00%%\r\n\0" % ms
            yield (
                ascii_stamp
                if kind is AsciiParser
                else b"\xf0\xf3" + ms.to_bytes(4) + b"\0\xff\xff"
            )
        if kind is AsciiParser:
            yield from (
                b"event %02d ris\r\n" % number
                for number, position in enumerate(EVENTS)
                if position == k
            )
            yield b"%04d-07\r\n" % (1000 + k)
        else:
            yield (0x4000 | (655 + k)).to_bytes(2)
    yield (b"\r\nend\r\n" if kind is AsciiParser else b"\xf0\xf4\xff\xff") + SUMMARY


STREAMS: dict[Kind, bytes] = {
    kind: b"".join(pieces(kind)) for kind in (AsciiParser, BinaryParser)
}


@dataclass(slots=True)
class Found:
    """A parser's result for a stream: samples by number, edges, which numbers are not
    to be trusted, whether it gave up.
    """

    samples: dict[int, float]
    edges: list[int]
    doubted: set[int]
    told: bool


def found(kind: Kind, blocks: Sequence[bytes]) -> Found:
    parser = kind(HZ, 1.0)
    items = list[Item]()
    reported = False
    try:
        for block in blocks:
            items += parser.feed(block)
        items += parser.finish()
    except RigError:
        reported = True
    # A stream without an end is detected by the reader's time limit.
    result = Found({}, [], set(), reported or AcquisitionEnd() not in items)
    at = 0
    for item in items:
        match item:
            case SampleBlock(values):
                result.samples |= {
                    at + position: float(value) for position, value in enumerate(values)
                }
                at += len(values)
            case Lost(samples, _):
                result.told = True
                at = at + samples
            case AcquisitionEnd():
                # The recording had not asked for it yet.
                result.told = result.told or at < CONFIRMED
            case Suspect(start, stop, _):
                result.told = True
                result.doubted |= set(range(start, stop))
            case StreamEdge(position, _):
                result.edges.append(position)
    result.edges = [edge for edge in result.edges if edge not in result.doubted]
    return result


def require_nothing_moved(kind: Kind, seen: Found, flips: int = 0) -> None:
    truth = TRUTH[kind]
    wrong = {
        k
        for k, value in seen.samples.items()
        if k >= COUNT or abs(value - truth[k]) > 1e-9
    }
    # Without a check sum a digit that becomes another digit is another number at its
    # own place: no more of them than flips.
    assert len(wrong - seen.doubted) <= flips, sorted(wrong - seen.doubted)[:5]
    assert set(seen.edges) <= set(EVENTS), "an edge has moved"
    whole = set(range(CONFIRMED)) <= set(seen.samples)
    edges = kind is BinaryParser or {
        edge for edge in EVENTS if edge < CONFIRMED
    } <= set(seen.edges)
    assert (whole and edges) or seen.told, "what is missing is not told"


KINDS = st.sampled_from([AsciiParser, BinaryParser])
PLACES = st.floats(0, 1, exclude_max=True)
LENGTHS = st.one_of(
    st.integers(1, 30), st.integers(1, 300).map(lambda n: 9 * n), st.integers(1, 9000)
)


@settings(max_examples=length(400, 80), deadline=None)
@given(KINDS, PLACES, LENGTHS)
@example(AsciiParser, 0.95, 9 * 20)
@example(BinaryParser, 0.95, 20)
def test_bytes_lost_in_one_go_anywhere_also_at_the_end_move_no_sample(
    kind: Kind, place: float, lost_b: int
) -> None:
    stream = STREAMS[kind]
    at = int(place * len(stream))
    require_nothing_moved(kind, found(kind, [stream[:at], stream[at + lost_b :]]))


@settings(max_examples=length(300, 60), deadline=None)
@given(KINDS, st.lists(st.tuples(PLACES, LENGTHS), min_size=2, max_size=4))
@example(AsciiParser, [(0.4, 3), (0.5, 9 * 7)])
@example(AsciiParser, [(0.0, 5), (0.25, 9)])
def test_bytes_lost_here_and_there_move_no_sample(
    kind: Kind, losses: list[tuple[float, int]]
) -> None:
    stream = bytearray(STREAMS[kind])
    for position, lost_b in losses:
        at = int(position * len(stream))
        del stream[at : at + lost_b]
    require_nothing_moved(kind, found(kind, [bytes(stream)]))


@settings(max_examples=length(300, 60), deadline=None)
@given(
    KINDS,
    PLACES,
    st.one_of(
        st.binary(min_size=1, max_size=40),
        st.integers(1, 3000).map(lambda n: b"\xa5" * n),
    ),
)
def test_bytes_too_many_move_no_sample(kind: Kind, place: float, noise: bytes) -> None:
    stream = STREAMS[kind]
    at = int(place * len(stream))
    require_nothing_moved(kind, found(kind, [stream[:at], noise, stream[at:]]))


@settings(max_examples=length(200, 50), deadline=None)
@given(KINDS, PLACES, LENGTHS)
def test_a_piece_that_comes_twice_moves_no_sample(
    kind: Kind, place: float, twice_b: int
) -> None:
    stream = STREAMS[kind]
    at = int(place * len(stream))
    require_nothing_moved(kind, found(kind, [stream[: at + twice_b], stream[at:]]))


@settings(max_examples=length(300, 60), deadline=None)
@given(KINDS, PLACES, st.lists(st.integers(0, 7), min_size=1, max_size=300))
def test_flipped_bits_change_at_most_their_own_samples(
    kind: Kind, place: float, bits: list[int]
) -> None:
    stream = bytearray(STREAMS[kind])
    at = int(place * (len(stream) - len(bits)))
    for offset, bit in enumerate(bits):
        stream[at + offset] ^= 1 << bit
    require_nothing_moved(kind, found(kind, [bytes(stream)]), flips=len(bits))


@pytest.mark.parametrize("kind", [AsciiParser, BinaryParser])
def test_what_no_time_stamp_confirms_is_no_data(kind: Kind) -> None:
    parser = kind(HZ, 1.0)
    items = [*parser.feed(STREAMS[kind]), *parser.finish()]
    assert (
        sum(len(item.values) for item in items if isinstance(item, SampleBlock))
        == CONFIRMED
    )
    assert [item.samples for item in items if isinstance(item, Tail)] == [
        COUNT - CONFIRMED
    ]
    assert all(item.at < CONFIRMED for item in items if isinstance(item, StreamEdge))


def test_a_stream_cut_off_anywhere_gives_no_data_after_its_last_time_stamp() -> None:
    for kind in (AsciiParser, BinaryParser):
        ends = list(accumulate(len(piece) for piece in pieces(kind)))
        for cut in range(0, len(STREAMS[kind]), 997):
            seen = found(kind, [STREAMS[kind][:cut]])
            sent = bisect_right(ends, cut)
            assert len(seen.samples) <= sent and len(seen.samples) % 1000 == 0


# The last samples of a recording


def line(sample: int, events: int = 0) -> int:
    """Return where in a stream of ascii_dec the line of a sample begins: a time stamp
    has 35 bytes, a NUL follows it.
    """
    return 9 * sample + 36 * (sample // 1000 + 1) + len("event 00 ris\r\n") * events


def word(sample: int) -> int:
    """Return where in a stream of bin_hexa a sample begins."""
    return 2 * sample + 9 * (sample // 1000 + 1)


def step_and_edge(folder: Path, faults: dict[str, Any], **kind: Any) -> Trace:
    """Record a step of the power, and an edge with it, 1.01 s after the start, 10 ms
    before the end.
    """
    with recorded(folder, faults, **kind) as (context, _):
        draw(context, 0.03, 1000)
        draw(context, 0.06, 10, level=False)
    return Trace.open(folder / "trace.jls")


@pytest.mark.parametrize("lines", [1, 3, 40])
def test_lines_lost_just_before_the_end_are_a_gap_and_move_no_edge(
    tmp_path: Path, lines: int
) -> None:
    trace = step_and_edge(
        tmp_path, {"lose_byte_at": line(5005), "lose_bytes": 9 * lines}
    )
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [
        (5000, 6000)
    ] and trace.length == 6000
    assert not len(trace.falls_s)


@pytest.mark.parametrize("words", [1, 3, 40])
def test_words_lost_just_before_the_end_are_a_gap(tmp_path: Path, words: int) -> None:
    faults = {"lose_byte_at": word(5005), "lose_bytes": 2 * words}
    trace = step_and_edge(tmp_path, faults, format="bin_hexa")
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [
        (5000, 6000)
    ] and trace.length == 6000


@pytest.mark.parametrize("kind", [{}, {"format": "bin_hexa"}], ids=["ascii", "binary"])
def test_without_a_fault_the_trace_ends_with_a_time_stamp_after_the_last_sample(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    trace = step_and_edge(tmp_path, {}, **kind)
    assert trace.length == 6000 and not trace.gaps
    assert np.argmax(trace.power_w(0.9, 1.1)[1] > 0.045) == 550
    assert trace.falls_s.tolist() == ([] if kind else pytest.approx([1.01], abs=2e-4))


@pytest.mark.parametrize(
    ("kind", "at"),
    [({}, line(5999, events=1) + 9 + 20), ({"format": "bin_hexa"}, word(5999) + 2 + 3)],
    ids=["ascii", "binary"],
)
def test_where_the_time_stamp_at_the_end_is_damaged_the_next_one_confirms(
    tmp_path: Path, kind: dict[str, Any], at: int
) -> None:
    trace = step_and_edge(tmp_path, {"flip_byte_at": at}, **kind)
    gaps = [(gap.start, gap.stop) for gap in trace.gaps]
    assert gaps == ([(5000, 7000)] if kind else [(5999, 6001)]) and trace.length == 7000


def test_lines_lost_just_before_the_end_of_a_recording_in_real_time_are_a_gap(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    faults = Lpm01aFaults(lose_byte_at=line(1020), lose_bytes=9 * 400)
    simulator = Lpm01aSimulator(
        Lpm01aSimulatorSettings(faults=faults, **QUIET), context
    )
    monitor = StLpm01a.open(StLpm01a.Settings(port=simulator.port), context)
    monitor.power(True)
    with monitor.record(tmp_path) as recording:
        started_ns = context.world.now_ns()

        def over() -> bool:
            recording.check()
            return context.world.now_ns() >= started_ns + 300_000_000

        eventually(over)
    monitor.close()
    simulator.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [
        (1000, 2000)
    ] and trace.length >= 2000


@pytest.mark.parametrize("kind", [{}, BINARY], ids=["ascii", "binary"])
def test_an_error_does_not_wait_for_a_time_stamp_and_leaves_a_gap(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    with (
        pytest.raises(BenchError, match="cable"),
        recorded(tmp_path, **kind) as (context, _),
    ):
        draw(context, 0.03, 240 if kind else 490)
        left_ns = context.world.now_ns()
        raise BenchError("the cable is out")
    assert context.world.now_ns() == left_ns
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.start, gap.stop, gap.cause) for gap in trace.gaps] == [
        (2000, 2500, "no time stamp follows")
    ]
    assert trace.length == 2500


@pytest.mark.long
def test_a_board_that_stops_sending_before_the_last_time_stamp_is_an_error(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = board(context, {"mute_at_s": 0.45})
    monitor.power(True)
    with (
        pytest.raises(DeadlineError, match="time stamp of the PowerShield"),
        monitor.record(tmp_path),
    ):
        draw(context, 0.03, 490)
    with pytest.raises(BenchError, match="does not switch the DUT's supply off"):
        monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert all(gap.start >= 2000 for gap in trace.gaps)


def test_closing_a_board_in_mid_recording_keeps_what_is_confirmed(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    monitor = board(context)
    monitor.record(tmp_path).__enter__()
    draw(context, 0.03, 300)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(1000, trace.length)]
    assert trace.length == pytest.approx(1550, abs=1)
