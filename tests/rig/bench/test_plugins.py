# SPDX-License-Identifier: Apache-2.0
"""Every installed plug-in keeps the contract of its group; a class that does not is
refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click
import pytest

from rig.bench import plugin_check, plugins
from rig.cli import plugin_commands
from rig.errors import ConfigError
from rig.interfaces.monitor import EnergyMonitor
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SystemUnderTest
from rig.interfaces.task import Task

INSTALLED: list[tuple[str, str]] = []
for _section, _group in plugins.GROUPS.items():
    INSTALLED += [(_section, point.name) for point in entry_points(group=_group)]


#: Section of a bench file -> the interface of the object that `open` returns.
INSTANCES: dict[str, type] = {
    "sut": SystemUnderTest,
    "monitor": EnergyMonitor,
    "scenario": Scenario,
    "task": Task,
}


def instance_faults(section: str, kind: type) -> list[str]:
    """Return what instances of a class lack."""
    contract = INSTANCES[section]
    faults: list[str] = []
    for name, method in plugin_check.methods_of(contract).items():
        if not isinstance(inspect.getattr_static(contract, name), classmethod):
            faults += plugin_check.method_faults(kind, name, method, bound=False)
    return faults


@pytest.mark.parametrize(("section", "kind"), INSTALLED)
def test_the_class_of_every_entry_point_keeps_its_contract(
    section: str, kind: str
) -> None:
    result = plugins.find(section, kind)
    assert plugin_check.class_faults(section, result) == []
    if (section, kind) != ("monitor", "none"):
        assert instance_faults(section, result) == []


@pytest.mark.parametrize(("section", "kind"), INSTALLED)
def test_a_description_is_that_of_the_imported_class(section: str, kind: str) -> None:
    text = inspect.getdoc(plugins.find(section, kind))
    assert text
    assert plugins.description(section, kind) == " ".join(text.split("\n\n")[0].split())


@pytest.mark.parametrize("name", plugin_commands.names())
def test_every_command_is_one_of_click(name: str) -> None:
    assert isinstance(plugin_commands.find(name), click.Command)


@dataclass(frozen=True)
class Empty:
    """Settings without a key."""


class Right(Task):
    """A task as small as one can be."""

    Settings = Empty
    name = "right"
    phases = ("infer",)

    @classmethod
    def open(cls, settings: Any, context: Any) -> Right:
        return cls()

    def __len__(self) -> int:
        return 1

    def payload(self, index: int) -> bytes:
        return b""

    def score(self, index: int, output: bytes) -> Any:
        return None

    def provenance(self) -> dict[str, Any]:
        return {}


def changed(**members: Any) -> type:
    return type("Changed", (Right,), members)


@dataclass
class Thawed:
    """Settings that can be changed."""


WRONG: dict[str, tuple[Any, str]] = {
    "no class": (3, "it is 3, no class"),
    "no settings": (changed(Settings=None), "it has no Settings"),
    "settings that are none": (changed(Settings=int), "its Settings are no dataclass"),
    "settings that change": (changed(Settings=Thawed), "is not frozen"),
    "no base class": (
        type("Alone", (), {"Settings": Empty}),
        "it does not derive from rig.interfaces.task.Task",
    ),
    "the open of the base class": (
        changed(open=vars(Task)["open"]),
        "it has no open(settings: 'Any', context: 'BenchContext')",
    ),
    "no open": (
        changed(open=None),
        "it has no open(settings: 'Any', context: 'BenchContext')",
    ),
    "an instance's open": (
        changed(open=lambda self, settings, context: None),
        "its open is no classmethod or staticmethod",
    ),
    "another open": (
        changed(open=classmethod(lambda cls, settings: None)),
        (
            "its open(settings) does not take open(settings: 'Any', context:"
            " 'BenchContext')"
        ),
    ),
    "another hook": (
        changed(replica=classmethod(lambda cls: None)),
        "its replica() does not take replica(",
    ),
}


def test_the_control_is_right() -> None:
    assert plugin_check.class_faults("task", Right) == []
    assert instance_faults("task", Right) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_class_is_refused_with_what_it_lacks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, message = WRONG[name]
    monkeypatch.setattr(plugins, "installed", offered(kind))
    with pytest.raises(ConfigError, match=r"third_party:Kind is no task") as caught:
        plugins.find("task", "odd")
    assert caught.value.path == "task.odd" and message in caught.value.evidence
    assert "derives from rig.interfaces.task.Task" in caught.value.try_next


def offered(kind: Any) -> Callable[..., list[EntryPoint]]:
    """Return a function that finds one entry point, of a class that is not installed."""

    class Offered(EntryPoint):
        def load(self) -> Any:
            return kind

    return lambda group: [Offered("odd", "third_party:Kind", group)]


def test_an_instance_that_lacks_a_method_or_takes_other_arguments_is_found() -> None:
    lacking = changed(score=None, payload=lambda self: b"")
    assert instance_faults("task", lacking) == [
        "its payload(self) does not take payload(index: 'int') -> 'bytes'",
        "it has no score(index: 'int', output: 'bytes') -> 'Score'",
    ]


def test_a_hook_speaks_for_what_its_own_class_or_one_above_defines() -> None:
    class Base:
        def info(self) -> str:
            return "base"

        def restated(self) -> str:
            return "base"

    class Inherits(Base):
        pass

    class Overrides(Base):
        def info(self) -> str:
            return "other"

    class Restates(Overrides):
        def restated(self) -> str:
            return "other"

    kinds = (Base, Inherits, Overrides, Restates)
    result = [plugins.speaks_for(kind, "restated", "info") for kind in kinds]
    assert result == [True, True, False, True]
