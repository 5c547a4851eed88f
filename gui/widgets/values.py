# SPDX-License-Identifier: Apache-2.0
"""Values in SI units, parsed from text such as "18.2 ms", "1.5e-3", "2,5 mA", and
formatted.
"""

from __future__ import annotations

import math
import re

from rig.stats.summary import half_width
from rig.units import quantity, scale

_PREFIXES = {
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "μ": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
}
_PREFIXES |= {"M": 1e6, "G": 1e9}
_FORM = re.compile(
    r"\s*([-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?)\s*([pnuµμmkMG]?)([A-Za-z]*)\s*"
)


def parse(text: str, unit: str) -> float:
    """Return a value in SI units; raises ValueError with a sentence where it is
    none."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text.strip()!r} is no number with a unit, as 1.25 m{unit}")
    number, prefix, name = match.groups()
    if name not in ("", unit):
        raise ValueError(f"{text.strip()!r} is not in {unit}")
    value = float(number.replace(",", ".")) * _PREFIXES[prefix]
    if not math.isfinite(value):
        raise ValueError(f"{text.strip()!r} is too large")
    return value


def exact(value: float, unit: str) -> str:
    """Return a value with the digits that are needed to type it back."""
    return f"{value:.12g} {unit}"


def with_u(value: float | None, u: float | None, unit: str) -> str:
    """Return a value with its 95 % interval, where its standard uncertainty is
    known."""
    if value is None:
        return "-"
    return digits(value, unit) if u is None else quantity(value, unit, half_width(u))


def digits(value: float, unit: str, count: int = 5, zeros: bool = False) -> str:
    """Return a value with so many digits and a prefix; with the `zeros` at its end,
    where it must not change its width.
    """
    if not zeros or not math.isfinite(value):
        return quantity(value, unit, digits=count)
    factor, name = scale(value, unit)
    return f"{value * factor:#.{count}g} {name}"
