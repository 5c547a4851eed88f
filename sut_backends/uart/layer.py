# SPDX-License-Identifier: Apache-2.0
"""Interfaces of the shim protocol's layers, and what they need beyond the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rig.errors import LocalProtocolError
from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion
from rig.model.steps import Query, Step


@dataclass(frozen=True, slots=True)
class Pulses:
    """The SYNC line: how long a pulse is held (0: as short as the DUT can), and the
    burst that aligns the clocks.
    """

    hold_us: int
    count: int
    period_us: int


class ProtocolLayer(Protocol):
    """One way to speak with the DUT; `info` and `do` are those of
    rig.interfaces.sut.SystemUnderTest.
    """

    @property
    def info(self) -> SutInfo: ...

    @property
    def untold_retransmissions(self) -> int:
        """Return how many frames were retransmitted since the last completion."""

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion: ...

    def forgotten(self) -> bool:
        """Return, after an error, whether the DUT is there but has lost its state, as
        after an unnoticed restart.
        """

    def leave(self) -> None:
        """Take the DUT to the text layer at the first line rate."""


def only_index(query: Query) -> int:
    """Return the one sample of `query`; raise LocalProtocolError where there are more,
    or a batch: a window holds one sample.
    """
    if query.batch or len(query.indices) != 1:
        raise LocalProtocolError(
            f"a query of {len(query.indices)} samples, this backend runs one at a time"
        )
    return query.indices[0]
