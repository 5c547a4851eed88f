# SPDX-License-Identifier: Apache-2.0
"""One thing that was looked at: by the probe on the bench, or by the check in a session folder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was checked, whether it passed, the evidence, and what to try if it is
    not.
    """

    name: str
    ok: bool
    detail: str
    try_next: str = ""
