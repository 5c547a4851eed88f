# SPDX-License-Identifier: Apache-2.0
"""Loihi 2, or Lava's simulator on this computer's processor, as a system under test."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, doc

from rig.errors import ConfigError, DataError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.origin import Origin, Origins
from rig.settings.declare import Count
from rig.simulation.world import NS_PER_S
from sut_backends.loihi import stock_plan
from sut_backends.loihi.fixed_point import fixed_point
from sut_backends.loihi.runner import FILE_IN_FIXED_POINT
from sut_backends.workers.environments import interpreter_of
from sut_backends.workers.inside import plain_network
from sut_backends.workers.network_report import Report, reported, write_checked
from sut_backends.workers.network_sut import Runner, open_network_sut
from sut_backends.workers.process import Place, Worker
from sut_backends.workers.search_sut import program_taking, search_sut
from sut_backends.workers.settings import Interpreter, StartLimit, WireSettings
from sut_backends.workers.sut import WorkerSut

SENSORS = Report("sut_backends.loihi.probes", "sense_network", "was not sensed")
#: A program that takes this argument is Lava's solver, and runs where it says.
_BACKEND = "lava_backend"
_ANOTHER_RULE = (
    "without that part; or by its own rule in Lava's simulator: [sut.loihi] with"
    ' rule = "file"'
)
_ARITHMETIC = {"floating": "", "fixed": " in Loihi 2's fixed point"}


class LoihiSut(WorkerSut):
    """A task's network in Lava."""

    @dataclass(frozen=True, slots=True)
    class Settings(WireSettings):
        """The rule of the neurons, where they run, and the Python that has Lava."""

        rule: Annotated[
            Literal["file", "stock"],
            doc(
                '"file": process models of our own, by the file; "stock": Lava\'s LIF.'
            ),
        ] = "file"
        precision: Annotated[
            Literal["floating", "fixed"],
            doc(
                '"fixed": the arithmetic of Loihi 2, for rule = "stock"; on the chip'
                " always."
            ),
        ] = "floating"
        hardware: Annotated[
            bool,
            doc("On Loihi 2, which needs lava-loihi, instead of Lava's simulator."),
        ] = False
        host: Annotated[
            str,
            doc(
                "Address of the board's host; empty: SLURM and BOARD of the"
                " environment."
            ),
        ] = ""
        sense_steps: Annotated[
            Count,
            Ge(1),
            doc("Steps of each run whose power the board's own sensors read."),
        ] = 1_000_000
        interpreter: Interpreter = ""
        start_s: StartLimit = 120.0

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Check whether Lava's simulator runs the network."""
        return not settings.hardware

    @staticmethod
    def origins(settings: Settings) -> Origins:
        """Return simulated origins, or the board's own sensors for a board in a
        rack."""
        if settings.hardware:
            return Origins(Origin.MEASURED, Origin.OWN_SENSOR)
        return Origins(Origin.SIMULATED, Origin.SIMULATED)

    @staticmethod
    def mapping(
        settings: Settings, model: Path, dt_s: float | None, rule: str = ""
    ) -> dict[str, Any]:
        """Convert a network to stock cells in Loihi 2's fixed point: processes,
        registers, what 8 bits do to its weights. Computed here; no SDK takes part, and
        cores are not placed.
        """
        with tempfile.TemporaryDirectory(prefix="neurorig-network-") as folder:
            plain = Path(folder) / "network.npz"
            write_checked(model, dt_s, plain, rule)
            try:
                planned = stock_plan.plan(plain_network.read(str(plain)), vectors=False)
                fixed = fixed_point(planned)
            except ValueError as error:
                raise DataError(
                    f"{model.name} cannot be stock cells: {error}",
                    try_next=_ANOTHER_RULE,
                ) from error
        registers = []
        for row, one in zip(fixed.report, fixed.registers, strict=True):
            registers.append(row | {"du": one.du, "dv": one.dv, "vth": one.threshold})
        return {
            "time_step": "a step of the chip is a step of the file",
            "processes": len(planned.cells),
            "dense": len(planned.synapses),
            "lag_steps": planned.lag_steps,
            "fixed point": registers,
        }

    @staticmethod
    def sense(
        settings: Settings, model: Path, dt_s: float | None, inputs: Any, rule: str = ""
    ) -> dict[str, Any]:
        """Read time, power and activity by the board's own sensors, a run each, of the
        first sample over and over."""
        if not settings.hardware:
            raise ConfigError(
                "Lava's simulator has no sensors",
                path="hardware",
                try_next="--set hardware=true, where lava-loihi is installed",
            )
        place = Place(
            interpreter=interpreter_of("loihi", settings.interpreter, BenchContext()),
            start_s=settings.start_s,
        )
        job = asdict(settings)
        return reported(SENSORS, place, model, dt_s, job, inputs=inputs, rule=rule)

    @classmethod
    def interpreter(cls, settings: Settings, context: BenchContext) -> str:
        """Return the interpreter that has the SDK."""
        return interpreter_of("loihi", settings.interpreter, context)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> WorkerSut:
        """Start the worker; ConfigError without an interpreter, BenchError where it
        does not start: Lava is missing, or cannot be this network.
        """
        place = Place(
            interpreter=cls.interpreter(settings, context),
            start_s=settings.start_s,
            isolated=True,
        )
        if context.network is None:
            return _search(settings, place, context)
        if settings.precision == "fixed" and settings.rule != "stock":
            raise ConfigError(
                "the file's rule has no fixed point",
                path="sut.loihi.precision",
                evidence=FILE_IN_FIXED_POINT,
                try_next='rule = "stock" beside precision = "fixed"',
            )
        where = "Loihi 2" if settings.hardware else "Lava's simulator"
        origins = cls.origins(settings)
        runner = Runner(
            kind="loihi",
            module="sut_backends.loihi.runner",
            name=f"{where}, {settings.rule} rule{_ARITHMETIC[settings.precision]}",
            origins=origins,
            settings=asdict(settings),
        )
        return open_network_sut(runner, place, context, settings)


def _search(
    settings: LoihiSut.Settings, place: Place, context: BenchContext
) -> WorkerSut:
    """Return the task's search by Lava's solver, which works on the chip alone."""
    absent = ConfigError(
        "this task has neither a network nor a search by Lava's solver",
        path="sut.loihi",
        try_next="[task.asc], [task.qubo], or [sut.cpu]",
    )
    where = "Loihi2" if settings.hardware else "CPU"
    _, program = program_taking(_BACKEND, where, context, absent)
    origins = LoihiSut.origins(settings)
    info = SutInfo(
        name=f"Loihi 2, {program.model}",
        kind="loihi",
        simulated=origins.time is Origin.SIMULATED,
        tick_hz=NS_PER_S,
        task=program.task,
        origins=origins,
    )
    return search_sut(info, program, Worker(program, place), context, settings)
