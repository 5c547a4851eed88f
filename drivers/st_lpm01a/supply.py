# SPDX-License-Identifier: Apache-2.0
"""The DUT's supply from an X-NUCLEO-LPM01A: switched, and read back, since an
acknowledgement is no proof.
"""

from __future__ import annotations

from drivers.st_lpm01a.shell import ShellClient
from rig.errors import BenchError, DeviceLost, RigError

_TRY = (
    "look at the board's display and its jumpers; the DUT's current at power-up, which"
    " must stay below 59 mA; a slower clock of the DUT"
)


class LpmSupply:
    """The supply, and whether it was commanded on.

    `pwr get` is trusted to tell the truth; a supply that drops and comes back between
    two readings is not found.
    """

    def __init__(self, shell: ShellClient) -> None:
        self._shell = shell
        self._reads_back = False
        self.commanded_on = False

    def found_on(self) -> bool:
        """Check whether it is on, as the board was found; raise BenchError where the
        board has no such command."""
        on = self._shell.supply_on()
        self._reads_back = True
        return on

    def on(self) -> None:
        """Switch it on; raise BenchError where it is not on after that."""
        self._shell.command("pwr on nostatus")
        self.commanded_on = True
        self.require("after `pwr on` was acknowledged")

    def off(self) -> None:
        """Switch it off; where that fails, say so before anything else."""
        try:
            self._off()
        except DeviceLost:
            raise
        except RigError as error:
            raise BenchError(
                "the PowerShield does not switch the DUT's supply off",
                evidence=error.joined("; "),
                try_next=(
                    "the supply may still be on: unplug the board, and plug it in again"
                ),
                see="supply-may-be-on",
            ) from error
        self.commanded_on = False

    def require(self, when: str) -> None:
        """Raise BenchError where the supply is not as it was commanded."""
        if (is_on := self._shell.supply_on()) == self.commanded_on:
            return
        raise BenchError(
            f"the DUT's supply is {_word(is_on)}, not {_word(not is_on)} as commanded",
            evidence=f"`pwr get` says {_word(is_on)} {when}",
            try_next=_TRY,
        )

    def _off(self) -> None:
        self._shell.command("pwr off")
        # For a board that has not yet reported its state, the acknowledgement must
        # suffice.
        if self._reads_back and self._shell.supply_on():
            raise BenchError("`pwr off` was acknowledged, and `pwr get` says on")


def _word(on: bool) -> str:
    return "on" if on else "off"
