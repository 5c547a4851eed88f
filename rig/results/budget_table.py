# SPDX-License-Identifier: Apache-2.0
"""The uncertainty budgets of the metrics that show theirs, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rig.results.document import MetricResult, Results
from rig.uncertainty.budget import Part


@dataclass(frozen=True, slots=True)
class BudgetCell:
    """A component's part in a metric, as a share of its value; not `counted` where the
    scatter contains it already.
    """

    relative: float
    counted: bool


@dataclass(frozen=True, slots=True)
class BudgetColumn:
    """A metric of the table; its value is not 0, and its uncertainty is known."""

    name: str
    unit: str
    value: float
    standard_uncertainty: float
    coverage_factor: float
    expanded_uncertainty: float
    parts: Sequence[Part]

    @classmethod
    def of(cls, name: str, metric: MetricResult) -> BudgetColumn | None:
        """Make the column of a metric, None where its value or uncertainty is
        missing.
        """
        same = metric.same_samples
        if (
            not metric.value
            or same.standard_uncertainty is None
            or same.coverage_factor is None
            or same.expanded_uncertainty is None
        ):
            return None
        return cls(
            name=name,
            unit=metric.unit,
            value=abs(metric.value),
            standard_uncertainty=same.standard_uncertainty,
            coverage_factor=same.coverage_factor,
            expanded_uncertainty=same.expanded_uncertainty,
            parts=metric.budget,
        )

    def cell(self, component: str) -> BudgetCell | None:
        """Find the cell of a component, None where the metric does not have it."""
        for part in self.parts:
            if part.component == component:
                return BudgetCell(part.standard_uncertainty / self.value, part.counted)
        return None


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """A column a metric, a row a component, the largest first."""

    columns: Sequence[BudgetColumn]
    rows: Sequence[tuple[str, Sequence[BudgetCell | None]]]


def table(results: Results) -> BudgetTable:
    """Collect the budgets that metrics show, each cell as a share of its metric's
    value.
    """
    chosen = [
        BudgetColumn.of(name, metric)
        for name, metric in results.metrics.items()
        if metric.budget_shown
    ]
    columns = [column for column in chosen if column is not None]
    largest: dict[str, float] = {}
    for column in columns:
        for part in column.parts:
            size = part.standard_uncertainty / column.value
            largest[part.component] = max(largest.get(part.component, 0.0), size)
    rows: list[tuple[str, Sequence[BudgetCell | None]]] = []
    for component in sorted(largest, key=lambda name: -largest[name]):
        cells = [column.cell(component) for column in columns]
        rows.append((component, cells))
    return BudgetTable(columns, rows)
