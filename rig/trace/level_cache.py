# SPDX-License-Identifier: Apache-2.0
"""Levels of traces in the user's cache folder, by the content of the trace; never in a
session.

A file of the cache may be deleted at any time: its trace is then read again.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from rig.errors import ConfigError
from rig.files import foreign_files, user_folders
from rig.trace.gaps import Gap
from rig.trace.levels import ENTRY, Levels
from rig.trace.reduce import Table
from rig.trace.trace import Trace

#: A file of another form has another name.
_FORM = "1"
#: A shorter trace is read again as quickly as a file is opened.
_LEAST = 4_000_000
#: Kept bytes; beyond them the least recently used goes.
_MOST_B = 1 << 30
#: Pieces of a file that its fingerprint is made of, beside its length and its times.
_PIECES = 64
_PIECE_B = 4096


def load(trace: Trace) -> Levels | None:
    """Return the levels that are kept of a trace; None where there are none."""
    if trace.length < _LEAST:
        return None
    try:
        path = _path(trace)
        # A damaged file is not closed by NumPy.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            finest = Table(content["rows"], content["known"].astype(np.int32))
            gaps = tuple(
                Gap(int(start), int(stop), "samples are no numbers")
                for start, stop in content["unknown"]
            )
        os.utime(path)
    except (ConfigError, OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    due = (9, -(-trace.length // ENTRY))
    if finest.rows.shape != due or len(finest) != finest.rows.shape[1]:
        return None
    return Levels.of(trace.length, finest, gaps)


def save(trace: Trace, levels: Levels) -> None:
    """Keep the levels of a trace where there is room for them; without it they are not
    kept."""
    if trace.length < _LEAST:
        return
    finest = levels.tables[0]
    gaps = [(gap.start, gap.stop) for gap in levels.unknown]
    unknown = np.array(gaps, dtype=np.int64).reshape(-1, 2)
    known = finest.known.astype(np.uint16)
    partial = None
    try:
        path = _path(trace)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        with partial.open("wb") as stream:
            np.savez(stream, rows=finest.rows, known=known, unknown=unknown)
        partial.replace(path)
        _tidy(path.parent)
    except (ConfigError, OSError):
        if partial is not None:
            with suppress(OSError):
                partial.unlink()


def fingerprint(trace: Trace) -> str:
    """Return the key of a trace: a digest of length and time of its file, pieces of its
    content, its gaps and its layout."""
    about = trace.path.stat()
    digest = hashlib.sha256()
    layout = trace.layout
    where = (
        layout.current,
        layout.current_at,
        layout.voltage,
        layout.voltage_at,
        layout.times,
        layout.fixed_v,
    )
    content = (_FORM, ENTRY, about.st_size, about.st_mtime_ns, trace.length, where)
    digest.update(repr((content, trace.gaps)).encode())
    if layout.reduced is not None:
        digest.update(layout.reduced.bounds.tobytes())
    with foreign_files.opened(trace.path) as stream:
        for piece in range(_PIECES):
            stream.seek(max(about.st_size - _PIECE_B, 0) * piece // (_PIECES - 1))
            digest.update(stream.read(_PIECE_B))
    return digest.hexdigest()[:40]


def _path(trace: Trace) -> Path:
    return user_folders.remembered("levels") / f"{fingerprint(trace)}.npz"


def _tidy(place: Path) -> None:
    """Remove the files that were unused for longest until the rest is small enough."""
    kept_b = 0
    files = [(path.stat(), path) for path in place.glob("*.npz")]
    for about, path in sorted(
        files, key=lambda file: file[0].st_mtime_ns, reverse=True
    ):
        kept_b += about.st_size
        if kept_b > _MOST_B:
            path.unlink(missing_ok=True)
