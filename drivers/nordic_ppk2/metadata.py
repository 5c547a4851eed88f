# SPDX-License-Identifier: Apache-2.0
"""A PPK2's description of itself: its mode, its voltage, and the constants that turn a
code of its converter into a current.

Source: the behaviour of Nordic's application, pc-nrfconnect-ppk
(src/device/serialDevice.ts); text lines `KEY: VALUE` that end with `END`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from rig.arrays import Array, Reals
from rig.errors import RemoteProtocolError
from rig.uncertainty.calibration import Correction

RANGES = 5
#: The words of the converter: 14 bits of code, above them 3 bits of range.
CODES = 1 << 14
CODE_BITS = 14
#: At its end the converter stands still: the current is this one or any above it.
SATURATED = CODES - 1
#: Volts per step of a code times four, as the constant O counts.
_STEP_V = 1.8 / 163_840
_STEPS_A_CODE = 4
#: The largest current that the maker promises to measure.
MOST_A = 1.0
_FAMILIES = ("R", "GS", "GI", "O", "S", "I")
#: Gains that a user chose in Nordic's application; older firmware tells none.
_USER_GAIN = "UG"
#: Constants that would make every current the same if they were 0.
_ABOVE_0 = ("R", "GI", "UG")
#: Numbers of the modes, as the command that sets them has them.
MODES = {"ampere": 1, "source": 2}


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of one range, by the maker's names: `r` (ohm) is its shunt, `o` its
    zero in quarters of a code, `gs` and `gi` the square and the linear gain, `s` and
    `i` the offset (A) by the supply and without it, `ug` the user's gain.
    """

    r: float
    gs: float
    gi: float
    o: float
    s: float
    i: float
    ug: float

    def by_name(self) -> dict[str, float | None]:
        """Return them by their names; None where there is no number."""
        by_name = {}
        for name, value in asdict(self).items():
            by_name[name] = value if math.isfinite(value) else None
        return by_name

    def currents_a(self, codes: Array, supply_v: float) -> Reals:
        """Return the current of each code."""
        steps = codes * _STEPS_A_CODE - self.o
        raw_a = steps * (_STEP_V / self.r)
        offset_a = self.s * supply_v + self.i
        currents: Reals = self.ug * (raw_a * (self.gs * raw_a + self.gi) + offset_a)
        return currents


@dataclass(frozen=True, slots=True)
class Ppk2Metadata:
    """A PPK2's metadata. `missing` names constants that are no number, or a shunt or
    gain of 0, by range; `more` has its other words.
    """

    mode: int
    vdd_mv: int
    constants: tuple[Constants, ...]
    missing: Mapping[int, tuple[str, ...]]
    more: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> Ppk2Metadata:
        """Parse an answer; raises RemoteProtocolError for one that lacks something."""
        parts = (line.partition(":") for line in text.splitlines())
        words = {key.strip(): value.strip() for key, found, value in parts if found}
        needed = [f"{family}{at}" for family, at in product(_FAMILIES, range(RANGES))]
        lacking = [name for name in ("VDD", "mode", *needed) if name not in words]
        if lacking:
            raise RemoteProtocolError(
                "the PPK2's metadata is incomplete",
                evidence=(
                    f"there is no {', '.join(lacking[:8])}; it said {text[-80:]!r}"
                ),
                try_next=(
                    "unplug it and plug it in again; Nordic's application updates its"
                    " firmware"
                ),
            )
        mode = _number(words.get("mode", ""))
        vdd_mv = _number(words.get("VDD", ""))
        if not math.isfinite(mode + vdd_mv):
            raise RemoteProtocolError(
                "the PPK2's metadata does not tell its state",
                evidence=f"mode and VDD are {mode} and {vdd_mv}",
                try_next="unplug it and plug it in again",
            )
        constants = tuple(_constants(words, at) for at in range(RANGES))
        missing = {at: _missing(constants[at]) for at in range(RANGES)}
        return cls(
            mode=round(mode),
            vdd_mv=round(vdd_mv),
            constants=constants,
            missing={at: names for at, names in missing.items() if names},
            more={
                key: words[key] for key in ("Calibrated", "HW", "IA") if key in words
            },
        )

    def currents_a(
        self, supply_v: float, corrections: Sequence[Correction] = ()
    ) -> Reals:
        """Return the current of each of the 17 lower bits of a sample's word, with the
        correction of its range, if there are any; NaN where
        there is none: at the converter's end, beyond the measuring range, in a range
        that does not exist or whose constants are not known.
        """
        table = np.full((1 << 3, CODES), np.nan)
        codes = np.arange(CODES, dtype=np.float64)
        for at, constants in enumerate(self.constants):
            if at not in self.missing:
                table[at] = constants.currents_a(codes, supply_v)
                if corrections:
                    row = corrections[at]
                    table[at] = (table[at] - row.zero) * row.factor
        table[:, SATURATED] = np.nan
        with np.errstate(invalid="ignore"):
            table[table > MOST_A] = np.nan
        return table.reshape(-1)


def described(metadata: Ppk2Metadata) -> dict[str, Any]:
    """Return the facts that sessions keep: its words, its constants, and notes on
    unusual ones."""
    missing = metadata.missing
    notes = []
    if missing:
        notes.append(
            f"constants of ranges {', '.join(map(str, missing))} are no numbers:"
            " samples in them are gaps"
        )
    if metadata.more.get("Calibrated") == "0":
        notes.append(
            "it says Calibrated: 0, as units with whole constants do; its meaning is"
            " not published"
        )
    if any(each.ug != 1 for each in metadata.constants):
        notes.append("gains that a user chose are stored in it, and are applied")
    return {
        **{name.lower(): word for name, word in metadata.more.items()},
        "constants": [each.by_name() for each in metadata.constants],
        "constants_missing": {str(at): " ".join(missing[at]) for at in missing},
        "notes": notes,
    }


def _constants(words: Mapping[str, str], at: int) -> Constants:
    numbers = {family.lower(): _number(words[f"{family}{at}"]) for family in _FAMILIES}
    return Constants(**numbers, ug=_number(words.get(f"{_USER_GAIN}{at}", "1")))


def _missing(constants: Constants) -> tuple[str, ...]:
    missing = []
    for slot in Constants.__slots__:
        value = getattr(constants, slot)
        name = slot.upper()
        if not math.isfinite(value) or (name in _ABOVE_0 and value <= 0):
            missing.append(name)
    return tuple(missing)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
