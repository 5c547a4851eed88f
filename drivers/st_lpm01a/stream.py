# SPDX-License-Identifier: Apache-2.0
"""Parsers of the X-NUCLEO-LPM01A's data streams, and that of the text stream, sans IO:
bytes in, samples with certain positions out.

Formats: ST UM2269 Rev 6 section 4.4; parts not described there (`event`, `TimeStamp`
with `<`, a NUL after it) follow public clients' statements about real boards. A sample
carries no time: its place is its number, and a time stamp every 1000 samples is the
only check of that number. So samples are handed out only once the next time stamp has
confirmed them; those it cannot place are lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from drivers.st_lpm01a.stream_items import (
    AcquisitionEnd,
    Completed,
    Item,
    Lost,
    SampleBlock,
    StreamEdge,
    StreamNote,
    Suspect,
    Tail,
    TimeStamp,
    Trouble,
)
from rig.errors import RemoteProtocolError

#: A time stamp comes before every sample whose number is a multiple of this.
STAMP_SAMPLES = 1000
#: Data without a good time stamp for this long are no stream any more.
UNCONFIRMED_MAX_SAMPLES = 5 * STAMP_SAMPLES
#: What two clocks in one board may differ, and the step of a time stamp.
_CLOCK_SHARE = 1e-3
_CLOCK_MS = 2.0
_ROW_B = 9
_LINE_B = 200
_GARBLED_B = 4  # of its seven, at least, are still there in a damaged sample
_T = TypeVar("_T", bound=np.generic)
PROMPT = b"PowerShield > "
_POWERS_OF_TEN = np.concatenate(
    [10.0 ** np.arange(100), 10.0 ** np.arange(-99.0, 0.0)]
)  # by exponent, negative ones from the end
# three digits of seconds are documented; what follows 999 s is not
_ASCII_WRAP_MS = 1_000_000
TRY = "a shorter USB cable without a hub; the trace up to here is kept"


@dataclass(slots=True)
class StreamClock:
    """Turns time stamps into numbers of samples: every stamp against the last good
    one."""

    sample_hz: int
    wrap_ms: int
    last_ms: int = 0
    first: bool = True

    def samples_since(self, time_ms: int) -> int | None:
        """Return how many samples lie between the last good stamp and this one; None
        where that is no whole number of spans.
        """
        span_ms = STAMP_SAMPLES * 1000 / self.sample_hz
        elapsed_ms = (time_ms - self.last_ms) % self.wrap_ms
        least = 0 if self.first else 1
        # Slow boards come round within one span.
        if elapsed_ms < least * span_ms - _CLOCK_MS:
            elapsed_ms += self.wrap_ms
        spans = round(elapsed_ms / span_ms)
        if (
            elapsed_ms > time_ms - self.last_ms
            and spans * STAMP_SAMPLES > UNCONFIRMED_MAX_SAMPLES
        ):
            return None  # a time that runs back is no counter that came round
        limit_ms = min(_CLOCK_MS + _CLOCK_SHARE * elapsed_ms, 0.4 * span_ms)
        return (
            spans * STAMP_SAMPLES
            if abs(elapsed_ms - spans * span_ms) <= limit_ms
            else None
        )

    def accept(self, time_ms: int) -> None:
        self.last_ms = time_ms
        self.first = False


@dataclass(slots=True)
class _Segment:
    """Data since the last good time stamp: good samples, where damage was among them,
    and edges.

    An edge knows how many good samples and how many damages came before it.
    """

    values: list[NDArray[np.float64]] = field(default_factory=list)
    count: int = 0
    first_damage: int = -1
    last_damage: int = -1
    damages: int = 0
    garbled: int = 0  # of the damages: lines that may have been one sample each
    bad_stamps: int = 0
    excerpt: str = ""
    edges: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, values: NDArray[np.float64]) -> None:
        self.values.append(values)
        self.count += len(values)

    def damage(self, piece: bytes) -> None:
        if not self.damages:
            self.first_damage, self.excerpt = self.count, repr(piece[:40])[1:]
        self.last_damage = self.count
        self.damages += 1
        self.garbled += (
            len(piece) < _ROW_B
            and sum(byte in b"0123456789+-" for byte in piece) >= _GARBLED_B
        )


class AsciiParser:
    """The stream of format ascii_dec, also with output energy; `most` is a value no
    sample can have (A or J).
    """

    _SAMPLE = re.compile(rb"(\d{4})([+-]\d\d)")
    _STAMP = re.compile(rb"Time[Ss]tamp:?[ ><](\d{3,})s[ ><](\d{3})ms, buff (\d{2,3})%")
    _EVENT = re.compile(rb"event (\d{2,}) (?:ris|fal)")
    _END_OF_LINE = re.compile(rb"[\r\n]")
    _DIGITS = (0, 1, 2, 3, 5, 6)

    def __init__(self, sample_hz: int, most: float) -> None:
        self._most = most
        self._clock = StreamClock(sample_hz, _ASCII_WRAP_MS)
        self._buffer = bytearray()
        self._segment = _Segment()
        self._base = 0
        self._bad_stamps = 0
        self._edge: tuple[int, int] | None = None  # number and place of the last one
        self._ended = False

    def feed(self, block: bytes) -> list[Item]:
        """Take the next bytes."""
        self._buffer += block
        items: list[Item] = []
        at = 0
        while True:
            at += self._rows(at)
            end = self._END_OF_LINE.search(self._buffer, at)
            if end is None:
                break
            # Either of the two that end a line does: one of them lost is no damage.
            if end.start() > at:
                items += self._line(bytes(self._buffer[at : end.start()]))
            at = end.end()
        del self._buffer[:at]
        if len(self._buffer) > _LINE_B:
            raise RemoteProtocolError(
                "the stream has no ends of lines",
                evidence=repr(bytes(self._buffer[:60])),
                try_next=TRY,
            )
        if self._segment.count + self._segment.damages > UNCONFIRMED_MAX_SAMPLES:
            raise RemoteProtocolError(
                f"no good time stamp among {self._segment.count} samples",
                evidence=self._segment.excerpt,
                try_next=TRY,
            )
        return items

    def finish(self) -> list[Item]:
        """Return how much no time stamp has confirmed."""
        segment = self._segment
        self._segment = _Segment()
        return unconfirmed(segment.count + segment.damages, segment.excerpt)

    def _rows(self, at: int) -> int:
        """Take whole undamaged sample lines at once; return how many bytes they
        were."""
        count = min((len(self._buffer) - at) // _ROW_B, STAMP_SAMPLES)
        if not count or self._ended or not 48 <= self._buffer[at] <= 57:
            return 0
        block = bytes(self._buffer[at : at + count * _ROW_B])
        rows = np.frombuffer(block, dtype=np.uint8).reshape(count, _ROW_B)
        digits = rows - np.uint8(ord("0"))
        is_signed = (rows[:, 4] == 43) | (rows[:, 4] == 45)
        good = is_signed & (rows[:, 7] == 13) & (rows[:, 8] == 10)
        for column in self._DIGITS:
            good &= digits[:, column] < 10
        rows = _leading(good, rows)
        digits = _leading(good, digits)
        places = np.array([1000.0, 100.0, 10.0, 1.0])
        mantissa = digits[:, :4].astype(np.float64) @ places
        exponent = digits[:, 5].astype(np.int64) * 10 + digits[:, 6]
        values = (
            mantissa * _POWERS_OF_TEN[np.where(rows[:, 4] == 45, -exponent, exponent)]
        )
        values = _leading(values <= self._most, values)
        if len(values):
            self._segment.add(values)
        return len(values) * _ROW_B

    def _line(self, line: bytes) -> list[Item]:
        text = line.strip(b"\0 ")
        if not text:
            return []
        if self._ended:
            return [Completed()] if b"Acquisition completed" in text else []
        if sample := self._SAMPLE.fullmatch(text):
            value = int(sample[1]) * 10.0 ** int(sample[2])
            if value <= self._most:
                self._segment.add(np.array([value]))
                return []
        elif stamp := self._STAMP.fullmatch(text):
            at_ms = 1000 * int(stamp[1]) + int(stamp[2])
            return self._stamp(at_ms, int(stamp[3]), line)
        elif event := self._EVENT.fullmatch(text):
            self._segment.edges.append(
                (self._segment.count, self._segment.damages, int(event[1]))
            )
            return []
        elif text == b"end" or text.startswith(b"summary beg"):
            self._ended = True
            return [*self.finish(), AcquisitionEnd()]
        elif (
            other := self._said(text.decode("ascii", "backslashreplace"))
        ) is not None:
            return [other]
        self._segment.damage(line)
        return []

    @staticmethod
    def _said(text: str) -> Item | None:
        if text.startswith("error"):
            return Trouble(text[5:].strip(" :") or "error")
        if text in ("pwr on", "pwr off"):
            return (
                Trouble("the target's supply is off")
                if text == "pwr off"
                else StreamNote(text)
            )
        if text.startswith(PROMPT.decode()):
            message = text[len(PROMPT) :]
            return (
                Trouble(message) if message.startswith("err") else StreamNote(message)
            )
        return StreamNote(text) if text.startswith("Error detail") else None

    def _stamp(self, time_ms: int, load_percent: int, line: bytes) -> list[Item]:
        segment = self._segment
        samples = self._clock.samples_since(time_ms)
        # Whole spans too few without any damage: more likely one digit of the time is
        # wrong.
        whole_spans = (
            samples is not None
            and samples != segment.count
            and segment.count % STAMP_SAMPLES == 0
        )
        if samples is None or (whole_spans and not segment.damages):
            self._bad_stamps += 1
            if self._bad_stamps > 1:
                raise contradiction(time_ms, self._clock, segment.count)
            segment.damage(line)
            segment.bad_stamps += 1
            return []
        if segment.count > samples:
            raise contradiction(time_ms, self._clock, segment.count)
        self._clock.accept(time_ms)
        self._segment = _Segment()
        self._bad_stamps = 0
        return [*self._close(segment, samples), TimeStamp(time_ms, load_percent)]

    def _close(self, segment: _Segment, samples: int) -> list[Item]:
        """Place a segment whose number of samples a time stamp states."""
        if not segment.damages and segment.count == samples:
            return self._hand_out(segment, samples, 0)
        if segment.damages == segment.bad_stamps and segment.count != samples:
            # No sample line is damaged, and yet there are too few: they can be missing
            # anywhere.
            segment.first_damage = 0
            segment.last_damage = segment.count
            segment.excerpt = segment.excerpt or "no damaged line"
            segment.edges = []
            return self._hand_out(segment, 0, samples)
        before = segment.first_damage
        after = segment.count - segment.last_damage
        missing = samples - before - after
        if missing < segment.last_damage - segment.first_damage:
            raise contradiction(self._clock.last_ms, self._clock, segment.count)
        base = self._base
        items = self._hand_out(segment, before, missing)
        if missing > segment.last_damage - segment.first_damage + segment.garbled:
            # More than damaged lines of samples: whole lines are missing, perhaps in
            # another place.
            items.append(
                Suspect(
                    base,
                    base + samples,
                    f"a damaged stream: {segment.excerpt}, and whole lines are missing",
                )
            )
        elif not missing:
            cause = (
                "a damaged line that was no sample may have told of an edge:"
                f" {segment.excerpt}"
            )
            items.append(Suspect(max(base + before - 1, 0), base + before + 1, cause))
        return items

    def _hand_out(self, segment: _Segment, before: int, missing: int) -> list[Item]:
        """Return the samples before a hole, the hole, those after it, and the edges
        outside it."""
        values = np.concatenate(segment.values) if segment.values else np.zeros(0)
        items: list[Item] = [SampleBlock(values[:before])] if before else []
        if missing:
            items.append(Lost(missing, f"a damaged stream: {segment.excerpt}"))
        after = (
            values[segment.last_damage :]
            if segment.damages or missing
            else values[before:]
        )
        if len(after):
            items.append(SampleBlock(after))
        moved = self._base + before + missing + len(after) - segment.count
        for count, damages, number in segment.edges:
            place = self._base + count if not damages else moved + count
            items += self._number(number, place)
            if damages in (0, segment.damages):
                items.append(StreamEdge(place, number))
        self._base += before + missing + len(after)
        return items

    def _number(self, number: int, place: int) -> list[Item]:
        """Check that no event is missing before this one."""
        last = self._edge
        self._edge = (number, place)
        # Two digits are documented by what clients match; whether the counter goes on
        # at 100 or at 00 is not.
        if last is None or number in (last[0] + 1, (last[0] + 1) % 100):
            return []
        return [
            Suspect(
                max(last[1] - 1, 0),
                place + 1,
                f"events {last[0]} and {number} follow each other: one was lost"
                " between",
            )
        ]


def _leading(good: NDArray[np.bool_], rows: NDArray[_T]) -> NDArray[_T]:
    """Return the rows before the first that is not good."""
    return rows if good.all() else rows[: int(np.argmin(good))]


def unconfirmed(samples: int, damage: str) -> list[Item]:
    """Return the end of a stream: samples since the last time stamp, and the damage
    among them."""
    cause = (
        f"a damaged stream: {damage}, and no time stamp follows"
        if damage
        else "no time stamp follows"
    )
    return [Tail(samples, cause)] if samples else []


def contradiction(time_ms: int, clock: StreamClock, count: int) -> RemoteProtocolError:
    evidence = (
        f"{time_ms} ms after {clock.last_ms} ms, {count} samples between, "
        f"{clock.sample_hz} a second"
    )
    return RemoteProtocolError(
        "time stamps and samples contradict each other", evidence=evidence, try_next=TRY
    )
