# SPDX-License-Identifier: Apache-2.0
"""Registry of the kinds of step, by their names in a session's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rig.errors import DataError
from rig.kinds.idle import IdleKind
from rig.kinds.kind import StepKind
from rig.kinds.load import LoadKind
from rig.kinds.query import QueryKind
from rig.kinds.search import SearchKind
from rig.kinds.stream import StreamKind
from rig.kinds.sync import SyncKind
from rig.model.steps import Step

_KINDS: dict[str, StepKind[Any]] = {}


def register(kind: StepKind[Any]) -> None:
    """Add a kind of step; a scenario with a kind of its own does so in the module that
    defines it. Raises ValueError where another kind has its name.
    """
    name = kind.step.kind
    if type(_KINDS.setdefault(name, kind)) is not type(kind):
        raise ValueError(f"there is a kind of step named {name!r} already")


def of(step: Step) -> StepKind[Any]:
    """Look up the kind of a step."""
    return named(step.kind)


def planned(step: Step) -> bool:
    """Check whether a plan has the step; SYNC bursts at both ends of a trial are the
    rig's own.
    """
    return of(step).planned


def named(name: str) -> StepKind[Any]:
    """Look up a kind by name; raise DataError where there is none."""
    try:
        return _KINDS[name]
    except KeyError as error:
        raise DataError(
            f"{name!r:.40} is no kind of step",
            evidence=f"there are {', '.join(_KINDS)}",
            try_next="install the scenario that brings it",
        ) from error


def known() -> Iterator[StepKind[Any]]:
    """Yield all kinds, in the order of their samples in results."""
    return iter(tuple(_KINDS.values()))


def own_phases(steps: Iterable[Step]) -> tuple[str, ...]:
    """Name the windows where the steps have others than the task's phases."""
    return next(
        (
            phases_of_step
            for step in steps
            if (phases_of_step := of(step).own_phases(step))
        ),
        (),
    )


for _kind in (
    LoadKind(),
    QueryKind(),
    IdleKind(),
    SearchKind(),
    StreamKind(),
    SyncKind(),
):
    register(_kind)
