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
from numpy.typing import NDArray

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

    def seconds(self, texts: NDArray[np.str_]) -> NDArray[np.float64]:
        """Return seconds from the first stamp of all, NaN where there is none; raises
        ValueError where one is no number.
        """
        values = texts.astype(np.float64)
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return values
        if self.first is None:
            self.first = Decimal(str(texts[known[0]]).strip())
            step = (
                float(np.median(np.abs(np.diff(values[known]))))
                if len(known) > 1
                else 0.0
            )
            self._exactly = not step * _FAR > abs(values[known[0]])
        begin, end = (
            _places(texts[part]) for part in (known[:LAST_DIGITS], known[-LAST_DIGITS:])
        )
        self._places = (begin if self._places is None else self._places[0], end)
        with np.errstate(over="ignore", invalid="ignore"):
            since = self._exact(texts) if self._exactly else values - float(self.first)
        return since / self.units

    def of_numbers(
        self, values: NDArray[np.float64], begin: Sequence[str], end: Sequence[str]
    ) -> NDArray[np.float64] | None:
        """Return seconds from the first stamp of all, of stamps that were read as
        numbers; `begin` and `end` are the first and the last of them as they are
        written. None where numbers lose digits: then `seconds` is to be asked. Raises
        ValueError as that.
        """
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return values
        if self.first is None:
            if known[0] >= len(begin):
                return None
            step = (
                float(np.median(np.abs(np.diff(values[known]))))
                if len(known) > 1
                else 0.0
            )
            if not step * _FAR > abs(values[known[0]]):
                return None
            self.first = Decimal(begin[known[0]].strip())
            self._exactly = False
        elif self._exactly:
            return None
        last = len(values) - len(end)
        first_places = [
            text for at, text in enumerate(begin) if np.isfinite(values[at])
        ]
        last_places = [
            text for at, text in enumerate(end) if np.isfinite(values[last + at])
        ]
        if not first_places or not last_places:
            return None
        places = (
            _places(np.array(first_places)) if self._places is None else self._places[0]
        )
        self._places = (places, _places(np.array(last_places)))
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

    def _exact(self, texts: NDArray[np.str_]) -> NDArray[np.float64]:
        assert self.first is not None
        return np.array(
            [_difference(text, self.first) for text in texts.tolist()], dtype=np.float64
        )


def _difference(text: str, first: Decimal) -> float:
    try:
        return float(Decimal(text.strip()) - first)
    except (DecimalException, OverflowError):
        return float("nan")


def _places(texts: NDArray[np.str_]) -> int:
    """Return the power of ten of the last digit."""
    exponents: list[Any] = [
        Decimal(text.strip()).as_tuple().exponent for text in texts.tolist()
    ]
    return int(min(exponents))
