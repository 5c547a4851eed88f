# SPDX-License-Identifier: Apache-2.0
"""Open a trace of any origin: the rig's own, a JLS file that another program wrote, or
a table. How: docs/how-to/MEASURE.md.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, DataError
from rig.files import foreign_files, table_file, typed
from rig.importers.joulescope import jls1, jls2
from rig.importers.joulescope.jls1_container import MAGIC as JLS_1
from rig.importers.markers import Marked
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.importers.profilers import eembc_energy, otii, ppk1, ppk2
from rig.importers.tables import csv_table
from rig.importers.viewable import require_convertible, require_recoverable
from rig.model.origin import Origin
from rig.settings.check import checked
from rig.store import verified
from rig.store.session_folder import EVENTS as JOURNAL
from rig.store.session_folder import PROVENANCE, SessionFolder, read_json
from rig.trace.foreseen import UNFORESEEN, Foreseen
from rig.trace.jls_file import jls_state
from rig.trace.recovery import LateError, recover
from rig.trace.trace import (
    CURRENT,
    EDGES,
    GAPS,
    PARTIAL,
    REDUCED,
    TRACE,
    VOLTAGE,
    Trace,
    about_of,
    reading,
)
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import LIMITS, Accuracy

#: No line of labels is longer.
_LINE_MAX = 1 << 12


def open_any(
    path: Path,
    scratch: Path,
    options: Options | None = None,
    lazily: bool = False,
    in_place: bool = False,
    foreseen: Foreseen = UNFORESEEN,
) -> Opened:
    """Open `path`; files of other programs are converted into `scratch`, a folder of
    this trace alone. Never writes to `path`. `lazily` opens quickly, for a look: edges
    are read when they are asked for, a foreign JLS file where it is, and what would
    take minutes is refused. `in_place` reads a foreign JLS file where it is, whole: the
    trace is then no file of the rig's own, and `foreseen` windows of it are summed
    meanwhile.

    Raises DataError for what cannot be read, ConfigError where the options do not fit.
    """
    options = checked(options or Options(), "")
    path = file_of(path)
    is_jls, is_closed = jls_state(path)
    _refuse_shunt(path, options, is_jls=is_jls)
    if not is_jls:
        if lazily:
            require_convertible(path)
        return _converted(path, scratch, options)
    readable = path
    notes: tuple[str, ...] = ()
    if not is_closed:
        if lazily:
            require_recoverable(path)
        readable = _recovered(path, scratch)
        notes = (
            f"{path.name} was not closed properly: what could be recovered was read,"
            " and its end may be missing",
        )
    with reading(readable) as reader:
        about = about_of(reader)
        is_of_rig = is_own(reader)
    if is_of_rig:
        opened = _own_trace(path, readable, options, about, lazily=lazily)
    else:
        opened = _foreign_jls(
            path,
            readable,
            scratch,
            options,
            lazily=lazily,
            foreseen=foreseen if in_place else None,
        )
    return replace(opened, notes=(*notes, *opened.notes))


def _refuse_shunt(path: Path, options: Options, *, is_jls: bool) -> None:
    """Raise ConfigError where a shunt is given for a file that has currents."""
    if options.shunt_ohm and (is_jls or not _is_table(path, options)):
        raise ConfigError(
            f"{path.name} has currents, and no voltage across a shunt",
            path="shunt_ohm",
            try_next="leave it out: it is for tables",
        )


def _own_trace(
    path: Path,
    readable: Path,
    options: Options,
    about: dict[str, Any],
    *,
    lazily: bool,
) -> Opened:
    """Open a trace of the rig's own, or its recovered part."""
    if options != Options():
        raise ConfigError(
            f"{path} is a trace of the rig's own",
            try_next="it has one signal of each kind: leave out what names them",
        )
    trace = Trace.open(readable, lazily)
    marked = Marked(readable, path, CURRENT, 0)
    return Opened(
        trace,
        "rig",
        tuple(_changed_beside(path)),
        marked=marked,
        about=about,
    )


def _foreign_jls(
    path: Path,
    readable: Path,
    scratch: Path,
    options: Options,
    *,
    lazily: bool,
    foreseen: Foreseen | None,
) -> Opened:
    """Open a JLS file of another program: where it is, or converted."""
    if lazily and readable == path:
        viewed = jls2.view(path, options)
        if viewed is not None:
            return viewed
        require_convertible(path)
    if foreseen is not None and readable == path:
        opened = jls2.in_place(path, options, foreseen)
        if opened is not None:
            return opened
    return jls2.convert(readable, scratch, options, original=path)


def is_own(reader: Any) -> bool:
    """Check whether an open JLS file is a trace of the rig's own."""
    has_signals = {signal.signal_id for signal in reader.signals.values()} >= {
        CURRENT,
        VOLTAGE,
    }
    return has_signals and bool(about_of(reader).get("sample_hz"))


def accuracy_beside(path: Path) -> Accuracy | None:
    """Return the accuracy of the monitor of a trace: from the session around it, or,
    without a session, from the file that a meter wrote beside it; else None. Raises
    DataError and ConfigError."""
    if path.is_file() and path.name not in (TRACE, PARTIAL):
        return None
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    session = _session_around(folder)
    if session is None:
        limits = folder / LIMITS
        return accuracy.read(limits) if limits.is_file() else None
    place = session / PROVENANCE
    stored = typed.from_json(_Monitors, read_json(place), str(place))
    monitors = stored.monitors or ({"": stored.monitor} if stored.monitor else {})
    if stored.monitors is None and stored.monitor is None:
        raise DataError(f"{place} says nothing of the accuracy of this trace")
    monitor = monitors.get(folder.name) or monitors.get("")
    return monitor.accuracy if monitor else None


def _session_around(folder: Path) -> Path | None:
    """Return the session that contains the folder of a trace: SESSION/trial-N, with a
    segment-K and a rail in it where there are several."""
    return next(
        (above for above in folder.parents[:3] if (above / PROVENANCE).exists()), None
    )


def _changed_beside(path: Path) -> list[str]:
    """Return notes on the files of the session around a trace of its own that were
    changed after the run: times and uncertainties of the trace rest on them.
    """
    session = (
        _session_around(path.resolve().parent)
        if path.name in (TRACE, PARTIAL)
        else None
    )
    if session is None or not (session / JOURNAL).is_file():
        return []
    changes = verified.changes(SessionFolder(session), verified.OF_LIST)
    return [
        f"changed after the run: {change}; try: rig check {session}"
        for change in changes
    ]


@dataclass(frozen=True, slots=True)
class _Monitor:
    """Part of the provenance of a session on a monitor."""

    accuracy: Accuracy
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class _Monitors:
    """The monitors of a session, by rail; those of before there were rails have one."""

    monitors: dict[str, _Monitor] | None = None
    monitor: _Monitor | None = None
    more: dict[str, Any] = typed.rest()


def kind_of(path: Path) -> str:
    """Return which importer reads a file that is not JLS version 2: "jls1", "ppk2",
    "eembc", "ppk1", or "table"; empty for one that has the name of a JLS file alone.
    """
    with foreign_files.opened(path) as stream:
        head = stream.read(len(JLS_1))
    if head == JLS_1:
        return "jls1"
    if head.startswith(ppk2.MAGIC):
        return "ppk2"
    if path.name.endswith((".jls", PARTIAL)):
        return ""
    if path.name.endswith(eembc_energy.SUFFIX):
        return "eembc"
    return "ppk1" if path.suffix == ppk1.SUFFIX else "table"


def _is_table(path: Path, options: Options) -> bool:
    return kind_of(path) == "table" and not otii.is_pair(path, options)


def _converted(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert a file that is not JLS version 2."""
    kind = kind_of(path)
    if not kind:
        raise DataError(
            f"{path} is not a JLS file",
            evidence="it begins neither as JLS version 2 does nor as version 1",
        )
    if kind in _CONVERT:
        return _CONVERT[kind](path, scratch, options)
    if not _is_table(path, options):
        table, left, notes = otii.joined(path, scratch / "joined", options)
        converted = csv_table.convert(table, scratch, left)
        return replace(converted, notes=(*notes, *converted.notes))
    converted = csv_table.convert(path, scratch, options)
    return replace(converted, about=converted.about | _said_above(path))


def _said_above(path: Path) -> dict[str, Any]:
    """Return the labels that the rig wrote above a table of its own."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        labels = table_file.labels_of(stream.readline(_LINE_MAX))
    simulated = Origin.SIMULATED.upper() in labels
    return {"labels": list(labels), "simulated": simulated} if labels else {}


_CONVERT = {
    "jls1": jls1.convert,
    "ppk2": ppk2.convert,
    "eembc": eembc_energy.convert,
    "ppk1": ppk1.convert,
}


def file_of(path: Path) -> Path:
    """Return the file that a path means: of a trial's folder, its trace. Raises
    DataError."""
    if not path.is_dir():
        return path
    for name in (TRACE, PARTIAL):
        if (path / name).exists():
            return path / name
    exported = otii.current_file(path)
    if exported is not None:
        return exported
    if path.name.startswith("trial-") and _is_interleaved(path.parent):
        raise DataError(
            f"{path} has no trace of its own: the trials were interleaved",
            try_next=f"{path.parent / 'trial-1'}, the recording of all of them",
        )
    inside = sorted(
        {str(trace.relative_to(path).parent) for trace in path.glob("*/**/trace.jls*")}
    )
    raise DataError(
        f"{path} is a folder without a {TRACE}",
        evidence=f"there is one in {', '.join(inside[:5])}" if inside else "",
        try_next="the path of a trace, or of a trial's folder",
    )


def _is_interleaved(session: Path) -> bool:
    provenance = session / PROVENANCE
    return (
        provenance.exists()
        and SessionFolder(session).provenance().get("interleaved") is True
    )


def _recovered(path: Path, scratch: Path) -> Path:
    folder = scratch / "recovered"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        recover(path, folder / TRACE)
    except LateError:
        raise
    except DataError as error:
        # The last line of the copying process is its reason; before it stands
        # where in its source it was.
        reason = (error.evidence.strip().splitlines() or [""])[-1].strip()
        hint = (
            "copy it again from where it was recorded; what its own program cannot open"
            " either is lost"
        )
        raise DataError(
            f"{path} is damaged: nothing can be recovered",
            evidence=reason,
            try_next=hint,
        ) from error
    for name in (GAPS, EDGES, REDUCED):
        with suppress(FileNotFoundError):
            (folder / name).write_bytes(foreign_files.read_bytes(path.with_name(name)))
    return folder / TRACE
