# SPDX-License-Identifier: Apache-2.0
"""Check a plug-in's class against the base class of its group
(rig/interfaces/plugin_classes.py)."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from rig.interfaces.plugin_classes import Backend, Driver
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task

#: Section of a bench file -> the base class of its plug-ins.
BASES: dict[str, type] = {
    "sut": Backend,
    "monitor": Driver,
    "scenario": Scenario,
    "task": Task,
}
#: The one method of a class without a useful default.
_REQUIRED = "open"


def class_faults(section: str, kind: Any) -> list[str]:
    """List the missing members of a class that a section of a bench file needs before
    an instance is open.
    """
    if not isinstance(kind, type):
        return [f"it is {kind!r:.60}, no class"]
    return list(_class_faults(section, kind))


# a bench file is read when it is opened, when its session is derived, and when checked
@cache
def _class_faults(section: str, kind: type) -> tuple[str, ...]:
    base = BASES[section]
    if not issubclass(kind, base):
        return (f"it does not derive from {base.__module__}.{base.__qualname__}",)
    faults = [*_settings_faults(kind)]
    for name, method in methods_of(base).items():
        default = inspect.getattr_static(base, name)
        if not isinstance(default, classmethod):
            continue
        if name == _REQUIRED and inspect.getattr_static(kind, name) is default:
            faults.append(f"it has no {name}{_without_self(method)}")
            continue
        faults += method_faults(kind, name, method, bound=True)
    return tuple(faults)


def _settings_faults(kind: type) -> Iterator[str]:
    settings = getattr(kind, "Settings", None)
    if settings is None:
        yield "it has no Settings"
    elif not (isinstance(settings, type) and dataclasses.is_dataclass(settings)):
        yield "its Settings are no dataclass"
    elif not settings.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield "its Settings are a dataclass that is not frozen"


def method_faults(kind: type, name: str, method: Any, *, bound: bool) -> Iterator[str]:
    """Yield why a class has no method of a contract, or one that takes other arguments;
    `bound`: it is called on the class.
    """
    own = inspect.getattr_static(kind, name, None)
    due = _without_self(method)
    if own is None or getattr(own, "__isabstractmethod__", False):
        yield f"it has no {name}{due}"
    elif isinstance(own, property):
        yield f"its {name} is a property, not a method {name}{due}"
    elif bound and not isinstance(own, classmethod | staticmethod):
        yield f"its {name} is no classmethod or staticmethod"
    elif not _takes(
        getattr(kind, name), len(inspect.signature(method).parameters), bound
    ):
        yield (
            f"its {name}{inspect.signature(getattr(kind, name))} does not take"
            f" {name}{due}"
        )


def _without_self(method: Any) -> str:
    """Return a signature as a caller sees it."""
    signature = inspect.signature(method)
    return str(signature.replace(parameters=[*signature.parameters.values()][1:]))


def _takes(method: Any, count: int, bound: bool) -> bool:
    """Check whether a method takes so many arguments, self included."""
    try:
        inspect.signature(method).bind(*range(count - 1 if bound else count))
    except TypeError:
        return False
    return True


def methods_of(contract: type) -> dict[str, Any]:
    """Return the public methods of a contract, by name."""
    methods = {}
    for name in dir(contract):
        member = inspect.getattr_static(contract, name)
        function = getattr(member, "__func__", member)
        is_public = not name.startswith("_") or name == "__len__"
        if is_public and inspect.isfunction(function):
            methods[name] = function
    return methods
