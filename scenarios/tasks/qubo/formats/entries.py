# SPDX-License-Identifier: Apache-2.0
"""The content of a file of a problem, as each of its readers gives it: a number of
nodes, and entries that are counted and not believed.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.units import plural

#: Weights have at most so many decimals, as they are counted in whole numbers.
DECIMALS_MAX = 9
_DIGITS_MAX = 12
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}\Z", re.ASCII)
_QUOTED = 60
_COUNT_DIGITS = 15
#: Twice the edges that are possible, as a file may list each twice, and some heads.
ENTRIES_MAX = 25_000_000
LINES_MAX = ENTRIES_MAX + 100_000
_PIECE = 1 << 16

Lines = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Entries (count, 2), from node 0 on, in the file's order, and their weights as the
    file writes them; empty where every entry weighs 1.

    `announced` is how many entries the file says it has. `mirrored`: an entry (i, j)
    means (j, i) as well. `is_matrix`: entries may stand on both sides of the diagonal.
    `spin`: the variables are -1 and 1.
    """

    format: str
    nodes: int
    ends: NDArray[np.int64]
    weights: Sequence[str] = ()
    node_weights: Sequence[str] = ()
    offset: str = "0"
    announced: int | None = None
    mirrored: bool = False
    is_matrix: bool = False
    spin: bool = False


def fields_of(text: str, comment: str) -> Lines:
    """Yield the number and the fields of each line that is not empty and does not begin
    with `comment`; raise DataError where there are more than any problem has.
    """
    left = LINES_MAX
    for number, line in enumerate(lines_of(text), start=1):
        fields = line.split()
        if fields and not fields[0].startswith(comment):
            if not left:
                raise wrong(number, f"more than {LINES_MAX} entries")
            left -= 1
            yield number, fields


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text, which are never there all at once: a list of them
    takes many times the memory of a hostile text.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PIECE) + 1 or len(text)
        yield from text[start:end].splitlines()
        start = end


def count(text: str, line: int, most: int) -> int:
    """Return a number of things; raise DataError for other text, or beyond `most`."""
    if not _is_count(text, most):
        raise wrong(line, f"{text[:_QUOTED]!r} is no number from 0 to {most}")
    return int(text)


def node(text: str, line: int, nodes: int) -> int:
    """Return a node, from 0 on, of a file that counts from 1; raise DataError."""
    if not _is_count(text, nodes) or int(text) == 0:
        raise wrong(
            line,
            f"{text[:_QUOTED]!r} is no node: the file has {plural(nodes, 'node')},"
            " which count from 1",
        )
    return int(text) - 1


def _is_count(text: str, most: int) -> bool:
    is_whole = text.isascii() and text.isdigit() and len(text) <= _COUNT_DIGITS
    return is_whole and int(text) <= most


def wrong(line: int, what: str) -> DataError:
    """Return the error of a line."""
    return DataError(f"line {line}: {what}")


def flat_ends() -> array[int]:
    """Return an array for the ends of entries as they are read, in 8 bytes each."""
    return array("q")


def ends_of(flat: Sequence[int]) -> NDArray[np.int64]:
    """Return entries (count, 2)."""
    return np.array(flat, np.int64).reshape(-1, 2)


def refuse_cut_off(entries: int, announced: int) -> None:
    """Raise DataError where a file has fewer entries than it says."""
    if entries < announced:
        raise DataError(
            "the file is cut off",
            evidence=f"entries announced: {announced}, in the file: {entries}",
            try_next="another copy of the file",
        )


def whole(texts: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """Return numbers as whole numbers and the scale that makes them so: 0.25 and 3 are
    25 and 300 at 100. Raise DataError for others, and for more decimals than are
    counted.
    """
    if all(map(_WHOLE.match, texts)):
        return np.fromiter(map(int, texts), np.int64, len(texts)), 1
    # Twice over the texts: a list of Decimals would take more memory than the file.
    digits = max(-_exponent(_decimal(text)) for text in texts)
    scale = 10 ** max(digits, 0)
    scaled = (_scaled(text, scale) for text in texts)
    return np.fromiter(scaled, np.int64, len(texts)), scale


def _scaled(text: str, scale: int) -> int:
    number = int(_decimal(text) * scale)
    if abs(number) >= 2**62:
        raise DataError(
            f"the weight {text[:_QUOTED]} in units of 1/{scale} is too large to be"
            " counted",
            try_next="fewer decimals",
        )
    return number


def _exponent(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # `_decimal` lets no other number pass
    return exponent


@lru_cache(1 << 16)  # most files have few weights
def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    is_plain = number.is_finite() and "_" not in text and len(text) <= _QUOTED
    if not is_plain or number.adjusted() > _DIGITS_MAX:
        raise DataError(f"{text[:_QUOTED]!r} is no weight")
    # Normalising rounds to 28 digits.
    is_rounded = number.normalize() != number
    if number and (is_rounded or -_exponent(number) > DECIMALS_MAX):
        raise DataError(
            f"the weight {text[:_QUOTED]} has more than {DECIMALS_MAX} decimals, and"
            " costs are counted in whole numbers",
            try_next="round the weights",
        )
    return number
