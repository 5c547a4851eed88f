# SPDX-License-Identifier: Apache-2.0
"""A range of numbers, and its description."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf

from rig.settings.declare import UNITLESS, Or, Why

#: No quantity on a bench is larger, in any unit.
LARGEST = 1e12
#: Nor is a whole number: a seed, or the count of a clock.
LARGEST_WHOLE = 2**64


def most(value: float) -> float:
    """Return how large a number like this may be, a fraction or a whole one."""
    return LARGEST if isinstance(value, float) else LARGEST_WHOLE


@dataclass(frozen=True, slots=True)
class SettingRange:
    """Bounds, each included unless it is open, and single values in addition; None: no
    bound.

    No range contains nan, an infinity, a fraction beyond LARGEST or a whole number
    beyond LARGEST_WHOLE in either direction: results computed from settings stay
    finite.
    """

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    multiple_of: float | None = None
    besides: tuple[Or, ...] = ()
    why: str = ""

    @classmethod
    def of(cls, metadata: Iterable[Any]) -> SettingRange:
        """Return the range that a field's metadata declare."""
        limits: dict[str, Any] = {}
        besides: list[Or] = []
        for word in metadata:
            match word:
                case Ge(low):
                    limits |= {"low": low}
                case Gt(low):
                    limits |= {"low": low, "low_open": True}
                case Le(high):
                    limits |= {"high": high}
                case Lt(high):
                    limits |= {"high": high, "high_open": True}
                case MultipleOf(step):
                    limits |= {"multiple_of": step}
                case Or():
                    besides.append(word)
                case Why(reason):
                    limits |= {"why": reason}
        return cls(**limits, besides=tuple(besides))

    @classmethod
    def of_length(cls, metadata: Iterable[Any]) -> SettingRange:
        """Return the range of a text's or an array's length."""
        limits: dict[str, Any] = {}
        for word in metadata:
            match word:
                case MinLen(least):
                    limits |= {"low": least}
                case MaxLen(most):
                    limits |= {"high": most}
        return cls(**limits)

    @property
    def bounded(self) -> bool:
        """Whether there is a bound, a step, or a single value."""
        limits = (self.low, self.high, self.multiple_of)
        return any(limit is not None for limit in limits) or bool(self.besides)

    def holds(self, value: float) -> bool:
        """Check whether a number is in the range."""
        if not abs(value) <= most(value):
            return False
        return any(value == other.value for other in self.besides) or self._between(
            value
        )

    def _between(self, value: float) -> bool:
        if self.low is not None and (
            value < self.low or (self.low_open and value == self.low)
        ):
            return False
        if self.high is not None and (
            value > self.high or (self.high_open and value == self.high)
        ):
            return False
        return self.multiple_of is None or value % self.multiple_of == 0

    def text(self, unit: str = "", each: bool = False) -> str:
        """Return the range in words: "0: none; or above 0, to 60 s: the reason"; ""
        without one."""
        parts = [f"{number(other.value)}: {other.meaning}" for other in self.besides]
        if bounds := self._bounds(f" {unit}" if unit and unit not in UNITLESS else ""):
            parts.append(f"{bounds} each" if each else bounds)
        return "; or ".join(parts) + (f": {self.why}" if self.why else "")

    def _bounds(self, unit: str) -> str:
        low, high = (
            None if limit is None else number(limit) for limit in (self.low, self.high)
        )
        upper = f"below {high}{unit}" if self.high_open else f"{high}{unit} or less"
        if high is None:
            lower = f"above {low}{unit}" if self.low_open else f"{low}{unit} or more"
            bounds = lower if low is not None else ""
        elif low is None:
            bounds = upper
        elif self.high_open:
            bounds = f"{f'above {low}' if self.low_open else f'{low} or more'}, {upper}"
        else:
            bounds = (
                f"above {low}, to {high}{unit}"
                if self.low_open
                else f"{low} to {high}{unit}"
            )
        step = (
            ""
            if self.multiple_of is None
            else f"a multiple of {number(self.multiple_of)}{unit}"
        )
        return ", ".join(filter(None, (bounds, step)))


#: Every finite number.
UNBOUNDED = SettingRange()


def number(value: float) -> str:
    """Return a number as a person writes it: 1000000, 0.05, 1e-6."""
    if isinstance(value, int) or (abs(value) < 1e10 and value == int(value)):
        return str(int(value))
    short = f"{value:g}"
    return (short if float(short) == value else repr(value)).replace("e-0", "e-")
