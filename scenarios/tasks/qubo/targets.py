# SPDX-License-Identifier: Apache-2.0
"""The table of best known solutions, keyed by the hash of the graph: cost, method,
date, whether proven, and the vector itself.

The published costs (NeuroBench/system_benchmarks, QUBO/default_config.csv: D-Wave tabu,
100 reads, 50 restarts) stand beside ours in the column `published`. They are a
heuristic's results, and many are beaten.
"""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.files import small_text, table_file, typed
from rig.model.finding import Finding
from rig.store.session_folder import write_text
from scenarios.tasks.qubo.answer import packed_bits
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate

SHIPPED = Path(__file__).with_name("targets.csv")
HEAD = (
    "# QUBO targets of neurorig, version {version}; published: "
    "NeuroBench/system_benchmarks, QUBO/default_config.csv\n"
)
_VERSION = re.compile(r"# QUBO targets of neurorig, version (\d+);")
NODES = (10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
DENSITIES = (0.01, 0.05, 0.1, 0.25)
SEEDS = (0, 1, 2, 3, 4)
#: The published grid: 180 workloads, whose five seeds are for tuning; official
#: results have seeds of their own.
GRID = tuple(Workload(*cell) for cell in product(NODES, DENSITIES, SEEDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The best known solution of one graph; `proven`: there is none better;
    `published`: the published cost, where there is one.
    """

    nodes: int
    density: float
    seed: int
    graph: str
    cost: int
    proven: bool
    method: str
    date: str
    published: int | None
    solution: str

    @property
    def workload(self) -> Workload:
        """Workload from which the graph is generated."""
        return Workload(self.nodes, self.density, self.seed)

    @property
    def vector(self) -> NDArray[np.int8]:
        """The solution as a binary vector (nodes)."""
        return unpacked(self.solution, self.nodes)

    @property
    def beats_published(self) -> bool:
        """Whether it costs less than the published solution."""
        return self.published is not None and self.cost < self.published

    def check(self) -> Finding:
        """Regenerate the graph, evaluate the stored vector on it, and compare hash and
        cost."""
        name = f"target of {self.workload}"
        try:
            evaluated = stored_cost(self.workload, self.graph, self.solution)
        except DataError as error:
            return Finding(name, False, str(error))
        if self.published is not None and evaluated > self.published:
            detail = f"costs {evaluated}, worse than the published {self.published}"
            return Finding(name, False, detail)
        detail = f"the vector costs {evaluated}, the table says {self.cost}"
        return Finding(name, evaluated == self.cost, detail)


def stored_cost(workload: Workload, sha256: str, solution: str) -> int:
    """Regenerate a graph and evaluate the stored vector of a table on it; raise
    DataError where the graph or the vector is another one.
    """
    graph = generate(workload)
    if graph.sha256 != sha256:
        raise DataError(
            f"the graph's hash is {graph.sha256[:16]}, the table says {sha256[:16]}"
        )
    return cost(graph, unpacked(solution, workload.nodes))


@dataclass(frozen=True, slots=True)
class Targets:
    """A version of the table: a target for each workload; workloads without edges share
    their graph, and so its hash.
    """

    version: int
    rows: Mapping[Workload, Target]

    def of(self, graph: Graph) -> Target | None:
        """Return the target of a graph, by its hash; None where there is none."""
        of_graph = [row for row in self.rows.values() if row.graph == graph.sha256]
        return min(of_graph, key=lambda row: row.cost, default=None)

    def improved(self, candidates: Iterable[Target]) -> Targets:
        """Return the next version with the better ones of `candidates`: a lower cost, a
        proof of the same cost, or a new graph.

        Published costs stay. Returns this version itself where none is better.
        """
        rows = dict(self.rows)
        for new in candidates:
            old = rows.get(new.workload)
            if old is None or (new.cost, not new.proven) < (old.cost, not old.proven):
                published = new.published if old is None else old.published
                rows[new.workload] = dataclasses.replace(new, published=published)
        return self if rows == self.rows else Targets(self.version + 1, rows)


def packed(vector: NDArray[np.int8]) -> str:
    """Return a binary vector as text: its packed bits in base 64."""
    return base64.b64encode(packed_bits(vector)).decode()


def unpacked(text: str, nodes: int) -> NDArray[np.int8]:
    """Return the binary vector of `nodes` that `packed` made; raise DataError where it
    has another length.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DataError("a solution is not base 64", evidence=str(error)) from error
    if len(content) != (nodes + 7) // 8:
        raise DataError(
            f"a solution has {len(content)} bytes, {nodes} nodes need"
            f" {(nodes + 7) // 8}"
        )
    octets = np.frombuffer(content, np.uint8)
    return np.unpackbits(octets, count=nodes, bitorder="little").astype(np.int8)


def read(path: Path = SHIPPED) -> Targets:
    """Read a table; raise DataError where it is none or damaged."""
    try:
        text = small_text.read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read", evidence=str(error)) from error
    head, _, rows = text.partition("\n")
    version = _VERSION.match(head)
    if version is None:
        raise DataError(f"{path} is not a table of QUBO targets", evidence=head[:80])
    table = csv.DictReader(io.StringIO(rows))
    try:
        targets = [typed.from_row(Target, _original(row), str(path)) for row in table]
    except DataError as error:
        raise DataError(f"{path} is damaged", evidence=error.evidence) from error
    return Targets(int(version[1]), {target.workload: target for target in targets})


def _original(row: dict[str, str | None]) -> dict[str, str | None]:
    return {
        name: table_file.original(cell) if cell else cell for name, cell in row.items()
    }


def write(targets: Targets, path: Path) -> None:
    """Write a table, sorted by workload; a reader sees the old one or the new one."""
    ordered = sorted(targets.rows.values(), key=attrgetter("nodes", "density", "seed"))
    columns = [field.name for field in dataclasses.fields(Target)]
    cells = [typed.to_row(target) for target in ordered]
    rows = table_file.text([columns, *map(itemgetter(*columns), cells)])
    write_text(path, HEAD.format(version=targets.version) + rows)
