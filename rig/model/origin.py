# SPDX-License-Identifier: Apache-2.0
"""The origin of a number: measured, modelled or simulated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """Origins of a time or an energy, the best first."""

    MEASURED = "measured"  # by the device's clock, by an instrument outside of it
    OWN_SENSOR = "board's own sensor"
    MODELLED = "modelled"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Origins:
    """The origin of a device's times, and the best possible origin of its energies:
    those of a simulator are simulated, also where a real instrument measures.
    """

    time: Origin = Origin.MEASURED
    energy: Origin = Origin.MEASURED


def of_part(simulated: bool) -> Origin:
    """Return the origin for a part that states only whether it is simulated."""
    return Origin.SIMULATED if simulated else Origin.MEASURED


def weakest(origins: Iterable[Origin]) -> Origin:
    """Return the weakest of one or several origins."""
    order = list(Origin)
    return max(origins, key=order.index)
