# SPDX-License-Identifier: Apache-2.0
"""A session as one zip file: its records, or all of it with the traces."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from rig.errors import storage_error
from rig.files import foreign_files
from rig.store import inventory
from rig.store.session_folder import REPORT, sha256
from rig.trace.trace import TRACE
from rig.units import bytes_text

#: Files of each trial that are long: `rig check` needs them, a reader of numbers does
#: not.
_TRIALS = "trial-"
#: Zip files have no times before this; with one for all, the same session always gives
#: the same bytes.
_STAMP = (1980, 1, 1, 0, 0, 0)
_RECORDS = (
    "results.json, bench file, provenance and the chain of hashes. The raw files, which"
    " rig check needs, are not in this site; its author has them."
)
_WHOLE = "The whole session: unpack it and run rig check on the folder."


@dataclass(frozen=True, slots=True)
class Download:
    """The zip file of a session, as its page states it."""

    name: str
    title: str
    size: str
    text: str
    sha256: str = ""


def write(session: Path, page: Path, *, whole: bool) -> Download:
    """Write the zip file of a session beside its page."""
    path = page / "session.zip" if whole else page / "records.zip"
    ordered = sorted(inventory.files(session))
    names = []
    for name in ordered:
        is_large = name.startswith(_TRIALS) or name == REPORT
        if whole or not is_large:
            names.append(name)
    try:
        with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
            for name in names:
                _add(made, session, name)
    except OSError as error:
        raise storage_error(error, path) from error
    size = bytes_text(path.stat().st_size)
    title = "the session with its traces" if whole else "the session's records"
    return Download(path.name, title, size, _WHOLE if whole else _RECORDS, sha256(path))


def _add(made: zipfile.ZipFile, session: Path, name: str) -> None:
    about = zipfile.ZipInfo(f"{session.name}/{name}", _STAMP)
    # A trace has no more to compress.
    is_trace = name.endswith(TRACE)
    about.compress_type = zipfile.ZIP_STORED if is_trace else zipfile.ZIP_DEFLATED
    path = session / name
    with (
        foreign_files.opened(path, session) as source,
        made.open(about, "w", force_zip64=True) as target,
    ):
        while block := source.read(1 << 20):
            target.write(block)
