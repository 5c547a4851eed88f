# SPDX-License-Identifier: Apache-2.0
"""SpiNNaker as a system under test: a machine reached by sPyNNaker, or a SpiNNaker 2
board."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Unit, doc

from rig.errors import ConfigError
from rig.files.user_folders import meeting_file
from rig.interfaces.context import BenchContext
from rig.model.origin import Origins
from rig.settings.declare import Count, PathText
from sut_backends.workers.environments import interpreter_of
from sut_backends.workers.network_report import Report, mapped, reported
from sut_backends.workers.network_sut import Runner, open_network_sut
from sut_backends.workers.process import Place
from sut_backends.workers.settings import (
    HoldTime,
    Interpreter,
    SlotCount,
    StartLimit,
    WireSettings,
)
from sut_backends.workers.sut import WorkerSut

MODULE = "sut_backends.spinnaker.runner"
ENERGY = Report(MODULE, "sense_network", "did not run")
NO_MACHINE = (
    "on sPyNNaker's virtual board data from a run are empty: it maps a network, and"
    " computes nothing"
)


class SpinnakerSut(WorkerSut):
    """A task's network on SpiNNaker."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The machine, its generation, and the Python that has its SDK."""

        machine: Annotated[
            str, doc("Address of the machine or board; there is no default.")
        ] = ""
        generation: Annotated[
            Literal[1, 2],
            Unit("number"),
            doc("1: sPyNNaker; 2: py-spinnaker2, which you install by hand."),
        ] = 1
        input_spikes_max: Annotated[
            Count,
            Ge(1),
            doc("Sources for each channel: the most spikes that it fires in a step."),
        ] = 1
        tick_s: Annotated[
            float, Gt(0), Unit("s"), doc("System tick of SpiNNaker 2, for one step.")
        ] = 1e-3
        energy_reports: Annotated[
            PathText,
            doc("File of the model's energies, for [monitor.spinnaker_model]."),
        ] = ""
        interpreter: Interpreter = ""
        start_s: StartLimit = 120.0
        slots: SlotCount = 64
        sync_hold_us: HoldTime = 50

    @staticmethod
    def mapping(
        settings: Settings, model: Path, dt_s: float | None, rule: str = ""
    ) -> dict[str, Any]:
        """Describe sPyNNaker's mapping of a network to a virtual board, and the errors
        of its weights in 16 bits."""
        if settings.generation != 1:
            raise ConfigError(
                "py-spinnaker2 maps a network as it loads it onto a board",
                path="generation",
                try_next="--set generation=1: SpiNNaker 1 on a virtual board",
            )
        return mapped(MODULE, _place(settings), model, dt_s, _job(settings), rule=rule)

    @staticmethod
    def sense(
        settings: Settings, model: Path, dt_s: float | None, inputs: Any, rule: str = ""
    ) -> dict[str, Any]:
        """Return sPyNNaker's energy report of each sample: modelled, of constants and
        counts."""
        if not settings.machine:
            raise _no_machine()
        return reported(
            ENERGY,
            _place(settings),
            model,
            dt_s,
            _job(settings),
            inputs=inputs,
            rule=rule,
        )

    @classmethod
    def interpreter(cls, settings: Settings, context: BenchContext) -> str:
        """Return the interpreter that has the SDK."""
        return interpreter_of("spinnaker", settings.interpreter, context)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> WorkerSut:
        """Start the worker; ConfigError without a machine or an interpreter, BenchError
        where it does not start: the SDK is missing, or cannot be this network.
        """
        if not settings.machine:
            raise _no_machine()
        reports = settings.energy_reports or str(meeting_file("spinnaker-energy"))
        runner = Runner(
            kind="spinnaker",
            module=MODULE,
            name=f"SpiNNaker {settings.generation} at {settings.machine}",
            origins=Origins(),
            settings=_job(settings, reports),
        )
        return open_network_sut(
            runner,
            _place(settings),
            context,
            WireSettings(slots=settings.slots, sync_hold_us=settings.sync_hold_us),
        )


def _no_machine() -> ConfigError:
    return ConfigError(
        "[sut.spinnaker] needs a machine",
        path="sut.spinnaker.machine",
        evidence=NO_MACHINE,
        try_next=(
            "the machine's address; for the mapping alone: rig model map MODEL.nir "
            "--on spinnaker"
        ),
    )


def _place(settings: SpinnakerSut.Settings) -> Place:
    return Place(
        interpreter=SpinnakerSut.interpreter(settings, BenchContext()),
        start_s=settings.start_s,
        isolated=True,
    )


def _job(settings: SpinnakerSut.Settings, energy_reports: str = "") -> dict[str, Any]:
    return asdict(settings) | {"energy_reports": energy_reports}
