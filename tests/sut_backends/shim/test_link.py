# SPDX-License-Identifier: Apache-2.0
"""The link against a device that follows PROTOCOL section 3, over a line that loses,
doubles and changes bytes, in fake time.
"""

from __future__ import annotations

import dataclasses
import heapq
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import (
    DeadlineError,
    DeviceLost,
    LocalProtocolError,
    RemoteProtocolError,
    RigError,
    SutError,
)
from rig.model.steps import Load, Query
from sut_backends.lines.faults import FaultyLink, LineFaults
from sut_backends.shim import messages
from sut_backends.shim.frame import Frame, FrameDecoder, encode
from sut_backends.shim.messages import CapsMessage, DoneMessage, Flag, MessageKind, More
from sut_backends.shim.messages.answers import MARK
from sut_backends.shim.request import REPEATS_MAX
from sut_backends.shim.timeouts import RTO_MIN_S, RetransmissionTimeouts
from sut_backends.uart.framed_dut import FramedDut
from tests.length import length
from tests.sut_backends.framed import CAPS as FRAMED_CAPS
from tests.sut_backends.framed import framed, run_slot

CAPS = replace(
    FRAMED_CAPS,
    nonce=0,
    max_payload_b=64,
    slot_b=8192,
    output_b=100,
    flags=Flag.SYNC_LINE,
    device="fake",
    firmware="0",
    workload="null",
    model="m",
    build="b",
    sync_pin="P0",
)
OUTPUT = bytes(range(90))
LATENCY_S = 0.0005


class FakeDut:
    """The rules of section 3 and just enough of section 4; time is passed in."""

    def __init__(self, window_s: float = 0.01, *, takes_go: bool = False) -> None:
        self.takes_go = takes_go
        self.goes = 0
        self.decoder = FrameDecoder(CAPS.max_payload_b)
        self.window_s = window_s
        self.slots: dict[int, bytes] = {}
        self.runs = 0
        self.silent = False
        self.nonce: int | None = None
        self.expected = 0
        self.noted: set[int] = set()
        self.last: Frame | None = None
        self.guard: tuple[float, Frame] | None = None
        self.window_until_s = 0.0
        self.rx_in_window_b = 0
        self.backlog = b""
        self.incoming = bytearray()
        self.upload: tuple[int, int] | None = None

    def receive(self, block: bytes, now_s: float) -> list[bytes]:
        if now_s < self.window_until_s:
            self.rx_in_window_b += len(block)
            self.backlog += block
            return []
        answers = []
        for frame in self.decoder.feed(block):
            replies = list(self._frame(frame, now_s))
            if not self.silent:
                answers += map(encode, replies)
        return answers

    def timer_s(self) -> float:
        if self.window_until_s:
            return self.window_until_s
        return self.guard[0] if self.guard else float("inf")

    def expire(self, now_s: float) -> list[bytes]:
        if self.window_until_s:
            return self._close_window(now_s)
        assert self.guard
        self.window_until_s = now_s + self.window_s
        self.rx_in_window_b = 0
        self.runs = self.runs + 1
        return []

    def _close_window(self, now_s: float) -> list[bytes]:
        assert self.guard
        request = self.guard[1]
        self.guard = None
        self.window_until_s = 0.0
        marks = ((1, round((now_s - self.window_s) * 1e6)), (0, round(now_s * 1e6)))
        room_b = CAPS.max_payload_b - DoneMessage.head.size - MARK.size * len(marks)
        self.last = Frame(
            MessageKind.DONE,
            request.seq,
            DoneMessage(
                self.rx_in_window_b, marks, len(OUTPUT), output=OUTPUT[:room_b]
            ).pack(),
        )
        backlog = self.backlog
        self.backlog = b""
        return [encode(self.last), *self.receive(backlog, now_s)]

    def _ack(self) -> Frame:
        bits = sum(
            1 << number
            for number in range(32)
            if (self.expected + 1 + number) & 0xFF in self.noted
        )
        return Frame(MessageKind.ACK, self.expected, messages.AckMessage(bits).pack())

    def _frame(self, frame: Frame, now_s: float) -> list[Frame]:
        ahead = (frame.seq - self.expected) & 0xFF
        if frame.kind == MessageKind.HELLO:
            return [self._hello(frame)]
        if self.guard:
            return self._guarded(frame, now_s)
        if frame.kind == MessageKind.GO:
            return []
        if frame.kind == MessageKind.DATA and ahead < CAPS.window and self.upload:
            return [self._data(frame)]
        if ahead == 0:
            self.expected = (self.expected + 1) & 0xFF
            self.last = self._execute(frame, now_s)
            return [self.last]
        if (
            ahead == 0xFF
            and self.last
            and self.last.seq == frame.seq
            and self.last.kind != MessageKind.ACK
        ):
            return [self.last]
        return [self._ack()]

    def _hello(self, frame: Frame) -> Frame:
        nonce = messages.HelloMessage.unpack(frame.payload).nonce
        if nonce != self.nonce:
            self.nonce, self.expected, self.noted, self.last = (
                nonce,
                (frame.seq + 1) & 0xFF,
                set(),
                None,
            )
            self.upload = None
        values = {name: getattr(CAPS, name) for name in CAPS.__slots__} | {
            "nonce": nonce,
            "more": More.GO if self.takes_go else More(0),
        }
        return Frame(MessageKind.CAPS, frame.seq, CapsMessage(**values).pack())

    def _guarded(self, frame: Frame, now_s: float) -> list[Frame]:
        assert self.guard
        if frame.seq != self.guard[1].seq:
            return []
        if frame.kind == MessageKind.GO:
            self.goes += 1
            self.guard = (now_s, self.guard[1])
            return []
        self.guard = (
            now_s + messages.RunMessage.unpack(frame.payload).guard_us / 1e6,
            frame,
        )
        return [self._ack()]

    def _data(self, frame: Frame) -> Frame:
        data = messages.DataMessage.unpack(frame.payload)
        self.incoming[data.offset_b : data.offset_b + len(data.content)] = data.content
        self.noted.add(frame.seq)
        while self.expected in self.noted:
            self.noted.remove(self.expected)
            self.expected = (self.expected + 1) & 0xFF
        return self._ack()

    def _execute(self, frame: Frame, now_s: float) -> Frame:
        status = Frame(MessageKind.STATUS, frame.seq)
        match frame.kind:
            case MessageKind.PING:
                return Frame(MessageKind.PONG, frame.seq, frame.payload)
            case MessageKind.LOAD:
                load = messages.LoadMessage.unpack(frame.payload)
                if load.length_b > CAPS.slot_b:
                    return Frame(
                        MessageKind.ERROR,
                        frame.seq,
                        messages.RefusalMessage(4, CAPS.slot_b, "too large").pack(),
                    )
                self.upload, self.incoming = (
                    (load.slot, load.crc32),
                    bytearray(load.length_b),
                )
            case MessageKind.DATA:
                return Frame(
                    MessageKind.ERROR,
                    frame.seq,
                    messages.RefusalMessage(8, 0, "no slot is open").pack(),
                )
            case MessageKind.COMMIT:
                upload = self.upload
                self.upload = None
                if (
                    upload is None
                    or upload[0] != messages.CommitMessage.unpack(frame.payload).slot
                ):
                    return Frame(
                        MessageKind.ERROR,
                        frame.seq,
                        messages.RefusalMessage(5, 0, "not open").pack(),
                    )
                if zlib.crc32(self.incoming) != upload[1]:
                    return Frame(
                        MessageKind.ERROR,
                        frame.seq,
                        messages.RefusalMessage(6, 0, "crc").pack(),
                    )
                self.slots[upload[0]] = bytes(self.incoming)
            case MessageKind.RUN:
                run = messages.RunMessage.unpack(frame.payload)
                if run.slot not in self.slots:
                    return Frame(
                        MessageKind.ERROR,
                        frame.seq,
                        messages.RefusalMessage(5, run.slot, "empty").pack(),
                    )
                self.guard = (now_s + run.guard_us / 1e6, frame)
                return self._ack()
            case MessageKind.RESULT:
                offset_b = messages.ResultMessage.unpack(frame.payload).offset_b
                return Frame(
                    MessageKind.CHUNK,
                    frame.seq,
                    messages.ChunkMessage(
                        offset_b, OUTPUT[offset_b : offset_b + 60]
                    ).pack(),
                )
        return status


class FakeLine:
    """A line of 115 200 baud in fake time; its clock only moves during a read."""

    name = "fake"
    baud = 115_200

    def __init__(self, dut: FakeDut) -> None:
        self.dut = dut
        self.now_s = 0.0
        self._free_s = {"tx": 0.0, "rx": 0.0}
        self._queue: list[tuple[float, int, str, bytes]] = []
        self._serial = 0

    def clock(self) -> float:
        return self.now_s

    def write(self, block: bytes) -> None:
        self._put("tx", block)

    def read(self, timeout_s: float) -> bytes:
        end_s = self.now_s + timeout_s
        while True:
            queued_s = self._queue[0][0] if self._queue else float("inf")
            due_s = min(queued_s, self.dut.timer_s())
            if due_s > end_s:
                self.now_s = max(self.now_s, end_s)
                return b""
            self.now_s = max(self.now_s, due_s)
            if queued_s <= due_s:
                _, _, direction, block = heapq.heappop(self._queue)
                if direction == "rx":
                    return block
                self._answer(self.dut.receive(block, self.now_s))
            else:
                self._answer(self.dut.expire(self.now_s))

    def set_baud(self, baud: int) -> None:
        raise AssertionError("no change of the line rate here")

    def close(self) -> None:
        """Have no effect."""

    def say(self, block: bytes) -> None:
        self._put("rx", block)

    def _answer(self, blocks: list[bytes]) -> None:
        for block in blocks:
            self._put("rx", block)

    def _put(self, direction: str, block: bytes) -> None:
        begin_s = max(self.now_s, self._free_s[direction])
        self._free_s[direction] = begin_s + len(block) * 10 / self.baud
        self._serial += 1
        heapq.heappush(
            self._queue,
            (self._free_s[direction] + LATENCY_S, self._serial, direction, block),
        )


def connect(
    dut: FakeDut, faults: LineFaults | None = None
) -> tuple[FramedDut, FakeLine, FaultyLink]:
    line = FakeLine(dut)
    faulty = FaultyLink(line, faults or LineFaults())
    return framed(faulty, line.clock), line, faulty


SAMPLE = bytes((number * 7 + number // 256) & 0xFF for number in range(3000))


def converse(client: FramedDut, dut: FakeDut, rounds: int = 2) -> None:
    client.hello(0x1234)
    for number in range(rounds):
        client.slots.put(number % 2, SAMPLE)
        assert dut.slots[number % 2] == SAMPLE
        done = run_slot(client, number % 2)
        assert done.output == OUTPUT
        assert len(done.marks) == 2
    assert dut.runs == rounds  # no request was executed twice


def test_without_faults_nothing_is_sent_twice_and_the_line_stays_full() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    converse(client, dut)
    assert client.exchange.link.retransmissions == 0
    frames_s = 2 * (3000 / 60) * 75 * 10 / 115_200  # the time of the DATA frames alone
    assert line.now_s < 1.5 * frames_s + 0.2


@pytest.mark.parametrize("seed", range(40))
def test_one_fault_in_a_thousand_bytes_changes_no_result_and_is_counted(
    seed: int,
) -> None:
    dut = FakeDut(takes_go=seed % 2 == 0)
    client, _, faulty = connect(dut, LineFaults(0.001, 0.001, 0.001, seed))
    converse(client, dut)
    injected = [faulty.injected[way] for way in ("tx", "rx")]
    assert (
        sum(way.dropped_b + way.duplicated_b + way.flipped_b for way in injected) > 10
    )
    assert client.exchange.link.retransmissions > 0


@settings(max_examples=length(60, 20), deadline=None)
@given(
    st.integers(0, 2**32),
    st.floats(0, 0.03),
    st.floats(0, 0.03),
    st.floats(0, 0.03),
    st.booleans(),
)
def test_any_faults_end_in_the_right_data_or_a_named_error(
    seed: int, drop: float, duplicate: float, flip: float, takes_go: bool
) -> None:
    dut = FakeDut(takes_go=takes_go)
    client, line, _ = connect(dut, LineFaults(drop, duplicate, flip, seed))
    try:
        converse(client, dut, 1)
    except RigError as error:
        assert error.cause
    assert line.now_s < 120


class Sent:
    """Frames that a host writes, before a line spoils them."""

    def __init__(self, line: FaultyLink) -> None:
        self._write = line.write
        self._decoder = FrameDecoder(CAPS.max_payload_b)
        self.frames: list[Frame] = []
        line.write = self.write  # type: ignore[method-assign]

    def write(self, block: bytes) -> None:
        self.frames += self._decoder.feed(block)
        self._write(block)

    def of_numbers(self) -> dict[int, list[Frame]]:
        """Return the frames of each number; those of GO have none of their own."""
        numbers: dict[int, list[Frame]] = {}
        for frame in self.frames:
            if frame.kind != MessageKind.GO:
                numbers.setdefault(frame.seq, []).append(frame)
        return numbers


@settings(max_examples=length(300, 60), deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 0.006), st.booleans())
def test_each_frame_sent_again_is_counted_once_and_has_the_same_bytes(
    seed: int, share: float, takes_go: bool
) -> None:
    dut = FakeDut(takes_go=takes_go)
    client, _, faulty = connect(dut, LineFaults(share, share, share, seed))
    sent = Sent(faulty)
    reported = 0
    try:
        client.hello(0x1234)
        client.do(Load(3), [SAMPLE[:600]])
        for _ in range(3):
            done = client.do(Query((3,), limit_s=1.0))
            reported += done.retransmissions
            assert done.output == OUTPUT
        assert (dut.slots, dut.runs) == ({0: SAMPLE[:600]}, 3)
    except RigError as error:
        assert error.cause
    numbers = sent.of_numbers()
    assert sorted(numbers) == list(range(len(numbers))), "more than a turn of numbers"
    again = sum(len(frames) - 1 for frames in numbers.values())
    link = client.exchange.link
    assert link.retransmissions == again
    assert reported + client.unreported_retransmissions == again
    for frames in numbers.values():
        first = frames[0]
        # A request that a DUT must no longer execute becomes a PING under the same
        # number.
        assert {*frames[1:]} <= {first, Frame(MessageKind.PING, first.seq)}
        if first.kind in (MessageKind.PING, MessageKind.RESULT):
            assert len(frames) - 1 <= REPEATS_MAX, first


def lose_once(
    line: FakeLine, wanted: Callable[[Frame], bool], direction: str
) -> list[Frame]:
    """Let the line lose the first frame that is `wanted`, all but its first bytes;
    returns the list of lost frames.
    """
    put = line._put
    lost = list[Frame]()

    def spoil(way: str, block: bytes) -> None:
        result = FrameDecoder(256).feed(block)
        if way == direction and result and not lost and wanted(result[0]):
            lost.append(result[0])
            block = block[:5] + block[len(encode(result[0])) :]
        put(way, block)

    line._put = spoil  # type: ignore[method-assign]
    return lost


@pytest.mark.parametrize(
    ("kind", "direction", "repeats"),
    [
        (kind, "tx", range(1, 3))
        for kind in (MessageKind.RUN, MessageKind.COMMIT, MessageKind.DATA)
    ]
    + [(kind, "rx", range(1, 3)) for kind in (MessageKind.DONE, MessageKind.CHUNK)]
    # The DATA after a lost LOAD find no slot open: a window is retransmitted. Its lost
    # STATUS is reported by the ACKs after it.
    + [
        (MessageKind.LOAD, "tx", range(1, CAPS.window + 1)),
        (MessageKind.STATUS, "rx", range(1)),
    ],
)
def test_one_lost_frame_of_each_kind_is_repaired_outside_the_window(
    kind: MessageKind, direction: str, repeats: range
) -> None:
    dut = FakeDut(window_s=0.2)
    client, line, _ = connect(dut)
    client.hello(1)
    lost = lose_once(line, lambda frame: frame.kind == kind, direction)
    client.slots.put(0, SAMPLE)
    done = run_slot(client, 0)
    assert len(lost) == 1
    assert (done.output, done.rx_in_window_b, dut.runs) == (OUTPUT, 0, 1)
    assert client.exchange.link.retransmissions in repeats


def lasted_s(
    dut: FakeDut, lose: tuple[MessageKind, str] | None = None
) -> tuple[float, int]:
    """Run once, with or without one frame lost; return how long that took but for the
    window, and how many frames were sent again.
    """
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, SAMPLE)
    if lose:
        lose_once(line, lambda frame: frame.kind == lose[0], lose[1])
    before_s = line.now_s
    done = run_slot(client, 0)
    assert (done.output, done.rx_in_window_b, dut.runs) == (OUTPUT, 0, 1)
    return line.now_s - before_s - dut.window_s, client.exchange.link.retransmissions


def test_a_go_opens_the_window_at_once() -> None:
    by_guard_s, _ = lasted_s(FakeDut())
    by_go_s, repeats = lasted_s(FakeDut(takes_go=True))
    # every frame of it, and three round trips
    line_s = 250 * 10 / 115_200 + 6 * LATENCY_S
    assert by_go_s < line_s < by_guard_s
    assert repeats == 0


def test_a_lost_go_costs_the_rest_of_the_guard_and_no_more() -> None:
    dut = FakeDut(takes_go=True)
    took_s, repeats = lasted_s(dut, (MessageKind.GO, "tx"))
    assert (dut.goes, repeats) == (0, 0)
    assert 0.25 < took_s < 0.3


@pytest.mark.parametrize("lost", [(MessageKind.ACK, "rx"), (MessageKind.RUN, "tx")])
def test_a_request_that_was_sent_again_waits_for_its_guard(
    lost: tuple[MessageKind, str],
) -> None:
    dut = FakeDut(takes_go=True)
    took_s, repeats = lasted_s(dut, lost)
    assert (dut.goes, repeats) == (0, 1)
    assert took_s > 0.25


def test_no_go_is_sent_when_it_could_come_into_the_window() -> None:
    """The host stood still after the ACK for more than half of the guard."""
    dut = FakeDut(takes_go=True)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, SAMPLE)
    read = line.read
    stood: list[bytes] = []

    def stand_still(timeout_s: float) -> bytes:
        block = read(timeout_s)
        if block and not stood:
            stood.append(block)
            line.now_s += 0.13
        return block

    line.read = stand_still  # type: ignore[method-assign]
    done = run_slot(client, 0)
    assert FrameDecoder(256).feed(stood[0])[0].kind == MessageKind.ACK
    assert (
        dut.goes,
        dut.runs,
        done.rx_in_window_b,
        client.exchange.link.retransmissions,
    ) == (
        0,
        1,
        0,
        0,
    )


def test_a_lost_answer_to_commit_is_asked_for_and_nothing_is_executed_twice() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    statuses: list[int] = []
    lose_once(
        line,
        lambda frame: (
            frame.kind == MessageKind.STATUS
            and (statuses.append(frame.seq) or len(statuses) == 2)
        ),
        "rx",
    )
    client.slots.put(0, SAMPLE)
    assert (dut.slots[0], client.exchange.link.retransmissions, len(statuses)) == (
        SAMPLE,
        1,
        2,
    )


def test_load_data_and_commit_follow_each_other_without_a_wait() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    before_s = line.now_s
    client.slots.put(0, SAMPLE)
    wire_s = (50 * 76 + 30) * 10 / line.baud
    assert line.now_s - before_s < wire_s + 3 * LATENCY_S + 0.005


def share_of_the_line(
    baud: int, max_payload_b: int, monkeypatch: pytest.MonkeyPatch
) -> float:
    """Load 27 648 bytes over a line that delays by 1 ms each way; return the payload's
    share of the line's capacity.
    """
    monkeypatch.setitem(
        globals(),
        "CAPS",
        dataclasses.replace(CAPS, max_payload_b=max_payload_b, slot_b=32_768),
    )
    monkeypatch.setitem(globals(), "LATENCY_S", 0.001)
    monkeypatch.setattr(FakeLine, "baud", baud)
    sample = bytes((number * 7 + number // 256) & 0xFF for number in range(27_648))
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    before_s = line.now_s
    client.slots.put(0, sample)
    assert (dut.slots[0], client.exchange.link.retransmissions) == (sample, 0)
    return len(sample) * 10 / baud / (line.now_s - before_s)


@pytest.mark.parametrize("baud", [115_200, 921_600, 3_000_000])
def test_a_load_uses_95_percent_of_the_line_and_more(
    baud: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert share_of_the_line(baud, 2048, monkeypatch) > 0.95


@pytest.mark.parametrize("baud", [115_200, 921_600, 3_000_000])
def test_a_window_of_8_frames_costs_only_their_overhead_and_one_round_trip(
    baud: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    line_s = 27_648 * 10 / baud
    expected = line_s / (line_s * 266 / 252 + 0.002)
    assert share_of_the_line(baud, 256, monkeypatch) == pytest.approx(
        expected, abs=0.005
    )


def test_a_refused_load_leaves_no_number_open_and_the_session_goes_on() -> None:
    dut = FakeDut()
    client, _, _ = connect(dut)
    client.hello(1)
    with pytest.raises(SutError, match="LOAD: too large") as caught:
        client.slots.put(0, bytes(CAPS.slot_b + 1))
    assert caught.value.code == 4
    for content in (SAMPLE, SAMPLE[::-1]):
        client.slots.put(1, content)
        assert dut.slots[1] == content
    assert run_slot(client, 1).output == OUTPUT
    assert client.exchange.link.retransmissions == 0


def test_a_slot_left_open_by_an_older_load_never_takes_data_of_a_load_that_got_lost():
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    dut.upload, dut.incoming = (1, 0), bytearray(5000)
    with pytest.raises(SutError):
        client.slots.put(1, bytes(CAPS.slot_b + 1))
    dut.upload = (1, 0)
    lose_once(line, lambda frame: frame.kind == MessageKind.LOAD, "tx")
    client.slots.put(0, SAMPLE)
    assert (dut.slots, client.exchange.link.retransmissions) == ({0: SAMPLE}, 1)


def test_frames_that_break_most_of_the_time_are_made_shorter_within_a_load() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    put = line._put
    # The line breaks messages of more than 50 bytes.
    line._put = lambda way, block: put(
        way, block[:30] + block[31:] if len(block) > 50 else block
    )
    line.write = lambda block: (
        [line._put("tx", encode(frame)) for frame in FrameDecoder(256).feed(block)]
        and None
    )  # type: ignore[method-assign]
    client.slots.put(0, SAMPLE)
    assert dut.slots[0] == SAMPLE
    assert client.exchange.link.retransmissions > 10
    longest = len(SAMPLE) // 60 + 1
    sent = client.exchange.link.retransmissions
    client.slots.put(1, SAMPLE)  # it has learnt
    assert client.exchange.link.retransmissions - sent < 3 * longest


def test_a_lost_ack_of_run_is_repaired_before_the_window_opens() -> None:
    dut = FakeDut(window_s=0.2)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, SAMPLE)
    lost = lose_once(line, lambda frame: frame.kind == MessageKind.ACK, "rx")
    done = run_slot(client, 0)
    assert len(lost) == 1
    assert (done.rx_in_window_b, dut.runs, client.exchange.link.retransmissions) == (
        0,
        1,
        1,
    )


def test_a_device_that_stands_still_longer_than_all_repeats_is_waited_for_in_silence():
    dut = FakeDut(window_s=0.2)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, SAMPLE)
    stands_until_s = line.now_s + 1.5
    put = line._put

    def stand_still(way: str, block: bytes) -> None:
        if way == "tx" and line.now_s < stands_until_s:
            line._free_s["tx"] = max(line._free_s["tx"], stands_until_s)
        for piece in (
            block[:5],
            block[5:],
        ):  # so that the beginning of a second ACK is no frame yet
            put(way, piece)

    line._put = stand_still  # type: ignore[method-assign]
    done = run_slot(client, 0)
    assert line.now_s > stands_until_s
    assert (done.output, done.rx_in_window_b, dut.runs) == (OUTPUT, 0, 1)


def test_a_device_that_stands_still_for_good_is_a_deadline_error() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, b"x")
    dut.silent = True
    line._put = lambda way, block: None  # type: ignore[method-assign]
    before_s = line.now_s
    with pytest.raises(DeadlineError, match="acknowledgement of RUN"):
        run_slot(client, 0, limit_s=60.0)
    assert 2.0 < line.now_s - before_s < 4.0


def test_a_lost_done_is_asked_for_as_soon_as_its_remains_are_heard() -> None:
    dut = FakeDut(window_s=0.2)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, b"x")
    lose_once(line, lambda frame: frame.kind == MessageKind.DONE, "rx")
    before_s = line.now_s
    run_slot(client, 0, limit_s=60.0)
    assert line.now_s - before_s < 0.5


def test_a_done_that_breaks_many_times_in_a_row_is_asked_for_again_at_once() -> None:
    dut = FakeDut(window_s=0.2)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, b"x")
    put = line._put
    left = [12]

    def spoil(way: str, block: bytes) -> None:
        if way == "rx" and len(block) > 50 and left[0]:
            left[0] -= 1
            block = block[:20] + b"!" + block[21:]
        put(way, block)

    line._put = spoil  # type: ignore[method-assign]
    assert run_slot(client, 0, limit_s=60.0).output == OUTPUT
    assert left == [0]
    assert line.now_s < 2


def test_a_done_of_which_no_byte_came_is_asked_for_at_the_limit() -> None:
    dut = FakeDut(window_s=0.2)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, b"x")
    put = line._put
    line._put = lambda way, block: (
        None if way == "rx" and len(block) > 50 and line.now_s < 1 else put(way, block)
    )  # type: ignore[method-assign]
    done = run_slot(client, 0, limit_s=2.0)
    assert done.rx_in_window_b == 0
    assert 2.0 < line.now_s < 2.6


def test_noise_in_the_window_is_reported_as_a_disturbed_window() -> None:
    dut = FakeDut(window_s=1.0)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, b"x")
    put = line._put
    noisy = [True]

    def hum(way: str, block: bytes) -> None:
        put(way, block)
        if (
            way == "tx"
            and noisy
            and FrameDecoder(64).feed(block)[0].kind == MessageKind.RUN
        ):
            noisy.clear()
            line._serial += 1
            heapq.heappush(line._queue, (line.now_s + 0.5, line._serial, "rx", b"hum"))

    line._put = hum  # type: ignore[method-assign]
    done = run_slot(client, 0, limit_s=5.0)
    assert done.rx_in_window_b > 0
    assert dut.runs == 1


def test_a_query_beyond_its_limit_is_a_deadline_error_in_bounded_time() -> None:
    dut = FakeDut(window_s=30.0)
    client, line, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, b"x")
    with pytest.raises(DeadlineError, match="DONE of RUN") as caught:
        run_slot(client, 0)
    assert line.now_s < 3
    assert "13 bytes received" in caught.value.evidence  # the acknowledgement


def test_a_silent_dut_is_a_deadline_error_with_evidence() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    dut.silent = True
    before_s = line.now_s
    with pytest.raises(DeadlineError, match="answer to PING") as caught:
        client.ping()
    assert line.now_s - before_s < 4
    assert "retransmitted 12 times" in caught.value.evidence


def test_only_broken_frames_are_a_remote_protocol_error() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    put = line._put
    line._put = lambda way, block: put(
        way, block[:4] + b"?" + block[5:] if way == "rx" else block
    )
    with pytest.raises(RemoteProtocolError, match="only broken frames"):
        client.ping(b"ping")


def test_boot_text_in_the_framed_layer_means_the_dut_restarted() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    line.say(b"m-init-done\r\nm-ready\r\n")
    dut.silent = True
    with pytest.raises(DeviceLost, match="restarted"):
        client.ping()


@pytest.mark.parametrize("words", [b"m-ready", b"m-init-done m-ready\r\n"])
def test_words_of_the_text_layer_within_a_broken_frame_are_no_restart(
    words: bytes,
) -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    put = line._put
    broken = encode(Frame(MessageKind.PONG, 7, words))
    put("rx", broken[:3] + b"?" + broken[4:])
    client.ping(words)
    assert line.now_s < 5


def test_a_frame_that_holds_words_of_the_text_layer_may_come_in_pieces() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    client.hello(1)
    put = line._put

    def in_pieces(way: str, block: bytes) -> None:
        for at in range(0, len(block), 12):
            put(way, block[at : at + 12])

    line._put = in_pieces  # type: ignore[method-assign]
    client.ping(b"m-ready, m-ready")


class Turning(FakeDut):
    """A device whose 32-bit timer turns over unnoticed while it works."""

    def _close_window(self, now_s: float) -> list[bytes]:
        turns = int(self.window_s * 1e6) // 2**32
        took_s = self.window_s
        self.window_s -= turns * 2**32 / 1e6
        try:
            return super()._close_window(now_s)
        finally:
            self.window_s = took_s


def test_a_window_in_which_a_timer_turned_over_is_refused() -> None:
    dut = Turning(window_s=5000.0)
    client, _, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, SAMPLE)
    with pytest.raises(RemoteProtocolError, match="5000") as caught:
        run_slot(client, 0, limit_s=6000.0)
    assert "turns over every 4294.97 s" in caught.value.evidence


def test_a_window_that_is_longer_than_a_turn_and_was_counted_whole_passes() -> None:
    dut = FakeDut(window_s=5000.0)
    client, _, _ = connect(dut)
    client.hello(1)
    client.slots.put(0, SAMPLE)
    done = run_slot(client, 0, limit_s=6000.0)
    assert done.marks[-1][1] - done.marks[0][1] == 5_000_000_000


def test_boot_text_before_the_session_means_nothing() -> None:
    dut = FakeDut()
    client, line, _ = connect(dut)
    line.say(b"m-init-done\r\nm-ready\r\n")
    client.hello(1)
    client.ping(b"well")


def test_an_error_of_the_dut_is_a_sut_error_with_its_code_and_the_session_goes_on():
    dut = FakeDut()
    client, _, _ = connect(dut)
    client.hello(1)
    with pytest.raises(SutError, match="slot not loaded") as caught:
        run_slot(client, 1)
    assert caught.value.code == 5
    client.ping(b"on")


def test_a_payload_beyond_what_the_dut_takes_is_our_own_error() -> None:
    client, _, _ = connect(FakeDut())
    client.hello(1)
    with pytest.raises(LocalProtocolError, match="65 bytes"):
        client.ping(bytes(65))


def test_the_guard_is_longer_than_the_time_out_and_small_on_a_fast_link() -> None:
    timeouts = RetransmissionTimeouts(115_200)
    for _ in range(8):
        timeouts.learn(0.001, 10)
    assert RTO_MIN_S <= timeouts.rto_s(0) < 0.025
    assert timeouts.rto_s(40) < timeouts.guard_s(40) <= 0.040
    slow = RetransmissionTimeouts(9600)
    for _ in range(8):
        slow.learn(0.1, 30)
    assert slow.rto_s(40) < slow.guard_s(40)


def test_sequence_numbers_wrap_around() -> None:
    dut = FakeDut()
    client, _, _ = connect(dut, LineFaults(0.0005, 0.0005, 0.0005, 3))
    client.hello(1)
    for number in range(600):
        client.ping(bytes([number & 0xFF]))
    client.slots.put(0, bytes(8192) + SAMPLE[:0])
    assert dut.slots[0] == bytes(8192)
