# SPDX-License-Identifier: Apache-2.0
"""The support bundle: a zip with the facts that remote support needs, listed before it
is written.

Versions, the bench file, attached devices, the provenance and the course of a session;
no traces and no data. Every text passes rig/api/support/redaction.py. Of the link's log
only its end, without the bytes that it carried.
"""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from rig.api.support.redaction import Redaction, hosts_in, serials_in
from rig.bench.scan import ScanRow
from rig.errors import DataError, RigError
from rig.files import foreign_files
from rig.files.plain_text import visible
from rig.store import inventory, provenance, verified
from rig.store.session_folder import (
    BENCH,
    EVENTS,
    PROVENANCE,
    RESULTS,
    UART,
    SessionFolder,
    read_json,
    write_bytes,
)

_TEXT_MAX_B = 1 << 20
_LINES_MAX = 400


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file of a bundle: its name there, its content in a few words, and its
    text."""

    name: str
    what: str
    text: str

    @property
    def size_b(self) -> int:
        """The size of the text, in bytes."""
        return len(self.text.encode())


@dataclass(frozen=True, slots=True)
class Bundle:
    """Content of a bundle before it is written."""

    files: tuple[BundleFile, ...]
    serials_kept: bool

    def write(self, path: Path) -> Path:
        """Write the zip, whole or not at all; return its path."""
        block = io.BytesIO()
        with zipfile.ZipFile(block, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in self.files:
                entry = zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0))
                archive.writestr(entry, file.text)
        write_bytes(path, block.getvalue())
        return path


def collect(
    session: Path | None = None,
    bench: Path | None = None,
    *,
    keep_serials: bool = False,
    scan: Callable[[], Sequence[ScanRow]] | None = None,
    notes: str = "",
) -> Bundle:
    """Return the bundle of a session, a bench file, or neither; `scan` lists attached
    devices.

    `notes` are the words of the person who asks.
    """
    if session is not None:
        if not session.is_dir():
            raise DataError(
                f"{session} is no folder", try_next="the folder of a session"
            )
        inventory.refuse_strange(session)
    scanned = scan() if scan is not None else ()
    trees = [*_trees(session, bench), [asdict(row) for row in scanned]]
    serials = set().union(*(serials_in(tree) for tree in trees))
    serials |= {row.serial for row in scanned if row.serial}
    hosts = set().union(*(hosts_in(tree) for tree in trees))
    redaction = Redaction.here(hosts, () if keep_serials else sorted(serials))
    files = [
        BundleFile(
            "versions.txt", "versions of the rig and of what it runs on", versions()
        )
    ]
    if notes:
        files.append(BundleFile("notes.txt", "what you wrote", notes))
    if bench is not None:
        files.append(BundleFile("bench.toml", "the bench file", _text(bench)))
    if scan is not None:
        rows = json.dumps(
            [asdict(row) for row in scanned], indent=1, ensure_ascii=False
        )
        files.append(BundleFile("scan.json", "what is attached", rows + "\n"))
    if session is not None:
        files += _of_session(session)
    clean = []
    for one in files:
        text = redaction.text(visible(one.text), one is not files[0])
        clean.append(replace(one, text=text))
    return Bundle(tuple(clean), keep_serials)


def versions() -> str:
    """Return the versions of the rig, of Python, of the system and of every package, a
    line each.
    """
    installed = sorted(
        {f"{each.name} {each.version}" for each in distributions()}, key=str.lower
    )
    version = provenance.version_of("neurorig")
    lines = [
        f"neurorig {version} {provenance.own_revision()}".rstrip(),
        f"python {sys.version.split()[0]}",
        f"system {platform.platform()}",
        f"machine {platform.machine()}",
        "",
        *installed,
    ]
    return "\n".join(lines) + "\n"


def _trees(session: Path | None, bench: Path | None) -> Iterator[Any]:
    texts: list[Callable[[], str]] = []
    if bench is not None:
        texts.append(partial(foreign_files.read_text, bench))
    if session is not None:
        texts.append(SessionFolder(session).bench_text)
        try:
            yield read_json(session / PROVENANCE)
        except RigError:
            yield {}
    for text in texts:
        try:
            yield tomllib.loads(text())
        except (OSError, ValueError, RigError):
            yield {}


def _of_session(path: Path) -> Iterator[BundleFile]:
    for name, what in (
        (BENCH, "the bench file as resolved"),
        (PROVENANCE, "how the session came about"),
        (EVENTS, "what happened in the session"),
    ):
        if (path / name).is_file():
            yield BundleFile(f"session/{name}", what, _text(path / name, path))
    if (path / RESULTS).is_file():
        yield BundleFile(
            "session/metrics.json", "metrics and problems", _metrics(path / RESULTS)
        )
    for number in SessionFolder(path).trials():
        place = path / f"trial-{number}" / UART
        if place.is_file():
            yield BundleFile(
                f"session/trial-{number}/uart.txt",
                "times and lengths on the link, at its end",
                _lengths(place, path),
            )


def _metrics(path: Path) -> str:
    try:
        content = read_json(path)
        chosen = {
            key: content[key]
            for key in ("schema", "metrics", "problems", "replication")
        }
        if changed_files := verified.changes(SessionFolder(path.parent)):
            chosen = {
                "changed after the run": [str(change) for change in changed_files]
            } | chosen
    except (RigError, LookupError, TypeError) as error:
        chosen = {"not readable": str(error)}
    return json.dumps(chosen, indent=1, ensure_ascii=False) + "\n"


def _lengths(path: Path, session: Path) -> str:
    """Return time, direction and length of the last blocks on a link, without their
    bytes, which are the task's.
    """
    lines = _text(path, session).splitlines()
    kept = [" ".join(line.split(" ")[:3]) for line in lines[-_LINES_MAX:]]
    more = (
        [f"... {len(lines) - _LINES_MAX} lines before"]
        if len(lines) > _LINES_MAX
        else []
    )
    return "\n".join([*more, *kept]) + "\n"


def _text(path: Path, folder: Path | None = None) -> str:
    """Return a text file, of a long one its end; where `folder` is given, one that lies
    in it."""
    try:
        with foreign_files.opened(path, folder) as stream:
            size_b = os.fstat(stream.fileno()).st_size
            stream.seek(max(size_b - _TEXT_MAX_B, 0))
            content = stream.read()
    except (OSError, RigError) as error:
        return f"{path.name} cannot be read: {error}\n"
    if size_b > _TEXT_MAX_B:
        content = content.partition(b"\n")[2]
    return content.decode("utf-8", "replace")
