# SPDX-License-Identifier: Apache-2.0
"""One finding of the probe on the bench, or of the check in a session folder."""

from __future__ import annotations

from dataclasses import dataclass

from rig.files import typed


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

    @property
    def passed(self) -> bool | None:
        """Whether it passed; None where that could not be decided."""
        return self.ok if self.tested else None


class CutOff(Finding):
    """The check of a trial that was cut off."""

    __slots__ = ()


class SyncWire(Finding):
    """The marks of a burst against the edges that a monitor saw of them."""

    __slots__ = ()
