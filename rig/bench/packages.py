# SPDX-License-Identifier: Apache-2.0
"""Packages that neurorig needs, and those of its extras: installed, and in a version
that it accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version

from packaging.requirements import Requirement

#: The extras of developers, which no bench needs.
_OURS = ("dev", "docs")


@dataclass(frozen=True, slots=True)
class PackageState:
    """A package, the accepted versions, and the installed one, empty where it is not
    installed.
    """

    name: str
    accepted: str
    installed: str

    @property
    def fits(self) -> bool:
        """Whether the installed version is accepted."""
        specifiers = Requirement(self.name + self.accepted).specifier
        return specifiers.contains(self.installed, prereleases=True)


def extras() -> list[str]:
    """Return the names of the extras for users."""
    known = metadata("neurorig").get_all("Provides-Extra") or ()
    return [name for name in known if name not in _OURS]


def of_extra(extra: str = "") -> Iterator[PackageState]:
    """Yield the packages of an extra, or those that every use needs."""
    for line in requires("neurorig") or ():
        requirement = Requirement(line)
        marker = requirement.marker
        is_core = marker is None or marker.evaluate({"extra": ""})
        is_wanted = marker is None or marker.evaluate({"extra": extra})
        if not is_wanted or is_core is bool(extra):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            installed = ""
        accepted = str(requirement.specifier)
        yield PackageState(requirement.name, accepted, installed)


def missing(extra: str) -> list[str]:
    """Return the names of the packages of an extra that are not installed; none for
    the name of no extra."""
    return [package.name for package in of_extra(extra) if not package.installed]
