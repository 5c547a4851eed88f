# SPDX-License-Identifier: Apache-2.0
"""One finding of the probe on the bench, or of the check in a session folder."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rig.files import typed


class FindingKind(StrEnum):
    """What a finding is about, where a reader must know it: the marks of a burst
    against the edges that a monitor saw, a trial that was cut off, or a file that has
    its recorded hash.
    """

    OTHER = ""
    SYNC_WIRE = "sync wire"
    CUT_OFF = "cut off"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its subject, whether it passed, the evidence, and what to try if it
    did not.

    `tested` is False where it could not be decided: then `ok` is True, as no fault was
    found. `simulated`: it is about a simulated part. `see`: of a fault, the row of
    docs/how-to/TROUBLESHOOTING.md.
    """

    name: str
    ok: bool
    detail: str
    try_next: str = ""
    tested: bool = True
    simulated: bool = False
    see: str = typed.optional("")
    kind: FindingKind = typed.optional(FindingKind.OTHER)

    @property
    def passed(self) -> bool | None:
        """Whether it passed; None where that could not be decided."""
        return self.ok if self.tested else None
