# SPDX-License-Identifier: Apache-2.0
"""One measurement of a PPK2: its stream becomes a trace.

The ranges of a PPK2 during a recording: how often it switched between them, and the
charge of the samples just after each switch.

A reading in a higher range than its own limits of error are stated for, as just after a
fall, has those of that range in truth: such samples are counted too.

A switch may leave a spike. Nordic's application replaces the three samples after each
by a mean over those before; here they stay as they came, and are counted.

The sample stream of a PPK2: words of 32 bits, low byte first, with a counter of six
bits. Words and their counters are all there is to find lost bytes and samples by.

A word: code of the converter (bits 0 to 13), range (14 to 16), whether a battery is
there (17, not used), counter (18 to 23), lines D0 to D7 (24 to 31); source: a word of
Nordic in github.com/IRNAS/ppk2-api-python/issues/39.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.block_lag import BlockLag, Loss
from drivers.nordic_ppk2.link import START, STOP, TRY, Ppk2Link
from drivers.nordic_ppk2.metadata import CODE_BITS, RANGES, Ppk2Metadata
from drivers.nordic_ppk2.settings import Ppk2Settings
from drivers.stream_recording import RecordingClock, StreamRecording
from rig.arrays import Reals
from rig.errors import BenchError, DeadlineError, RemoteProtocolError
from rig.host.raw_clock import raw_monotonic_ns
from rig.interfaces.monitor import MonitorInfo
from rig.simulation.world import NS_PER_S
from rig.trace.trace import Gap

SAMPLE_HZ = 100_000
_FIRST_DATA_S = 3.0
_SILENCE_S = 3.0
_POLL_S = 0.005
#: By how much samples and the host's clock may differ at the end; two crystals drift
#: apart. As in drivers/block_lag.py, less is no evidence.
_LIMIT_S = 0.02
_DRIFT = 200e-6
_CODE_MASK = (1 << CODE_BITS + 3) - 1
BEYOND = "beyond the measuring range"


@dataclass(frozen=True, slots=True)
class RecordingContext:
    """The context of a recording: the current of each word's 17 lower bits, the
    instrument's metadata, the voltage (V), the line that carries SYNC, the function
    that checks an answer of the instrument, and the function that waits (s) until a
    simulator measures.
    """

    currents_a: Reals
    metadata: Ppk2Metadata
    voltage_v: float
    line: int
    require: Callable[[Ppk2Metadata], None]
    begun: Callable[[float], bool]


class Ppk2Recording(StreamRecording):
    """One measurement: a thread that takes the stream apart and appends it to the
    trace.

    Lost samples are counted by the words' counter, to a multiple of 64, and what that
    cannot see by the host's clock.
    """

    corrected = True

    def __init__(
        self,
        link: Ppk2Link,
        info: MonitorInfo,
        folder: Path,
        *,
        clock: RecordingClock,
        settings: Ppk2Settings,
        context: RecordingContext,
    ) -> None:
        super().__init__(link, info, folder, clock, settings)
        self._link = link
        self._context = context
        self._stream = SampleStream()
        self._lag = BlockLag(SAMPLE_HZ)
        self._counts = RangeCounts([row.up_to for row in info.accuracy.current])
        self._started_ns = (0, 0)  # before and after the command
        self._stopped_ns = (0, 0)
        self._explained_s = 0.0
        self._lines_ever = 0
        self._lines_always = 0xFF

    def _begin(self) -> None:
        before_ns = self._clock.now_ns()
        self._link.send(START)
        self._started_ns = before_ns, self._clock.now_ns()
        self._begun_ns = self._started_ns[1]
        self._thread.start()
        self._await_data()

    def _await_data(self) -> None:
        """Wait for the first samples; in a virtual world time passes only where the
        bench lets it, so not there.
        """
        if not self._context.begun(_FIRST_DATA_S):
            raise self._silent(_FIRST_DATA_S)
        end_s = time.monotonic() + _FIRST_DATA_S
        while self._clock.live and not self._began.wait(_POLL_S):
            self.check()
            if time.monotonic() > end_s:
                raise self._silent(_FIRST_DATA_S)

    def _findings(self) -> dict[str, Any]:
        return {
            **self._counts.summary(SAMPLE_HZ),
            "bytes_before_the_first_sample": self._stream.before_b,
            "lines_that_changed": self._changed(),
        }

    def _record(self) -> None:
        heard_s = time.monotonic()
        while not self._stop.is_set():
            block = self._link.stream()
            if block:
                heard_s = time.monotonic()
                self._append(block)
            elif time.monotonic() - heard_s > _SILENCE_S and not self._info.simulated:
                # The time of a simulated device may stand still.
                raise self._silent(_SILENCE_S)
        before_ns = self._clock.now_ns()
        left, metadata = self._link.ask(STOP)
        self._stopped_ns = before_ns, self._clock.now_ns()
        self._append(left)
        for item in self._stream.finish():
            self._put(item)
        self._note(self._lag.last())
        self._require_time()
        self._context.require(metadata)

    def _silent(self, limit_s: float) -> DeadlineError:
        return DeadlineError("samples of the PPK2", limit_s, try_next=TRY)

    def _append(self, block: bytes) -> None:
        at_ns = raw_monotonic_ns()
        for item in self._stream.feed(block):
            self._put(item)
        if self._writer.samples:
            self._began.set()
            # A simulated instrument is as late as this computer is busy.
            if not self._info.simulated:
                self._note(self._lag.arrived(self._writer.samples, at_ns))

    def _put(self, item: SampleWords | LostSamples) -> None:
        match item:
            case SampleWords(words):
                self._samples(words)
            case LostSamples(samples):
                self._writer.skip(samples, item.cause)
                self._counts.broken()

    def _samples(self, words: Words) -> None:
        context = self._context
        lower = words & _CODE_MASK
        current_a = context.currents_a[lower]
        lines = (words >> LINES_AT).astype(np.uint8)
        self._lines_ever |= int(np.bitwise_or.reduce(lines))
        self._lines_always &= int(np.bitwise_and.reduce(lines))
        self._counts.add((lower >> CODE_BITS).astype(np.int64), current_a)
        known = np.isfinite(current_a)
        cause = "" if known.all() else " or ".join(self._causes(lower[~known]))
        self._writer.analog(
            current_a,
            np.full(len(words), context.voltage_v),
            unreadable=cause or BEYOND,
        )
        self._writer.sync(lines >> np.uint8(context.line) & np.uint8(1))

    def _causes(self, lower: Words) -> Iterator[str]:
        """Yield why words have no current."""
        ranges = lower >> CODE_BITS
        missing = self._context.metadata.missing
        if self._is_beyond(lower).any():
            yield BEYOND
        if (ranges >= RANGES).any():
            yield "a damaged sample: its range does not exist"
        for at, names in missing.items():
            if (ranges == at).any():
                yield f"in range {at}, whose {', '.join(names)} is not known"

    def _is_beyond(self, lower: Words) -> Any:
        """Return which words without a current are of a range that has constants."""
        known = set(range(RANGES)) - set(self._context.metadata.missing)
        return np.isin(lower >> CODE_BITS, list(known))

    def _note(self, loss: Loss | None) -> None:
        """Note a loss that the host's clock shows as a gap over all the samples that it
        may lie in."""
        if loss is None:
            return
        self._explained_s += loss.lost_ns / NS_PER_S
        cause = (
            f"about {loss.lost_ns / 1e6:.0f} ms of samples are missing somewhere in"
            " here: they fell behind the host's clock"
        )
        stop = min(loss.stop_tick, self._writer.samples)
        self._writer.gap(Gap(min(loss.first_tick, stop), stop, cause))

    def _require_time(self) -> None:
        """Note the whole recording as a gap where its samples and the host's time do
        not agree, and no loss that was seen explains it."""
        least_s = (self._stopped_ns[0] - self._started_ns[1]) / NS_PER_S
        most_s = (self._stopped_ns[1] - self._started_ns[0]) / NS_PER_S
        sampled_s = self._writer.samples / SAMPLE_HZ
        missing_s = least_s - sampled_s
        limit_s = _LIMIT_S + _DRIFT * most_s
        if missing_s - self._explained_s > limit_s:
            cause = (
                f"about {missing_s * 1e3:.0f} ms of samples are missing, by the host's"
                " clock, and where is not known"
            )
            self._writer.gap(Gap(0, self._writer.samples, cause))
        elif sampled_s - most_s > limit_s:
            raise BenchError(
                "the PPK2 sent more samples than it can have measured",
                evidence=f"{self._writer.samples} samples in {most_s:.3f} s",
                try_next=TRY,
            )

    def _changed(self) -> str:
        """Return the lines that were not the same all the time, as "D0 D3"."""
        changed = self._lines_ever & ~self._lines_always
        names = [f"D{at}" for at in range(8) if changed >> at & 1]
        return " ".join(names) or "none"


#: Samples after a switch that Nordic's application does not show as they came.
AFTER = 3


class RangeCounts:
    """Counts of one recording; `ends_a` are the upper ends of the ranges that limits of
    error are stated for."""

    def __init__(self, ends_a: Sequence[float]) -> None:
        self._ends_a = np.array(ends_a)
        # The rows of a calibration need not be the ranges.
        self._above = 0 if len(ends_a) == RANGES else None
        self._samples = np.zeros(RANGES, dtype=np.int64)
        self._switches = 0
        self._last: int | None = None
        self._after = 0
        self._after_as = 0.0
        self._all_as = 0.0
        self._pending = 0

    def broken(self) -> None:
        """Take notice of a gap: whether it hides a switch is not known."""
        self._last = None
        self._pending = 0

    def add(self, ranges: Any, current_a: Reals) -> None:
        """Take the next samples; those of a range that does not exist are damaged, and
        do not count.
        """
        exists = ranges < RANGES
        ranges, current_a = ranges[exists], current_a[exists]
        if not len(ranges):
            return
        self._samples += np.bincount(ranges, minlength=RANGES)
        if self._above is not None:
            stated = np.searchsorted(self._ends_a, np.abs(current_a))
            self._above += int((ranges > stated).sum())
        before = ranges[0] if self._last is None else self._last
        switched = np.flatnonzero(np.diff(ranges, prepend=before))
        self._switches += len(switched)
        after = np.zeros(len(ranges), dtype=bool)
        after[: self._pending] = True
        for delay in range(AFTER):
            at = switched + delay
            after[at[at < len(ranges)]] = True
        left = self._pending - len(ranges)
        if len(switched):
            left = max(left, int(switched[-1]) + AFTER - len(ranges))
        self._pending = max(left, 0)
        self._last = int(ranges[-1])
        known = np.nan_to_num(current_a)
        self._after += int(after.sum())
        self._after_as += float(known[after].sum())
        self._all_as += float(known.sum())

    def summary(self, sample_hz: float) -> dict[str, Any]:
        """Return the counts, for recording.json; charges in C."""
        return {
            "samples_by_range": self._samples.tolist(),
            "samples_above_their_limits": self._above,
            "range_switches": self._switches,
            "samples_after_switches": self._after,
            "charge_after_switches_c": self._after_as / sample_hz,
            "charge_c": self._all_as / sample_hz,
        }


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
