# SPDX-License-Identifier: Apache-2.0
"""One thing that was looked at: by the probe on the bench, or by the check in a session
folder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was checked, whether it passed, the evidence, and what to try if
    it is not.

    `tested` is False where it could not be decided: then `ok` is True, as nothing was
    found wrong. `simulated`: the part that it is about is no real one.
    """

    name: str
    ok: bool
    detail: str
    try_next: str = ""
    tested: bool = True
    simulated: bool = False

    @property
    def passed(self) -> bool | None:
        """Return whether it passed; None where that could not be decided."""
        return self.ok if self.tested else None
