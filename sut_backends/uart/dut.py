# SPDX-License-Identifier: Apache-2.0
"""Interface of a DUT in either layer of the shim protocol, and its SYNC settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rig.interfaces.sut import SutInfo
from rig.model.completion import Completion
from rig.model.steps import Step


@dataclass(frozen=True, slots=True)
class Pulses:
    """The SYNC line: how long a pulse is held (0: as short as the DUT can), and the
    burst that aligns the clocks.
    """

    hold_us: int = 50
    count: int = 8
    period_us: int = 5_000


class Dut(Protocol):
    """A DUT in the text or the framed layer; `info` and `do` are those of
    rig.interfaces.sut.SystemUnderTest.
    """

    @property
    def info(self) -> SutInfo: ...

    @property
    def unreported_retransmissions(self) -> int:
        """Number of frames that were retransmitted since the last completion."""

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion: ...

    def forgotten(self) -> bool:
        """Return, after an error, whether the DUT answers but has lost its state, as
        after an unnoticed restart.
        """

    def leave(self) -> None:
        """Take the DUT to the text layer at the first line rate."""
