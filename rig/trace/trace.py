# SPDX-License-Identifier: Apache-2.0
"""Traces: current, voltage and SYNC over monitor time, file-backed (JLS v2), with exact energy
between two instants.

Conventions. Analog sample k is the mean over [k, k + 1) / sample_hz. SYNC sample k of a digital
input is the level at k / edge_hz, so an edge first seen at k happened at (k - 1/2) / edge_hz, give
or take half a period. Time 0 is the first sample.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyjls
from numpy.typing import NDArray

from rig.errors import DataError
from rig.trace import edges
from rig.trace.integrate import Sums

CURRENT = 1
VOLTAGE = 2
SYNC_VOLTAGE = 3
SYNC = 10

#: User data of the file: what the recorder knew from the start, and how many samples of each signal
#: it was given.
ABOUT = 1
LENGTHS = 2

TRACE = "trace.jls"
PARTIAL = "trace.jls.partial"
GAPS = "gaps.jsonl"
EDGES = "edges.jsonl"

#: What an instrument said of itself in the course of a recording; nothing that is measured depends
#: on it.
SAID = "recording.json"

#: Edges that the instrument stamped itself lie in a file of their own.
STAMPED = ("stamps", "start")

#: Samples that are read at once: whole chunks of the file; and a processor's cache holds what is
#: computed of them.
_BLOCK = 1 << 18

#: A window of fewer samples has no whole one beside each end.
STEPPED = 4

#: So near to the border of two samples an instant lies on it: 0.07 s at 1000 Hz is
#: 70.00000000000001 samples.
_ON_BORDER = 1e-5

#: Of a window of which a larger share is lost nothing is said.
LOST_LIMIT = 0.1


@dataclass(frozen=True, slots=True)
class Gap:
    """Analog samples start <= k < stop are lost or not to be trusted."""

    start: int
    stop: int
    cause: str


class EndPower(NamedTuple):
    """The power beside an end of a window, in watts: of the sample outside and of the one inside of
    that in which the end lies.
    """

    outside_w: float
    inside_w: float


@dataclass(frozen=True, slots=True)
class Integral:
    """Integral over one window, range by range of the current: energy, charge, voltage over time,
    and time; and the power at its ends.

    `ends` are start and stop. Where `stepped`, what they leave of their samples counts with the
    power inside. `lost_s` of it were lost: there the mean of the rest stands in. `beyond_j` of the
    energy were measured at a current beyond all ranges; the last range has it too.
    """

    start_s: float
    stop_s: float
    energy_j: float
    charge_c: float
    least_w: float
    most_w: float
    ends: tuple[EndPower, EndPower]
    range_energy_j: tuple[float, ...]
    range_charge_c: tuple[float, ...]
    range_volt_s: tuple[float, ...]
    lost_s: float = 0.0
    beyond_j: float = 0.0
    stepped: bool = False

    @property
    def duration_s(self) -> float:
        """Return the length of the window."""
        return self.stop_s - self.start_s

    @property
    def volt_s(self) -> float:
        """Return the voltage summed over time, all ranges of the current together."""
        return math.fsum(self.range_volt_s)


@dataclass(frozen=True, slots=True)
class Trace:
    """A closed trace: its rates, its edges and its gaps; samples are read from the file when asked
    for.

    An edge of SYNC is known to 1 / `edge_hz`. `sync` is how edges came (rig/trace/writer.py);
    `start_monotonic_ns` what CLOCK_MONOTONIC showed at time 0, where marks are attached by it;
    `rate_limit_ppm` how far a device's clock may differ, where it is attached by one edge.
    """

    path: Path
    sample_hz: float
    edge_hz: float
    length: int
    falls_s: NDArray[np.float64]
    rises_s: NDArray[np.float64]
    gaps: tuple[Gap, ...]
    sync: str = "digital"
    start_monotonic_ns: int = 0
    rate_limit_ppm: float = 0.0

    @classmethod
    def open(cls, path: Path) -> Trace:
        """Open a trace that was closed properly; raises DataError for anything else."""
        with reading(path) as reader:
            signals = {signal.signal_id: signal for signal in reader.signals.values()}
            about = about_of(reader)
            lengths = _lengths_of(reader)
            kind = about.get("sync", "")
            sync = {"digital": SYNC, "voltage": SYNC_VOLTAGE}.get(about.get("sync", ""))
            if not {CURRENT, VOLTAGE} <= set(signals) or (sync is not None and sync not in signals):
                raise DataError(
                    f"{path} lacks a signal",
                    evidence=f"it has {sorted(s.name for s in signals.values())}",
                )
            if not about.get("sample_hz"):
                raise DataError(
                    f"{path} was not recorded by the rig", try_next="rig measure reads it"
                )
            sample_hz = float(about["sample_hz"])
            edge_hz = float(about["edge_hz"])
            length = min(lengths[CURRENT], lengths[VOLTAGE])
            sync_edges = edges.Edges(np.zeros(0), np.zeros(0))
            if kind == "digital":
                sync_edges = edges.from_levels(
                    blocks_of(reader, SYNC, lengths[SYNC], 8 * _BLOCK), edge_hz
                )
            elif kind == "voltage":
                whole = [
                    np.zeros(0, dtype=np.float32),
                    *blocks_of(reader, SYNC_VOLTAGE, lengths[SYNC_VOLTAGE], _BLOCK),
                ]
                sync_edges = edges.from_voltage(np.concatenate(whole), sample_hz)
            elif kind in STAMPED:
                sync_edges = edges.from_stamps(path.with_name(EDGES))
        gaps = _gaps(path.with_name(GAPS))
        if kind not in STAMPED:
            period_s = max(1 / sample_hz, 1 / edge_hz)
            sync_edges = edges.outside(
                sync_edges,
                [
                    (gap.start / sample_hz - period_s, gap.stop / sample_hz + period_s)
                    for gap in gaps
                ],
            )
        start_ns = int(about.get("start_monotonic_ns", 0))
        rate_ppm = float(about.get("rate_limit_ppm", 0.0))
        return cls(
            path,
            sample_hz,
            edge_hz,
            length,
            sync_edges.falls_s,
            sync_edges.rises_s,
            gaps,
            kind,
            start_ns,
            rate_ppm,
        )

    @property
    def duration_s(self) -> float:
        """Return the length of the trace."""
        return self.length / self.sample_hz

    def gap_between(self, start_s: float, stop_s: float) -> Gap | None:
        """Return the first gap that touches a window; samples outside the trace count as one."""
        start = self._place(start_s)
        stop = self._place(stop_s)
        if start < 0 or stop > self.length:
            return Gap(
                int(start), int(stop), f"the window lies outside the trace of {self.length} samples"
            )
        return next((gap for gap in self.gaps if gap.start < stop and gap.stop > start), None)

    def lost_between(self, start_s: float, stop_s: float) -> int | None:
        """Return how many samples inside a window are lost; None where its ends, or what lies
        beside them, are, or more than LOST_LIMIT of it: then nothing is known of its energy.
        """
        start = self._place(start_s)
        stop = self._place(stop_s)
        if start < 0 or stop > self.length:
            return None
        hit = [gap for gap in self.gaps if gap.start < stop and gap.stop > start]
        lost = sum(gap.stop - gap.start for gap in _joined(hit))
        at_ends = any(gap.start < start + STEPPED or gap.stop > stop - STEPPED for gap in hit)
        return None if at_ends or lost > LOST_LIMIT * (stop - start) else lost

    def integrals(
        self,
        windows: Sequence[tuple[float, float]],
        ranges_a: Sequence[float] = (),
        steps_at_ends: bool = False,
        bridged: bool = False,
    ) -> list[Integral]:
        """Integrate over each window: current times voltage, the end samples by their fraction.

        `ranges_a` are the upper ends of the current's ranges. With `steps_at_ends` the part of an
        end sample counts with the reading of its neighbour inside: where the power changes just at
        the end of a window, as at a mark, the end sample is a mixture of what came before and
        after. Where `bridged`, lost samples inside, as `lost_between` allows them, are taken for
        the mean of the others; else they count as they stand there. Raises DataError for a window
        outside the trace.
        """
        if not windows:
            return []
        sums = Sums(ranges_a, min(_BLOCK, self.length))
        with reading(self.path) as reader:
            samples = _Samples(reader, self.length)
            return [
                self._integral(samples, start_s, stop_s, sums, steps_at_ends, bridged)
                for start_s, stop_s in windows
            ]

    def energies_j(self, windows: Sequence[tuple[float, float]]) -> list[float]:
        """Return the energy between each pair of instants, in joules."""
        return [integral.energy_j for integral in self.integrals(windows)]

    def energy_j(self, start_s: float, stop_s: float) -> float:
        """Return the energy between two instants, in joules."""
        return self.energies_j([(start_s, stop_s)])[0]

    def mean_w(self, start_s: float, stop_s: float) -> float:
        """Return the mean power between two instants, in watts."""
        return self.energy_j(start_s, stop_s) / (stop_s - start_s)

    def power_w(
        self, start_s: float, stop_s: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times (of the middle of each sample, s) and power (W) of the whole samples that
        touch a window.
        """
        first = max(int(np.floor(start_s * self.sample_hz)), 0)
        last = min(int(np.ceil(stop_s * self.sample_hz)), self.length)
        if last <= first:
            return np.zeros(0), np.zeros(0)
        with reading(self.path) as reader:
            current, voltage = _Samples(reader, self.length).some(first, last)
        power = np.multiply(current, voltage, dtype=np.float64)
        times_s: NDArray[np.float64] = (
            np.arange(first, last, dtype=np.float64) + 0.5
        ) / self.sample_hz
        return times_s, power

    def _place(self, at_s: float) -> float:
        """Return an instant in samples; on the border of two whatever the multiplication was
        rounded to, or the digits cut to.
        """
        at = at_s * self.sample_hz
        return float(round(at)) if abs(at - round(at)) < _ON_BORDER else at

    def _integral(
        self,
        samples: _Samples,
        start_s: float,
        stop_s: float,
        sums: Sums,
        steps_at_ends: bool,
        bridged: bool,
    ) -> Integral:
        start = self._place(start_s)
        stop = self._place(stop_s)
        if not 0 <= start <= stop <= self.length:
            raise DataError(
                f"the window {start_s:.6f} s to {stop_s:.6f} s lies outside the trace",
                evidence=f"{self.duration_s:.6f} s long",
            )
        first = math.floor(start)
        last = min(max(math.ceil(stop), first + 1), self.length)
        sums.clear()
        lost = 0
        inside = (
            _joined([gap for gap in self.gaps if gap.start < last and gap.stop > first])
            if bridged
            else []
        )
        # A sample in which the power steps is a mixture: neither is it summed, nor is it the least
        # or the most.
        stepped = steps_at_ends and last - first >= STEPPED
        around = [samples.around(start)]
        for at, current, voltage in samples.blocks(first + stepped, last - stepped):
            if inside:
                kept = _outside(at, len(current), inside)
                lost += len(current) - int(np.count_nonzero(kept))
                current = current[kept]
                voltage = voltage[kept]
            sums.add(current, voltage)
        around.append(samples.around(stop))
        if stepped:
            parts = [(0, first + 1, 1 - (start - first)), (1, last - 2, 1 - (last - stop))]
        else:
            # Samples first and last - 1 lie only partly inside: they count by their fraction, also
            # where both are one sample.
            parts = [(0, first, first - start), (1, last - 1, stop - last)] if last > first else []
        for end, at, share in parts:
            sums.take(*around[end].sample(at), share)
        held = sums.sums * (
            (stop - start) / (stop - start - lost) / self.sample_hz if lost else 1 / self.sample_hz
        )
        beyond_j = float(held[0, -1]) if held.shape[1] > 1 else 0.0
        if held.shape[1] > 1:
            held[:, -2] += held[:, -1]
            held = held[:, :-1]
        energy_j, charge_c, volt_s = (tuple(row) for row in held.tolist())
        before, after = (
            near.beside_w(at, self.length) for near, at in zip(around, (start, stop), strict=True)
        )
        ends = (_seen(EndPower(*before), sums), _seen(EndPower(*reversed(after)), sums))
        return Integral(
            start_s,
            stop_s,
            sum(energy_j),
            sum(charge_c),
            sums.least_w,
            sums.most_w,
            ends,
            energy_j,
            charge_c,
            volt_s,
            lost / self.sample_hz,
            beyond_j,
            stepped,
        )


@dataclass(frozen=True, slots=True)
class _Around:
    """The samples about an instant, two more each way; the first has number `base`."""

    base: int
    current: NDArray[np.float32]
    voltage: NDArray[np.float32]

    def sample(self, at: int) -> tuple[float, float]:
        """Return current and voltage of a sample."""
        return float(self.current[at - self.base]), float(self.voltage[at - self.base])

    def beside_w(self, at: float, length: int) -> tuple[float, float]:
        """Return the power of the samples before and after the one in which an end lies."""
        before = self.sample(max(math.floor(at) - 1, 0))
        after = self.sample(min(math.floor(at) + 1, length - 1))
        return before[0] * before[1], after[0] * after[1]


class _Samples:
    """Reads current and voltage block by block; the last block is kept, as the next window often
    begins in it.
    """

    def __init__(self, reader: Any, length: int) -> None:
        self._reader = reader
        self._length = length
        self._number = -1
        self._block: tuple[NDArray[np.float32], NDArray[np.float32]]

    def blocks(
        self, first: int, last: int
    ) -> Iterator[tuple[int, NDArray[np.float32], NDArray[np.float32]]]:
        """Yield the number of a first sample, and current and voltage from there on."""
        while first < last:
            number, at = divmod(first, _BLOCK)
            if number != self._number:
                count = min(_BLOCK, self._length - number * _BLOCK)
                current, voltage = (
                    self._reader.fsr(signal, number * _BLOCK, count)
                    for signal in (CURRENT, VOLTAGE)
                )
                self._number = number
                self._block = (current, voltage)
            stop = min(last - number * _BLOCK, _BLOCK)
            current, voltage = self._block
            yield first, current[at:stop], voltage[at:stop]
            first = number * _BLOCK + stop

    def some(self, first: int, last: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return current and voltage of a few samples."""
        parts = [(current, voltage) for _, current, voltage in self.blocks(first, last)]
        if len(parts) == 1:
            return parts[0]
        current, voltage = (np.concatenate(signal) for signal in zip(*parts, strict=True))
        return current, voltage

    def around(self, at: float) -> _Around:
        """Return the samples about an instant."""
        base = max(math.floor(at) - 2, 0)
        return _Around(base, *self.some(base, min(math.floor(at) + 3, self._length)))


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open a closed JLS file; its reader's errors become DataErrors. Never for an unclosed one:
    `recover` that first.
    """
    if not path.exists():  # the reader would say so on standard error, too
        raise DataError(
            f"{path} is not there",
            try_next="rig check shows what is left of a session that was cut off",
        )
    try:
        reader = pyjls.Reader(str(path))
    except (RuntimeError, OSError) as error:
        raise DataError(f"{path} is not a readable trace", evidence=str(error)) from error
    try:
        yield reader
    except RuntimeError as error:
        raise DataError(f"{path} cannot be read to its end", evidence=str(error)) from error
    finally:
        reader.close()


def about_of(reader: Any) -> dict[str, Any]:
    """Return what the recorder wrote of a trace into its file; empty for a file of another
    origin.
    """
    return user_data(reader, ABOUT)


def _lengths_of(reader: Any) -> dict[int, int]:
    """Return how many samples each signal has, without what was added so that the index reaches the
    last one.
    """
    known = user_data(reader, LENGTHS)
    lengths = {int(signal.signal_id): int(signal.length) for signal in reader.signals.values()}
    written = {signal: known.get(str(signal)) for signal in lengths}
    return {
        signal: min(length, count)
        if isinstance(count := written[signal], int) and count >= 0
        else length
        for signal, length in lengths.items()
    }


def user_data(reader: Any, number: int) -> dict[str, Any]:
    """Return user data of the file; empty where there is none, or another program's."""
    contents: dict[str, Any] = {}

    def take(meta: int, data: Any) -> bool:
        with suppress(ValueError, TypeError):
            content = data if isinstance(data, dict) else json.loads(data)
            contents.update(content if meta == number and isinstance(content, dict) else {})
        return bool(contents)

    reader.user_data(take)
    return contents


def blocks_of(reader: Any, signal: int, length: int, block: int) -> Iterator[Any]:
    """Yield the samples of a signal, a block at a time."""
    for at in range(0, length, block):
        yield reader.fsr(signal, at, min(block, length - at))


def _seen(end: EndPower, sums: Sums) -> EndPower:
    """Return an end whose sample outside was lost with what the window has that is farthest from
    the power inside.
    """
    if math.isfinite(end.outside_w) or not math.isfinite(end.inside_w):
        return end
    seen_w = [
        power_w for power_w in (end.inside_w, sums.least_w, sums.most_w) if math.isfinite(power_w)
    ]
    return EndPower(max(seen_w, key=lambda power_w: abs(power_w - end.inside_w)), end.inside_w)


def _joined(gaps: Sequence[Gap]) -> list[Gap]:
    """Return gaps in order, those that overlap as one."""
    joined: list[Gap] = []
    for gap in sorted(gaps, key=lambda gap: gap.start):
        if joined and gap.start <= joined[-1].stop:
            last = joined.pop()
            gap = Gap(last.start, max(last.stop, gap.stop), last.cause)
        joined.append(gap)
    return joined


def _outside(first: int, count: int, gaps: Sequence[Gap]) -> NDArray[np.bool_]:
    """Return which of samples, of which the first has number `first`, are in no gap."""
    kept = np.ones(count, dtype=bool)
    for gap in gaps:
        kept[max(gap.start - first, 0) : max(gap.stop - first, 0)] = False
    return kept


def _gaps(path: Path) -> tuple[Gap, ...]:
    if not path.exists():
        return ()
    # A killed process may leave half a line at the end; anything else is damage.
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    try:
        return tuple(_gap(**json.loads(line)) for line in lines)
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{path} has a line of another form", evidence=str(error)) from error


def _gap(start: int, stop: int, cause: str) -> Gap:
    if not (type(start) is type(stop) is int and isinstance(cause, str)):
        raise TypeError(f"a gap from {start!r:.20} to {stop!r:.20}")
    return Gap(start, stop, cause)
