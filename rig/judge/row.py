# SPDX-License-Identifier: Apache-2.0
"""One row of a judgement: a requirement, its verdict, its evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A requirement that passed, or not, or could not be checked (None); `rule` is the
    sentence that asks for it.
    """

    requirement: str
    passed: bool | None
    evidence: str
    rule: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.passed is None:
            return "NOT CHECKED"
        return "PASS" if self.passed else "FAIL"
