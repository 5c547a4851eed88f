# SPDX-License-Identifier: Apache-2.0
"""How a virtual device searches: a real search, that takes virtual time by the neighbours it
touches.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from rig.errors import ConfigError
from rig.interfaces.context import Searcher
from rig.model.steps import Solve

#: The device looks at its clock so often: after this time, and on long ways after this share of the
#: way.
_LOOK_S = 20e-6
_LOOK_SHARE = 1e-3
#: A cost has 32 bits on the wire.
WRONG_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class SearchModel:
    """The device while it searches: neighbours touched in a second, power (W), and how much that
    differs (relative) from one search to the next, and within one each time it has become twice as
    long.

    `tells_ticks`: it tells by its own timer when it knew each threshold, as firmware of before does
    not. What is wrong with it: it claims a cost lower by `wrong_cost`, leaves out the last byte of
    its vector, or goes on for `overrun_s` beyond its time-out.
    """

    rate_hz: float = 5e6
    power_w: float = 0.048
    variation: float = 0.005
    tells_ticks: bool = True
    wrong_cost: int = 0
    short_vector: bool = False
    overrun_s: float = 0.0

    def refuse_impossible(self, path: str) -> None:
        """Raise ConfigError, with the key below `path`, where no device is like this."""
        for key, low, high in (
            ("rate_hz", 1.0, 1e12),
            ("power_w", 1e-9, 1e6),
            ("variation", 0.0, 1.0),
            ("wrong_cost", -WRONG_MAX, WRONG_MAX),
            ("overrun_s", 0.0, 3600.0),
        ):
            if not low <= getattr(self, key) <= high:
                raise ConfigError(
                    f"{getattr(self, key)}", path=f"{path}.{key}", try_next=f"{low:g} to {high:g}"
                )


@dataclass(frozen=True, slots=True)
class Look:
    """What the device knows when it looks at its clock, `elapsed_s` after the start by that clock.

    `reached` is the number of the last threshold that is reached, -1 before the first.
    """

    elapsed_s: float
    reached: int
    over: bool


class VirtualSearch:
    """One search: look after look until the target or the time-out, then its answer."""

    def __init__(self, model: SearchModel, searcher: Searcher, step: Solve) -> None:
        self._model = model
        self._searcher = searcher
        self._step = step

    def looks(self) -> Iterator[Look]:
        """Search on and yield each look at the clock; the last one is over."""
        rate_hz = self._model.rate_hz
        elapsed_s = 0.0
        limit_s = self._step.timeout_s + self._model.overrun_s
        while True:
            over = self._met or elapsed_s >= limit_s
            yield Look(
                elapsed_s,
                sum(self._searcher.cost <= cost for cost in self._step.thresholds) - 1,
                over,
            )
            if over:
                return
            look_s = min(max(_LOOK_S, elapsed_s * _LOOK_SHARE), limit_s - elapsed_s)
            self._searcher.step(max(round(look_s * rate_hz), 1))
            elapsed_s = elapsed_s + look_s if look_s < limit_s - elapsed_s else limit_s

    def answer(self) -> bytes:
        """Return what the device answers, with what is wrong with it."""
        output = self._searcher.output(self._met)
        if self._model.wrong_cost:
            # The cost comes first: docs/QUBO.md.
            (cost,) = struct.unpack_from("<i", output)
            output = struct.pack("<i", cost - self._model.wrong_cost) + output[4:]
        return output[:-1] if self._model.short_vector else output

    @property
    def _met(self) -> bool:
        return self._step.target is not None and self._searcher.cost <= self._step.target
