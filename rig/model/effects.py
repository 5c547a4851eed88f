# SPDX-License-Identifier: Apache-2.0
"""Effects: the changes of a window by error sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rig.model.component import on_rail

COMMON = "common"
TRIAL = "trial"
OWN = "own"


class Effect(NamedTuple):
    """The effect of one component on a window: seconds of latency and joules of energy
    for one standard uncertainty; the shape of its distribution is one of
    rig/stats/coverage_factor.py.

    A window has a dozen, and a named tuple is made in a third of the time.
    """

    kind: str
    latency_s: float = 0.0
    energy_j: float = 0.0
    shape: str = "normal"


@dataclass(frozen=True, slots=True)
class Effects:
    """All effects on one window, by the component's name."""

    of: Mapping[str, Effect] = field(default_factory=dict)

    @property
    def latency_u_s(self) -> float:
        """Standard uncertainty of the window's latency, in seconds."""
        return math.sqrt(math.fsum(effect.latency_s**2 for effect in self.of.values()))

    @property
    def energy_u_j(self) -> float:
        """Standard uncertainty of the window's energy, in joules."""
        return math.sqrt(math.fsum(effect.energy_j**2 for effect in self.of.values()))

    def scaled(self, factor: float) -> Effects:
        """Multiply the effects by `factor`."""
        if factor == 1:
            return self
        return Effects(
            {
                name: Effect(e.kind, e.latency_s * factor, e.energy_j * factor, e.shape)
                for name, e in self.of.items()
            }
        )


@dataclass(frozen=True, slots=True)
class Influence:
    """The effect of one component on one metric of one trial, in the metric's unit;
    `kind` and `shape` as of its effects.
    """

    kind: str
    shape: str
    value: float


def merged(parts: Sequence[Effects]) -> Effects:
    """Combine the effects on a sum of one or more readings: those of the same component
    add up, as it is the same error.
    """
    first, *others = parts
    if not others:
        return first
    total = dict(first.of)
    for part in others:
        for name, effect in part.of.items():
            have = total.get(name)
            if have is None:
                total[name] = effect
                continue
            sums = (have.latency_s + effect.latency_s, have.energy_j + effect.energy_j)
            total[name] = Effect(effect.kind, *sums, effect.shape)
    return Effects(total)


def of_rail(effects: Effects, rail: str) -> Effects:
    """Name the components after their rail, where it has a name: errors of different
    instruments are independent.
    """
    if not rail:
        return effects
    return Effects({on_rail(name, rail): each for name, each in effects.of.items()})
