# SPDX-License-Identifier: Apache-2.0
"""Official target costs: the published file as it is, and rows that are made as the rules say.

NeuroBench publishes `num_vertices,density,random_seed,c_optimal`: a cost without its vector, so it cannot be verified. QUBO.md of
NeuroBench/system_benchmarks, f9c0b4f: "small QUBO workloads with fewer than 50 nodes will be solved to global optimality"; for
larger ones "the DWave Tabu CPU sampler will be used with 100 reads and 50 restarts". QUBO/generation_scripts/find_optimal_costs.py
there calls `TabuSampler().sample(bqm, timeout=None, num_reads=100, num_restarts=50)`, without a seed.

A row that is made here goes into a file of the published form, and how it was made, with its vector, into a table beside it.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib.metadata
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.finding import Finding
from rig.trace import storage_error
from scenarios.tasks.qubo import edges
from scenarios.tasks.qubo.cost import cost
from scenarios.tasks.qubo.graph import Graph, Workload, generate
from scenarios.tasks.qubo.programs import Quadratic
from scenarios.tasks.qubo.proof import by_branching
from scenarios.tasks.qubo.targets import Target, Targets, packed, unpacked

#: "Fewer than 50 nodes will be solved to global optimality."
GLOBAL_BELOW_NODES = 50
#: "100 reads and 50 restarts".
READS, RESTARTS = 100, 50
COLUMNS = ("num_vertices", "density", "random_seed", "c_optimal")
#: What NeuroBench's config_csv_writer.py puts where no cost was found yet.
PLACEHOLDER = -1
PUBLISHED = "published: NeuroBench/system_benchmarks, QUBO/default_config.csv; cost without vector, not verified"
OPTIMUM = "global optimum, proven by branch and bound"


@dataclass(frozen=True, slots=True)
class Made:
    """How an official cost was made, and its vector: method, package and version, reads, restarts, seed, date."""

    graph: str
    method: str
    version: str
    reads: int
    restarts: int
    seed: int
    date: str
    solution: str

    @property
    def by_the_rules(self) -> bool:
        """Tell whether it was made as NeuroBench makes its own."""
        return self.method == OPTIMUM or (self.reads, self.restarts) == (READS, RESTARTS)

    @property
    def source(self) -> str:
        """Say in one line how the cost was made."""
        if self.method == OPTIMUM:
            return f"{self.method}, {self.date}"
        other = "" if self.by_the_rules else f"; not the {READS} reads and {RESTARTS} restarts of the rules"
        how = f"{self.reads} reads, {self.restarts} restarts, seed {self.seed}"
        return f"{self.method} ({self.version}), {how}, {self.date}{other}"


@dataclass(frozen=True, slots=True)
class Official:
    """The official target of a workload: a cost, and how it was made, where that is known."""

    workload: Workload
    cost: int
    made: Made | None = None

    def check(self) -> Finding:
        """Regenerate the graph and evaluate the vector, where there is one."""
        name = f"official target of {self.workload}"
        if self.made is None:
            return Finding(name, False, "cost without vector, not verified")
        graph = generate(self.workload)
        if graph.sha256 != self.made.graph:
            return Finding(name, False, f"the graph's hash is {graph.sha256[:16]}, the table says {self.made.graph[:16]}")
        found = cost(graph, unpacked(self.made.solution, self.workload.nodes))
        return Finding(name, found == self.cost, f"the vector costs {found}, the table says {self.cost}")


@dataclass(frozen=True, slots=True)
class Officials:
    """A file of official targets: where it is from, its hash (empty for the shipped costs), and its rows."""

    source: str
    sha256: str
    rows: Mapping[Workload, Official]

    def of(self, workload: Workload, best: Target | None) -> tuple[int, str] | None:
        """Return cost and source of a workload's official target; None where there is none.

        Below 50 nodes it is the global optimum, so a proven cost of ours is that too. Raises DataError for an impossible cost.
        """
        row = self.rows.get(workload)
        if row is None:
            known = best is not None and best.proven and workload.nodes < GLOBAL_BELOW_NODES
            return (best.cost, f"global optimum, as the rules ask below 50 nodes: {best.method}") if best and known else None
        if best is not None and best.proven and row.cost < best.cost:
            raise DataError(
                f"the official cost of {workload} is {row.cost}, and it is proven that there is none below {best.cost}",
                evidence=self.source,
                try_next="a file for these graphs: num_vertices,density,random_seed,c_optimal; rig qubo targets --verify",
            )
        return row.cost, row.made.source if row.made else self.source


def shipped(targets: Targets) -> Officials:
    """Return the published costs of a table of targets."""
    rows = {one.workload: Official(one.workload, one.published) for one in targets.rows.values() if one.published is not None}
    return Officials(PUBLISHED, "", rows)


def read(path: Path) -> Officials:
    """Read a file of the published form, and what is beside it of rows that were made here; raise DataError where it is damaged."""
    content = _bytes(path)
    made = _made(side(path))
    rows: dict[Workload, Official] = {}
    for number, line in enumerate(_lines(path, content, COLUMNS), start=2):
        workload, value = _published(path, number, line)
        if value == PLACEHOLDER and workload.edges < workload.nodes * (workload.nodes - 1) // 2:
            continue
        if workload in rows:
            raise DataError(f"{path}, line {number}: {workload} again")
        beside = made.get(workload)
        if beside is not None and beside[0] != value:
            raise DataError(
                f"{path}, line {number}: {workload} costs {value}, and {beside[0]} in {side(path).name}",
                try_next=f"remove the rows of one of them; {side(path).name} says how rows were made",
            )
        rows[workload] = Official(workload, value, beside[1] if beside else None)
    source = f"{path.name}; costs without vectors, not verified, unless a row says how it was made"
    return Officials(source, hashlib.sha256(content).hexdigest(), rows)


def write(officials: Iterable[Official], path: Path) -> None:
    """Write the published form, and beside it how rows were made; readers see old files or new ones."""
    rows = sorted(officials, key=lambda one: (one.workload.nodes, one.workload.density, one.workload.seed))
    plain = [(one.workload.nodes, one.workload.density, one.workload.seed, one.cost) for one in rows]
    further = [field.name for field in dataclasses.fields(Made)]
    made = [
        (*key, *(getattr(one.made, name) for name in further)) for key, one in zip(plain, rows, strict=True) if one.made is not None
    ]
    # First how they were made: a row of the published form is never without it.
    _write(side(path), (*COLUMNS, *further), made)
    _write(path, COLUMNS, plain)


def side(path: Path) -> Path:
    """Return where it stands how the rows of a file were made."""
    return path.with_name(f"{path.stem}.made.csv")


def make(workload: Workload, reads: int, restarts: int, seed: int) -> Official:
    """Make the official target of a workload as the rules say; raise ConfigError where D-Wave's sampler is not installed."""
    graph = generate(workload)
    today = datetime.now(UTC).date().isoformat()
    if workload.nodes < GLOBAL_BELOW_NODES:
        proof = by_branching(graph, np.zeros(graph.nodes, np.int8))
        if not proof.proven:
            raise DataError(f"no proof for {workload}")
        made = Made(graph.sha256, OPTIMUM, "neurorig", 0, 0, 0, today, packed(proof.vector))
        return Official(workload, cost(graph, proof.vector), made)
    vector, version = tabu(graph, reads, restarts, seed)
    lesser, greater = graph.ends
    if (vector[lesser] & vector[greater]).any():
        # find_optimal_costs.py refuses it too.
        raise DataError(f"the best vector of tabu for {workload} is no independent set", try_next="more --reads or --restarts")
    made = Made(graph.sha256, "D-Wave tabu", version, reads, restarts, seed, today, packed(vector))
    return Official(workload, cost(graph, vector), made)


def tabu(graph: Graph, reads: int, restarts: int, seed: int) -> tuple[NDArray[np.int8], str]:
    """Return the best vector of D-Wave's tabu search and its version; find_optimal_costs.py calls it so, but without a seed."""
    try:
        from dwave.samplers import TabuSampler
    except ImportError as error:
        raise ConfigError(
            "D-Wave's samplers are not installed", path="--method", try_next="pip install 'neurorig[qubo]'"
        ) from error
    model = Quadratic(edges.encode(graph), {}).model
    found = TabuSampler().sample(model, timeout=None, num_reads=reads, num_restarts=restarts, seed=seed)
    best = found.record.sample[int(np.argmin(found.record.energy))]
    vector = np.zeros(graph.nodes, np.int8)
    vector[np.asarray(list(found.variables), np.int64)] = best
    return vector, f"dwave-samplers {importlib.metadata.version('dwave-samplers')}"


def _made(path: Path) -> dict[Workload, tuple[int, Made]]:
    if not path.exists():
        return {}
    further = [field.name for field in dataclasses.fields(Made)]
    found = {}
    for number, line in enumerate(_lines(path, _bytes(path), (*COLUMNS, *further)), start=2):
        workload, value = _published(path, number, line)
        own: dict[str, Any] = {name: line[name] for name in further}
        try:
            own |= {name: int(own[name]) for name in ("reads", "restarts", "seed")}
        except ValueError as error:
            raise DataError(f"{path}, line {number} is damaged", evidence=repr(error)) from error
        found[workload] = (value, Made(**own))
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read", evidence=str(error)) from error


def _lines(path: Path, content: bytes, columns: tuple[str, ...]) -> list[dict[str, str]]:
    try:
        table = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        lines = [line for line in table if any(line.values())]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no table", evidence=repr(error)) from error
    if tuple(name.strip() for name in table.fieldnames or ()) != columns:
        raise DataError(f"{path} has other columns", evidence=f"{table.fieldnames}", try_next=",".join(columns))
    return lines


def _published(path: Path, number: int, line: Mapping[str, str]) -> tuple[Workload, int]:
    try:
        workload = Workload(int(line["num_vertices"]), float(line["density"]), int(line["random_seed"]))
        value = int(line["c_optimal"])
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise DataError(f"{path}, line {number} is damaged", evidence=f"{error!r}: {dict(line)}") from error
    if not -workload.nodes <= value <= 0:
        raise DataError(f"{path}, line {number}: no set of {workload} costs {value}", try_next="-nodes to 0")
    return workload, value


def _write(path: Path, columns: tuple[str, ...], rows: list[Any]) -> None:
    out = io.StringIO()
    # The line ends of the published file.
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(columns)
    table.writerows(rows)
    scratch = path.with_suffix(".new")
    try:
        scratch.write_text(out.getvalue(), encoding="utf-8", newline="")
        scratch.replace(path)
    except OSError as error:
        raise storage_error(error, path) from error
