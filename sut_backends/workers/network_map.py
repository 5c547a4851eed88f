# SPDX-License-Identifier: Apache-2.0
"""A NIR file mapped by a backend's SDK, in a worker that runs nothing."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from rig.errors import BenchError
from rig.interfaces.cpu_program import Program
from rig.network import conventions, graph
from rig.network.checks import require_sound
from rig.network.plain import write_plain
from sut_backends.workers.process import Place, Worker

_ROUTINE = "sut_backends.workers.inside.mapping_routine:open_mapping"


def write_checked(model: Path, dt_s: float | None, plain: Path) -> None:
    """Write the plain form of a file, by the conventions that it states; DataError where something
    in it is wrong.
    """
    read = graph.read(model)
    require_sound(read, dt_s)
    how = conventions.stated(graph.taken_apart(read)[0])
    write_plain(graph.network(read), how, dt_s, plain)


def mapped(
    runner: str, place: Place, model: Path, dt_s: float | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the report of a runner's `map_network`; BenchError where the SDK is missing, or cannot
    be this network.
    """
    with tempfile.TemporaryDirectory(prefix="neurorig-network-") as folder:
        plain = Path(folder) / "network.npz"
        write_checked(model, dt_s, plain)
        job = {"nir": str(model.resolve()), "plain": str(plain), "settings": dict(settings)}
        program = Program(_ROUTINE, "mapping", "", {"runner": runner, "job": job})
        try:
            worker = Worker(program, dataclasses.replace(place, isolated=True))
        except BenchError as error:
            raise BenchError(
                f"{model.name} is not mapped",
                evidence=error.evidence,
                try_next="another network, or rig sdk doctor",
            ) from error
        with closing(worker):
            report: dict[str, Any] = worker.about["details"]
            return report
