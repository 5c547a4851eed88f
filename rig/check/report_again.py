# SPDX-License-Identifier: Apache-2.0
"""A session's report made again, and compared with the stored one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from rig.check.reasons import cannot
from rig.check.written_again import BYTES, first_difference
from rig.model.finding import Finding
from rig.model.trial import Trial
from rig.store.provenance import packages, revision
from rig.store.provenance_file import Provenance
from rig.store.session_folder import REPORT


def compared(folder: Path, told: Provenance, trials: Sequence[Trial]) -> Iterator[Finding]:
    """Yield whether the report is the same when it is made again, of traces that were hashed and
    `trials` that were reduced by now; what other versions draw otherwise says nothing of the
    session. Nothing where there is none.
    """
    path = folder / REPORT
    if not path.exists():
        return
    pairs = {
        "neurorig": (told.neurorig, version("neurorig")),
        "revision": (told.revision, revision()),
        "packages": (told.packages, packages()),
    }
    if differing := [name for name, (then, now) in pairs.items() if then != now]:
        other = (
            f"made by another {' and '.join(differing)}: not made again (rig report "
            "does, and overwrites it)"
        )
        yield Finding(REPORT, True, other)
        return
    # Here, because it brings matplotlib: half a second that the other commands need not wait for.
    from rig.report.report import rendered

    stored = path.read_text(encoding="utf-8", errors="replace")
    try:
        again = rendered(folder, hashed=True, trials=trials)
    except Exception as error:
        yield Finding(REPORT, False, cannot("it", error))
        return
    at, one, other = first_difference(stored, again)
    said = (
        f"line {at} is {one[:100]!r}, made again it is {other[:100]!r}"
        if at
        else f"made again, {BYTES}"
    )
    yield Finding(REPORT, not at, said)
