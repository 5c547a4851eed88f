# SPDX-License-Identifier: Apache-2.0
"""A NIR file on this computer's processor, in floating point: the runner of [sut.cpu]
program = "nir", which is the rig's own reference interpreter.

So it imports the rig, as the runner of no SDK may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rig.network import conventions, graph, interpreter
from rig.network.checks import require_sound
from sut_backends.workers.inside.job import Job

#: So many values of all nodes are in memory at once.
_VALUES_MAX = 2**24


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
        return self._together(spikes[None])[0]

    def run_many(self, samples: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Run samples together, those of one length at a time."""
        outputs: dict[int, tuple[Any, Any]] = {}
        for length in sorted({len(sample) for sample in samples}):
            alike = [n for n, sample in enumerate(samples) if len(sample) == length]
            stacked = np.stack([samples[n] for n in alike])
            done: list[tuple[Any, Any]] = []
            for part in interpreter.parts(self._network, stacked, _VALUES_MAX):
                done += self._together(part)
            outputs |= zip(alike, done, strict=True)
        return [outputs[n] for n in range(len(samples))]

    def _together(self, spikes: Any) -> list[tuple[Any, Any]]:
        done = interpreter.run(self._network, spikes, self._dt_s, self._how)
        values = done.values[self._network.outputs[0]]
        last = values[:, -1]
        if self._membranes:
            last = done.membranes[self._membranes]
        return list(zip(values, last, strict=True))

    def close(self) -> None:
        """Release no resource: it holds none."""
