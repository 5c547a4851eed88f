# SPDX-License-Identifier: Apache-2.0
"""The uncertainty of windows between uneven rows of a table, in addition to the
instrument's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.importers.as_stamped import Stamped
from rig.measure.trace_windows import TraceSpan, WindowRow


def with_stamps(
    rows: Sequence[WindowRow], spans: Sequence[TraceSpan], stamped: Stamped
) -> list[WindowRow]:
    """Add the uncertainty of the time stamps to rows that have one.

    Windows share no interval between stamps but at their ends, so that their
    uncertainties add in quadrature in the sum.
    """
    bounds = [(span.start_s, span.stop_s) for span in spans]
    energies_j = [stamped.energy_u_j(*bound) for bound in bounds]
    charges_c = [stamped.charge_u_c(*bound) for bound in bounds]
    uncertain = zip(rows[:-1], energies_j, charges_c, strict=True)
    added = [_added(row, energy_j, charge_c) for row, energy_j, charge_c in uncertain]
    return [*added, _added(rows[-1], math.hypot(*energies_j), math.hypot(*charges_c))]


def _added(row: WindowRow, energy_u_j: float, charge_u_c: float) -> WindowRow:
    power_u_w = current_u_a = 0.0
    if row.duration_s:
        power_u_w = energy_u_j / row.duration_s
        current_u_a = charge_u_c / row.duration_s
    return replace(
        row,
        energy_u_j=_both(row.energy_u_j, energy_u_j),
        mean_u_w=_both(row.mean_u_w, power_u_w),
        charge_u_c=_both(row.charge_u_c, charge_u_c),
        mean_u_a=_both(row.mean_u_a, current_u_a),
    )


def _both(known: float | None, more: float) -> float | None:
    return None if known is None else math.hypot(known, more)
