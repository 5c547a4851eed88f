# SPDX-License-Identifier: Apache-2.0
"""Room on the disk for a trace, and errors of writing it in our words."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.errors import BenchError, StorageFull, storage_error
from rig.trace.trace import PARTIAL
from rig.trace.write_errors import failed

#: Room that must stay free on the disk, so that the measurement can still be
#: closed properly.
RESERVE_B = 32 << 20


def unwritten(folder: Path, evidence: str, number: int | None = None) -> BenchError:
    """Return the error of a trace that lacks written samples.

    `number` is the operating system's, 0 where it gave none; None where no write was
    reported as failed.
    """
    free_b = shutil.disk_usage(folder).free
    full = free_b < RESERVE_B // 2 or number in (errno.ENOSPC, errno.EDQUOT)
    if full:
        hint = "free some room, or another disk"
    elif number is None:
        evidence += (
            "; no write was reported as failed, so room and quota are not known to be"
            " the cause"
        )
        hint = "run it again, on another disk to rule this one out"
    elif number == errno.EFBIG:
        hint = "quota and largest file of this disk, or another one"
    else:
        hint = "is this disk in order, and still there? or another one"
    return (StorageFull if full else BenchError)(
        f"the trace in {folder} was not written completely",
        evidence=f"{evidence}; {free_b / 1e6:.0f} MB free on the disk",
        try_next=f"{hint}; what was written before is in {PARTIAL}",
    )


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn errors of the trace library, which are RuntimeErrors, into ours."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, folder) from error
    except RuntimeError as error:
        if (log := failed()) is not None:
            raise unwritten(folder, log.failed, log.errno) from error
        free_b = shutil.disk_usage(folder).free
        kind = StorageFull if free_b < RESERVE_B // 2 else BenchError
        raise kind(
            f"the trace in {folder} cannot be written",
            evidence=f"{error}; {free_b / 1e6:.0f} MB free on the disk",
        ) from error
