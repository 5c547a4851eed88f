# SPDX-License-Identifier: Apache-2.0
"""Markers that a person set on a trace: annotations in a JLS file, or in an annotation
file beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyjls

from rig.arrays import Int64s
from rig.errors import DataError
from rig.trace.jls_file import jls_state
from rig.trace.marker import Marker
from rig.trace.reduced import MEANS, Reduced
from rig.trace.trace import Trace, reading

#: JLS time stamps count this many a second.
TIME64_S = 2**30

#: Joulescope UI puts the look of a marker after this.
_SEPARATOR = "\x1c"

_ANNOTATED = ".anno"

_KINDS = {pyjls.AnnotationType.VMARKER: "vertical", pyjls.AnnotationType.TEXT: "text"}


@dataclass(frozen=True, slots=True)
class Marked:
    """The places of a trace's markers: in the JLS file `path`, and in annotation files
    beside `original`, which `path` may be a copy of. The trace's first sample is sample
    `first` of `signal`.
    """

    path: Path
    original: Path
    signal: int
    first: int


def read(marked: Marked, trace: Trace) -> list[Marker]:
    """Return all markers in the order of their times; raises DataError.

    An annotation file (NAME.anno.jls, as Joulescope UI writes it) counts samples of its
    own: its markers are placed by UTC.
    """
    markers: list[Marker] = []
    with reading(marked.path) as reader:
        signals = {signal.signal_id: signal for signal in reader.signals.values()}
        own = signals[marked.signal]
        reduced = trace.layout.reduced
        stamps = time_stamps(reader, marked.signal, reduced)
        dated = len(stamps) > 0
        # Where a rate was given in the place of the file's, it is all signals' rates
        # that were wrong by the same factor.
        file_s = own.sample_rate / trace.sample_hz
        for file in [marked.path, *_beside(marked.original)]:
            for signal, at, name, kind in markers_in(file, file == marked.path):
                if signal is not None:
                    row = signals[signal]
                    if reduced is not None and signal in MEANS:
                        at = int(reduced.recorded(np.array([at]))[0])
                    before_s = (
                        int(own.sample_id_offset) + marked.first
                    ) / own.sample_rate
                    at_s = (int(row.sample_id_offset) + at) / row.sample_rate - before_s
                elif dated and reduced is not None:
                    sample = float(np.interp(at, stamps[:, 1], stamps[:, 0]))
                    at_s = sample / own.sample_rate
                elif dated:
                    at_s = (
                        reader.timestamp_to_sample_id(marked.signal, at) - marked.first
                    ) / own.sample_rate
                else:
                    raise DataError(
                        f"marker {name} of {file.name} has a date and"
                        f" {marked.original.name} none, so it has no place",
                        try_next="markers on the signal itself, or --times",
                    )
                markers.append(Marker(name, at_s * file_s, kind))
    return sorted(markers, key=lambda marker: marker.at_s)


def trace_beside(annotation_file: Path) -> str:
    """Return the name of the trace that an annotation file belongs to; empty where its
    name is none of an annotation file.
    """
    stem, separator, _ = annotation_file.name.rpartition(_ANNOTATED)
    return f"{stem}.jls" if separator else ""


def time_stamps(reader: Any, signal: int, reduced: Reduced | None = None) -> Int64s:
    """Return the pairs of sample and UTC (2**-30 s) of a signal, a row each; where
    spans are `reduced`, samples of the recording.
    """
    stamps: list[Int64s] = [np.zeros((0, 2), dtype=np.int64)]

    def take(entries: Any) -> bool:
        stamps.append(np.array(entries, dtype=np.int64))
        return False

    reader.utc(signal, 0, take)
    times = np.concatenate(stamps)
    if reduced is not None:
        times[:, 0] = reduced.recorded(times[:, 0])
    return times


def _beside(original: Path) -> Iterator[Path]:
    if original.suffix != ".jls":
        return
    for path in sorted(original.parent.iterdir()):
        if (
            path.name.startswith(f"{original.stem}{_ANNOTATED}")
            and path.suffix == ".jls"
        ):
            if jls_state(path) != (True, True):
                raise DataError(
                    f"{path} is not a JLS file that was closed properly",
                    try_next="save the annotations again",
                )
            yield path


def markers_in(path: Path, own: bool) -> list[tuple[int | None, int, str, str]]:
    """Return signal, place, name and kind of each; the place is a sample where the file
    is the trace's own, UTC where there is no signal.
    """
    markers: list[tuple[int | None, int, str, str]] = []
    with reading(path) as reader:
        for signal in reader.signals.values():
            here: list[tuple[int, str, str]] = []

            def take(
                at: int,
                y: float | None,
                kind: int,
                group: int,
                data: Any,
                here: list[tuple[int, str, str]] = here,
            ) -> bool:
                if kind in _KINDS:
                    name = data if isinstance(data, str) else json.dumps(data)
                    here.append((int(at), name.split(_SEPARATOR)[0], _KINDS[kind]))
                return False

            reader.annotations(signal.signal_id, 0, take)
            sampled = signal.signal_type == pyjls.SignalType.FSR
            for at, name, kind in here:
                if sampled and own:
                    markers.append((signal.signal_id, at, name, kind))
                else:
                    markers.append(
                        (
                            None,
                            (
                                reader.sample_id_to_timestamp(signal.signal_id, at)
                                if sampled
                                else at
                            ),
                            name,
                            kind,
                        )
                    )
    return markers
