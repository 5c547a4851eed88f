# SPDX-License-Identifier: Apache-2.0
"""A task's search in a worker: what backends that search have in common."""

from __future__ import annotations

import dataclasses

from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.sut import SutInfo
from rig.model.origin import Origin, Origins
from sut_backends.hosted.sync_wire import Power
from sut_backends.workers.imagined_sync_wire import ImaginedWire
from sut_backends.workers.inside.search import THRESHOLDS_MAX
from sut_backends.workers.process import Place, Worker
from sut_backends.workers.sut import WorkerSut


def open_search_sut(
    kind: str,
    name: str,
    program: Program,
    origins: Origins,
    place: Place,
    context: BenchContext,
    *,
    slots: int = 64,
    sync_hold_us: int = 50,
    power_w: Power | None = None,
) -> WorkerSut:
    """Start the worker with a program that searches; BenchError where it does not
    start."""
    worker = Worker(program, place)
    drawn = power_w or Power()
    wire = ImaginedWire(context.world, drawn, sync_hold_us * 1000)
    about = worker.about
    info = SutInfo(
        name=name,
        kind=kind,
        simulated=origins.time is Origin.SIMULATED,
        tick_hz=1_000_000_000,
        task=program.task,
        model=program.model,
        firmware=f"{program.entry}, {about.python}, numpy {about.numpy}",
        link="pipe",
        slots=slots,
        batch_max=0,
        streams=False,
        solves=True,
        thresholds_max=THRESHOLDS_MAX,
        has_sync_line=False,
        sync_hold_s=sync_hold_us * 1e-6,
        clock="CLOCK_MONOTONIC",
        details={
            **about.facts,
            **about.details,
            "entry": program.entry,
            "knows_thresholds": True,
            "simulated_power_w": dataclasses.asdict(drawn),
        },
        origins=origins,
    )
    return WorkerSut(info, worker, wire)
