# SPDX-License-Identifier: Apache-2.0
"""Torch on a GPU as a system under test: a task's network, or a task's search on torch,
in a worker of its own. `device = "cpu"` runs the same on this computer's processor.

Marks are CLOCK_MONOTONIC, read in the worker after a synchronise of the device; the
board's energy counter is read by the same clock (docs/how-to/GPU.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from annotated_types import doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.sut import SutInfo
from rig.model.origin import Origins
from rig.model.pace import Pace
from sut_backends.gpu.runner import TorchSettings
from sut_backends.hosted.sync_wire import Power
from sut_backends.workers.environments import interpreter_at, interpreter_of
from sut_backends.workers.imagined_sync_wire import ImaginedWire
from sut_backends.workers.inside import processor_counter
from sut_backends.workers.inside.search import THRESHOLDS_MAX
from sut_backends.workers.network_sut import Runner, open_network_sut
from sut_backends.workers.process import Place, Worker
from sut_backends.workers.settings import (
    Core,
    HoldTime,
    Interpreter,
    SlotCount,
    StartLimit,
    Threads,
)
from sut_backends.workers.sut import WorkerSut

_RUNNER = "sut_backends.gpu.runner"
#: A program that takes this argument chooses its device by it.
_DEVICE = "device"
#: So that number 0 is the same board for CUDA as for NVML.
_ENVIRONMENT = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


class GpuSut(WorkerSut):
    """A task's network or search on torch."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Device, numbers, and where the worker runs."""

        device: Annotated[
            str, doc('Device as torch names it: "cuda", "cuda:1", "cpu".')
        ] = "cuda"
        arithmetic: Annotated[
            Literal["stated", "float", "integer"],
            doc(
                "Of a network: whole numbers where its file states shifts, or always,"
                " or never."
            ),
        ] = "stated"
        dtype: Annotated[
            Literal["float32", "float64"],
            doc("Numbers of a network in floating point."),
        ] = "float32"
        core: Core = -1
        threads: Threads = 1
        slots: SlotCount = 64
        sync_hold_us: HoldTime = 50
        interpreter: Interpreter = ""
        start_s: StartLimit = 120.0
        power_w: Annotated[Power, doc("What a simulated monitor sees drawn.")] = field(
            default_factory=Power
        )

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Return False: it is the device."""
        return False

    @staticmethod
    def origins(settings: Settings) -> Origins:
        """Return that times are measured, and energies as the monitors beside it
        are."""
        return Origins()

    @staticmethod
    def pace(settings: Settings) -> Pace:
        """Return a pace without a line: only the network knows the duration of a
        query."""
        return Pace(wired=False)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> WorkerSut:
        """Start the worker; ConfigError where the task has neither a network nor a
        search on torch, BenchError where torch sees no such device.
        """
        place = Place(
            interpreter=_interpreter(settings, context),
            core=settings.core,
            threads=settings.threads,
            start_s=settings.start_s,
            isolated=True,
            environment=_ENVIRONMENT,
        )
        if context.network is None:
            return _search(settings, place, context)
        runner = Runner(
            "gpu",
            _RUNNER,
            f"torch on {settings.device}",
            Origins(),
            dataclasses.asdict(
                TorchSettings(
                    settings.device,
                    settings.dtype,
                    settings.arithmetic,
                    settings.threads,
                )
            ),
        )
        return open_network_sut(
            runner,
            place,
            context,
            slots=settings.slots,
            sync_hold_us=settings.sync_hold_us,
            power_w=settings.power_w,
        )


def _interpreter(settings: GpuSut.Settings, context: BenchContext) -> str:
    """Return the interpreter that is named, empty for the rig's own where that has
    torch."""
    named = interpreter_at(settings.interpreter, context, "gpu")
    if named or find_spec("torch") is not None:
        return named
    return interpreter_of("gpu", "", context)


def _search(
    settings: GpuSut.Settings, place: Place, context: BenchContext
) -> WorkerSut:
    """Return the task's search on torch."""
    found = {
        name: one for name, one in context.programs.items() if _DEVICE in one.arguments
    }
    if not found:
        raise ConfigError(
            "this task has neither a network nor a program on torch",
            path="sut.gpu",
            try_next="[task.asc], [task.qubo], or [sut.cpu]",
        )
    name, program = next(iter(found.items()))
    context.state.program = name
    arguments: dict[str, Any] = {**program.arguments, _DEVICE: settings.device}
    worker = Worker(dataclasses.replace(program, arguments=arguments), place)
    wire = ImaginedWire(context.world, settings.power_w, settings.sync_hold_us * 1000)
    return WorkerSut(_info(settings, name, program, worker), worker, wire)


def _info(
    settings: GpuSut.Settings, name: str, program: Program, worker: Worker
) -> SutInfo:
    about = worker.about
    return SutInfo(
        name=(
            f"{about.details.get('device_name', f'torch on {settings.device}')}, {name}"
        ),
        kind="gpu",
        simulated=False,
        tick_hz=1_000_000_000,
        task=program.task,
        model=program.model,
        firmware=f"{program.entry}, {about.python}, numpy {about.numpy}",
        link="pipe",
        slots=settings.slots,
        batch_max=0,
        streams=False,
        solves=True,
        thresholds_max=THRESHOLDS_MAX,
        has_sync_line=False,
        sync_hold_s=settings.sync_hold_us * 1e-6,
        clock="CLOCK_MONOTONIC",
        details={
            **about.facts,
            **about.details,
            "program": name,
            "entry": program.entry,
            "knows_thresholds": True,
            "processor_energy_counter": processor_counter.availability(),
            "simulated_power_w": dataclasses.asdict(settings.power_w),
        },
        origins=Origins(),
    )
