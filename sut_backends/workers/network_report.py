# SPDX-License-Identifier: Apache-2.0
"""Reports on a NIR file by a backend's SDK, in a worker: how it maps it, what its board
reads."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import BenchError
from rig.interfaces.cpu_program import Program
from rig.network import conventions, graph
from rig.network.checks import require_sound
from rig.network.plain import write_plain
from sut_backends.workers.inside.job import Job
from sut_backends.workers.process import Place, Worker

_ROUTINE = "sut_backends.workers.inside.network_routine:open_report"


@dataclass(frozen=True, slots=True)
class Report:
    """A report: the module and function that make it, and the message if there is
    none."""

    runner: str
    function: str
    failed: str


def write_checked(model: Path, dt_s: float | None, plain: Path, rule: str = "") -> None:
    """Write the plain form of a file, by the text of a rule, where it is empty by the
    conventions that the file states; DataError where something in it is wrong.
    """
    read = graph.read(model)
    require_sound(read, dt_s)
    how = conventions.of_rule(rule, graph.taken_apart(read)[0])
    write_plain(graph.network(read), how, dt_s, plain)


def reported(
    what: Report,
    place: Place,
    model: Path,
    dt_s: float | None,
    settings: Mapping[str, Any],
    inputs: Any = None,
    rule: str = "",
) -> dict[str, Any]:
    """Return a report on a NIR file; BenchError where the SDK is missing, or cannot be
    this network. `inputs` are spikes (samples, steps, channels), where the report is of
    a run; `rule` is the text of the conventions, empty for those of the file.
    """
    with tempfile.TemporaryDirectory(prefix="neurorig-network-") as folder:
        plain = Path(folder) / "network.npz"
        write_checked(model, dt_s, plain, rule)
        job = Job(str(model.resolve()), str(plain), dict(settings))
        if inputs is not None:
            spikes = Path(folder) / "spikes.npy"
            np.save(spikes, inputs)
            job = dataclasses.replace(job, spikes=str(spikes))
        arguments = {
            "runner": what.runner,
            "function": what.function,
            "job": dataclasses.asdict(job),
        }
        program = Program(_ROUTINE, "report", "", arguments)
        packages = ("sut_backends",)
        where = dataclasses.replace(place, isolated=True, packages=packages)
        try:
            worker = Worker(program, where)
        except BenchError as error:
            if type(error) is not BenchError:  # late, or gone: they say so
                raise
            raise BenchError(
                f"{model.name} {what.failed}",
                evidence=error.evidence,
                try_next="another network, or rig sdk doctor",
            ) from error
        with closing(worker):
            return worker.about.details


def mapped(
    runner: str,
    place: Place,
    model: Path,
    dt_s: float | None,
    settings: Mapping[str, Any],
    rule: str = "",
) -> dict[str, Any]:
    """Return the report of a runner's `map_network`; BenchError where the SDK is
    missing, or cannot be this network.
    """
    what = Report(runner, "map_network", "is not mapped")
    return reported(what, place, model, dt_s, settings, rule=rule)
