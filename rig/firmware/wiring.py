# SPDX-License-Identifier: Apache-2.0
"""How a board is wired to an energy monitor: its pins, and facts about them."""

from __future__ import annotations

from dataclasses import dataclass

#: In place of a pin that the board's file does not state.
NOT_KNOWN = "not known here: see the board's manual"


@dataclass(frozen=True, slots=True)
class BoardFact:
    """A sentence on a board, and where it was read; without a source it is not
    verified.
    """

    text: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardWiring:
    """The pins of a board's supply and ground, and the voltage that a monitor sets.

    `level` is a pin with the voltage of the board's logic where `supply` has another.
    `apart` says which jumpers and bridges are open while energy is measured, `feeds`
    other things that may feed it.
    """

    ground: str
    supply_v: float
    supply: BoardFact = BoardFact("")
    level: str = ""
    apart: tuple[BoardFact, ...] = ()
    feeds: tuple[BoardFact, ...] = ()
    notes: tuple[BoardFact, ...] = ()
