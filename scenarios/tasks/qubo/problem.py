# SPDX-License-Identifier: Apache-2.0
"""Quadratic problems of binary variables, from files of any format.

A cost is linear . x + sum of quadratic over the pairs whose ends are both 1, in whole
numbers, and the least is searched for. `offset` and `scale` lead back to the numbers of
the file: (cost + offset) / scale, with the other sign where the file asks for the most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rig.errors import ConfigError, DataError
from scenarios.tasks.qubo.cost import EDGE
from scenarios.tasks.qubo.graph import NODES_MAX, Graph

Kind = Literal["independent-set", "max-cut", "qubo"]
SET: Kind = "independent-set"
CUT: Kind = "max-cut"
GENERAL: Kind = "qubo"
KINDS: tuple[Kind, ...] = (SET, CUT, GENERAL)
Sense = Literal["min", "max"]
#: The search counts costs in 32 bits, and so does the protocol.
SUM_MAX = 2**31 - 1
#: A weight of a cut is in the cost of both its nodes, and twice in that of its pair.
CUT_COUNTS = 4
#: Of edges of a cut, bit 15 of a neighbour is the sign (firmware/workloads/qubo).
FLIP_NODES_MAX = 32767
#: A device keeps the weight of a node in 16 bits.
NODE_WEIGHT_MAX = 65535

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """A problem: its kind, what each node (nodes) and each pair adds to the cost, and
    the way back to the numbers of its file.

    `pairs` are lesser * nodes + greater, in ascending order; `quadratic` stands beside
    them, and has no zeros.
    """

    kind: Kind
    nodes: int
    linear: Whole
    pairs: Whole
    quadratic: Whole
    offset: int = 0
    scale: int = 1
    sense: Sense = "min"
    _ends: tuple[Whole, Whole] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", divmod(self.pairs, max(self.nodes, 1)))

    @property
    def edges(self) -> int:
        """The number of pairs."""
        return len(self.pairs)

    @property
    def ends(self) -> tuple[Whole, Whole]:
        """The lesser and the greater node of each pair."""
        return self._ends

    @property
    def weighted(self) -> bool:
        """Whether weights of nodes, or of edges other than 1 and -1, are needed."""
        if self.kind == SET:
            return bool((self.linear != -1).any())
        return self.kind == GENERAL or bool((np.abs(self.quadratic) != 2).any())

    @property
    def measure(self) -> str:
        """The word for a result, as the metrics have it."""
        if self.kind == SET:
            return "weight" if self.weighted else "size"
        if self.kind == CUT:
            return "cut"
        return "energy" if self.sense == "min" else "objective"

    @cached_property
    def graph(self) -> Graph:
        """The pairs alone."""
        return Graph(self.nodes, self.pairs.astype(np.uint64))

    @property
    def least_cost(self) -> int:
        """A cost that no vector is below."""
        parts = (self.linear, self.quadratic)
        return sum(int(np.minimum(part, 0).sum()) for part in parts)

    @property
    def largest_change(self) -> int:
        """An amount that no flip of a node changes the cost by more than."""
        most = np.abs(self.linear)
        for end in self.ends:
            np.add.at(most, end, np.abs(self.quadratic))
        return int(most.max(initial=0))

    def cost(self, vector: ArrayLike) -> int:
        """Return the cost of a binary vector (nodes), in 64-bit integers; raise
        DataError where it is not binary or of another length.
        """
        x = np.asarray(vector)
        is_binary = (x == 0) | (x == 1)
        if x.shape != (self.nodes,) or not is_binary.all():
            raise DataError(
                f"not a binary vector of {self.nodes} nodes",
                evidence=f"shape {x.shape}, type {x.dtype}",
            )
        chosen = x.astype(bool)
        lesser, greater = self.ends
        both = chosen[lesser] & chosen[greater]
        return int(self.linear[chosen].sum()) + int(self.quadratic[both].sum())

    def counted(self, offset: int, scale: int, sense: Sense) -> QuadraticProblem:
        """Return the problem with another way back to the numbers of its file."""
        return replace(self, offset=offset, scale=scale, sense=sense)

    def value(self, cost: int) -> float:
        """Return a cost in the numbers of the file."""
        sign = 1 if self.sense == "min" else -1
        return float(Fraction(sign * (cost + self.offset), self.scale))

    def cost_of(self, value: float, path: str) -> int:
        """Return the cost that a number of the file stands for, the target at `path`;
        raise ConfigError where no vector has it, or it is worse than choosing no node.
        """
        if not math.isfinite(value):
            raise ConfigError(f"{value}", path=path, try_next="a finite number")
        sign = 1 if self.sense == "min" else -1
        cost = sign * Fraction(str(value)) * self.scale - self.offset
        if cost.denominator != 1:
            unit = f"multiples of 1/{self.scale}" if self.scale > 1 else "whole numbers"
            raise ConfigError(
                f"no vector has a {self.measure} of {value:g}, as weights are {unit}",
                path=path,
                try_next="a value as the file counts",
            )
        if cost > 0:
            raise ConfigError(
                f"a target {self.measure} of {value:g} is worse than that of choosing"
                f" nothing, {self.value(0):g}",
                path=path,
                try_next="the best known value, with its sign",
            )
        least = self.least_cost
        if cost < least:
            raise ConfigError(
                f"no vector has a {self.measure} of {value:g}, as all weights together"
                f" make {self.value(least):g}",
                path=path,
                try_next="the best known value, as the file counts",
            )
        return int(cost)


def independent_set(graph: Graph, weights: Whole | None = None) -> QuadraticProblem:
    """Return the problem of an independent set of much weight, or of many nodes.

    An edge between two chosen nodes costs eight times the lighter one, as in the
    published problem, where each weighs 1.
    """
    node_weights = np.ones(graph.nodes, np.int64) if weights is None else weights
    lesser, greater = (end.astype(np.int64) for end in graph.ends)
    quadratic = EDGE * np.minimum(node_weights[lesser], node_weights[greater])
    return QuadraticProblem(
        SET,
        graph.nodes,
        -node_weights,
        graph.pairs.astype(np.int64),
        quadratic,
        sense="max",
    )


def cut(nodes: int, pairs: Whole, weights: Whole, scale: int = 1) -> QuadraticProblem:
    """Return the problem of a cut of much weight: an edge between both sides counts."""
    lesser, greater = divmod(pairs, max(nodes, 1))
    linear = np.zeros(nodes, np.int64)
    np.subtract.at(linear, lesser, weights)
    np.subtract.at(linear, greater, weights)
    return QuadraticProblem(
        CUT, nodes, linear, pairs, 2 * weights, scale=scale, sense="max"
    )


def refuse_unfit(problem: QuadraticProblem, name: str) -> QuadraticProblem:
    """Return a problem that the search can count; raise DataError for others."""
    most = NODES_MAX if problem.kind == SET else FLIP_NODES_MAX
    if not 1 <= problem.nodes <= most:
        raise DataError(
            f"{name} has {problem.nodes} nodes: 1 to {most} are possible for"
            f" {problem.kind}",
        )
    if _total(problem) > SUM_MAX:
        raise _too_large(problem, name)
    if problem.kind == SET:
        lightest, heaviest = int(-problem.linear.max()), int(-problem.linear.min())
        if lightest < 1 or heaviest > NODE_WEIGHT_MAX:
            raise DataError(
                f"{name} has nodes of weight {lightest} to {heaviest}: 1 to"
                f" {NODE_WEIGHT_MAX} are possible",
                try_next="leave out nodes that cannot help, and divide the weights",
            )
    return problem


def _total(problem: QuadraticProblem) -> int:
    """Return the sum of all weights, as the firmware counts it."""
    if problem.kind == SET:
        return int(-problem.linear.sum())
    if problem.kind == CUT and not problem.weighted:
        return problem.edges
    sizes = np.abs(problem.linear).sum() + np.abs(problem.quadratic).sum()
    return int(sizes)


def _too_large(problem: QuadraticProblem, name: str) -> DataError:
    """Return the error of a sum of weights, with numbers as the file has them."""
    total, most = _total(problem), SUM_MAX
    parts = f"the weights of {name}"
    limit = "at most"
    if problem.kind == CUT and problem.weighted:
        # weights of both signs partly cancel at a node
        total, most = int(np.abs(problem.quadratic).sum()) // 2, SUM_MAX // CUT_COUNTS
        limit = "where an edge counts at both ends and between them, up to"
    if problem.kind == GENERAL:
        parts = f"the terms of {name}, of variables 0 and 1,"
    return DataError(
        f"{parts} add up to {_in_file(total, problem.scale)}",
        evidence=f"{limit} {_in_file(most, problem.scale)} fits, as costs have 32 bits",
        try_next="smaller weights, or with fewer decimals",
    )


def _in_file(number: int, scale: int) -> str:
    """Return a whole number as the file counts, without an exponent."""
    return f"{Decimal(number) / scale:f}"


def of_graph(graph: Graph) -> QuadraticProblem:
    """Return the problem of a graph on the wire without weights."""
    return independent_set(graph)
