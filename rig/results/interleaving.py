# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of trials that took turns in one recording: its errors are common to all
of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rig.model.effects import COMMON, TRIAL, Influence
from rig.results.document import MetricResult

#: Appended to the method of an interval of such trials.
_NOTE = "; trials interleaved: what changes more slowly than their turns is not in it"


def common(
    influences: Mapping[str, Mapping[str, Influence]],
) -> dict[str, dict[str, Influence]]:
    """Make the influences of the recording common to all trials: the mean over trials
    has the same error as each of them.
    """
    return {name: _common(parts) for name, parts in influences.items()}


def _common(parts: Mapping[str, Influence]) -> dict[str, Influence]:
    influences = dict(parts)
    for component, part in parts.items():
        if part.kind == TRIAL:
            influences[component] = replace(part, kind=COMMON)
    return influences


def noted(row: MetricResult) -> MetricResult:
    """Add to a metric's interval for the same samples that slower changes are not in
    it.
    """
    same = row.same_samples
    if not same.method or same.low is None:
        return row
    return replace(row, same_samples=replace(same, method=same.method + _NOTE))
