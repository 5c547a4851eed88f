# SPDX-License-Identifier: Apache-2.0
"""The sample stream of a PPK2: words of 32 bits, low byte first, with a counter of six
bits. Words and their counters are all there is to find lost bytes and samples by.

A word: code of the converter (bits 0 to 13), range (14 to 16), whether a battery is
there (17, not used), counter (18 to 23), lines D0 to D7 (24 to 31); source: a word of
Nordic in github.com/IRNAS/ppk2-api-python/issues/39.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.errors import RemoteProtocolError

Words = NDArray[np.uint32]

WORD_B = 4
_COUNTER_AT = 18
_COUNTS = 64
LINES_AT = 24
#: So many words that count on tell where words begin: in bytes that are shifted the
#: counter's bits are others, which count on by accident once in 64 times.
_RUN = 16
#: Words before a break that are not used: bytes may have been lost within one whose
#: counter is right all the same.
_DOUBTED = 4
#: Bytes without a run before the stream is given up: 0.1 s.
_SEARCH_B = 40_000
_SHOWN_B = 32


@dataclass(frozen=True, slots=True)
class SampleWords:
    """The next samples."""

    words: Words


@dataclass(frozen=True, slots=True)
class LostSamples:
    """The next `samples` samples did not come whole; `counted` of them by the counter.
    It shows the same for 64 more, or any multiple.
    """

    samples: int
    counted: int
    shifted: bool

    @property
    def cause(self) -> str:
        """Return it in words."""
        how = "bytes were lost: the words were shifted" if self.shifted else "lost"
        return (
            f"{self.counted} samples by the PPK2's counter of 6 bits ({how}), and those"
            " around them; 64 more or any multiple would look the same"
        )


Item = SampleWords | LostSamples


class SampleStream:
    """Parser of a stream block by block; the division into blocks has no effect.

    `before_b`: bytes before the first sample.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._next: int | None = None
        self.before_b = 0

    def feed(self, block: bytes) -> list[Item]:
        """Take the next bytes; raises RemoteProtocolError where no words are found."""
        self._rest += block
        items: list[Item] = []
        if self._next is None and not self._begin():
            return items
        while (broken := self._take(items, _DOUBTED)) is not None:
            if not self._resume(broken, items):
                break
        return items

    def finish(self) -> list[Item]:
        """Return the last samples: the stream ends here."""
        items: list[Item] = []
        if self._next is not None and self._broken() is None:
            self._take(items, 0)
        return items

    def _begin(self) -> bool:
        """Find the first word."""
        start_b = _first_run(self._rest, 0)
        if start_b is None:
            self._require_few()
            return False
        self.before_b += start_b
        self._rest = self._rest[start_b:]
        self._next = int(_counters(self._rest)[0])
        return True

    def _broken(self) -> int | None:
        """Return the number of the first word that does not count on."""
        counters = _counters(self._rest)
        wrong = counters != (np.arange(len(counters)) + (self._next or 0)) % _COUNTS
        return int(np.argmax(wrong)) if wrong.any() else None

    def _take(self, items: list[Item], held: int) -> int | None:
        """Hand out the words before a break, or before those held back; return how many
        words of the rest are before the break, None without one.
        """
        broken = self._broken()
        good = len(self._rest) // WORD_B if broken is None else broken
        count = max(good - held, 0)
        if count:
            taken = self._rest[: count * WORD_B]
            items.append(SampleWords(np.frombuffer(taken, "<u4")))
            self._rest = self._rest[count * WORD_B :]
            self._next = ((self._next or 0) + count) % _COUNTS
        return None if broken is None else good - count

    def _resume(self, good: int, items: list[Item]) -> bool:
        """Go on after a break that follows `good` doubted words; the first word after
        it is not used either.
        """
        begin = good * WORD_B
        start_b = _first_run(self._rest, begin)
        if start_b is None:
            self._require_few()
            return False
        counter = int(_counters(self._rest[start_b : start_b + WORD_B])[0])
        expected = ((self._next or 0) + good) % _COUNTS
        present = (start_b - begin) / WORD_B
        counted = (counter - expected) % _COUNTS
        while counted < present:
            counted += _COUNTS
        items.append(
            LostSamples(good + counted + 1, counted, (start_b - begin) % WORD_B != 0)
        )
        self._rest = self._rest[start_b + WORD_B :]
        self._next = (counter + 1) % _COUNTS
        return True

    def _require_few(self) -> None:
        if len(self._rest) <= _SEARCH_B:
            return
        raise RemoteProtocolError(
            "the PPK2's stream has no samples in it that count on",
            evidence=f"{len(self._rest)} bytes, the last {self._rest[-_SHOWN_B:]!r}",
            try_next="another USB port or cable; is it the port of the measurement?",
        )


def _counters(block: bytes) -> NDArray[np.int64]:
    words = np.frombuffer(block, "<u4", count=len(block) // WORD_B)
    return (words >> _COUNTER_AT).astype(np.int64) % _COUNTS


def _first_run(block: bytes, begin: int) -> int | None:
    """Return the byte from `begin` on where words that count on begin."""
    starts_b = []
    for shift in range(WORD_B):
        steps = np.diff(_counters(block[begin + shift :])) % _COUNTS == 1
        if len(steps) < _RUN - 1:
            continue
        counted = np.convolve(steps, np.ones(_RUN - 1, dtype=np.int64), "valid")
        whole = np.flatnonzero(counted == _RUN - 1)
        if len(whole):
            starts_b.append(begin + shift + int(whole[0]) * WORD_B)
    return min(starts_b, default=None)
