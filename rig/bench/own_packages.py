# SPDX-License-Identifier: Apache-2.0
"""The packages of neurorig at the top level of site-packages, and others of their
names: docs/decisions/2026-11-27-names-in-site-packages.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

#: Every folder of the wheel that Python imports from.
TOP_LEVEL = ("rig", "drivers", "gui", "scenarios", "sut_backends")
_DISTRIBUTION = "neurorig"
HOME = Path(__file__).resolve().parents[2]


@lru_cache(maxsize=len(TOP_LEVEL))
def hidden_by(package: str) -> Path | None:
    """Return the place of another package that Python imports in the place of one of
    neurorig's; None where it imports neurorig's, or no package at all.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).resolve().parent
    return None if found == HOME / package else found


def also_owned_by() -> Iterator[tuple[str, str]]:
    """Yield each name of TOP_LEVEL that another installed distribution has as well, and
    that distribution with its version. The one that pip installed last has overwritten
    files of the other.
    """
    owners = packages_distributions()
    for package in TOP_LEVEL:
        for name in sorted(set(owners.get(package, ())) - {_DISTRIBUTION}):
            yield package, f"{name} {version(name)}"
