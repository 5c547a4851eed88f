# SPDX-License-Identifier: Apache-2.0
"""Keysight's accuracy specification of the source/measure modules N6781A, N6782A and
N6784A in an N6705.
"""

from __future__ import annotations

from rig.uncertainty.accuracy import Accuracy, Range

#: The modules that the tables below are for.
MODULES = ("N6781A", "N6782A", "N6784A")

_CURRENT = (
    # up to (A), of reading, offset (A)
    (10e-6, 0.00025, 8e-9),
    (1e-3, 0.00025, 100e-9),
    (100e-3, 0.00025, 10e-6),
    (3.06, 0.0003, 250e-6),
)
_VOLTAGE_20 = (20.4, 0.00025, 1.2e-3)
#: Interval of averaging (s), and the noise of one such mean.
_INTERVALS_S = (102.4e-6, 169e-6, 512e-6, 998.4e-6, 1.7e-3, 10e-3, 16.7e-3)
_NOISE_20_V = (993.7e-6, 894.8e-6, 533.4e-6, 297.5e-6, 276.6e-6, 87.4e-6, 69.6e-6)
_NOISE_A = {
    1e-3: (306.2e-9, 191.0e-9, 67.7e-9, 38.8e-9, 23.8e-9, 8.2e-9, 6.9e-9),
    100e-3: (5.4e-6, 4.1e-6, 2.5e-6, 1.7e-6, 1.3e-6, 644.2e-9, 471.5e-9),
    3.06: (409.7e-6, 313.8e-6, 198.9e-6, 138.0e-6, 94.4e-6, 45.6e-6, 43.5e-6),
}
_SOURCE = (
    "limits: Keysight N6780 series data sheet 5990-5829EN, measurement accuracy at 23"
    " +-5 C, quoted from memory (one value, 0.025 % + 8 nA, found in a third party's"
    " text), for means over 0.1 s; noise of voltage: N6700 Specifications Guide, page"
    " 52, N6781A rows as printed; noise of current: same page, but rows of"
    " N6785A/N6786A (8 A range for 3 A), those of the N6781A were not read, 10 uA as 1"
    " mA; clock: 100 ppm assumed, no figure found"
)
_CLOCK_PPM = 100.0


#: The measuring ranges of current, in amperes.
RANGES_A = tuple(limit_a for limit_a, _, _ in _CURRENT)


def promised(
    period_s: float,
    current_range_a: float | None,
    edge_s: float,
    clock_ppm: float = 0.0,
) -> Accuracy:
    """Return the limits for means over `period_s`; `current_range_a` is the fixed
    range, or None where all are used in turn.

    `edge_s`: largest shift of SYNC against the samples by the way it is recorded.
    `clock_ppm` of a clock that is worse than the module's.
    """
    rows = list(_CURRENT)
    if current_range_a is not None:
        rows = [row for row in rows if row[0] >= current_range_a][:1]
    numbered = enumerate(_INTERVALS_S)
    place = max(
        (at for at, interval_s in numbered if interval_s <= period_s * (1 + 1e-9)),
        default=0,
    )
    ranges = []
    for up_to, gain, offset in rows:
        noise_a = _NOISE_A[max(up_to, 1e-3)][place]
        ranges.append(Range(up_to, gain, offset, noise=noise_a))
    return Accuracy(
        current=tuple(ranges),
        voltage=(Range(*_VOLTAGE_20, noise=_NOISE_20_V[place]),),
        clock_ppm=max(_CLOCK_PPM, clock_ppm),
        source=_SOURCE,
        verified=False,
        edge_s=edge_s,
    )
