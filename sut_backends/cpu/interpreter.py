# SPDX-License-Identifier: Apache-2.0
"""A NIR file on this computer's processor, in floating point: the runner of [sut.cpu]
program = "nir", which is the rig's own reference interpreter.

So it imports the rig, as the runner of no SDK may.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.network import conventions, graph, interpreter
from rig.network.checks import require_sound
from sut_backends.workers.inside.job import Job


@dataclass(frozen=True)
class InterpreterSettings:
    """The name of the conventions, empty for the file's own; the time step where the
    file states none.
    """

    rule: str = ""
    dt_s: float | None = None


def open_network(job: Job) -> Interpreter:
    """Return what runs the network of a job."""
    settings = job.settings_as(InterpreterSettings)
    read = graph.read(Path(job.nir))
    require_sound(read, settings.dt_s)
    how = conventions.of_rule(settings.rule, graph.taken_apart(read)[0])
    return Interpreter(graph.network(read), settings.dt_s, how)


class Interpreter:
    """A network, stepped node by node."""

    def __init__(
        self, network: graph.Network, dt_s: float | None, how: conventions.Conventions
    ) -> None:
        self._network = network
        self._dt_s = dt_s
        self._how = how
        self._membranes = graph.membrane_of(network, network.outputs[0])
        self.about: dict[str, Any] = {"rule": conventions.by_name(how)}

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run one sample: (steps, *shape) -> values (steps, outputs), and the last
        membranes of the neurons that alone feed the output, else its last values.
        """
        done = interpreter.run(self._network, spikes[None], self._dt_s, self._how)
        values = done.values[self._network.outputs[0]][0]
        return values, done.membranes[self._membranes][
            0
        ] if self._membranes else values[-1]

    def close(self) -> None:
        """Release no resource: it holds none."""
