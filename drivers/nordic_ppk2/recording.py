# SPDX-License-Identifier: Apache-2.0
"""One measurement of a PPK2: its stream becomes a trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drivers.block_lag import BlockLag, Loss
from drivers.nordic_ppk2.link import START, STOP, TRY, Ppk2Link
from drivers.nordic_ppk2.metadata import CODE_BITS, RANGES, Ppk2Metadata
from drivers.nordic_ppk2.range_counts import RangeCounts
from drivers.nordic_ppk2.settings import Ppk2Settings
from drivers.nordic_ppk2.stream import (
    LINES_AT,
    LostSamples,
    SampleStream,
    SampleWords,
    Words,
)
from drivers.stream_recording import RecordingClock, StreamRecording
from rig.arrays import Reals
from rig.errors import BenchError, DeadlineError
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
