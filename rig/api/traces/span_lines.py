# SPDX-License-Identifier: Apache-2.0
"""Lines of samples.jsonl and completions.jsonl -> the spans of a trial, or of one
segment of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rig.api.traces.spans import CROSSING, IDLE, NONE, SAMPLE, STREAM, WARM_UP, Spans
from rig.errors import DataError
from rig.kinds import registry as kinds
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Query
from rig.results.document import TrialResult
from rig.store import provenance_file, sample_lines
from rig.store.sample_lines import TrialLines, WindowLine
from rig.store.segments import counted
from rig.store.session_folder import SessionFolder
from rig.timebase.edge_clock import EDGE_CLOCK
from rig.timebase.timebase import Timebase

_Row = tuple[int, str, float, float, int, int, int, float, float, float, float, int]


def of_trial(
    folder: SessionFolder,
    trial: int,
    rail: str,
    segment: int,
    result: TrialResult | None,
) -> Spans:
    """Read the spans of a trial in the time of a rail's trace; of a trial without a
    result there are no warm-up queries. Raises DataError.
    """
    provenance = provenance_file.read(folder)
    rails = list(provenance.monitors)
    # Of later segments the results have no time base, and marks of a device without a
    # clock have no ticks: their warm-up queries have no place.
    timed = result is not None and segment == 1 and provenance.sut.clock != EDGE_CLOCK
    base = result.timebase if result is not None and timed else None
    records = [_of_trial(items, trial) for items in counted(folder.recorded(trial))]
    spans = read(folder.trial(trial), segment, provenance.task.phases, base, records)
    if result is None or base is None or rail not in result.rails or rail == rails[0]:
        return spans
    return moved(spans, base, result.rails[rail].timebase)


def _of_trial(items: Sequence[StepRecord], trial: int) -> list[StepRecord]:
    """Return the steps of one of several interleaved trials, and those of all."""
    return [item for item in items if item.trial in (0, trial)]


def read(
    trial: Path,
    segment: int,
    phases: Sequence[str],
    base: Timebase | None,
    records: Sequence[Sequence[StepRecord]] | None = None,
) -> Spans:
    """Read the spans of a trial's segment; `phases` are the task's names.

    `base` is the segment's time base: without one there are no warm-up queries.
    `records` are the trial's steps where its own folder does not have them. Raises
    DataError.
    """
    records = counted(trial) if records is None else records
    if not 1 <= segment <= len(records):
        raise DataError(
            f"{trial.name} has {len(records)} segments, not {segment}",
            try_next="one of its segments",
        )
    every = chain.from_iterable(records)
    idles = [item.number for item in every if isinstance(item.step, Idle)]
    rows = list(_of_samples(sample_lines.read(trial), idles))
    of_segment = records[segment - 1]
    if len(records) > 1:
        # A burst at the start of a segment has the number of the last step before it.
        numbers = {item.number for item in of_segment if kinds.planned(item.step)}
        rows = [row for row in rows if row[4] in numbers]
    if base is not None:
        rows += _of_warm_ups(of_segment, phases, base)
    return _columns(rows)


def moved(spans: Spans, from_base: Timebase, to_base: Timebase) -> Spans:
    """Return spans in the time of another monitor of the same trial."""
    ticks = np.array([from_base.origin_tick, from_base.origin_tick], dtype=np.int64)
    if len(spans):
        ends_s = np.array([spans.start_s[0], spans.reached_s[-1]])
        ticks = ticks + np.round(
            (ends_s - from_base.origin_s) / from_base.s_per_tick
        ).astype(np.int64)
    # Between clocks that drift, the map is straight over stretches much shorter than a
    # thousandth.
    even = np.linspace(ticks[0], ticks[1], 2001)
    grid = np.unique(even.astype(np.int64)).tolist()
    here_s, there_s = from_base.all_seconds(grid), to_base.all_seconds(grid)
    start_s, stop_s = (
        _map(times_s, here_s, there_s) for times_s in (spans.start_s, spans.stop_s)
    )
    return replace(
        spans, start_s=start_s, stop_s=stop_s, reached_s=np.maximum.accumulate(stop_s)
    )


def _map(times_s: Any, here_s: Any, there_s: Any) -> Any:
    if len(here_s) < 2:
        return times_s + (there_s[0] - here_s[0])
    moved_s = np.interp(times_s, here_s, there_s)
    rate = (there_s[-1] - there_s[0]) / (here_s[-1] - here_s[0])
    beyond_s = np.maximum(times_s - here_s[-1], 0) + np.minimum(times_s - here_s[0], 0)
    return moved_s + beyond_s * rate


def _of_samples(lines: TrialLines, idles: Sequence[int]) -> Iterator[_Row]:
    """Yield the measured windows; an idle time has a step where all of them were
    measured."""
    known = len(idles) == len(lines.idles)
    for place, idle in enumerate(lines.idles):
        yield _row(IDLE, idle, idles[place] if known else NONE)
    for stream in lines.streams:
        yield _row(STREAM, stream.whole, stream.step)
    for line in lines.samples:
        about = line.step, line.indices[0] if line.indices else NONE, line.repeat
        for window in line.windows:
            yield _row(SAMPLE, window, *about, line.correct)
        for crossing in line.crossings:
            if crossing.window is not None:
                yield _row(CROSSING, crossing.window, *about, line.correct)


def _of_warm_ups(
    items: Sequence[StepRecord], phases: Sequence[str], base: Timebase
) -> Iterator[_Row]:
    for item in items:
        step = item.step
        if not isinstance(step, Query) or not step.warmup:
            continue
        kind = kinds.of(step)
        names = (*kind.own_phases(step), *phases)
        if kind.mark_fault(item, step, phases):
            continue
        for span in kind.spans(item, step, names):
            start_s, stop_s = span.seconds(base)
            unknown = WindowLine(
                phase=span.phase,
                start_s=start_s,
                stop_s=stop_s,
                latency_s=np.nan,
                latency_u_s=None,
                energy_j=None,
                energy_u_j=None,
            )
            yield _row(WARM_UP, unknown, item.number, step.indices[0], step.repeat)


def _row(
    kind: int,
    window: WindowLine,
    step: int = NONE,
    sample: int = NONE,
    repeat: int = 1,
    correct: int = NONE,
) -> _Row:
    energy_j, energy_u_j, latency_u_s = (
        np.nan if value is None else value
        for value in (window.energy_j, window.energy_u_j, window.latency_u_s)
    )
    times = window.latency_s, latency_u_s
    what = kind, window.phase, window.start_s, window.stop_s, step, sample, repeat
    return *what, *times, energy_j, energy_u_j, int(correct)


def _columns(rows: list[_Row]) -> Spans:
    rows.sort(key=lambda row: (row[2], -row[3]))
    kinds, names, *numbers = zip(*rows, strict=True) if rows else ((),) * 12
    phases = tuple(dict.fromkeys(names))
    codes = {name: code for code, name in enumerate(phases)}
    (
        starts,
        stops,
        steps,
        samples,
        repeats,
        latencies,
        latencies_u,
        energies,
        energies_u,
        corrects,
    ) = numbers
    stop_s = np.array(stops, dtype=np.float64)
    whole = np.int64
    return Spans(
        phases=phases,
        start_s=np.array(starts, dtype=np.float64),
        stop_s=stop_s,
        reached_s=np.maximum.accumulate(stop_s),
        kind=np.array(kinds, dtype=whole),
        phase=np.array([codes[name] for name in names], dtype=whole),
        step=np.array(steps, dtype=whole),
        sample=np.array(samples, dtype=whole),
        repeat=np.array(repeats, dtype=whole),
        latency_s=np.array(latencies, dtype=np.float64),
        latency_u_s=np.array(latencies_u, dtype=np.float64),
        energy_j=np.array(energies, dtype=np.float64),
        energy_u_j=np.array(energies_u, dtype=np.float64),
        correct=np.array(corrects, dtype=whole),
    )
