# SPDX-License-Identifier: Apache-2.0
"""The metrics that searches may give, by cell and for all cells. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rig.interfaces.task import OptimizationTask
from rig.model.declaration import DeclaredMetric, DeclaredMetrics
from rig.model.scores import MEASURES
from rig.model.steps import Solve, Step
from scenarios.common.cost_gap import BEST_KNOWN, KINDS
from scenarios.common.declared import DYNAMIC_POWER, ENERGY, LATENCY, POWER, SHARE
from scenarios.optimization.fixed_timeout import gap_name, metric_name
from scenarios.optimization.runs import name_to_gap
from scenarios.optimization.time_to_solution import wade_name

#: Negative where a target is beaten.
_GAP = DeclaredMetric("1", higher_is_better=False, signed=True)
_NO_TARGET = "searches are of a workload without a best known target"


def declared(
    task: OptimizationTask,
    steps: Sequence[Step],
    gaps: Sequence[float],
    curve: Sequence[float],
) -> DeclaredMetrics:
    """Declare the metrics of a plan's searches."""
    searches = [step for step in steps if isinstance(step, Solve)]
    if not searches:
        return DeclaredMetrics({})
    metrics = {
        "power_idle": POWER,
        "power_active": POWER,
        "power_dynamic": DYNAMIC_POWER,
    }
    absent: dict[str, str] = {}
    cells: dict[str, list[Solve]] = {}
    for step in searches:
        for cell in ("", task.cell(step.index)):
            cells.setdefault(cell, []).append(step)
    for cell, in_cell in cells.items():
        timeouts_s = {step.timeout_s for step in in_cell if step.target is None}
        to_target = any(step.target is not None for step in in_cell)
        without = any(task.best_known(step.index) is None for step in in_cell)
        word = task.measure(in_cell[0].index) if cell else ""
        for timeout_s in timeouts_s:
            metrics[metric_name("power", cell, timeout_s)] = POWER
            if word:
                metrics[metric_name(word, cell, timeout_s)] = DeclaredMetric(
                    "1", higher_is_better=MEASURES[word], signed=True
                )
        for kind in KINDS:
            named = {gap_name(kind, cell, timeout_s): _GAP for timeout_s in timeouts_s}
            if to_target:
                named |= _to_target(kind, cell, gaps, curve)
            if kind == BEST_KNOWN and without:
                absent |= dict.fromkeys(named, _NO_TARGET)
            else:
                metrics |= named
    return DeclaredMetrics(metrics, absent)


def _to_target(
    kind: str, cell: str, gaps: Sequence[float], curve: Sequence[float]
) -> dict[str, DeclaredMetric]:
    """Declare the metrics of a cell's searches that end at a target of a kind."""
    metrics: dict[str, DeclaredMetric] = {}
    for gap in gaps:
        latency = name_to_gap("latency", gap, kind, cell)
        metrics[name_to_gap("success", gap, kind, cell)] = SHARE
        metrics[latency] = LATENCY
        metrics[f"{latency}_p50"] = LATENCY
        metrics[name_to_gap("energy", gap, kind, cell)] = ENERGY
        metrics[name_to_gap("tts99", gap, kind, cell)] = LATENCY
    if curve:
        metrics[wade_name(kind, cell, curve)] = SHARE
    return metrics
