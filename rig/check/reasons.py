# SPDX-License-Identifier: Apache-2.0
"""Errors as the reasons of findings."""

from __future__ import annotations

from rig.errors import RigError
from rig.store.session_folder import PROVENANCE


def to_blame(error: Exception) -> str:
    """Return the file that an error of a session's settings names as wrong;
    provenance.json where it names none.
    """
    file = error.file if isinstance(error, RigError) else ""
    return file or PROVENANCE


def cannot(what: str, error: BaseException) -> str:
    """Return that something cannot be recomputed, and why."""
    return f"{what} cannot be recomputed: {cause(error)}"


def cause(error: BaseException) -> str:
    """Return what an error says, in few words."""
    return (
        error.cause
        if isinstance(error, RigError)
        else f"{type(error).__name__} {error}"[:200]
    )
