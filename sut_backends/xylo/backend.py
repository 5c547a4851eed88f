# SPDX-License-Identifier: Apache-2.0
"""Xylo Audio 2 and 3 as a system under test: on XyloSim, the vendor's simulator, or on
a board.

Here are the settings, the limits and the origins; the network runs in a worker
(runner.py, board_runner.py).
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval, Unit, doc

from rig.files.user_folders import meeting_file
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin, Origins
from rig.network import conventions, graph
from rig.settings.declare import Count, Number, Or, PathText
from sut_backends.workers.environments import interpreter_of
from sut_backends.workers.network_report import mapped
from sut_backends.workers.network_sut import Runner, open_network_sut
from sut_backends.workers.process import Place
from sut_backends.workers.settings import (
    Interpreter,
    SlotCount,
    StartLimit,
    WireSettings,
)
from sut_backends.workers.sut import WorkerSut
from sut_backends.xylo.limits import CHIPS, require_mappable

_ATTACHED = "attached"
_NONE = "none"


@dataclass(frozen=True, slots=True)
class SimulatedBoard:
    """Settings of the simulated board: how many, their times, their faults."""

    boards: Annotated[Count, Ge(0), doc("Boards that are attached.")] = 1
    step_s: Annotated[
        float,
        Interval(gt=0, le=1),
        Unit("s"),
        doc("Time that a step of a network takes."),
    ] = 400e-6
    ppm: Annotated[
        float, Interval(gt=-1e6, lt=1e6), Unit("ppm"), doc("How fast the stopwatch is.")
    ] = 30.0
    delay_s: Annotated[
        float,
        Interval(ge=0, le=1),
        Unit("s"),
        doc("Time of a command or an event on its way."),
    ] = 1e-3
    truth: Annotated[
        PathText, doc("File that gets the true times and powers of the board.")
    ] = ""
    fault: Annotated[
        Literal["", "stop", "jump", "missing", "still"],
        doc(
            "Power events stop, or their stamps jump; a channel is missing; no stamps."
        ),
    ] = ""


class XyloSut(WorkerSut):
    """A task's network on a Xylo chip."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The chip, its simulator or a board, and the worker."""

        chip: Annotated[Literal["audio2", "audio3"], doc("Xylo Audio 2 or 3.")] = (
            "audio2"
        )
        board: Annotated[
            Literal["none", "attached", "simulated"],
            doc("none: XyloSim; attached: a board, with samna in the interpreter."),
        ] = "none"
        board_number: Annotated[
            Number,
            Or(-1, "the only one"),
            Ge(0),
            doc("Which of several boards, as samna has them."),
        ] = -1
        quantizer: Annotated[
            Literal["global", "channel"],
            doc("Rockpool's way of scaling weights to 8 bits."),
        ] = "global"
        power_hz: Annotated[
            float,
            Interval(ge=1, le=1000),
            Unit("Hz"),
            doc("Power measurements a second."),
        ] = 100.0
        power_events: Annotated[
            PathText, doc("File of a board's power events, for [monitor.xylo_board].")
        ] = ""
        interpreter: Interpreter = ""
        start_s: StartLimit = 120.0
        slots: SlotCount = 64
        simulator: Annotated[SimulatedBoard, doc("The simulated board.")] = field(
            default_factory=SimulatedBoard
        )

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Check whether there is no chip."""
        return settings.board != _ATTACHED

    @staticmethod
    def origins(settings: Settings) -> Origins:
        """Return what times and energies are: of a board its times are the host's, and
        it has a sensor of its own.
        """
        if settings.board == _ATTACHED:
            return Origins(Origin.MEASURED, Origin.OWN_SENSOR)
        return Origins(Origin.SIMULATED, Origin.SIMULATED)

    @staticmethod
    def mapping(
        settings: Settings, model: Path, dt_s: float | None, rule: str = ""
    ) -> dict[str, Any]:
        """Describe the mapping of a network by Rockpool's mapper and quantiser."""
        place = Place(
            interpreter_of("xylo", settings.interpreter, BenchContext()),
            start_s=settings.start_s,
        )
        read = graph.read(model)
        network = graph.network(read)
        require_mappable(
            network, settings.chip, dt_s, file_gains=_file_gains(read, rule)
        )
        job = asdict(settings)
        return mapped("sut_backends.xylo.runner", place, model, dt_s, job, rule=rule)

    @classmethod
    def interpreter(cls, settings: Settings, context: BenchContext) -> str:
        """Return the interpreter that has the SDK."""
        return interpreter_of("xylo", settings.interpreter, context)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> WorkerSut:
        """Check the chip's limits, then start the worker and map the network."""
        chip = CHIPS[settings.chip]
        has_board = settings.board != _NONE
        events = settings.power_events or str(meeting_file("xylo-power"))
        runner = Runner(
            kind="xylo",
            module=f"sut_backends.xylo.{'board_runner' if has_board else 'runner'}",
            name={
                "none": f"XyloSim, {chip.title}",
                "attached": f"{chip.title} board, times of the host",
                "simulated": f"simulated {chip.title} board",
            }[settings.board],
            origins=cls.origins(settings),
            settings=asdict(settings) | {"power_events": events if has_board else ""},
            refuse=functools.partial(
                require_mappable,
                chip=settings.chip,
                dt_s=context.network.dt_s if context.network else None,
                file_gains=context.network is None
                or _file_gains(graph.read(context.network.path), context.network.rule),
            ),
        )
        place = Place(
            cls.interpreter(settings, context),
            start_s=settings.start_s,
            isolated=True,
        )
        wire = WireSettings(slots=settings.slots)
        return open_network_sut(runner, place, context, wire)


def _file_gains(read: Any, rule: str) -> bool:
    """Check whether the gains of a file count, by a rule or by the file's own
    statement."""
    how = conventions.of_rule(rule, graph.taken_apart(read)[0])
    return how.gains is conventions.Gains.FILE
