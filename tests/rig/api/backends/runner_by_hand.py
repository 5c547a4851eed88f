# SPDX-License-Identifier: Apache-2.0
"""A runner of the shipped model in whole numbers, with one weight changed where that is
asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scenarios.tasks.asc.integer import trains
from scenarios.tasks.asc.nirfile import read_model
from sut_backends.workers.inside.job import Job


class Runner:
    """The model; a layer is used as it is read, but for its first weights."""

    def __init__(self, job: Job) -> None:
        self._model = read_model(Path(job.nir))
        self.about = {"arithmetic": "whole numbers"}
        self._model.layers[0].weight[:, 0] += job.settings["changed"]

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Return the output spikes of each step, and the last membranes."""
        values, membranes = trains(self._model, np.asarray(spikes, np.uint8)[None])
        return values[0], membranes[0]

    def close(self) -> None:
        """Hold no file."""


def open_network(job: Job) -> Runner:
    """Return the runner."""
    return Runner(job)
