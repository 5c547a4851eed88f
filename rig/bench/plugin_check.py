# SPDX-License-Identifier: Apache-2.0
"""Check a class against the contract of its group
(rig/interfaces/plugin_classes.py)."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from rig.interfaces.monitor import EnergyMonitor
from rig.interfaces.plugin_classes import (
    Decodes,
    MonitorClass,
    Overhears,
    Paced,
    Probes,
    Sampled,
    Scans,
    ScenarioClass,
    Simulates,
    SutClass,
    Talks,
    TaskClass,
    Wires,
)
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SystemUnderTest
from rig.interfaces.task import Replicated, Task

#: Section of a bench file -> what its classes must have, the hooks they may have, and
#: what their instances are.
CONTRACTS: dict[str, tuple[type, tuple[type, ...], type]] = {
    "sut": (
        SutClass,
        (Simulates, Paced, Probes, Decodes, Wires, Talks, Overhears),
        SystemUnderTest,
    ),
    "monitor": (MonitorClass, (Simulates, Sampled, Scans, Wires), EnergyMonitor),
    "scenario": (ScenarioClass, (), Scenario),
    "task": (TaskClass, (Replicated,), Task),
}


def class_faults(section: str, kind: Any) -> list[str]:
    """Return what a class lacks that a section of a bench file needs before an instance
    is open."""
    if not isinstance(kind, type):
        return [f"it is {kind!r:.60}, no class"]
    return list(_class_faults(section, kind))


# a bench file is read when it is opened, when its session is derived, and when checked
@cache
def _class_faults(section: str, kind: type) -> tuple[str, ...]:
    contract, hooks, _ = CONTRACTS[section]
    faults = [*_settings_faults(kind), *_faults(kind, contract, bound=True)]
    for hook in hooks:
        if any(hasattr(kind, name) for name in _methods(hook)):
            faults += _faults(kind, hook, bound=True)
    return tuple(faults)


def instance_faults(section: str, kind: type) -> list[str]:
    """Return what instances of a class lack."""
    return list(_faults(kind, CONTRACTS[section][2], bound=False))


def _settings_faults(kind: type) -> Iterator[str]:
    settings = getattr(kind, "Settings", None)
    if settings is None:
        yield "it has no Settings"
    elif not (isinstance(settings, type) and dataclasses.is_dataclass(settings)):
        yield "its Settings are no dataclass"
    elif not settings.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield "its Settings are a dataclass that is not frozen"


def _faults(kind: type, contract: type, *, bound: bool) -> Iterator[str]:
    """Yield each method of a contract that a class lacks, or that takes other
    arguments; `bound`: it is called on the class.
    """
    for name, method in _methods(contract).items():
        own = inspect.getattr_static(kind, name, None)
        due = _without_self(method)
        if own is None:
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
    """Return whether a method takes so many arguments, self included."""
    try:
        inspect.signature(method).bind(*range(count - 1 if bound else count))
    except TypeError:
        return False
    return True


def _methods(contract: type) -> dict[str, Any]:
    functions = {
        name: getattr(member, "__func__", member)
        for name, member in vars(contract).items()
    }
    return {
        name: function
        for name, function in functions.items()
        if inspect.isfunction(function)
        and (not name.startswith("_") or name == "__len__")
    }
