# SPDX-License-Identifier: Apache-2.0
"""Entry points of installed packages: read once, and loaded with an error that says
what lacks."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rig.errors import ConfigError

#: Groups of entry points: four kinds of plug-ins and commands, of this and another
#: path.
_KEPT = 10
#: Packages of neurorig whose plug-ins import without any optional package.
_OWN_PACKAGES = ("drivers", "scenarios", "sut_backends")


def installed(group: str) -> EntryPoints:
    """Return the entry points of a group."""
    return _read(group, tuple(sys.path))


@lru_cache(maxsize=_KEPT)
def _read(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Read the entry points of every package in the path, which takes 8 ms: a bench
    asks for a dozen.
    """
    return entry_points(group=group)


def loaded(entry_point: EntryPoint, path: str, extra: str) -> Any:
    """Return what an entry point names; raise ConfigError, for the key `path`, where
    the packages of an extra are needed and not installed.
    """
    try:
        return entry_point.load()
    except ImportError as error:
        raise ConfigError(
            f"needs a package that is not installed: {error.name}",
            path=path,
            try_next=_install(extra),
        ) from error


def docstring(entry_point: EntryPoint) -> str:
    """Return the docstring of a class of neurorig without importing its module, which
    takes up to a second for all kinds together; empty for classes of other packages.
    """
    if entry_point.module.partition(".")[0] not in _OWN_PACKAGES:
        return ""
    spec = find_spec(entry_point.module)
    if spec is None or spec.origin is None:
        return ""
    source = Path(spec.origin).read_text(encoding="utf-8")
    head = rf'^class {entry_point.attr}\b[^"]*?:\n    """(.*?)"""'
    match = re.search(head, source, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def _install(extra: str) -> str:
    """Return what installs the packages of an extra; of a plug-in that has none, its
    own."""
    known = metadata("neurorig").get_all("Provides-Extra") or ()
    if extra in known:
        return f"pip install 'neurorig[{extra}]'"
    return "install the package that brings it again, with all that it needs"
