# SPDX-License-Identifier: Apache-2.0
"""Messages between the rig and the process that holds a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Why there is no place: another holds it; it or its coordinator is not there; the
#: bench or environment file is wrong; labgrid is not installed; anything else.
Refusal = Literal["", "held", "absent", "wrong", "not-installed", "failed"]


@dataclass(frozen=True, slots=True)
class LentResource:
    """A resource of the place with its port or address, as a bench file states it."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """What became of the request for a place: its resources, or a refusal."""

    place: str = ""
    resources: tuple[LentResource, ...] = ()
    switched: bool = False
    refusal: Refusal = ""
    cause: str = ""
    evidence: str = ""
