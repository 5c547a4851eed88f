# SPDX-License-Identifier: Apache-2.0
"""This computer's processor as a system under test: the conventional baseline, a task's
own program, or its network in floating point, in a process of its own.

There is no SYNC wire: the marks are stamped with CLOCK_MONOTONIC, which
also times the readings of the processor's energy counters.
"""

from __future__ import annotations

import dataclasses
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import doc

from rig.errors import BenchError, ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.network_task import NetworkWorkload
from rig.interfaces.sut import SutInfo
from rig.settings.declare import PathText
from rig.simulation.world import NS_PER_S
from sut_backends.cpu.interpreter import InterpreterSettings
from sut_backends.workers.environments import interpreter_at
from sut_backends.workers.inside import processor_counter
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.search import THRESHOLDS_MAX
from sut_backends.workers.network_sut import ROUTINE
from sut_backends.workers.process import Place, Worker
from sut_backends.workers.settings import Core, StartLimit, Threads, WireSettings
from sut_backends.workers.sut import WorkerSut

#: The program that is a task's network.
NETWORK = "nir"


class CpuSut(WorkerSut):
    """A task's program or network on this computer's processor."""

    @dataclass(frozen=True, slots=True)
    class Settings(WireSettings):
        """The program, its place, and the power that a simulated monitor sees."""

        program: Annotated[
            str, doc('Which of the task\'s programs, or "nir"; empty: its first.')
        ] = ""
        core: Core = -1
        threads: Threads = 1
        interpreter: Annotated[
            PathText, doc("Python that the program runs under; empty: the rig's own.")
        ] = ""
        start_s: StartLimit = 60.0

    @classmethod
    def answers(cls, settings: Settings, right: bytes) -> tuple[bytes, ...] | None:
        """Return the right output of a program in whole numbers; others round."""
        return (right,) if settings.program == "integer" else None

    @classmethod
    def interpreter(cls, settings: Settings, context: BenchContext) -> str:
        """Return the interpreter that the bench file names, empty for the rig's own."""
        return interpreter_at(settings.interpreter, context)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> CpuSut:
        """Start the program; ConfigError where the task has none of that name or the
        core does not exist.
        """
        _refuse_core(settings)
        offered = _offered(context)
        name = settings.program or next(iter(offered), "")
        if name not in offered:
            raise ConfigError(
                (
                    f"this task has no program {name!r} for a CPU"
                    if name
                    else "this task has no program for a CPU"
                ),
                path="sut.cpu.program",
                try_next=(
                    f"one of {', '.join(offered)}"
                    if offered
                    else "another task, or another SUT"
                ),
            )
        context.state.program = name
        program = offered[name]
        interpreter = cls.interpreter(settings, context)
        place = Place(
            interpreter=interpreter,
            core=settings.core,
            threads=settings.threads,
            start_s=settings.start_s,
        )
        worker = Worker(program, place)
        info = _info(settings, name, program, worker)
        return cls(info, worker, context, settings)


def network_program(workload: NetworkWorkload) -> Program:
    """Wrap a task's network in floating point between the task's encoding and decoding,
    as a program."""
    settings = InterpreterSettings(workload.rule, workload.dt_s)
    job = Job(str(workload.path.resolve()), settings=dataclasses.asdict(settings))
    arguments = {
        "runner": "sut_backends.cpu.interpreter",
        "job": dataclasses.asdict(job),
        "codec": workload.codec,
        "codec_arguments": dict(workload.arguments),
        "trains": workload.trains,
    }
    return Program(ROUTINE, workload.task, workload.model, arguments)


def _offered(context: BenchContext) -> dict[str, Program]:
    """List the task's programs by name, followed by its network if it has one."""
    offered = dict(context.programs)
    if context.network is not None:
        offered.setdefault(NETWORK, network_program(context.network))
    return offered


def _info(
    settings: CpuSut.Settings, name: str, program: Program, worker: Worker
) -> SutInfo:
    about = worker.about
    details = about.facts | {
        "pinned": settings.core >= 0,
        "threads": settings.threads,
        "governor": _governor(about.cores),
        "processor_energy_counter": processor_counter.availability(),
        "garbage_collector": "off inside a query or a stream",
        "program": name,
        "knows_thresholds": about.searches,
        "entry": program.entry,
        "simulated_power_w": dataclasses.asdict(settings.power_w),
        **about.details,
    }
    return SutInfo(
        name=f"{_processor()}, {name}",
        kind="cpu",
        simulated=False,
        tick_hz=NS_PER_S,
        task=program.task,
        model=program.model,
        firmware=program.entry,
        batch_max=settings.slots if about.phases else 0,
        streams=bool(about.phases),
        solves=about.searches,
        thresholds_max=THRESHOLDS_MAX if about.searches else 0,
        details=details,
    )


def _refuse_core(settings: CpuSut.Settings) -> None:
    if settings.core < 0:
        return
    if not hasattr(os, "sched_getaffinity"):
        raise BenchError(
            "this operating system does not pin a process to a core",
            try_next="sut.cpu.core = -1",
        )
    allowed = sorted(os.sched_getaffinity(0))
    if settings.core not in allowed:
        raise ConfigError(
            f"core {settings.core} is not ours to use",
            path="sut.cpu.core",
            try_next=f"one of {allowed}, or -1",
        )


def _processor() -> str:
    """Read the processor's name as Linux reports it, else the machine's kind."""
    try:
        lines = (
            Path("/proc/cpuinfo")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
    except OSError:
        lines = []
    names = (
        line.partition(":")[2].strip()
        for line in lines
        if line.startswith("model name")
    )
    return next(names, "") or platform.processor() or platform.machine()


def _governor(cores: list[int]) -> str:
    """Read the governor of the first core's frequency; "not readable" where the kernel
    does not report it."""
    first = cores[0] if cores else 0
    path = Path(f"/sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor")
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return "not readable"
