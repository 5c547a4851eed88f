# SPDX-License-Identifier: Apache-2.0
"""Costs that searches found, beside the official and the best known ones. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from rig.model.comparison import Compared
from rig.model.scores import Costs
from rig.model.trial import Sample
from rig.stats.summary import mean
from scenarios.common.cost_gap import BEST_KNOWN, OFFICIAL, CostGap, target_of
from scenarios.optimization import overrun
from scenarios.optimization.fixed_timeout import timeout_name

#: Name of a time-to-solution run among the ways to search.
TO_TARGET = "target"


def compared(samples: Sequence[Sample]) -> list[Compared]:
    """Return a row for each cell and way to search, then one for each workload and way.

    A search without a vector has no cost, and is left out. So are those of a time-out
    that one of them exceeded: they are not the searches that were requested.
    """
    useful = [
        sample
        for sample in samples
        if sample.solve is not None and sample.costs is not None
    ]
    cells = _rows(useful, lambda sample: (sample.case, ""))
    return [*cells, *_rows(useful, lambda sample: (sample.case, sample.label))]


def _rows(
    samples: Sequence[Sample], place: Callable[[Sample], tuple[str, str]]
) -> list[Compared]:
    groups: dict[tuple[str, str, float], list[Sample]] = {}
    for sample in samples:
        assert sample.solve is not None
        limit_s = sample.solve.timeout_s if sample.solve.target is None else math.inf
        groups.setdefault((*place(sample), limit_s), []).append(sample)
    ordered = sorted(groups.items(), key=lambda item: _order(*item[0]))
    return [_row(*key, _costs(group)) for key, group in ordered if _valid(*key, group)]


def _valid(cell: str, workload: str, limit_s: float, group: Sequence[Sample]) -> bool:
    """Check that no search went on beyond its time-out."""
    return math.isinf(limit_s) or not overrun.why(group)


def _costs(group: Sequence[Sample]) -> list[Costs]:
    return [sample.costs for sample in group if sample.costs is not None]


def _order(cell: str, workload: str, limit_s: float) -> tuple[list[int], str, float]:
    """Sort by the numbers in the names, not by their digits."""
    name = workload or cell
    return [int(number) for number in re.findall(r"\d+", name)], name, limit_s


def _row(cell: str, workload: str, limit_s: float, group: Sequence[Costs]) -> Compared:
    return Compared(
        cell=cell,
        workload=workload,
        search=timeout_name(limit_s) if math.isfinite(limit_s) else TO_TARGET,
        searches=len(group),
        official=_mean([target_of(costs, OFFICIAL) for costs in group]),
        best_known=_mean([target_of(costs, BEST_KNOWN) for costs in group]),
        measured=mean([float(costs.cost) for costs in group]),
        lowest=min(costs.cost for costs in group) if workload else None,
        gap=_gap(group, OFFICIAL),
        gap_best_known=_gap(group, BEST_KNOWN),
    )


def _gap(group: Sequence[Costs], kind: str) -> float | None:
    gaps = []
    for costs in group:
        target = target_of(costs, kind)
        gaps.append(None if target is None else CostGap(costs.cost, target).gap)
    return _mean(gaps)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None
