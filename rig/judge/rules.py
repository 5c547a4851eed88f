# SPDX-License-Identifier: Apache-2.0
"""The requirements of a benchmark, read from the TOML file that states them with their
sentences.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import Any

from rig.errors import DataError
from rig.files import typed

#: The benchmarks that have rules here.
BENCHMARKS = ("asc", "qubo")


@dataclass(frozen=True, slots=True)
class CountRule:
    """A number that is due: of trials, or of samples."""

    count: int
    sentence: str


@dataclass(frozen=True, slots=True)
class SettingsRule:
    """Settings of the scenario that are due."""

    values: dict[str, Any]
    sentence: str


@dataclass(frozen=True, slots=True)
class MetricsRule:
    """Metrics that are due of each configuration; `with_error` also their standard
    errors.
    """

    names: tuple[str, ...]
    sentence: str
    with_error: bool = False

    def due(self, phases: tuple[str, ...]) -> list[str]:
        """Name the metrics that are due of a device with these phases."""
        named: list[str] = []
        for name in self.names:
            if "{phase}" in name:
                named += [name.format(phase=phase) for phase in phases]
            else:
                named.append(name)
        return named


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRule:
    """The cells of a grid of searches, and the metrics that are due of each."""

    nodes: tuple[int, ...]
    densities: dict[str, float]
    timeouts: tuple[str, ...]
    gaps: tuple[str, ...]
    of_timeout: tuple[str, ...]
    of_gap: tuple[str, ...]
    sentence: str

    def cells(self) -> Iterator[str]:
        """Name each cell: "250n_5pct"."""
        for nodes, density in product(self.nodes, self.densities):
            yield f"{nodes}n_{density}"

    def due(self, cell: str) -> Iterator[str]:
        """Name the metrics of a cell."""
        for name, timeout in product(self.of_timeout, self.timeouts):
            yield name.format(cell=cell, timeout=timeout)
        for name, gap in product(self.of_gap, self.gaps):
            yield name.format(cell=cell, gap=gap)


@dataclass(frozen=True, slots=True)
class SeedsRule:
    """How many seeds of problems are due, and those that are for tuning only; `label`
    marks sessions whose seeds are not known to be the announced ones.
    """

    count: int
    tuning: tuple[int, ...]
    label: str
    sentence: str


@dataclass(frozen=True, slots=True)
class CostsRule:
    """Gaps and targets are relative to the announced costs."""

    sentence: str


@dataclass(frozen=True, slots=True)
class LargestRule:
    """The series whose largest workload is due, with their densities."""

    series: dict[str, float]
    sentence: str


@dataclass(frozen=True, slots=True)
class ReportRule:
    """The sections that are due of the report."""

    sections: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The requirements of one benchmark; a part that is None is none of its own."""

    benchmark: str
    source: str
    scenarios: tuple[str, ...]
    trials: CountRule
    settings: SettingsRule
    report: ReportRule
    metrics: tuple[MetricsRule, ...] = ()
    samples: CountRule | None = None
    grid: GridRule | None = None
    seeds: SeedsRule | None = None
    costs: CostsRule | None = None
    largest: LargestRule | None = None


def of_benchmark(name: str) -> Rules:
    """Read the rules of a benchmark; raise DataError where there are none."""
    if name not in BENCHMARKS:
        raise DataError(
            f"the judge has no rules of {name[:60]!r}",
            try_next=f"a submission to {' or '.join(BENCHMARKS)}",
        )
    page = files("rig.judge").joinpath("rules", f"{name}.toml")
    tree = tomllib.loads(page.read_text(encoding="utf-8"))
    return typed.from_json(Rules, tree, str(page.name))
