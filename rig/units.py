# SPDX-License-Identifier: Apache-2.0
"""Numbers for people: SI prefixes when printing, SI units everywhere else."""

from __future__ import annotations

import math

_PREFIXES = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G"}
#: No measurement has a smaller uncertainty.
_DECIMALS = 9
#: Files round ends of intervals to nine digits.
_ROUNDING = 1e-6
#: Stored ends have nine digits or more: a distance of this part of the value is none.
_STORED = 1e-8
_UNITS = ("s", "W", "J", "A", "C", "V", "Hz")
#: A larger part of a whole says no more than this.
_SHARE_MAX = 100
#: A thousandth of the smallest prefix: less is a rounding error of 0.
_LEAST = 1e-15


def scale(value: float | None, unit: str) -> tuple[float, str]:
    """Return the factor and the unit that show a value as a number from 1 to 999: 0.018
    s -> (1000, "ms"); "1" is no unit.
    """
    if (
        unit not in _UNITS
        or not value
        or not math.isfinite(value)
        or abs(value) < _LEAST
    ):
        return 1.0, "" if unit == "1" else unit
    wanted = math.floor(math.log10(abs(value))) // 3
    power = min(max(wanted, min(_PREFIXES)), max(_PREFIXES))
    return 10.0 ** (-3 * power), _PREFIXES[power] + unit


def quantity(
    value: float | None, unit: str, error: float | None = None, digits: int = 4
) -> str:
    """Return "2.5160 ± 0.0030 mJ": two digits of the uncertainty, the value to the same
    place (GUM 7.2.6); four digits, or as many as are asked for, without one.

    The prefix is chosen by the larger of both. Less than a femto of a unit is 0.
    """
    if value is None or not math.isfinite(value):
        return "-"
    if unit in _UNITS:
        value, error = _noticed(value), error and _noticed(error)
    factor, name = scale(max(abs(value), error or 0.0), unit)
    if not error:
        exact = "" if error is None else " ± 0"
        return f"{value * factor:.{digits}g}{exact} {name}".rstrip()
    spread = float(f"{error * factor:.1e}")
    decimals = min(1 - math.floor(math.log10(spread)), _DECIMALS)
    # A zero that is added has no sign: no value is -0.
    return (
        f"{round(value * factor, decimals) + 0.0:.{max(decimals, 0)}f} ± "
        f"{spread:.{max(decimals, 0)}f} {name}"
    ).rstrip()


def _noticed(value: float) -> float:
    return value if abs(value) >= _LEAST else 0.0


def ends(
    low: float | None,
    high: float | None,
    value: float | None = None,
    factor: float = 1.0,
) -> str:
    """Return "0.18 to 0.76", "at least 0.09", "at most 3.2": both ends of an interval
    times a factor, each with two digits of its distance from the value.

    An end that is None or infinite is no bound. Without a value both ends have two
    digits of half their distance, and a single one has four digits.
    """
    known = [_finite(low), _finite(high)]
    bounds = [end for end in known if end is not None]
    if not bounds:
        return "no bound"
    middle = _finite(value)
    sides = [_side(end, middle) for end in bounds]
    # An end at the value itself, but for rounding, has the digits of the other end.
    widest = max(sides) if middle is not None else (bounds[-1] - bounds[0]) / 2
    pairs = zip(bounds, sides, strict=True)
    shown = [
        _to_digits(
            end * factor, (side if side > _ROUNDING * widest else widest) * factor
        )
        for end, side in pairs
    ]
    if len(shown) == 2:
        return f"{shown[0]} to {shown[1]}"
    return f"{'at most' if known[0] is None else 'at least'} {shown[0]}"


def _side(end: float, middle: float | None) -> float:
    """Return the distance of an end from the value; 0 for one that differs by the
    rounding of stored numbers alone.
    """
    if middle is None:
        return 0.0
    side = abs(end - middle)
    return side if side > _STORED * abs(middle) else 0.0


def not_known(reason: str) -> str:
    """Return "not known: 2 cities": the text in place of an interval that is not
    stated."""
    return f"not known: {reason.removeprefix('not known: ')}"


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _to_digits(value: float, error: float) -> str:
    """Return a number to two digits of its error, to four of its own without one."""
    if not error:
        return f"{value:.{four_digits(value)}f}"
    decimals = min(1 - math.floor(math.log10(float(f"{error:.1e}"))), _DECIMALS)
    return f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"


def four_digits(value: float) -> int:
    """Return how many decimals show four digits of a value that has no error."""
    if value:
        return max(min(3 - math.floor(math.log10(abs(value))), _DECIMALS), 0)
    return 3


def duration(seconds: float | None) -> str:
    """Return a time as people say it: "0.4 s", "3 min 20 s", "1 d 6 h"."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    if seconds < 60:
        return quantity(seconds, "s") if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    for size, name, below, beside in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            count, rest = divmod(whole, size)
            return f"{count} {name} {rest // below} {beside}"
    return f"{whole // 60} min {whole % 60} s"


def bytes_text(count: float) -> str:
    """Return a number of bytes with a decimal prefix: "62.7 MB"."""
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:.0f} B"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: "1 word", "3 words"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def share(value: float | None) -> str:
    """Return a part of a whole with two digits: "0.12 %", "48 ppm" below 0.01 %, "<1
    ppm" below that; ">10000 %" where the whole is next to 0.
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value > _SHARE_MAX:
        return f">{_SHARE_MAX:.0%}".replace("%", " %")
    if value < 1e-6:
        return "<1 ppm" if value else "0"
    return (
        f"{_two_digits(value * 1e6)} ppm"
        if value < 1e-4
        else f"{_two_digits(value * 100)} %"
    )


def _two_digits(value: float) -> str:
    # Not .2g alone, which writes 140 as 1.4e+02.
    return f"{float(f'{value:.2g}'):g}"
