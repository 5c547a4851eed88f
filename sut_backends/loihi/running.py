# SPDX-License-Identifier: Apache-2.0
"""Lava processes that are run: samples put in, values and membranes taken out."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Built:
    """Connected processes: the entry of spikes and the exits of values, the states with
    their initial values, the membranes of the last neurons (empty: there are none), and
    the lag of the output in steps against the file. Exits and membranes are listed with
    their outputs.
    """

    entry: Any
    exits: list[tuple[Any, Any]]
    states: list[tuple[Any, Any]]
    membranes: list[tuple[Any, Any]]
    lag_steps: int
    #: What keeps all neurons silent for a step between samples, where spikes under way
    #: outlast one.
    silence: tuple[tuple[Any, Any], ...] = ()


class LavaProcesses:
    """Processes that stay alive from sample to sample, as to compile them takes Lava
    longer than many samples do. Ends of a network are rings of so many steps, on which
    a sample begins where the one before ended.
    """

    def __init__(self, built: Built, ring_steps: int, config: Any) -> None:
        self._built = built
        self._ring_steps = ring_steps
        self._config = config
        self._at = 0

    def holds(self, steps: int) -> bool:
        """Check whether a sample of so many steps fits."""
        return steps + self._built.lag_steps <= self._ring_steps

    def compile(self) -> None:
        """Run a step without a spike: the first run compiles."""
        self._go(1)

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run a sample (steps, channels) from rest; return values and membranes."""
        built = self._built
        if self._at:
            self._come_to_rest()
        ring = np.zeros((spikes.shape[1], self._ring_steps))
        ring[:, self._places(0, len(spikes))] = spikes.T
        if self._at:
            built.entry.data.set(ring)
        else:
            built.entry.data.init = ring
        places = self._places(built.lag_steps, len(spikes))
        self._go(len(spikes) + built.lag_steps)
        values = _joined([(which, sink.data) for which, sink in built.exits])[:, places]
        membranes = _joined(built.membranes) if built.membranes else None
        return values.T, membranes

    def loop(self, spikes: Any, steps: int) -> None:
        """Run so many steps of a sample that is as long as the ring, over and over,
        once."""
        self._built.entry.data.init = spikes.T.astype(np.float64)
        self._go(steps)

    def close(self) -> None:
        """Stop the processes; closing twice is allowed."""
        if self._at:
            self._at = 0
            self._built.entry.stop()

    def _come_to_rest(self) -> None:
        if self._built.silence:
            for variable, value in self._built.silence:
                variable.set(value)
            self._built.entry.data.set(np.zeros_like(self._built.entry.data.get()))
            self._go(1)
        for variable, start in self._built.states:
            variable.set(start)

    def _places(self, later: int, count: int) -> Any:
        return (self._at + later + np.arange(count)) % self._ring_steps

    def _go(self, steps: int) -> None:
        condition = import_module("lava.magma.core.run_conditions").RunSteps(
            num_steps=steps
        )
        self._built.entry.run(condition=condition, run_cfg=self._config)
        self._at += steps


def _joined(parts: list[tuple[Any, Any]]) -> Any:
    """Join variables of parts of the outputs as one array, outputs first."""
    got = [(which, np.asarray(variable.get())) for which, variable in parts]
    count = sum(len(which) for which, _ in got)
    whole = np.zeros((count, *got[0][1].shape[1:]))
    for which, values in got:
        whole[which] = values
    return whole
