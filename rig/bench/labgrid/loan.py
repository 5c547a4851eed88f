# SPDX-License-Identifier: Apache-2.0
"""A bench on loan: its place is acquired while it is open, and its ports are those of
the place's resources.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rig.bench.config import Config, PluginChoice
from rig.bench.labgrid.messages import PlaceAnswer
from rig.bench.place_settings import LENT, LabgridSettings, is_lent
from rig.errors import (
    BenchError,
    ConfigError,
    DeviceBusy,
    DeviceNotFound,
    RigError,
)
from rig.files import typed
from rig.host.pseudo_terminal import refuse_windows
from rig.host.python_child import PythonChild
from rig.host.stop import Stop

_WHAT = "the process that holds the place of labgrid"
#: Time to switch the place off and to release it.
_LEAVE_S = 60.0


@contextmanager
def on_loan(resolved: Config, stop: Stop) -> Iterator[Config]:
    """Acquire the place of a bench that has one, and yield the bench with the ports of
    its resources; on leaving, also after the end of this process, the place's switch is
    off and the place released.
    """
    if resolved.labgrid is None:
        yield resolved
        return
    refuse_windows("a board on loan from labgrid")
    order = json.dumps(typed.to_json(resolved.labgrid))
    with stop.heard():
        child = PythonChild(
            f"{__package__}.holder", (), _WHAT, first=f"{order}\n", leave_s=_LEAVE_S
        )
    try:
        answer = typed.from_json(PlaceAnswer, json.loads(child.words), _WHAT)
        if answer.refusal:
            raise _refused(answer, resolved.labgrid)
        stop.guard(child.ended)
        yield _filled(resolved, answer)
    finally:
        stop.unguard(child.ended)
        _leave(child, resolved.labgrid)


def _leave(child: PythonChild, settings: LabgridSettings) -> None:
    """Let the place go; an error of that is a note of one that passes through."""
    failure = child.left(_LEAVE_S)
    if failure is None:
        return
    name = settings.place or settings.environment
    cause = f"the place {name} may still be held, and its switch on"
    passing = sys.exception() if sys.version_info >= (3, 11) else None
    if passing is not None:
        passing.add_note(f"{cause}: {failure.evidence}")
        return
    raise BenchError(
        cause,
        evidence=failure.evidence,
        try_next=f"labgrid-client -p {settings.place or 'PLACE'} release",
    )


def _refused(answer: PlaceAnswer, settings: LabgridSettings) -> RigError:
    evidence = answer.evidence
    match answer.refusal:
        case "held":
            return DeviceBusy(
                answer.cause,
                evidence=evidence,
                try_next="wait for its release, or another place: labgrid-client who",
            )
        case "absent":
            return DeviceNotFound(
                answer.cause,
                evidence=evidence,
                try_next="labgrid.coordinator, and whether labgrid-coordinator runs",
            )
        case "wrong":
            return ConfigError(
                answer.cause,
                path="labgrid",
                evidence=evidence,
                try_next="labgrid.place, or labgrid.environment and labgrid.target",
            )
        case "not-installed":
            return BenchError(
                answer.cause,
                evidence=evidence,
                try_next="pip install 'neurorig[labgrid]'",
            )
    name = settings.place or settings.environment
    return BenchError(
        f"{name}: {answer.cause}",
        evidence=evidence,
        try_next=f"labgrid-client -p {settings.place or 'PLACE'} show",
    )


def _filled(resolved: Config, answer: PlaceAnswer) -> Config:
    """Return a bench whose ports are those of the place, and that needs no place."""
    monitors = {
        rail: _of_place(choice, f"rail.{rail}" if rail else "monitor", answer)
        for rail, choice in resolved.monitors.items()
    }
    return dataclasses.replace(
        resolved,
        sut=_of_place(resolved.sut, "sut", answer),
        monitors=monitors,
        labgrid=None,
    )


def _of_place(choice: PluginChoice, section: str, answer: PlaceAnswer) -> PluginChoice:
    lent = {}
    for part in dataclasses.fields(choice.settings):
        value = getattr(choice.settings, part.name)
        if is_lent(value):
            key = f"{section}.{choice.kind}.{part.name}"
            lent[part.name] = _address(value, key, answer)
    settings: Any = dataclasses.replace(choice.settings, **lent)
    return PluginChoice(choice.kind, settings)


def _address(value: str, key: str, answer: PlaceAnswer) -> str:
    name = value.partition(":")[2]
    fitting = [lent for lent in answer.resources if name in ("", lent.name)]
    if len(fitting) == 1:
        return fitting[0].address
    offered = [f"{LENT}:{lent.name} ({lent.address})" for lent in answer.resources]
    cause = (
        f"the place {answer.place} has {len(fitting)} resources for it"
        if not name
        else f"the place {answer.place} has no resource {name}"
    )
    raise ConfigError(
        cause,
        path=key,
        evidence=f"usable there: {', '.join(offered) or 'none'}",
        try_next="one of these; labgrid-client show lists all resources of the place",
    )
