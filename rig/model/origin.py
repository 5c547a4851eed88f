# SPDX-License-Identifier: Apache-2.0
"""The origin of a number: how times and energies of a device came about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """What a time or an energy is, the best first; there are no others."""

    MEASURED = "measured"  # by the device's clock, by an instrument outside of it
    OWN_SENSOR = "board's own sensor"
    MODELLED = "modelled"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Origins:
    """The origin of a device's times, and the best that an energy of it can be: of a
    simulator it is simulated, whatever the instrument beside it measures.
    """

    time: Origin = Origin.MEASURED
    energy: Origin = Origin.MEASURED


def of_part(simulated: bool) -> Origin:
    """Return the origin of what a part says that states no more than whether it is
    simulated."""
    return Origin.SIMULATED if simulated else Origin.MEASURED


def weakest(origins: Iterable[Origin]) -> Origin:
    """Return the origin that all of several numbers together have; one at least."""
    order = list(Origin)
    return max(origins, key=order.index)
