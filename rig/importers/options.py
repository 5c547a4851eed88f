# SPDX-License-Identifier: Apache-2.0
"""Options to open a foreign file: the one list for `rig measure`, `rig view`, the
window's form, the monitor that plays recordings back, and Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt, Interval, Unit, doc

from rig.errors import ConfigError
from rig.settings.declare import Or

#: Sampling rates that a trace can have: JLS keeps them in 32 bits.
LEAST_HZ = 1e-3
MOST_HZ = 2.0**32 - 1
#: Samples are stored in single precision.
LARGEST = (2 - 2.0**-23) * 2.0**127


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a foreign file, for facts that it does not state, or states more than
    once; empty and 0: not given.

    A column whose heading has no unit takes one after a colon, as "I:mA".
    """

    source: Annotated[str, doc("Source in a JLS file that has several.")] = ""
    current: Annotated[
        str,
        doc("Signal or column of the current; a column's unit after a colon: I:mA."),
    ] = ""
    voltage: Annotated[str, doc("Signal or column of the voltage.")] = ""
    supply_v: Annotated[
        float,
        Or(0, "not given"),
        Gt(0),
        Unit("V"),
        doc("Voltage of the supply as it was set, where none was recorded."),
    ] = 0.0
    shunt_ohm: Annotated[
        float,
        Or(0, "not given"),
        Gt(0),
        Unit("ohm"),
        doc(
            "The shunt across which the column of the current is a voltage; of tables"
            " alone."
        ),
    ] = 0.0
    power: Annotated[
        str, doc("Signal or column of the power, instead of current and voltage.")
    ] = ""
    sync: Annotated[str, doc("Digital signal or column of SYNC; none ignores all.")] = (
        ""
    )
    time: Annotated[
        str, doc("Column of the times; none, beside a rate, ignores all.")
    ] = ""
    rate_hz: Annotated[
        float,
        Or(0, "not given"),
        Interval(ge=LEAST_HZ, le=MOST_HZ),
        Unit("Hz"),
        doc(
            "Sampling rate, where the file's is missing or known better by 1 % at most."
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        if self.supply_v and self.voltage:
            raise ConfigError(
                "both are given", path=("supply_v", "voltage"), try_next="one of them"
            )
        if self.power and (self.current or self.voltage or self.supply_v):
            raise ConfigError(
                "power is voltage times current already",
                path="power",
                try_next="it alone, or the two others",
            )
        if self.shunt_ohm and not self.current:
            raise ConfigError(
                "which column is the voltage across the shunt?",
                path="shunt_ohm",
                try_next="name it as the current",
            )


def flag(name: str) -> str:
    """Return an option's name as it is written on the command line, and in the
    window."""
    return "--" + name.removesuffix("_hz").replace("_", "-")
