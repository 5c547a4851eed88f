# SPDX-License-Identifier: Apache-2.0
"""Parts of the answers of an Otii server; a newer one may have more keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from rig.errors import DataError, RemoteProtocolError
from rig.files import typed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OtiiDevice:
    """A device that is connected to the server."""

    device_id: str
    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name} ({self.device_id})"


@dataclass(frozen=True, slots=True)
class OtiiLicence:
    """A licence of the user; `reserved_to` is empty where it is free."""

    id: int
    type: str
    available: bool
    reserved_to: str


@dataclass(frozen=True, slots=True)
class OtiiChange:
    """A change of a digital input, and its time (s)."""

    timestamp: float
    value: bool


@dataclass(frozen=True, slots=True)
class OtiiTimes:
    """The time of the first sample of an analog channel, and from each to the next
    (s)."""

    timestamp: float
    interval: float


def read(kind: type[T], tree: Any) -> T:
    """Return the part that a tree is; raises RemoteProtocolError."""
    try:
        return typed.take(kind, dict(tree), "the Otii server's answer")
    except (DataError, TypeError, ValueError) as error:
        raise RemoteProtocolError(
            "an answer of the Otii server is of another form",
            evidence=str(error),
            try_next="another version of the Otii application",
        ) from error
