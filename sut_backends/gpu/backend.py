# SPDX-License-Identifier: Apache-2.0
"""Torch on a GPU as a system under test: a task's network, or a task's search on torch,
in a worker of its own. `device = "cpu"` runs the same on this computer's processor.

Marks are CLOCK_MONOTONIC, read in the worker after a synchronise of the device; the
board's energy counter is read by the same clock (docs/how-to/GPU.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Literal

from annotated_types import doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.origin import Origins
from rig.simulation.world import NS_PER_S
from sut_backends.workers.environments import interpreter_at, interpreter_of
from sut_backends.workers.inside import processor_counter
from sut_backends.workers.network_sut import (
    Runner,
    open_integer_sut,
    open_network_sut,
)
from sut_backends.workers.process import Place, Worker
from sut_backends.workers.search_sut import program_taking, search_sut
from sut_backends.workers.settings import (
    Core,
    Interpreter,
    StartLimit,
    Threads,
    WireSettings,
)
from sut_backends.workers.sut import WorkerSut

_RUNNER = "sut_backends.gpu.runner"
_INTEGER_RUNNER = "sut_backends.gpu.integer_runner"
#: A program that takes this argument chooses its device by it.
_DEVICE = "device"
#: So that number 0 is the same board for CUDA as for NVML.
_ENVIRONMENT = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


class GpuSut(WorkerSut):
    """A task's network or search on torch."""

    @dataclass(frozen=True, slots=True)
    class Settings(WireSettings):
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
        interpreter: Interpreter = ""
        start_s: StartLimit = 120.0

    @staticmethod
    def origins(settings: Settings) -> Origins:
        """Return that times are measured, and energies as the monitors beside it
        are."""
        return Origins()

    @classmethod
    def interpreter(cls, settings: Settings, context: BenchContext) -> str:
        """Return the interpreter that is named, empty for the rig's own where that has
        torch."""
        named = interpreter_at(settings.interpreter, context, "gpu")
        if named or find_spec("torch") is not None:
            return named
        return interpreter_of("gpu", "", context)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> WorkerSut:
        """Start the worker; ConfigError where the task has neither a network nor a
        search on torch, BenchError where torch sees no such device.
        """
        place = Place(
            interpreter=cls.interpreter(settings, context),
            core=settings.core,
            threads=settings.threads,
            start_s=settings.start_s,
            isolated=True,
            environment=_ENVIRONMENT,
        )
        if context.network is None and context.integers is None:
            return _search(settings, place, context)
        runner = Runner(
            "gpu",
            _RUNNER,
            f"torch on {settings.device}",
            Origins(),
            dataclasses.asdict(settings),
        )
        if context.integers is None:
            return open_network_sut(runner, place, context, settings)
        runner = dataclasses.replace(runner, module=_INTEGER_RUNNER)
        return open_integer_sut(runner, place, context, settings, context.integers)


def _search(
    settings: GpuSut.Settings, place: Place, context: BenchContext
) -> WorkerSut:
    """Return the task's search on torch."""
    absent = ConfigError(
        "this task has neither a network nor a program on torch",
        path="sut.gpu",
        try_next="[task.asc], [task.tflite], [task.qubo], or [sut.cpu]",
    )
    name, program = program_taking(_DEVICE, settings.device, context, absent)
    worker = Worker(program, place)
    board = worker.about.details.get("device_name", f"torch on {settings.device}")
    info = SutInfo(
        name=f"{board}, {name}",
        kind="gpu",
        simulated=False,
        tick_hz=NS_PER_S,
        task=program.task,
        details={
            "program": name,
            "processor_energy_counter": processor_counter.availability(),
        },
        origins=Origins(),
    )
    return search_sut(info, program, worker, context, settings)
