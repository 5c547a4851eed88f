# SPDX-License-Identifier: Apache-2.0
"""Settings that backends with a worker share, as declarations of fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge, Interval, Unit, doc

from rig.settings.declare import Count, Number, Or, PathText
from sut_backends.hosted.sync_wire import Power

Interpreter = Annotated[
    PathText, doc("Python that the worker runs under; empty: what rig sdk installed.")
]
StartLimit = Annotated[
    float, Interval(ge=1, le=3600), Unit("s"), doc("Time that the worker has to start.")
]
Core = Annotated[
    Number,
    Or(-1, "the scheduler chooses"),
    Ge(0),
    doc("Core of the CPU that it runs on."),
]
Threads = Annotated[Count, Ge(1), doc("Threads of the numerical library.")]
SlotCount = Annotated[Count, Ge(1), doc("Samples that are kept.")]
HoldTime = Annotated[
    int,
    Ge(1),
    Unit("us"),
    doc("Length of an imagined SYNC pulse; marks of a search or stream lie two apart."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSettings:
    """Kept samples, and the power that a simulated monitor sees on this computer."""

    slots: SlotCount = 64
    sync_hold_us: HoldTime = 50
    power_w: Annotated[Power, doc("Power that a simulated monitor samples.")] = field(
        default_factory=Power
    )
