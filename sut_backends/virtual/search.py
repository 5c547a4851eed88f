# SPDX-License-Identifier: Apache-2.0
"""Search by a virtual device: a real search, that takes virtual time by the neighbours
it touches.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval, Unit, doc

from rig.interfaces.context import Searcher
from rig.model.steps import Solve
from rig.settings.declare import Ratio

#: The device looks at its clock so often: after this time, and on long ways after this
#: share of the way.
_LOOK_S = 20e-6
_LOOK_SHARE = 1e-3
#: A cost has 32 bits on the wire.
WRONG_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class SearchModel:
    """The device during a search, and its faults."""

    rate_hz: Annotated[
        float,
        Interval(ge=1, le=1e12),
        Unit("Hz"),
        doc("Neighbours touched in a second."),
    ] = 5e6
    power_w: Annotated[
        float, Interval(ge=1e-9, le=1e6), Unit("W"), doc("Mean power.")
    ] = 0.048
    variation: Annotated[
        Ratio,
        Interval(ge=0, le=1),
        doc("Relative deviation of the power from search to search, and within one."),
    ] = 0.005
    tells_ticks: Annotated[
        bool,
        doc(
            "It tells by its own timer when it knew each threshold; older firmware does"
            " not."
        ),
    ] = True
    wrong_cost: Annotated[
        int,
        Interval(ge=-WRONG_MAX, le=WRONG_MAX),
        Unit("cost"),
        doc("How much lower than its vector's the cost is that it claims."),
    ] = 0
    short_vector: Annotated[bool, doc("It leaves out the last byte of its vector.")] = (
        False
    )
    overrun_s: Annotated[
        float,
        Interval(ge=0, le=3600),
        Unit("s"),
        doc("How long it goes on beyond its time-out."),
    ] = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a search when the device looks at its clock, `elapsed_s` after the
    start by that clock.

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
        """Return the device's answer, with its faults."""
        output = self._searcher.output(self._met)
        if self._model.wrong_cost:
            # The cost comes first: docs/reference/QUBO.md.
            (cost,) = struct.unpack_from("<i", output)
            output = struct.pack("<i", cost - self._model.wrong_cost) + output[4:]
        return output[:-1] if self._model.short_vector else output

    @property
    def _met(self) -> bool:
        return (
            self._step.target is not None and self._searcher.cost <= self._step.target
        )
