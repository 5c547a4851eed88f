# SPDX-License-Identifier: Apache-2.0
"""Drift that remains in a straight time base: a bend in the residuals that is too faint
for a knot. Pure.

Marks in step with the samples leave patterns of up to a resolution without any drift,
so that the line is not bent to smaller ones (rig/timebase/drift.py). A visible pattern
below that is an uncertainty, and an invisible one is smaller than the noise of the fit.
"""

from __future__ import annotations

import math

import numpy as np

from rig.arrays import Float64s
from rig.timebase import drift

#: Bends of up to three turns are modelled, as orthogonal polynomials of degree 2 and
#: more; each degree needs this number of points.
_DEGREES = range(2, 12)
_POINTS = 4
#: A pattern is noise up to this number of standard deviations, and this number more per
#: degree: rates of many turns are large, and their number is large as well.
_NOISE = 0.75
_MORE = 0.375
#: Points at too few places, or too close together, do not determine a further degree
#: (the norm is about a half where they do).
_SAME = 1e-6


def unseen(x: Float64s, off_s: Float64s, resolution_s: float) -> tuple[float, float]:
    """Return the root mean square of the visible bend, in seconds, and of its rate
    between points, in seconds per unit of `x`.

    `off_s` are the distances of points at ascending `x` from the straight line. Each
    pattern counts with its mean square, less that of noise. 0 without noise to compare
    with, or for too few points.
    """
    if resolution_s <= 0 or len(x) < _DEGREES.start * _POINTS:
        return 0.0, 0.0
    noise_s = drift.noise_s(off_s, resolution_s)
    span = float(x[-1] - x[0])
    bend_s = np.zeros(len(x))
    for degree, pattern in enumerate(_patterns((2 * x - x[0] - x[-1]) / span)):
        if degree in _DEGREES:
            size_s = float(np.sum(pattern * off_s))
            limit_s = (_NOISE + _MORE * degree) * noise_s
            bend_s += (
                math.copysign(math.sqrt(max(size_s**2 - limit_s**2, 0.0)), size_s)
                * pattern
            )
    apart = np.diff(x)
    rates = np.diff(bend_s)[apart > 0] / apart[apart > 0]
    rms_s = float(np.sqrt(np.mean(bend_s**2)))
    rms_rate = float(np.sqrt(np.mean(rates**2)))
    return rms_s, rms_rate


def _patterns(x: Float64s) -> list[Float64s]:
    """Return polynomials of degree 0 and up, orthonormal over the points, as many as
    these determine.
    """
    last = np.zeros(len(x))
    norm = 0.0
    patterns = [np.full(len(x), 1 / math.sqrt(len(x)))]
    while len(patterns) < _DEGREES.stop and len(patterns) * _POINTS <= len(x):
        this = patterns[-1]
        grown = x * this - float(np.sum(x * this * this)) * this - norm * last
        norm = float(np.sqrt(np.sum(grown * grown)))
        last = this
        if norm < _SAME:
            break
        patterns.append(grown / norm)
    return patterns
