# SPDX-License-Identifier: Apache-2.0
"""The binary data stream of the X-NUCLEO-LPM01A, sans IO: ST UM2269 Rev 6 section
4.4.2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from drivers.st_lpm01a.stream import (
    STAMP_SAMPLES,
    TRY,
    UNCONFIRMED_MAX_SAMPLES,
    StreamClock,
    contradiction,
    unconfirmed,
)
from drivers.st_lpm01a.stream_items import (
    AcquisitionEnd,
    Completed,
    Item,
    Lost,
    SampleBlock,
    StreamNote,
    TimeStamp,
    Trouble,
)
from rig.errors import RemoteProtocolError

_TEXT_B = 300  # a message longer than this has lost its end
_POWERS_OF_SIXTEEN = 16.0 ** -np.arange(16)
_BINARY_WRAP_MS = 1 << 31  # UM2269 table 40: 31 bits, and one that reports an overflow


class BinaryParser:
    """The stream of format bin_hexa; `most` is a value no sample can have (A).

    Metadata are distinguished from samples at even places only, and taken by the length
    of their kind: the time 65 535 ms holds FF FF. All samples since the last good time
    stamp are lost when an item is not in its place.
    """

    _RESUME = re.compile(
        rb"\xf0\xf3.{5}\xff\xff|\xf0[\xf4\xf5]\xff\xff|Acquisition completed", re.DOTALL
    )
    _STAMP = 0xF3
    _END = 0xF4
    _OVERCURRENT = 0xF5
    _POWER_DOWN = 0xF6
    _POWER = 0xF9
    _LENGTHS: ClassVar = {0xF3: 9, 0xF4: 4, 0xF5: 4, 0xF6: 4, 0xF7: 6, 0xF8: 6, 0xF9: 5}
    _ERROR = 0xF1
    _INFORMATION = 0xF2
    _LONGEST_B = len(b"Acquisition completed")

    def __init__(self, sample_hz: int, most: float) -> None:
        self._most = most
        self._clock = StreamClock(sample_hz, _BINARY_WRAP_MS)
        self._buffer = bytearray()
        self._items: list[Item] = []
        self._values: list[NDArray[np.float64]] = []
        self._count = 0
        self._half = 0  # of the last sample
        self._damage = ""
        self._lost_b = 0  # bytes since the damage
        self._bad_stamps = 0
        self._next: Callable[[int], int] = self._preamble

    def feed(self, block: bytes) -> list[Item]:
        """Take the next bytes."""
        self._buffer += block
        at = 0
        while (used := self._next(at)) >= 0:
            at += used
        del self._buffer[:at]
        if self._lost_b > 2 * UNCONFIRMED_MAX_SAMPLES:
            raise RemoteProtocolError(
                f"no good time stamp in {self._lost_b} bytes",
                evidence=self._damage,
                try_next=TRY,
            )
        return self._taken()

    def finish(self) -> list[Item]:
        """Return how much no time stamp has confirmed."""
        self._items += unconfirmed(self._count + (self._lost_b + 1) // 2, self._damage)
        self._clear()
        return self._taken()

    def _taken(self) -> list[Item]:
        items = self._items
        self._items = []
        return items

    def _clear(self) -> None:
        self._values = []
        self._count = 0
        self._damage = ""
        self._lost_b = 0

    # Each of these takes what lies at `at` and returns how many bytes it was, or -1
    # when more must come first.

    def _preamble(self, at: int) -> int:
        """Pass over the empty line after the acknowledgement."""
        if at == len(self._buffer):
            return -1
        if self._buffer[at] in b"\r\n":
            return 1
        self._next = self._body
        return 0

    def _body(self, at: int) -> int:
        """Take samples up to the next metadata, or one piece of metadata."""
        ready = min((len(self._buffer) - at) // 2, STAMP_SAMPLES - self._count)
        if ready > 0 and (taken := self._samples(at, ready)):
            return taken
        if len(self._buffer) < at + 2:
            return -1
        kind = self._buffer[at + 1]
        if self._damage:
            return 0
        if self._buffer[at] != 0xF0:
            return self._spoilt(at, "no metadata where some were due")
        if kind in (self._ERROR, self._INFORMATION):
            return self._message(at, kind)
        if kind not in self._LENGTHS:
            return self._spoilt(at, "metadata of a reserved kind")
        length = self._LENGTHS[kind]
        if len(self._buffer) < at + length:
            return -1
        frame = bytes(self._buffer[at : at + length])
        if not frame.endswith(b"\xff\xff"):
            return self._spoilt(at, "metadata without their end")
        return self._frame(at, kind, frame)

    def _samples(self, at: int, ready: int) -> int:
        block = bytes(self._buffer[at : at + 2 * ready])
        words = np.frombuffer(block, dtype=">u2").astype(np.uint16)
        values = (words & 0x0FFF) * _POWERS_OF_SIXTEEN[words >> 12]
        tags = words >= 0xF000
        odd = tags | (values > self._most)
        whole = int(np.argmax(odd)) if odd.any() else ready
        if whole:
            self._values.append(values[:whole])
            self._count += whole
            self._half = int(words[whole - 1] & 0xFF)
        elif not tags[0]:
            self._spoilt(at, f"a sample of {values[0]:.3g} A")
        return 2 * whole

    def _message(self, at: int, kind: int) -> int:
        end = self._buffer.find(b"\xff\xff", at + 2, at + 2 + _TEXT_B)
        if end < 0 and len(self._buffer) < at + 2 + _TEXT_B:
            return -1
        text = bytes(self._buffer[at + 2 : end]) if end >= 0 else b""
        if not text or not all(
            byte in b"\r\n\t" or 0x20 <= byte < 0x7F for byte in text
        ):
            return self._spoilt(at, "a message that is no text")
        message = text.decode("ascii").strip()
        self._items.append(
            Trouble(message) if kind == self._ERROR else StreamNote(message)
        )
        return end + 2 - at

    def _frame(self, at: int, kind: int, frame: bytes) -> int:
        if kind == self._STAMP:
            return self._stamp(at, frame)
        if kind == self._END:
            self._end()
        elif kind == self._OVERCURRENT:
            self._items.append(Trouble("overcurrent"))
        elif kind == self._POWER_DOWN:
            self._items.append(Trouble("target power-down"))
        elif kind == self._POWER:
            off = not frame[2]
            self._items.append(
                Trouble("the target's supply is off") if off else StreamNote("pwr on")
            )
        else:
            self._items.append(StreamNote(frame.hex(" ")))
        return len(frame)

    def _stamp(self, at: int, frame: bytes) -> int:
        time_ms = int.from_bytes(frame[2:6]) & (_BINARY_WRAP_MS - 1)
        load_percent = frame[6]
        samples = self._clock.samples_since(time_ms)
        # A whole span came, and the stamp counts more: a wrong stamp is more likely
        # than a loss of whole spans alone.
        doubtful = self._count == STAMP_SAMPLES and samples != self._count
        if samples is None or doubtful or samples < self._count or load_percent > 100:
            self._refuse(time_ms)
            self._spoilt(at, f"a time stamp of {time_ms} ms")
            self._lost_b += len(frame)
            return len(frame)
        if samples > self._count:
            self._damage = (
                self._damage
                or f"{self._count} samples where a time stamp tells of {samples}"
            )
            self._items.append(Lost(samples, f"a damaged stream: {self._damage}"))
        elif self._values:
            self._items.append(SampleBlock(np.concatenate(self._values)))
        self._clear()
        self._good(time_ms, load_percent)
        return len(frame)

    def _good(self, time_ms: int, load_percent: int) -> None:
        self._clock.accept(time_ms)
        self._bad_stamps = 0
        self._items.append(TimeStamp(time_ms, load_percent))

    def _refuse(self, time_ms: int) -> None:
        self._bad_stamps += 1
        if self._bad_stamps > 1:
            raise contradiction(time_ms, self._clock, self._count)

    def _end(self) -> None:
        self._items = [*self.finish(), AcquisitionEnd()]
        self._next = self._text

    def _spoilt(self, at: int, cause: str) -> int:
        self._damage = f"{cause}, {bytes(self._buffer[at : at + 2]).hex(' ')}"
        self._next = self._seek
        if self._values and self._half == 0xF0:
            # After a lost byte the beginning of metadata was taken for the second half
            # of a sample.
            self._buffer[at:at] = b"\xf0"
        return 0

    def _seek(self, at: int) -> int:
        """Look for the next good time stamp, at any place: what lies before it is
        lost."""
        resumption = self._RESUME.search(self._buffer, at)
        # Only what cannot be the inside of something longer counts.
        last = len(self._buffer) - self._LONGEST_B
        if resumption is None or resumption.start() > last:
            used = max(last + 1 - at, 0)
            self._lost_b += used
            return used or -1
        self._lost_b += resumption.start() - at
        kind = self._buffer[resumption.start() + 1]
        used = resumption.end() - at
        if kind == self._OVERCURRENT:
            self._items.append(Trouble("overcurrent"))
        elif kind == self._STAMP:
            self._resume(bytes(resumption[0]))
        else:
            self._end()
            # The text itself, where the end before it was damaged, is for the next step
            # to take.
            used = used if kind == self._END else resumption.start() - at
        return used

    def _resume(self, frame: bytes) -> None:
        time_ms = int.from_bytes(frame[2:6]) & (_BINARY_WRAP_MS - 1)
        load_percent = frame[6]
        samples = self._clock.samples_since(time_ms)
        # More may have come than its samples, but only by the metadata among them.
        if (
            samples is None
            or samples < self._count + (self._lost_b - _TEXT_B) // 2
            or load_percent > 100
        ):
            self._refuse(time_ms)
            self._lost_b += len(frame)
            return
        if samples:
            self._items.append(Lost(samples, f"a damaged stream: {self._damage}"))
        self._clear()
        self._next = self._body
        self._good(time_ms, load_percent)

    def _text(self, at: int) -> int:
        done = self._buffer.find(b"Acquisition completed", at)
        if done < 0:
            return -1
        self._items.append(Completed())
        self._next = self._over
        return done - at

    def _over(self, at: int) -> int:
        return len(self._buffer) - at or -1
