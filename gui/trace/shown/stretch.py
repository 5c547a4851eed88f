# SPDX-License-Identifier: Apache-2.0
"""A named stretch of a trace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the trace with the name of what it is of."""

    start_s: float
    stop_s: float
    name: str
