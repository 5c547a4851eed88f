# SPDX-License-Identifier: Apache-2.0
"""Find backends, monitors, scenarios, tasks and their commands by entry point: each is
read once, and loaded with an error that names a missing package.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from rig.bench import own_packages
from rig.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from rig.interfaces.plugin_classes import Backend, Driver
    from rig.interfaces.scenario import Scenario
    from rig.interfaces.task import Task

#: Section of a bench file -> entry point group.
GROUPS = {
    "sut": "rig.suts",
    "monitor": "rig.monitors",
    "scenario": "rig.scenarios",
    "task": "rig.tasks",
}
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
    the packages of an extra are needed and not installed, or where another package has
    the name of one of neurorig's.
    """
    package = entry_point.module.partition(".")[0]
    other = (
        own_packages.hidden_by(package) if package in own_packages.TOP_LEVEL else None
    )
    if other is not None:
        ours = own_packages.HOME / package
        raise ConfigError(
            f"{package} is another package than neurorig's",
            path=path,
            evidence=f"Python finds {other}, neurorig's is {ours}",
            try_next=(
                "start in another folder, or rename that one; one that pip installed"
                " needs an environment without neurorig"
            ),
            see="name-taken",
        )
    try:
        return entry_point.load()
    except ImportError as error:
        raise ConfigError(
            f"needs a package that is not installed: {error.name}",
            path=path,
            try_next=_install(extra),
            see="package-missing",
        ) from error


def names(section: str) -> list[str]:
    """Return the kinds that a section of a bench file may name."""
    return sorted(entry_point.name for entry_point in installed(GROUPS[section]))


def extra(kind: str) -> str:
    """Return the name of the extra with the packages of a kind: keysight for
    keysight_n6705.
    """
    return kind.partition("_")[0]


@overload
def find(section: Literal["sut"], kind: str) -> type[Backend]: ...
@overload
def find(section: Literal["monitor"], kind: str) -> type[Driver]: ...
@overload
def find(section: Literal["scenario"], kind: str) -> type[Scenario]: ...
@overload
def find(section: Literal["task"], kind: str) -> type[Task]: ...
@overload
def find(section: str, kind: str) -> Any: ...
def find(section: str, kind: str) -> Any:
    """Return the class of a kind; raise ConfigError if there is none, or if it does not
    derive from the base class of its group.
    """
    # Imported here: `rig list` names the kinds and needs no numpy.
    from rig.bench.plugin_check import BASES, class_faults

    entry_point = _entry_point(section, kind)
    plugin_class = loaded(entry_point, f"{section}.{kind}", extra(kind))
    if faults := class_faults(section, plugin_class):
        base = BASES[section]
        raise ConfigError(
            f"{entry_point.value} is no {section} for this version of the rig",
            path=f"{section}.{kind}",
            evidence="; ".join(faults),
            try_next=(
                "another version of the package that brings it; a plug-in of your own"
                f" derives from {base.__module__}.{base.__qualname__} and overrides"
                " what it offers"
            ),
        )
    return plugin_class


def description(section: str, kind: str) -> str:
    """Return the first paragraph of the docstring of a kind's class; raise ConfigError
    as `find` does.
    """
    text = _docstring(_entry_point(section, kind))
    return first_paragraph(text or find(section, kind).__doc__)


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of the `__doc__` of a plug-in's class, in one line.

    inspect.getdoc would inherit the docstring of the base class.
    """
    return " ".join(inspect.cleandoc(doc or "").split("\n\n")[0].split())


def _entry_point(section: str, kind: str) -> EntryPoint:
    for entry_point in installed(GROUPS[section]):
        if entry_point.name == kind:
            return entry_point
    known = names(section)
    raise ConfigError(
        f"no such kind of {section}",
        path=f"{section}.{kind}",
        try_next=(
            f"{did_you_mean(kind, known)}one of: {', '.join(known) or 'none installed'}"
        ),
    )


def speaks_for(kind: Any, hook: str, member: str) -> bool:
    """Check whether a hook of a class is defined with `member` or in a class derived
    from there: a hook that was inherited does not describe a member that was
    overridden.
    """
    classes = getattr(kind, "__mro__", ())
    owners = [each for each in classes if {hook, member} & set(vars(each))]
    return not owners or hook in vars(owners[0])


def _docstring(entry_point: EntryPoint) -> str:
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
