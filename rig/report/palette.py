# SPDX-License-Identifier: Apache-2.0
"""The colours of phases, trials and series, the same in Run, Trace, Trials and report.

The first four on light paper are those of Okabe and Ito (Color Universal Design, 2008).
All six differ with deuteranopia, protanopia and tritanopia:
tests/rig/report/test_palette.py.
"""

from __future__ import annotations

from collections.abc import Sequence

#: In the order of their assignment, as #rrggbb.
LIGHT = ("#0072b3", "#e69f01", "#56b4ea", "#cc79a8", "#8c510a", "#80146e")
DARK = ("#3d8fd1", "#f0a030", "#9fdcff", "#e58fbe", "#a0785a", "#f7e97a")
#: Signals of a trace on light paper.
SIGNALS = {"current": "#b35900", "voltage": "#1f6feb", "power": "#8a1c5b"}
#: Phases that the rig measures beside those of the task.
_OTHERS = ("stream", "batch", "reached")


def place(phase: str, phases: Sequence[str]) -> int:
    """Return the number of a phase's colour; `phases` are those of the task, in its
    order."""
    order = [*phases, *(other for other in _OTHERS if other not in phases)]
    return order.index(phase) if phase in order else len(order)
