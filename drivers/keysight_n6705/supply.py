# SPDX-License-Identifier: Apache-2.0
"""Check of the logged voltage against the one that was set; if they differ, the
instrument is asked for the reason.

This also distinguishes the columns of a record: their order is documented, but a record
does not state it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.keysight_n6705.link import FIRMWARE, ScpiLink
from rig.errors import BenchError, RemoteProtocolError

#: A record may be off by this part of the voltage that was set: far beyond accuracy
#: (0.03 %) and regulation of the module.
_HOLDS = 0.05
#: A step of the load may pull it further for the time of some records, until the module
#: has regulated.
_RECORDS = 10
#: The Questionable Status register from bit 0 on (N6705C operating guide).
_REASONS = (
    "over-voltage protection",
    "over-current protection",
    "AC power failed",
    "power limit",
    "over-temperature protection",
    "negative power limit",
    "negative over-voltage protection",
    "current limit",
    "negative current limit",
    "INHIBIT input",
    "unregulated",
    "a protection of another channel",
    "oscillation",
)
_STEP = "state of the supply"


@dataclass(frozen=True, slots=True)
class Supply:
    """Settings of the DUT's channel: `supply_v`, and the current at which the module
    holds the current in its place.
    """

    channel: int
    supply_v: float
    limit_a: float

    def forget(self, link: ScpiLink) -> None:
        """Clear the instrument's record of earlier events: a DUT's capacitors may reach
        the limit when switched on."""
        link.ask(f"STAT:QUES? (@{self.channel})", _STEP)

    def require_held(self, link: ScpiLink, records: NDArray[np.float64]) -> None:
        """Refuse records (rows of A and V, those of one fetch) with another voltage;
        NaN is ignored.

        Raises BenchError for a supply that left its voltage, RemoteProtocolError for
        columns in another order.
        """
        off_v = np.abs(records[:, 1] - self.supply_v)
        due = max(min(_RECORDS, len(records) // 2), 1)
        if np.count_nonzero(off_v > _HOLDS * self.supply_v) < due:
            return
        current_a, voltage_v = records[np.nanargmax(off_v)]
        reasons = self._reasons(link)
        # A current that happens to be the same number, at a voltage that has fallen,
        # has a reason.
        if not reasons and abs(current_a - self.supply_v) <= _HOLDS * self.supply_v:
            raise RemoteProtocolError(
                "the N6705 writes voltage before current in its records",
                evidence=(
                    f"{current_a:.4g} and {voltage_v:.4g} in one record, at"
                    f" {self.supply_v:g} V"
                ),
                try_next=FIRMWARE,
            )
        raise BenchError(
            "the DUT's supply left its voltage:"
            f" {', '.join(reasons) or 'no reason told'}",
            evidence=(
                f"{voltage_v:.3g} V and {current_a:.3g} A in one record; set were "
                f"{self.supply_v:g} V and {self.limit_a:g} A"
            ),
            try_next=(
                "current limit: a larger current_limit_a, or why the DUT draws so much;"
                " a protection: what it protects from, then OUTP:PROT:CLE, or Protect"
                " and Clear at the front panel"
            ),
        )

    def _reasons(self, link: ScpiLink) -> list[str]:
        # Events since `forget`, and those of all time.
        asked = (f"STAT:QUES? (@{self.channel})", f"STAT:QUES:COND? (@{self.channel})")
        events, condition = (int(link.numbers(message, _STEP)[0]) for message in asked)
        return [
            reason
            for bit, reason in enumerate(_REASONS)
            if (events | condition) >> bit & 1
        ]
