# SPDX-License-Identifier: Apache-2.0
"""Drift that a straight time base leaves: a bend that shows in the residuals, too faint
to be bent to. Pure.

Marks in step with the samples leave patterns of up to a resolution without any drift,
so the line is not bent to what is smaller (rig/timebase/drift.py). But then neither is
it right: what shows is uncertain, and what does not show is as small as the noise of
the fit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rig.timebase import drift

#: Bends of up to three turns are looked for, as orthogonal polynomials of degree 2 and
#: more; each degree needs so many points.
_DEGREES = range(2, 12)
_POINTS = 4
#: A pattern is noise up to so many standard deviations of it, and so many more a
#: degree: rates of many turns are large, and there are many of them to meet by chance.
_NOISE = 0.75
_MORE = 0.375
#: Points at so few places, or so close together, do not tell one degree from the last
#: (a norm, of about a half where they do).
_SAME = 1e-6


def unseen(
    x: NDArray[np.float64], off_s: NDArray[np.float64], resolution_s: float
) -> tuple[float, float]:
    """Return the root mean square of the bend that points at ascending `x` show, in
    seconds, and of its rate from each to the next, in seconds per unit of `x`; `off_s`
    are their distances from the straight line.

    Each pattern counts with its mean square, less that of noise. 0 where there is no
    noise to compare with, or too few points.
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
    return float(np.sqrt(np.mean(bend_s**2))), float(np.sqrt(np.mean(rates**2)))


def _patterns(x: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return polynomials of degree 0 and up, orthonormal over the points, as many as
    these can distinguish.
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
