# SPDX-License-Identifier: Apache-2.0
"""The part of a calibration file that belongs to one instrument: its serial number, how
long the file holds, and the corrections of its readings. Pure.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tomli_w

from rig.arrays import Reals
from rig.errors import ConfigError

#: Key of a calibration file's table, and of the hash in it.
TABLE = "calibration"
HASH = "sha256"
_AGAIN = "rig monitor check BENCH makes a new one; docs/how-to/MONITOR_CHECK.md"


@dataclass(frozen=True, slots=True)
class Correction:
    """Of readings up to `up_to` (A), the current is (reading - `zero`) times `factor`;
    `zero` in A."""

    up_to: float
    factor: float
    zero: float = 0.0


@dataclass(frozen=True, slots=True)
class MeasuredError:
    """An error of an instrument as a check found it, before any correction: `value` and
    the half-width of its 95 % interval, both in `unit`; `range_a` is the upper end of
    the range, 0: all of them.
    """

    name: str
    value: float
    u95: float
    unit: str
    range_a: float = 0.0


@dataclass(frozen=True, slots=True)
class InstrumentCalibration:
    """Validity and corrections of a calibration; an empty text, and a rate of 0, are
    not checked.

    kind, serial: the instrument
    made, valid_until: dates, as 2026-11-27
    sample_hz: rate at which the noise was measured
    correction: one row for each range that the instrument states, ascending
    sha256: hash of the file's other content, so that a change is found
    """

    kind: str = ""
    serial: str = ""
    made: str = ""
    valid_until: str = ""
    sample_hz: float = 0.0
    correction: tuple[Correction, ...] = ()
    measured: tuple[MeasuredError, ...] = ()
    sha256: str = ""

    def __post_init__(self) -> None:
        for name in ("made", "valid_until"):
            text = getattr(self, name)
            if text and _date(text) is None:
                raise ConfigError(
                    f"{text!r} is no date",
                    path=f"{TABLE}.{name}",
                    try_next="a date in quotes, as 2026-11-27",
                )
        if any(row.factor <= 0 for row in self.correction):
            raise ConfigError(
                "a factor is 0",
                path=f"{TABLE}.correction",
                try_next="factors above 0",
            )

    @property
    def name(self) -> str:
        """The calibration as budgets name it; empty where it has no date."""
        return f"calibration of {self.made}" if self.made else ""

    @property
    def corrects(self) -> bool:
        """Whether it changes a reading."""
        return any(row.factor != 1 or row.zero for row in self.correction)

    def corrected_a(self, current_a: Reals) -> Reals:
        """Return readings with the correction of the range that each of them lies
        in."""
        if not self.corrects:
            return current_a
        ends_a = np.array([row.up_to for row in self.correction[:-1]])
        rows = np.searchsorted(ends_a, np.abs(current_a))
        zeros_a = np.array([row.zero for row in self.correction])
        factors = np.array([row.factor for row in self.correction])
        corrected: Reals = (current_a - zeros_a[rows]) * factors[rows]
        return corrected


def hash_of(content: Mapping[str, Any]) -> str:
    """Return the hash of a calibration file's content without the hash in it."""
    table = {key: value for key, value in content[TABLE].items() if key != HASH}
    text = tomli_w.dumps({**content, TABLE: table})
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_changed(content: Mapping[str, Any], name: str) -> None:
    """Raise ConfigError where the content of a file is not that of its hash."""
    table = content.get(TABLE)
    if not isinstance(table, Mapping) or not table.get(HASH):
        return
    if hash_of(content) != table[HASH]:
        raise ConfigError(
            f"{name} is not as rig monitor check wrote it",
            evidence=f"its content does not have the hash of [{TABLE}]",
            try_next=f"the file as it was; {_AGAIN}",
            see="calibration-refused",
        )


def refuse_past(
    calibration: InstrumentCalibration, name: str, today: datetime.date
) -> None:
    """Raise ConfigError where a calibration is past its date."""
    until = _date(calibration.valid_until)
    if until is not None and today > until:
        raise ConfigError(
            f"{name} is past its date",
            evidence=f"valid until {until}, and today is {today}",
            try_next=f"{_AGAIN}; without the setting calibration the data sheet counts",
            see="calibration-refused",
        )


def _date(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None
