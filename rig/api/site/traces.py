# SPDX-License-Identifier: Apache-2.0
"""The traces of a session as files that its page loads: scripts, since a page that was
opened from a disk may load no other files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rig.api.sessions.session import Session
from rig.api.site import envelope
from rig.api.site.envelope import DrawnWindows
from rig.errors import DataError, RigError
from rig.report import palette
from rig.report.power import open_trace
from rig.results.document import Results, TrialResult
from rig.store.segments import segments
from rig.store.session_folder import SessionFolder, write_text
from rig.trace.trace import TRACE, Trace

#: The script of a session's traces, and the folder of its tiles.
SCRIPT = "traces.js"
TILES = "tiles"
_TILE = "{}-{}.js"


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a trace in its session."""

    trial: TrialResult
    rail: str
    segment: int
    name: str

    @property
    def title(self) -> str:
        """Its name for a reader."""
        parts = [f"trial {self.trial.number}"]
        parts += [f"rail {self.rail}"] if self.rail else []
        parts += [f"segment {self.segment}"] if self.trial.segments > 1 else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class DrawnTraces:
    """Traces of a session's page: how many, bytes of their tiles, and why others
    are missing.
    """

    count: int = 0
    tiles_b: int = 0
    missing: tuple[str, ...] = ()


def write(
    session: Session, results: Results, page: Path, most_b: int, *, full: bool
) -> DrawnTraces:
    """Write the traces of a session beside its page, in about `most_b` bytes: the first
    valid trial, which a reader sees first, has half of them. With `full`, every sample
    is written as well, in tiles.

    Traces that are not as they were recorded are left out: the reader of a damaged one
    may crash the process.
    """
    folder = SessionFolder(session.path)
    places = list(_places(folder, results))
    shares = _shares(places, most_b)
    drawn: list[dict[str, Any]] = []
    missing: list[str] = []
    tiles_b = 0
    for number, (place, share_b) in enumerate(zip(places, shares, strict=True)):
        try:
            trace = open_trace(folder, place.trial.number, place.name, False)
            content = _content(session, results, place, trace, share_b)
            if full:
                tiles_b += _write_tiles(trace, page, number)
                content |= {"tile": envelope.TILE}
        except (RigError, OSError) as error:
            told = error.cause if isinstance(error, DataError) else str(error)
            missing.append(f"{place.title}: {told}")
            continue
        drawn.append(content | {"number": number})
    if not drawn:
        return DrawnTraces(missing=tuple(missing))
    script = as_script("rigTraces", drawn)
    write_text(page / SCRIPT, script)
    return DrawnTraces(len(drawn), tiles_b, tuple(missing))


def _places(folder: SessionFolder, results: Results) -> Iterator[_Place]:
    seen = set()
    for trial, rail in product(results.trials, results.provenance.monitors):
        recorded = folder.recorded(trial.number)
        for number, path in enumerate(segments(recorded), start=1):
            name = (path / rail / TRACE).relative_to(recorded).as_posix()
            # Trials that took turns share one recording.
            if (recorded, name) not in seen:
                seen.add((recorded, name))
                yield _Place(trial, rail, number, name)


def _shares(places: list[_Place], most_b: int) -> list[int]:
    """Divide the bytes among the traces."""
    if len(places) < 2:
        return [most_b] * len(places)
    valid = [place.trial.valid for place in places]
    first = valid.index(True) if any(valid) else 0
    other_b = most_b // 2 // (len(places) - 1)
    shares = [other_b] * len(places)
    shares[first] = most_b // 2
    return shares


def _content(
    session: Session, results: Results, place: _Place, trace: Trace, most_b: int
) -> dict[str, Any]:
    found, text = envelope.within(envelope.of_trace(trace), most_b)
    try:
        spans = session.spans(place.trial.number, place.rail, place.segment)
    except (RigError, OSError):
        spans = None
    windows = DrawnWindows.of(spans, trace.sample_hz)
    phases = results.provenance.task.phases
    return {
        "title": place.title,
        "valid": place.trial.valid,
        "hz": trace.sample_hz,
        "length": trace.length,
        "width": found.width,
        "columns": len(found.least),
        "power": text,
        "phases": list(windows.phases),
        "colours": [palette.place(phase, phases) for phase in windows.phases],
        "windows": windows.count,
        "borders": windows.text,
    }


def _write_tiles(trace: Trace, page: Path, number: int) -> int:
    """Write every sample of a trace; return the bytes."""
    (page / TILES).mkdir(exist_ok=True)
    size_b = 0
    for place, text in enumerate(envelope.tiles(trace)):
        script = as_script("rigTile", number, place, text)
        write_text(page / TILES / _TILE.format(number, place), script)
        size_b += len(script)
    return size_b


def as_script(function: str, *arguments: Any) -> str:
    """Return a script that calls a function of the page with data."""
    texts = (
        json.dumps(each, separators=(",", ":"), allow_nan=False) for each in arguments
    )
    return f"{function}({','.join(texts)});\n"
