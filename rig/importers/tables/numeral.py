# SPDX-License-Identifier: Apache-2.0
"""Texts that are numbers, and numbers that are no readings. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rig.arrays import Reals

#: More than `float` reads is no number: digits in groups (1_012), digits of other
#: scripts.
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)",
    re.ASCII | re.IGNORECASE,
)
#: SCPI-99 (1.3.4, 7.2.1): 9.9E37 stands for infinity, -9.9E37 for minus infinity,
#: 9.91E37 for no number.
_LEAST = 9.8999e37
_MOST = 9.9101e37
CAUSE = "the instrument gave no number, or wrote 9.9E37, which is none"


def is_number(text: str) -> bool:
    """Check whether a text, its spaces aside, is a number with a decimal point, or a
    word for none.
    """
    return _NUMBER.fullmatch(text.strip(" ")) is not None


def without_no_readings(values: Reals) -> Reals:
    """Return readings with NaN where instruments wrote that there is none."""
    # Quicker than a look at each value; NaN compares as False.
    if not values.size or (values.max() < _LEAST and values.min() > -_LEAST):
        return values
    size = np.abs(values)
    if not (size >= _LEAST).any():  # also where all are NaN
        return values
    return np.where(
        (size >= _LEAST) & (size <= _MOST), values.dtype.type(np.nan), values
    )


@dataclass(slots=True)
class DecimalMark:
    """The decimal mark of a table, "." or ",", and the first number that has it; empty
    until there is one.
    """

    mark: str = ""
    seen: str = ""

    def pointed(self, cell: str) -> str:
        """Return the text of a number with a decimal point; raises ValueError, with
        what to try, where the mark is another one than before.
        """
        marks = [mark for mark in ".," if mark in cell]
        if not marks:
            return cell
        if len(marks) > 1:
            raise ValueError("no separators of thousands: export plain numbers")
        if self.mark and marks[0] != self.mark:
            kinds = {".": "decimal points", ",": "decimal commas"}
            others = f"other numbers have {kinds[self.mark]}" + (
                f" ({self.seen})" if self.seen else ""
            )
            raise ValueError(
                f"{others}: export all with one decimal mark, and none for thousands"
            )
        if not self.mark:
            self.mark = marks[0]
            self.seen = cell
        return cell.replace(",", ".")
