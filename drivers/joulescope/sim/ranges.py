# SPDX-License-Identifier: Apache-2.0
"""Clipping of a simulated Joulescope's converters: beyond its range a real one returns
its last count, not an error."""

from __future__ import annotations

from collections.abc import Mapping

Span = tuple[float, float]

#: Zero count and size of a count of a JS110's 14-bit converters, by the number of the
#: range: the calibration that joulescope_driver tests with
#: (test/devices/js110/js110_cal_test.c; js110_sample_processor.c applies it and no
#: limit).
_JS110_COUNTS = 16_383
_JS110_A = {
    1: (2806.7, 6.829e-4),
    2: (2822.7, 1.6375e-4),
    4: (2820.9, 1.4626e-5),
    8: (2822.6, 1.49376e-6),
    16: (2820.5, 1.49705e-7),
    32: (2820.6, 1.49839e-8),
    64: (2818.7, 1.49845e-9),
}
_JS110_V = {0: (1150.6, 9.4681e-4), 1: (2041.7, 2.9342e-4)}
#: A JS220 in its 2 V range showed 2.2 V of 3 V
#: (github.com/jetperch/pyjoulescope_ui/issues/175); the others are assumed to go as far
#: beyond their names, either way.
_JS220_A = {
    129: 11.0,
    130: 0.198,
    132: 0.0198,
    136: 1.98e-3,
    144: 1.98e-4,
    160: 1.98e-5,
}
_JS220_V = {0: 16.5, 1: 2.2}
_AUTO_JS110 = 128
#: Number of a fixed range of current and of voltage; a JS320 has a JS220's ranges.
_MANUAL = {"js220": (2, 2), "js320": (5, 1)}


def spans(model: str, instrument: Mapping[str, int]) -> tuple[Span, Span]:
    """Return least and greatest current (A) and voltage (V) that can be read with the
    instrument's present settings.
    """
    if model == "js110":
        number = instrument["s/i/range/select"]
        current = _JS110_A[1 if number in (0, _AUTO_JS110) else number]
        voltage = _JS110_V[instrument["s/v/range/select"]]
        return _counts(*current), _counts(*voltage)
    limits = []
    tables = zip("iv", (_JS220_A, _JS220_V), _MANUAL[model], strict=True)
    for signal, table, number in tables:
        manual = instrument[f"s/{signal}/range/mode"] == number
        top = (
            table[instrument[f"s/{signal}/range/select"]]
            if manual
            else max(table.values())
        )
        limits.append((-top, top))
    return limits[0], limits[1]


def _counts(zero: float, size: float) -> Span:
    return -zero * size, (_JS110_COUNTS - zero) * size
