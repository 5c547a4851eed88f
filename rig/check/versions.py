# SPDX-License-Identifier: Apache-2.0
"""Which rig measured a session: of another version or revision, words and keys may be
others."""

from __future__ import annotations

from typing import Any

from rig.store import provenance
from rig.store.provenance_file import Provenance


def is_this_version(told: Provenance) -> bool:
    """Check whether a session was measured by this version of the rig, of any
    revision.
    """
    return told.neurorig == provenance.version_of("neurorig")


def is_this_revision(told: Provenance) -> bool:
    """Check whether a session was measured by the very rig that checks it."""
    return is_this_version(told) and is_this_source(told)


def is_this_source(told: Provenance) -> bool:
    """Check whether a session was measured by this git revision; one that could not be
    read is none.
    """
    own = provenance.own_revision()
    is_known = not (own.unknown or told.revision_unknown)
    return is_known and told.revision == own.text


def shared_numbers(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two JSON trees with the keys alone that both have, and without their
    texts: what other revisions of the rig do not word otherwise.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = {
            key: shared_numbers(one[key], other[key]) for key in one if key in other
        }
        ones = {key: pair[0] for key, pair in pairs.items()}
        return ones, {key: pair[1] for key, pair in pairs.items()}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        rows = [shared_numbers(*pair) for pair in zip(one, other, strict=True)]
        return [row[0] for row in rows], [row[1] for row in rows]
    if isinstance(one, str) and isinstance(other, str):
        return None, None
    return one, other
