# SPDX-License-Identifier: Apache-2.0
"""A task's search in a worker: the common part of the backends that run one."""

from __future__ import annotations

from dataclasses import asdict, replace

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.sut import SutInfo
from sut_backends.workers.inside.search import THRESHOLDS_MAX
from sut_backends.workers.process import Worker
from sut_backends.workers.settings import WireSettings
from sut_backends.workers.sut import WorkerSut


def program_taking(
    argument: str, value: str, context: BenchContext, absent: ConfigError
) -> tuple[str, Program]:
    """Return name and program of the task's first one that takes an argument, which
    gets a value; raises `absent` where the task has none.
    """
    for name, program in context.programs.items():
        if argument in program.arguments:
            context.state.program = name
            arguments = {**program.arguments, argument: value}
            return name, replace(program, arguments=arguments)
    raise absent


def search_sut(
    named: SutInfo,
    program: Program,
    worker: Worker,
    context: BenchContext,
    settings: WireSettings,
) -> WorkerSut:
    """Return a worker's program that searches, as a system under test."""
    about = worker.about
    info = replace(
        named,
        task=program.task,
        model=program.model,
        firmware=program.entry,
        solves=True,
        thresholds_max=THRESHOLDS_MAX,
        details={
            **about.facts,
            **about.details,
            **named.details,
            "entry": program.entry,
            "knows_thresholds": True,
            "simulated_power_w": asdict(settings.power_w),
        },
    )
    return WorkerSut(info, worker, context, settings)
