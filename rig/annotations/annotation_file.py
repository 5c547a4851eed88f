# SPDX-License-Identifier: Apache-2.0
"""Files of annotations, which Joulescope UI reads and writes too (NAME.anno.jls).

Its conventions (version 1.7.1, joulescope_ui/jls_v2_annotations.py, jls_source.py and
widgets/waveform/waveform_widget.py): next to NAME.jls it reads NAME.anno*.jls. Signals
without samples carry annotations; two time stamps map their counts to UTC. Vertical
markers stand on the first signal, a single one by its number, a dual one as "1a" and
"1b"; after a separator follows JSON with the label. A note has its shape in the group,
and no y where it is centred. Horizontal markers have a y alone. Places by UTC are known
to a nanosecond; user data of files written here hold them exactly, for traces without a
date too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyjls

from rig.annotations import Annotations, DualMarker, Level, Note, SingleMarker
from rig.errors import DataError, storage_error
from rig.importers.markers import Marked, markers_in, time_stamps
from rig.trace.jls_file import jls_state, new_writer
from rig.trace.reduced import MEANS
from rig.trace.trace import Trace, reading, user_data

#: User data of an annotation file of ours.
PLACES = 3
#: Counts of the annotations' signals a second.
_RATE = 1_000_000_000
_TIME64 = 2**30
_SEPARATOR = "\x1c"
_UNITS = {"current": "A", "voltage": "V", "power": "W"}
#: The signal that vertical markers stand on: the first of the file.
_FIRST = "current"
_VERTICAL = int(pyjls.AnnotationType.VMARKER)
_HORIZONTAL = int(pyjls.AnnotationType.HMARKER)
_TEXT = int(pyjls.AnnotationType.TEXT)


@dataclass(frozen=True, slots=True)
class _Entry:
    at_s: float
    kind: int
    signal: str
    text: str
    y: float | None = None
    group: int = 0


def write(
    path: Path,
    content: Annotations,
    trace: Trace,
    marked: Marked | None,
    over: bool = False,
) -> None:
    """Write an annotation file whole or not at all; raises DataError, and where a file
    is there that another program wrote, unless it may be replaced.
    """
    if path.exists() and not over and not _is_ours(path):
        raise DataError(
            f"{path} was written by another program",
            try_next="another name, or replace it: what it holds is then lost",
        )
    entries = list(_entries(content))
    _refuse_strange(entries, trace)
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)  # a link of that name is not followed
        with new_writer(partial) as writer:
            _write_entries(writer, entries, trace, _Clock(trace, marked))
        partial.replace(path)
    except (OSError, RuntimeError) as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage_error(error, path) from error
        raise DataError(f"{path} cannot be written", evidence=str(error)) from error


def _write_entries(
    writer: Any, entries: Sequence[_Entry], trace: Trace, clock: _Clock
) -> None:
    # As Joulescope UI names it, so that it takes the file for one of its own.
    writer.source_def(
        source_id=1, name="annotations", vendor="-", model="-", version="-",
        serial_number="-",
    )  # fmt: skip
    names = list(dict.fromkeys([_FIRST, *(entry.signal for entry in entries)]))
    places: list[tuple[float, float | None]] = []
    for signal_id, name in enumerate(names, start=1):
        writer.signal_def(
            signal_id=signal_id,
            source_id=1,
            sample_rate=_RATE,
            name=name,
            units=_UNITS[name],
        )
        for at_s in (0.0, trace.duration_s):
            writer.utc(signal_id, round(at_s * _RATE), clock.utc(at_s))
        of_signal = [entry for entry in entries if entry.signal == name]
        for entry in sorted(of_signal, key=lambda entry: entry.at_s):
            count = round(entry.at_s * _RATE)
            content = (entry.y, entry.kind, entry.group, entry.text)
            writer.annotation(signal_id, count, *content)
            places.append((entry.at_s, entry.y))
    user_data = {
        "trace": trace.path.name,
        "samples": trace.length,
        "dated": clock.dated,
        "places": places,
    }
    writer.user_data(PLACES, json.dumps(user_data))


def read(path: Path, trace: Trace, marked: Marked | None) -> Annotations:
    """Read an annotation file of ours or of Joulescope UI; raises DataError, and where
    its places are dates that the trace does not have.
    """
    if jls_state(path) != (True, True):
        raise DataError(
            f"{path} is not a JLS file that was closed properly",
            try_next="save the annotations again",
        )
    with reading(path) as reader:
        stored = user_data(reader, PLACES)
        places = (
            stored.get("places", []) if stored.get("samples") == trace.length else []
        )
        markers = list(_found(reader, _Clock(trace, marked)))
    if len(places) == len(markers):
        # In the order of writing.
        pairs = zip(places, markers, strict=True)
        with suppress(TypeError, ValueError):
            placed = []
            for (at_s, y), (entry, _) in pairs:
                placed.append(replace(entry, at_s=float(at_s), y=y))
            return _joined(placed)
    undated = [
        entry for entry, dated in markers if not dated and entry.kind != _HORIZONTAL
    ]
    if undated:
        raise DataError(
            f"{path.name} places its markers by date, and {trace.path.name} has none",
            try_next="the trace as it was recorded, with its time stamps",
        )
    return _joined([entry for entry, _ in markers])


def read_own(trace: Trace, marked: Marked) -> Annotations:
    """Return the markers and notes that are in the trace's file itself; raises
    DataError."""
    markers = markers_in(marked.path, own=True)
    if not markers:
        return Annotations()
    entries = []
    clock = _Clock(trace, marked)
    with reading(marked.path) as reader:
        signals = {int(row.signal_id): row for row in reader.signals.values()}
    base = signals[marked.signal]
    # Where a rate was given in the place of the file's, all signals' rates were wrong
    # alike.
    file_s = base.sample_rate / trace.sample_hz
    for signal, at, name, kind in markers:
        if signal is None:
            at_s = clock.seconds(at)
        else:
            row = signals[signal]
            reduced = trace.layout.reduced
            if reduced is not None and signal in MEANS:
                at = int(reduced.recorded(np.array([at]))[0])
            before_s = (int(base.sample_id_offset) + marked.first) / base.sample_rate
            at_s = (
                (int(row.sample_id_offset) + at) / row.sample_rate - before_s
            ) * file_s
        if at_s is not None:
            code = _TEXT if kind == "text" else _VERTICAL
            entries.append(_Entry(at_s, code, _FIRST, name))
    return _joined(entries)


class _Clock:
    """The dates of a trace's instants: by its file's time stamps, where it has any."""

    def __init__(self, trace: Trace, marked: Marked | None) -> None:
        self._trace = trace
        self._marked = marked
        self._stamps = np.zeros((0, 2), dtype=np.int64)
        if marked is not None:
            with reading(marked.path) as reader:
                self._stamps = time_stamps(reader, marked.signal, trace.layout.reduced)

    @property
    def dated(self) -> bool:
        """Whether the trace has dates."""
        return len(self._stamps) > 0

    def utc(self, at_s: float) -> int:
        """Return the date of an instant; without one, the time since the first
        sample."""
        if not self.dated or self._marked is None:
            return round(at_s * _TIME64)
        sample = self._marked.first + at_s * self._trace.sample_hz
        samples, times, rate = self._line(0, sample)
        return times + round((sample - samples) * rate)

    def seconds(self, utc: int) -> float | None:
        """Return the instant of a date; None where the trace has no dates."""
        if not self.dated or self._marked is None:
            return None
        samples, times, rate = self._line(1, utc)
        sample = samples + (utc - times) / rate
        return (sample - self._marked.first) / self._trace.sample_hz

    def _line(self, column: int, at: float) -> tuple[int, int, float]:
        """Return a stamp before a sample (or date), and the rate from it on, in 2**-30
        s."""
        stamps = self._stamps
        nominal = _TIME64 / self._trace.sample_hz
        if len(stamps) < 2:
            return int(stamps[0, 0]), int(stamps[0, 1]), nominal
        before = np.searchsorted(stamps[:, column], at) - 1
        place = int(np.clip(before, 0, len(stamps) - 2))
        sample, time = stamps[place].tolist()
        later, end = stamps[place + 1].tolist()
        return (
            sample,
            time,
            (end - time) / (later - sample) if later > sample else nominal,
        )


def _entries(content: Annotations) -> Iterator[_Entry]:
    for number, marker in enumerate(content.markers, start=1):
        about = _SEPARATOR + json.dumps({"label": marker.label}) if marker.label else ""
        if isinstance(marker, SingleMarker):
            yield _Entry(marker.at_s, _VERTICAL, _FIRST, f"{number}{about}")
            continue
        start_s, stop_s = sorted((marker.start_s, marker.stop_s))
        yield _Entry(start_s, _VERTICAL, _FIRST, f"{number}a{about}")
        yield _Entry(stop_s, _VERTICAL, _FIRST, f"{number}b")
    for note in content.notes:
        yield _Entry(
            at_s=note.at_s,
            kind=_TEXT,
            signal=note.signal,
            text=note.text,
            y=note.y,
            group=note.shape,
        )
    for number, level in enumerate(content.levels, start=1):
        if level.other is None:
            yield _Entry(0.0, _HORIZONTAL, level.signal, f"{number}", level.y)
            continue
        yield _Entry(0.0, _HORIZONTAL, level.signal, f"{number}a", level.y)
        yield _Entry(0.0, _HORIZONTAL, level.signal, f"{number}b", level.other)


def _refuse_strange(entries: Sequence[_Entry], trace: Trace) -> None:
    for entry in entries:
        if entry.signal not in _UNITS:
            raise DataError(
                f"an annotation on {entry.signal!r}",
                try_next=f"one of {', '.join(_UNITS)}",
            )
        if not 0 <= entry.at_s <= trace.duration_s:
            raise DataError(
                f"an annotation at {entry.at_s:.9g} s lies outside the trace",
                evidence=f"it is {trace.duration_s:.9g} s long",
                try_next="a place inside it",
            )
        if entry.y is not None and not math.isfinite(entry.y):
            raise DataError(f"an annotation at {entry.y}", try_next="a finite number")


def _is_ours(path: Path) -> bool:
    if jls_state(path) != (True, True):
        return False
    with reading(path) as reader:
        return bool(user_data(reader, PLACES))


def _found(reader: Any, clock: _Clock) -> Iterator[tuple[_Entry, bool]]:
    """Yield each annotation, and whether its date has a place in the trace."""
    for signal in sorted(reader.signals.values(), key=lambda row: int(row.signal_id)):
        rows: list[tuple[int, float | None, int, int, str]] = []

        def take(
            at: int,
            y: float | None,
            kind: int,
            group: int,
            data: Any,
            rows: list[tuple[int, float | None, int, int, str]] = rows,
        ) -> bool:
            text = data if isinstance(data, str) else json.dumps(data)
            number = None if y is None or not math.isfinite(y) else float(y)
            rows.append((int(at), number, int(kind), int(group), text))
            return False

        reader.annotations(signal.signal_id, 0, take)
        sampled = signal.signal_type == pyjls.SignalType.FSR
        for at, y, kind, group, text in rows:
            if kind not in (_VERTICAL, _HORIZONTAL, _TEXT):
                continue
            utc = reader.sample_id_to_timestamp(signal.signal_id, at) if sampled else at
            at_s = clock.seconds(utc)
            name = signal.name if signal.name in _UNITS else _FIRST
            place_s = 0.0 if at_s is None else at_s
            entry = _Entry(
                at_s=place_s, kind=kind, signal=name, text=text, y=y, group=group
            )
            yield entry, at_s is not None


def _joined(entries: Sequence[_Entry]) -> Annotations:
    """Return annotations with their pairs found: of a number, what ends in a and in
    b."""
    markers: list[SingleMarker | DualMarker] = []
    notes = []
    levels = []
    open_markers: dict[str, tuple[float, str]] = {}
    open_levels: dict[tuple[str, str], float] = {}
    for entry in entries:
        name, _, about = entry.text.partition(_SEPARATOR)
        if entry.kind == _TEXT:
            notes.append(
                Note(entry.at_s, entry.text, entry.signal, entry.y, entry.group)
            )
        elif entry.kind == _HORIZONTAL and entry.y is not None:
            key = entry.signal, name[:-1]
            if name[-1:] not in ("a", "b"):
                levels.append(Level(entry.signal, entry.y))
            elif key in open_levels:
                levels.append(Level(entry.signal, open_levels.pop(key), entry.y))
            else:
                open_levels[key] = entry.y
        elif entry.kind == _VERTICAL:
            label = _label(about)
            if name[-1:] not in ("a", "b"):
                markers.append(SingleMarker(entry.at_s, label))
            elif name[:-1] in open_markers:
                first_s, first_label = open_markers.pop(name[:-1])
                ends = sorted((first_s, entry.at_s))
                markers.append(DualMarker(ends[0], ends[1], first_label or label))
            else:
                open_markers[name[:-1]] = entry.at_s, label
    # Half of a pair is still a marked place.
    markers += [SingleMarker(at_s, label) for at_s, label in open_markers.values()]
    levels += [Level(signal, y) for (signal, _), y in open_levels.items()]
    return Annotations(tuple(markers), tuple(notes), tuple(levels))


def _label(about: str) -> str:
    try:
        content = json.loads(about) if about else {}
    except ValueError:
        return ""
    label = content.get("label", "") if isinstance(content, dict) else ""
    return label if isinstance(label, str) else ""
