# SPDX-License-Identifier: Apache-2.0
"""Numbers for people: SI prefixes when printing, SI units everywhere else."""

from __future__ import annotations

import math

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}


def quantity(value: float | None, unit: str, error: float | None = None) -> str:
    """Return "2.516 ± 0.003 mJ": four digits, the prefix chosen by the value; a unit of "1" is a plain number."""
    if value is None or not math.isfinite(value):
        return "-"
    if unit == "1":
        return f"{value:.4f}" + (f" ± {error:.4f}" if error is not None else "")
    exponent = 0 if value == 0 else min(max(math.floor(math.log10(abs(value)) / 3) * 3, -12), 9)
    scale = 10.0**exponent
    spread = f" ± {error / scale:.2g}" if error is not None else ""
    return f"{value / scale:.4g}{spread} {_PREFIXES[exponent]}{unit}"
