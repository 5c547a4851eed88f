# SPDX-License-Identifier: Apache-2.0
"""The folder of sessions: free space, and the rate at which it takes bytes that a power
cut does not lose.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rig.bench.doctor.row import DoctorRow, RowState, limited
from rig.errors import DeadlineError, RigError
from rig.store.session_folder import refuse_unwritable
from rig.units import bytes_text

GROUP = "sessions"
_BLOCK_B = 1 << 20
#: Blocks are written and synchronised for this time.
_TRY_S = 0.5
_BLOCKS_MAX = 64
#: Rates of traces, in B/s: 8 bytes a monitor sample, twice each.
_FAST = 32e6
_SLOW = 1.6e6
_JOULESCOPE = "the 16 MB/s of a Joulescope at 2 MHz"
_OTHERS = "the 0.8 MB/s of a monitor at 100 kHz"
#: A session of five trials on a Joulescope takes some gigabytes.
_FREE_B = 5_000_000_000
_ANOTHER = "another folder, on a local disk: --sessions FOLDER"


@dataclass(frozen=True, slots=True)
class Written:
    """The rate at which a folder took blocks that were synchronised one by one, and the
    longest time that one took.
    """

    rate: float
    longest_s: float


def storage_rows(sessions: Path) -> Iterator[DoctorRow]:
    """Yield the rows of the folder that new sessions go into; it need not exist yet.
    A file is written and removed there."""
    name = "folder"
    try:
        limited("file in the folder", lambda: refuse_unwritable(sessions))
    except RigError as error:
        detail = error.joined(": ")
        hint = error.try_next or _ANOTHER
        yield DoctorRow(
            GROUP,
            name,
            RowState.WRONG,
            detail,
            hint,
            needed=True,
            see="folder-not-writable",
        )
        return
    above = (sessions.absolute(), *sessions.absolute().parents)
    there = next(folder for folder in above if folder.is_dir())
    yield DoctorRow(
        GROUP, name, RowState.OK, f"{sessions} can be written to", needed=True
    )
    yield _space(there)
    yield _speed(there)


def _space(folder: Path) -> DoctorRow:
    name = "disk space"
    free_b = shutil.disk_usage(folder).free
    detail = f"{bytes_text(free_b)} free"
    if free_b >= _FREE_B:
        return DoctorRow(GROUP, name, RowState.OK, detail, needed=True)
    return DoctorRow(
        GROUP,
        name,
        RowState.WRONG,
        f"{detail}: a session with a fast monitor may not fit",
        'rig plan BENCH states its size; between_windows = "reduced" makes it smaller',
        see="disk-full",
    )


def _speed(folder: Path) -> DoctorRow:
    name = "disk speed"
    try:
        speed = limited("write to the disk", lambda: written(folder))
    except DeadlineError as error:
        detail = error.cause
    except OSError as error:
        detail = f"no synchronised write: {error.strerror or error}"
    else:
        rate = f"{bytes_text(speed.rate)}/s, synchronised"
        wait = f"; a megabyte took {speed.longest_s:.2g} s at most"
        if speed.rate >= _FAST:
            detail = f"{rate}: over twice {_JOULESCOPE}{wait}"
            return DoctorRow(GROUP, name, RowState.OK, detail, needed=True)
        if speed.rate >= _SLOW:
            detail = f"{rate}: over twice {_OTHERS}, not {_JOULESCOPE}{wait}"
            hint = f"{_ANOTHER}, for a Joulescope"
            return DoctorRow(GROUP, name, RowState.WRONG, detail, hint, see="disk-slow")
        detail = f"{rate}: under twice {_OTHERS}{wait}"
    return DoctorRow(
        GROUP, name, RowState.WRONG, detail, _ANOTHER, needed=True, see="disk-slow"
    )


def written(folder: Path) -> Written:
    """Write blocks of bytes that cannot be compressed into a file of a folder, each of
    them synchronised; raises OSError."""
    block = os.urandom(_BLOCK_B)
    longest_s = 0.0
    count = 0
    with tempfile.TemporaryFile(dir=folder, prefix=".rig-") as stream:
        began_s = time.monotonic()
        while count < _BLOCKS_MAX:
            before_s = time.monotonic()
            stream.write(block)
            stream.flush()
            os.fsync(stream.fileno())
            count += 1
            after_s = time.monotonic()
            longest_s = max(longest_s, after_s - before_s)
            if after_s - began_s >= _TRY_S:
                break
        taken_s = max(time.monotonic() - began_s, 1e-9)
    return Written(count * _BLOCK_B / taken_s, longest_s)
