# SPDX-License-Identifier: Apache-2.0
"""Open the parts that a bench file names, and build the context that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rig.bench import plugins
from rig.bench.config import Config
from rig.host.stop import Stop, look, pause
from rig.interfaces.contact import Contact, Direct
from rig.interfaces.context import BenchContext, BenchState, Wire
from rig.interfaces.task import OptimizationTask, Task


def open_task(
    resolved: Config,
    seed: int | None = None,
    *,
    probing: bool = False,
    stop: Stop | None = None,
    listeners: Sequence[Wire] = (),
    contact: Contact | None = None,
) -> tuple[Task, BenchContext]:
    """Open the task, and build the context of all other parts with the information that
    the task offers them.

    `seed` replaces the seed of the bench file. A context for `probing` has a sample.
    """
    bare = BenchContext(
        folder=resolved.folder,
        seed=resolved.bench.seed if seed is None else seed,
        monitored=bool(resolved.monitors),
        stop=stop or Stop(),
        state=BenchState(listeners=tuple(listeners)),
        contact=contact or Direct(),
    )
    bare.world.look = look
    bare.world.pause = pause
    # Where no monitor is on its supply, the DUT has one of its own.
    bare.world.supply_on = not bare.monitored
    task: Task = open_part("task", resolved, bare)
    return task, replace(
        bare,
        reference=getattr(task, "reference", None),
        listening=getattr(task, "listening", None),
        expect=getattr(task, "expect", None),
        searcher=task.searcher if isinstance(task, OptimizationTask) else None,
        programs=task.programs,
        network=task.network,
        integers=task.integers,
        phases=tuple(task.phases),
        sample=task.payload(0) if probing else b"",
    )


def open_part(section: str, resolved: Config, context: BenchContext) -> Any:
    """Open the kind that a section of the bench file names."""
    choice = getattr(resolved, section)
    return plugins.find(section, choice.kind).open(choice.settings, context)
