# SPDX-License-Identifier: Apache-2.0
"""Marker: a named instant of a trace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Marker:
    """A named instant, in seconds from the trace's first sample; `kind` is "vertical"
    or "text"."""

    name: str
    at_s: float
    kind: str
