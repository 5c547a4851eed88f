# SPDX-License-Identifier: Apache-2.0
"""The times of rows, as text -> seconds from the first: the first is taken away
exactly, as UNIX times have more digits than a float holds. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Any

import numpy as np

from rig.arrays import Float64s, Strings

#: Where the first stamp is more than this many steps from 0, floats would lose more
#: than 2**-22 of a step.
_FAR = 2.0**30
#: Among so many stamps at either end, one has all digits that are printed: programs
#: that drop zeros drop them here and there.
LAST_DIGITS = 64


@dataclass(slots=True)
class Stamps:
    """Collects stamps, piece by piece; `units` of them are a second."""

    units: int
    first: Decimal | None = None
    _exactly: bool = True
    _places: tuple[int, int] | None = None

    def seconds(self, texts: Strings) -> Float64s:
        """Return seconds from the first stamp of all, NaN where there is none; raises
        ValueError where one is no number.
        """
        values = texts.astype(np.float64)
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return values
        if self.first is None:
            self.first = Decimal(str(texts[known[0]]).strip())
            self._exactly = _is_far(values[known])
        self._note_places(texts[known[:LAST_DIGITS]], texts[known[-LAST_DIGITS:]])
        if not self._exactly:
            return self._since(values)
        exact = [_difference(text, self.first) for text in texts.tolist()]
        return np.array(exact, dtype=np.float64) / self.units

    def of_numbers(
        self, values: Float64s, begin: Sequence[str], end: Sequence[str]
    ) -> Float64s | None:
        """Return seconds from the first stamp of all, of stamps that were read as
        numbers; `begin` and `end` are the first and the last of them as they are
        written. None where numbers lose digits: then `seconds` is to be asked. Raises
        ValueError as that.
        """
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return values
        if self.first is None:
            if known[0] >= len(begin) or _is_far(values[known]):
                return None
            self.first = Decimal(begin[known[0]].strip())
            self._exactly = False
        elif self._exactly:
            return None
        first = np.array(begin)[np.isfinite(values[: len(begin)])]
        last = np.array(end)[np.isfinite(values[len(values) - len(end) :])]
        if not len(first) or not len(last):
            return None
        self._note_places(first, last)
        return self._since(values)

    def _note_places(self, begin: Strings, end: Strings) -> None:
        first = _places(begin) if self._places is None else self._places[0]
        self._places = (first, _places(end))

    def _since(self, values: Float64s) -> Float64s:
        assert self.first is not None
        with np.errstate(over="ignore", invalid="ignore"):
            return (values - float(self.first)) / self.units

    @property
    def resolution_s(self) -> float:
        """Return one step of the last digit that was printed, in seconds; of first and
        last stamps, the coarser.
        """
        return 10.0 ** max(self._places) / self.units if self._places else 0.0

    @property
    def first_s(self) -> str:
        """First stamp in seconds, with all its digits; empty where it is 0."""
        return f"{(self.first / self.units).normalize():f}" if self.first else ""


def _is_far(known: Float64s) -> bool:
    """Return whether stamps are so many steps from 0 that floats lose digits."""
    step = float(np.median(np.abs(np.diff(known)))) if len(known) > 1 else 0.0
    return not step * _FAR > abs(known[0])


def _difference(text: str, first: Decimal) -> float:
    try:
        return float(Decimal(text.strip()) - first)
    except (DecimalException, OverflowError):
        return float("nan")


def _places(texts: Strings) -> int:
    """Return the power of ten of the last digit."""
    decimals = [Decimal(text.strip()) for text in texts.tolist()]
    exponents: list[Any] = [decimal.as_tuple().exponent for decimal in decimals]
    return int(min(exponents))
