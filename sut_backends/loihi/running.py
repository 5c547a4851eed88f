# SPDX-License-Identifier: Apache-2.0
"""Lava processes that are run: samples put in, values and membranes taken out."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Built:
    """Connected processes: where spikes go in and values come out, the states with what they begin
    with, the membranes of the last neurons (empty: there are none), and by how many steps what
    comes out is later than the file means. Exits and membranes stand with the outputs that they are
    of.
    """

    entry: Any
    exits: list[tuple[Any, Any]]
    states: list[tuple[Any, Any]]
    membranes: list[tuple[Any, Any]]
    lag_steps: int
    #: What keeps all neurons silent for a step between samples, where spikes under way outlast one.
    silence: tuple[tuple[Any, Any], ...] = ()

    def period(self, steps: int) -> int:
        """Return how many steps a sample of so many takes."""
        return steps + self.lag_steps + bool(self.silence)


class Running:
    """Processes that stay alive from sample to sample: only the first run of them compiles."""

    def __init__(self, built: Built, steps: int, config: Any) -> None:
        self.steps = steps
        self._built = built
        self._config = config
        self._started = False

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run a sample (steps, channels) from rest; return values and membranes."""
        built = self._built
        run_steps = import_module("lava.magma.core.run_conditions").RunSteps
        if self._started:
            if built.silence:
                for variable, value in built.silence:
                    variable.set(value)
                built.entry.run(condition=run_steps(num_steps=1), run_cfg=self._config)
            for variable, start in built.states:
                variable.set(start)
            built.entry.data.set(self._data(spikes))
        else:
            built.entry.data.init = self._data(spikes)
        steps = self.steps + built.lag_steps
        built.entry.run(condition=run_steps(num_steps=steps), run_cfg=self._config)
        self._started = True
        values = _joined([(which, sink.data) for which, sink in built.exits]).T
        membranes = _joined(built.membranes) if built.membranes else None
        return values[built.lag_steps : self.steps + built.lag_steps], membranes

    def close(self) -> None:
        """Stop the processes; closing twice is allowed."""
        if self._started:
            self._started = False
            self._built.entry.stop()

    def _data(self, spikes: Any) -> Any:
        data = np.zeros((spikes.shape[1], self._built.period(self.steps)))
        data[:, : self.steps] = spikes.T
        return data


def _joined(parts: list[tuple[Any, Any]]) -> Any:
    """Return variables of parts of the outputs as one array, outputs first."""
    got = [(which, np.asarray(variable.get())) for which, variable in parts]
    count = sum(len(which) for which, _ in got)
    whole = np.zeros((count, *got[0][1].shape[1:]))
    for which, values in got:
        whole[which] = values
    return whole
