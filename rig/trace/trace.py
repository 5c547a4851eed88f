# SPDX-License-Identifier: Apache-2.0
"""Traces: current, voltage and SYNC over monitor time, file-backed (JLS v2), with exact
energy between two instants.

Conventions. Analog sample k is the mean over [k, k + 1) / sample_hz. SYNC sample k of a
digital input is the level at k / edge_hz, so an edge first seen at k happened at (k -
1/2) / edge_hz, give or take half a period. Time 0 is the first sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rig.arrays import Float32s, Float64s
from rig.errors import DataError
from rig.files import typed
from rig.trace import end_samples, reduced
from rig.trace import gaps as gap_lines
from rig.trace.foreseen import KnownSums
from rig.trace.gaps import Gap as Gap
from rig.trace.gaps import GapIndex
from rig.trace.integral import EndPower as EndPower
from rig.trace.integral import Integral as Integral
from rig.trace.integral import integral_of, seen
from rig.trace.integrate import Sums
from rig.trace.jls_file import ABOUT as ABOUT
from rig.trace.jls_file import LENGTHS as LENGTHS
from rig.trace.jls_file import RECORDED_SAMPLES as RECORDED_SAMPLES
from rig.trace.jls_file import about_of as about_of
from rig.trace.jls_file import blocks_of as blocks_of
from rig.trace.jls_file import lengths_of
from rig.trace.jls_file import reading as reading
from rig.trace.jls_file import user_data as user_data
from rig.trace.reduced import REDUCED as REDUCED
from rig.trace.reduced import ReducedSpan, Thinning
from rig.trace.samples import BLOCK, OWN, Layout, Samples, bounds
from rig.trace.samples import CURRENT as CURRENT
from rig.trace.samples import VOLTAGE as VOLTAGE
from rig.trace.sync_line import OwnLine, SyncLine

SYNC_VOLTAGE = 3
SYNC = 10

TRACE = "trace.jls"
PARTIAL = "trace.jls.partial"
GAPS = "gaps.jsonl"
EDGES = "edges.jsonl"

#: Facts that an instrument reported during a recording; no measurement depends on
#: them.
SAID = "recording.json"

#: Edges that the instrument stamped itself lie in a file of their own.
STAMPED = ("stamps", "start")

#: A killed process may lack so much of the end of its line.
_SYNC_LOST_S = 1.0

#: A window of fewer samples has no whole one beside each end.
STEPPED = 4

#: So near to the border of two samples an instant lies on it: 0.07 s at 1000 Hz is
#: 70.00000000000001 samples.
_ON_BORDER = 1e-5

#: The energy of a window with a larger share of lost samples is unknown.
LOST_LIMIT = 0.1


@dataclass(frozen=True, slots=True)
class About:
    """Metadata that the recorder wrote into a trace (rig/trace/writer.py); `more` is
    added by a driver."""

    sample_hz: float
    edge_hz: float
    sync: str = ""
    start_monotonic_ns: int = 0
    rate_limit_ppm: float = 0.0
    thinning: Thinning | None = None
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class Trace:
    """A closed trace: its rates, its edges and its gaps; samples are read from the file
    when asked for.

    An edge of SYNC is known to 1 / `edge_hz`. `sync` is how edges came
    (rig/trace/writer.py); `start_monotonic_ns` what CLOCK_MONOTONIC showed at time 0,
    where marks are attached by it; `rate_limit_ppm` how far a device's clock may
    differ, where it is attached by one edge; `sync_s` how far the line reaches, where
    it was sampled; `known` sums that were taken before.
    """

    path: Path
    sample_hz: float
    edge_hz: float
    length: int
    line: SyncLine
    gaps: tuple[Gap, ...]
    sync: str = "digital"
    start_monotonic_ns: int = 0
    rate_limit_ppm: float = 0.0
    layout: Layout = OWN
    sync_s: float = math.inf
    known: KnownSums | None = field(default=None, repr=False, compare=False)
    _gap_index: GapIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_gap_index", GapIndex(self.gaps))

    @classmethod
    def open(cls, path: Path, lazily: bool = False) -> Trace:
        """Open a trace that was closed properly; raises DataError for anything else.
        `lazily` reads the edges when they are asked for: only then it is known whether
        they can be read.
        """
        with reading(path) as reader:
            signals = {signal.signal_id: signal for signal in reader.signals.values()}
            about = about_of(reader)
            lengths = lengths_of(reader)
            sync = {"digital": SYNC, "voltage": SYNC_VOLTAGE}.get(about.get("sync", ""))
            needed = {CURRENT, VOLTAGE, sync} - {None}
            if not needed <= set(signals):
                raise DataError(
                    f"{path} lacks a signal",
                    evidence=f"it has {sorted(s.name for s in signals.values())}",
                )
            if not about.get("sample_hz"):
                raise DataError(
                    f"{path} was not recorded by the rig",
                    try_next="rig measure reads it",
                )
        stated = typed.from_json(About, about, str(path))
        sample_hz = float(stated.sample_hz)
        edge_hz = float(stated.edge_hz)
        kind = stated.sync
        gaps = gap_lines.read(path.with_name(GAPS))
        stored = min(lengths[CURRENT], lengths[VOLTAGE])
        layout = _layout(path, stated, stored, lengths)
        period_s = max(1 / sample_hz, 1 / edge_hz)
        dark_s = [
            (gap.start / sample_hz - period_s, gap.stop / sample_hz + period_s)
            for gap in gaps
        ]
        rate_hz = edge_hz if kind == "digital" else sample_hz
        stamps = path.with_name(EDGES) if kind in STAMPED else None
        length = lengths.get(sync or 0, 0)
        own = OwnLine(
            path=path,
            kind=kind,
            signal=sync,
            length=length,
            rate_hz=rate_hz,
            dark_s=dark_s,
            stamps=stamps,
        )
        line = SyncLine(own.edges, own.levels)
        if not lazily:
            line.edges()
        return cls(
            path,
            sample_hz,
            edge_hz=edge_hz,
            length=stored
            + (layout.reduced.samples if layout.reduced is not None else 0),
            line=line,
            gaps=gaps,
            sync=kind,
            start_monotonic_ns=stated.start_monotonic_ns,
            rate_limit_ppm=float(stated.rate_limit_ppm),
            layout=layout,
            sync_s=length / rate_hz if sync is not None else math.inf,
        )

    @property
    def falls_s(self) -> Float64s:
        """Times of SYNC's falling edges; the first time they are read."""
        return self.line.edges().falls_s

    @property
    def rises_s(self) -> Float64s:
        """Times of SYNC's rising edges; the first time they are read."""
        return self.line.edges().rises_s

    @property
    def duration_s(self) -> float:
        """Length of the trace."""
        return self.length / self.sample_hz

    @property
    def reach_s(self) -> float:
        """Return how far current, voltage and SYNC all reach: of a recording that was
        cut off, one may be shorter than the others.
        """
        return min(self.duration_s, self.sync_s)

    def gap_between(self, start_s: float, stop_s: float) -> Gap | None:
        """Return the first gap that touches a window; samples outside the trace count
        as one."""
        start = self.place(start_s)
        stop = self.place(stop_s)
        if start < 0 or stop > self.length:
            return Gap(
                int(start),
                int(stop),
                f"the window lies outside the trace of {self.length} samples",
            )
        if (span := self.reduced_between(start_s, stop_s)) is not None:
            return Gap(span.start, span.stop, "kept as means alone, between windows")
        return self._gap_index.first(start, stop)

    @property
    def reduced(self) -> tuple[ReducedSpan, ...]:
        """Spans whose samples are kept as means."""
        return () if self.layout.reduced is None else self.layout.reduced.spans

    def reduced_between(self, start_s: float, stop_s: float) -> ReducedSpan | None:
        """Return the first reduced span that a window touches, or a sample beside
        it."""
        if self.layout.reduced is None:
            return None
        start, stop = self.place(start_s), self.place(stop_s)
        return self.layout.reduced.touching(start - STEPPED, stop + STEPPED)

    def lost_between(self, start_s: float, stop_s: float) -> int | None:
        """Return the number of lost samples inside a window; None where its energy is
        unknown: samples at or beside its ends are lost, or more than LOST_LIMIT of it.
        """
        start = self.place(start_s)
        stop = self.place(stop_s)
        if (
            start < 0
            or stop > self.length
            or self.reduced_between(start_s, stop_s) is not None
        ):
            return None
        lost = self._gap_index.lost(start, stop, STEPPED)
        if lost is None or lost > LOST_LIMIT * (stop - start):
            return None
        return lost

    def integrals(
        self,
        windows: Sequence[tuple[float, float]],
        ranges_a: Sequence[float] = (),
        steps_at_ends: bool = False,
        bridged: bool = False,
    ) -> list[Integral]:
        """Integrate over each window: current times voltage, the end samples by their
        fraction.

        `ranges_a` are the upper ends of the current's ranges. With `steps_at_ends` the
        part of a sample that an end cuts counts with the reading of its neighbour
        inside: where the power changes just at the end of a window, as at a mark, that
        sample is a mixture of the power before and after. Where `bridged`, lost samples
        inside, as `lost_between` allows them, are taken for the mean of the others;
        else they count with their stored values. Raises DataError for a window outside
        the trace.
        """
        if not windows:
            return []
        sums = Sums(ranges_a)
        with reading(self.path) as reader:
            samples = Samples(reader, self.layout, self.length)
            integrals = []
            for start_s, stop_s in windows:
                integral = self._integral(
                    samples,
                    start_s,
                    stop_s=stop_s,
                    sums=sums,
                    steps_at_ends=steps_at_ends,
                    bridged=bridged,
                )
                integrals.append(integral)
            return integrals

    def energies_j(self, windows: Sequence[tuple[float, float]]) -> list[float]:
        """Return the energy between each pair of instants, in joules."""
        return [integral.energy_j for integral in self.integrals(windows)]

    def energy_j(self, start_s: float, stop_s: float) -> float:
        """Return the energy between two instants, in joules."""
        return self.energies_j([(start_s, stop_s)])[0]

    def mean_w(self, start_s: float, stop_s: float) -> float:
        """Return the mean power between two instants, in watts."""
        return self.energy_j(start_s, stop_s) / (stop_s - start_s)

    def samples(self, reader: Any, first: int, count: int) -> tuple[Float32s, Float32s]:
        """Return current and voltage of `count` samples from `first` on, as they are in
        the file of an open reader.
        """
        return self.layout.read(reader, first, count)

    def power_w(self, start_s: float, stop_s: float) -> tuple[Float64s, Float64s]:
        """Return times (of the middle of each sample, s) and power (W) of the whole
        samples that touch a window.
        """
        first = max(int(np.floor(start_s * self.sample_hz)), 0)
        last = min(int(np.ceil(stop_s * self.sample_hz)), self.length)
        if last <= first:
            return np.zeros(0), np.zeros(0)
        with reading(self.path) as reader:
            current, voltage = Samples(reader, self.layout, self.length).some(
                first, last
            )
        power = np.multiply(current, voltage, dtype=np.float64)
        times_s: Float64s = (
            np.arange(first, last, dtype=np.float64) + 0.5
        ) / self.sample_hz
        return times_s, power

    def place(self, at_s: float) -> float:
        """Return an instant in samples; on the border of two samples in spite of
        rounding errors and cut digits."""
        at = at_s * self.sample_hz
        return float(round(at)) if abs(at - round(at)) < _ON_BORDER else at

    def _integral(
        self,
        samples: Samples,
        start_s: float,
        stop_s: float,
        sums: Sums,
        steps_at_ends: bool,
        bridged: bool,
    ) -> Integral:
        start = self.place(start_s)
        stop = self.place(stop_s)
        if not 0 <= start <= stop <= self.length:
            raise DataError(
                f"the window {start_s:.6f} s to {stop_s:.6f} s lies outside the trace",
                evidence=f"{self.duration_s:.6f} s long",
                try_next="a start before the stop, both inside the trace",
            )
        first = math.floor(start)
        last = min(max(math.ceil(stop), first + 1), self.length)
        ends = (start, stop)
        sums.clear()
        # A sample with a step of the power is a mixture: neither is it summed, nor is
        # it the least or the most. An end on the border of two samples cuts none.
        stepped = steps_at_ends and last - first >= STEPPED
        cut = (stepped and start > first, stepped and stop < last)
        around_start = samples.around(start)
        lost = self._sum(samples, first + cut[0], last - cut[1], sums, bridged)
        around = (around_start, samples.around(stop))
        if stepped:
            shares = end_samples.ends_by_neighbour(around, ends, first, last, cut)
        else:
            shares = end_samples.ends_by_fraction(around, ends, first, last)
        for share in shares:
            sums.take(*share)
        at_start, at_stop = end_samples.of_window(around, ends, self.length, stepped)
        apart_j = at_start.apart_w / self.sample_hz, at_stop.apart_w / self.sample_hz
        return integral_of(
            sums,
            between_s=(start_s, stop_s),
            samples=stop - start,
            lost=lost,
            sample_hz=self.sample_hz,
            ends=(seen(at_start.power, sums), seen(at_stop.power, sums)),
            stepped=stepped,
            cut=cut,
            apart_j=apart_j,
        )

    def _sum(
        self, samples: Samples, first: int, last: int, sums: Sums, bridged: bool
    ) -> int:
        """Add samples first <= k < last to `sums`, without those in gaps where these
        are `bridged`; return how many were left out.
        """
        lost = 0
        inside = self._gap_index.joined(first, last) if bridged else []
        for at, stop in bounds(first, last, BLOCK):
            if self.known is not None and not inside:
                block = self.known.of(at, stop, sums.ranges_a)
                if block is not None:
                    sums.add_block(block)
                    continue
            current, voltage = samples.block(at, stop)
            if inside:
                kept = gap_lines.outside(at, len(current), inside)
                lost += len(current) - int(np.count_nonzero(kept))
                current = current[kept]
                voltage = voltage[kept]
            sums.add(current, voltage)
        return lost


def _layout(path: Path, about: About, stored: int, lengths: dict[int, int]) -> Layout:
    """Return where the samples of a trace of the rig's own are."""
    if about.thinning is None:
        return OWN
    # Samples are left out only where the line is known.
    most = round(
        (lengths.get(SYNC, 0) / about.edge_hz + _SYNC_LOST_S) * about.sample_hz
    )
    found = reduced.read(
        path.with_name(reduced.REDUCED), about.thinning, stored, lengths, most
    )
    recorded = lengths.get(RECORDED_SAMPLES)
    if recorded is not None and recorded != stored + found.samples:
        raise DataError(
            f"{path.with_name(reduced.REDUCED)} does not fit its trace",
            evidence=(
                f"{recorded} samples were recorded, {stored} are kept, the spans have "
                f"{found.samples}"
            ),
        )
    return replace(OWN, reduced=found)
