# SPDX-License-Identifier: Apache-2.0
"""Parameters of a solver, and the rule for them: they may depend on the number of nodes
and the density only.

"Parameters constant or a function of (n, density) only, never of problem or solver
seed, valid for arbitrary sizes and densities": the rule of QUBO.md in short. Parameters
are a list of tables, each with limits of nodes and density and values within them. The
last table that fits a graph decides; without one the solver's own values hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rig.errors import ConfigError, did_you_mean
from rig.interfaces.context import BenchContext
from scenarios.tasks.qubo.graph import Workload

RULE = (
    "parameters are constant or depend on the number of nodes and the density only,"
    " never on the seed of a problem or a solver"
)
PATH = "task.qubo.parameters"
#: Names that would distinguish one problem, or one run, from another of its size and
#: density.
_OF_ONE = re.compile(
    r"seed|graph|hash|index|workload|instance|problem|target|cost", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Limits:
    """The graphs that a table is for; both ends belong to it."""

    nodes_from: float = 0
    nodes_to: float = 65535
    density_from: float = 0.0
    density_to: float = 1.0

    @property
    def nodes(self) -> tuple[float, float]:
        """The least and the most nodes."""
        return self.nodes_from, self.nodes_to

    @property
    def density(self) -> tuple[float, float]:
        """The least and the largest density."""
        return self.density_from, self.density_to


LIMITS = tuple(part.name for part in fields(Limits))


@dataclass(frozen=True, slots=True)
class Rule:
    """A tuning rule for graphs of `nodes` and `density`, both with their ends."""

    nodes: tuple[float, float]
    density: tuple[float, float]
    values: Mapping[str, Any]

    def fits(self, nodes: int, edges: int) -> bool:
        """Whether the rule holds for a graph: its density is recognised by the number
        of edges that the published generator makes of it."""
        if not self.nodes[0] <= nodes <= self.nodes[1]:
            return False
        fewest, most = (Workload(nodes, density, 0).edges for density in self.density)
        return fewest <= edges <= most


def rules(
    tables: Sequence[Mapping[str, Any]], known: Collection[str]
) -> tuple[Rule, ...]:
    """Check the tables of a bench file against the parameters `known`, and return their
    rules.

    Raises ConfigError, with the rule, where they distinguish one problem from another,
    and for names that are neither parameter nor limit.
    """
    return tuple(
        _rule(table, known, f"{PATH}[{number}]") for number, table in enumerate(tables)
    )


def refuse_unused(tables: Sequence[Mapping[str, Any]], context: BenchContext) -> None:
    """Raise ConfigError where parameters are set that the system under test does not
    get."""
    if tables and context.state.program == "":
        raise ConfigError(
            "parameters are those of the programs of [sut.cpu], and this device gets"
            " none",
            path=PATH,
            try_next="leave them out: a device of its own is tuned in its firmware",
        )


def values(found: Sequence[Rule], nodes: int, edges: int) -> dict[str, Any]:
    """Return the parameters for a graph: a function of its nodes and its density."""
    parameters: dict[str, Any] = {}
    for rule in found:
        if rule.fits(nodes, edges):
            parameters |= rule.values
    return parameters


def _rule(table: Mapping[str, Any], known: Collection[str], path: str) -> Rule:
    for name in LIMITS:
        value = table.get(name, 0)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not value >= 0
        ):
            raise ConfigError(
                f"{value!r} is no limit",
                path=f"{path}.{name}",
                try_next="a number, 0 or more",
            )
    limits = Limits(**{name: table[name] for name in LIMITS if name in table})
    for what, (least, most) in (("nodes", limits.nodes), ("density", limits.density)):
        if least > most or limits.density_to > 1:
            raise ConfigError(
                f"no graph lies within {least!r} to {most!r}",
                path=f"{path}.{what}_to",
                try_next="densities are shares, 0 to 1",
            )
    parameters = {name: value for name, value in table.items() if name not in LIMITS}
    for name, value in parameters.items():
        _refuse_other(name, value, f"{path}.{name}")
        _refuse_unknown(name, known, f"{path}.{name}")
    return Rule(limits.nodes, limits.density, parameters)


def _refuse_unknown(name: str, known: Collection[str], path: str) -> None:
    """Refuse a name that is neither a parameter nor a limit: a misspelt limit would let
    its table hold everywhere."""
    if name in known:
        return
    try_next = did_you_mean(name, [*LIMITS, *known]).strip()
    raise ConfigError(
        f"{name!r} is neither a limit nor a parameter of any program",
        path=path,
        evidence=f"limits are {', '.join(LIMITS)}; parameters {', '.join(known)}",
        try_next=try_next,
    )


def _refuse_other(name: str, value: Any, path: str) -> None:
    if _OF_ONE.search(name) or isinstance(value, Mapping):
        raise ConfigError(
            f"{name!r} would tell one problem or one run from another: {RULE}",
            path=path,
            try_next=(
                f"limits by {', '.join(LIMITS)}; seeds of the solver are the scenario's"
            ),
        )
    parts = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(part, int | float | str) for part in parts):
        raise ConfigError(
            f"{value!r} is no parameter",
            path=path,
            try_next="a number, a word, or a list of them",
        )
