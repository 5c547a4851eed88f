# SPDX-License-Identifier: Apache-2.0
"""Official target costs: the published file as it is, and rows that are made as the
rules say.

NeuroBench publishes `num_vertices,density,random_seed,c_optimal`: a cost without its
vector, so it cannot be verified. A row that is made here (`tabu.py`) goes into a file
of the same form; how it was made, with its vector, goes into a table beside it.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, DataError
from rig.files import small_text, table_file
from rig.model.finding import Finding
from rig.store.session_folder import write_text
from scenarios.tasks.qubo.graph import Workload
from scenarios.tasks.qubo.targets import Target, Targets, stored_cost

#: QUBO.md: "Small QUBO workloads with fewer than 50 nodes will be solved to global
#: optimality".
GLOBAL_BELOW_NODES = 50
#: QUBO.md: "The DWave Tabu CPU sampler will be used with 100 reads and 50 restarts".
READS = 100
RESTARTS = 50
COLUMNS = ("num_vertices", "density", "random_seed", "c_optimal")
#: What NeuroBench's config_csv_writer.py puts where no cost was found yet.
PLACEHOLDER = -1
PUBLISHED = (
    "published: NeuroBench/system_benchmarks, QUBO/default_config.csv; "
    "costs without vectors, not verified"
)  # fmt: skip
OPTIMUM = "global optimum, proven by branch and bound"


@dataclass(frozen=True, slots=True)
class Made:
    """Origin of an official cost: method, version, reads, restarts, seed, date; its
    vector."""

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
        """Whether it was made as NeuroBench makes its own."""
        return self.method == OPTIMUM or (self.reads, self.restarts) == (
            READS,
            RESTARTS,
        )

    @property
    def source(self) -> str:
        """Return in one line how the cost was made."""
        if self.method == OPTIMUM:
            return f"{self.method}, {self.date}"
        rules = f"the {READS} reads and {RESTARTS} restarts of the rules"
        other = "" if self.by_the_rules else f"; not {rules}"
        how = f"{self.reads} reads, {self.restarts} restarts, seed {self.seed}"
        return f"{self.method} ({self.version}), {how}, {self.date}{other}"


@dataclass(frozen=True, slots=True)
class Official:
    """The official target of a workload: a cost, and how it was made, where that is
    known."""

    workload: Workload
    cost: int
    made: Made | None = None

    def check(self) -> Finding:
        """Regenerate the graph and evaluate the vector, where there is one."""
        name = f"official target of {self.workload}"
        if self.made is None:
            return Finding(name, False, "cost without vector, not verified")
        try:
            cost = stored_cost(self.workload, self.made.graph, self.made.solution)
        except DataError as error:
            return Finding(name, False, str(error))
        detail = f"the vector costs {cost}, not {self.cost}"
        return Finding(name, cost == self.cost, detail)


@dataclass(frozen=True, slots=True)
class Officials:
    """A file of official targets: its source, its hash (empty: the shipped costs), its
    rows."""

    source: str
    sha256: str
    rows: Mapping[Workload, Official]

    def of(self, workload: Workload, best: Target | None) -> tuple[int, str] | None:
        """Return cost and source of a workload's official target; None where there is
        none.

        Below 50 nodes it is the global optimum, so a proven cost of ours is that too.
        Raises DataError for a cost that is proven to be impossible.
        """
        row = self.rows.get(workload)
        if row is None:
            if best is None or not best.proven or workload.nodes >= GLOBAL_BELOW_NODES:
                return None
            return (
                best.cost,
                f"global optimum, as the rules ask below 50 nodes: {best.method}",
            )
        if best is not None and best.proven and row.cost < best.cost:
            raise DataError(
                f"the official cost of {workload} is {row.cost}, proven is none below"
                f" {best.cost}",
                evidence=self.source,
                try_next=(
                    f"a file for these graphs, {','.join(COLUMNS)}; rig qubo targets"
                    " --verify"
                ),
            )
        return row.cost, row.made.source if row.made else self.source


def shipped(targets: Targets) -> Officials:
    """Return the published costs of a table of targets."""
    rows: dict[Workload, Official] = {}
    for row in targets.rows.values():
        if row.published is not None:
            rows[row.workload] = Official(row.workload, row.published)
    return Officials(PUBLISHED, "", rows)


def read(path: Path) -> Officials:
    """Read a file of the published form, and how rows of it were made; raise
    DataError."""
    content = _bytes(path)
    made = _made(side(path))
    rows: dict[Workload, Official] = {}
    for number, line in enumerate(_lines(path, content, COLUMNS), start=2):
        workload, value = _published(path, number, line)
        complete = workload.edges == workload.nodes * (workload.nodes - 1) // 2
        if value == PLACEHOLDER and not complete:
            continue
        if workload in rows:
            raise DataError(f"{path}, line {number}: {workload} again")
        other, how = made.get(workload, (value, None))
        if other != value:
            evidence = f"{path}, line {number}: {workload} costs {value}, and {other}"
            raise DataError(
                f"{evidence} in {side(path).name}",
                try_next=(
                    f"remove the row from one of them: {side(path).name} says how it"
                    " was made"
                ),
            )
        rows[workload] = Official(workload, value, how)
    source = (
        f"{path.name}; costs without vectors, not verified, where no row says how it"
        " was made"
    )
    return Officials(source, hashlib.sha256(content).hexdigest(), rows)


def write(officials: Iterable[Official], path: Path) -> None:
    """Write the published form, and beside it how rows were made; readers see old or
    new files."""
    rows = sorted(officials, key=lambda row: dataclasses.astuple(row.workload))
    plain = [(*dataclasses.astuple(row.workload), row.cost) for row in rows]
    made = []
    for first, row in zip(plain, rows, strict=True):
        if row.made is not None:
            made.append((*first, *dataclasses.astuple(row.made)))
    # First how they were made: a row of the published form is never without it.
    _write(side(path), (*COLUMNS, *_further()), made)
    _write(path, COLUMNS, plain)


def side(path: Path) -> Path:
    """Return where it stands how the rows of a file were made."""
    return path.with_name(f"{path.stem}.made.csv")


def _further() -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(Made))


def _made(path: Path) -> dict[Workload, tuple[int, Made]]:
    if not path.exists():
        return {}
    made = {}
    numbered = enumerate(_lines(path, _bytes(path), (*COLUMNS, *_further())), start=2)
    for number, line in numbered:
        workload, value = _published(path, number, line)
        further: dict[str, Any] = {name: line[name] for name in _further()}
        try:
            further |= {
                name: int(further[name]) for name in ("reads", "restarts", "seed")
            }
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{path}, line {number} is damaged", evidence=repr(error)
            ) from error
        made[workload] = (value, Made(**further))
    return made


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read", evidence=str(error)) from error


def _lines(
    path: Path, content: bytes, columns: tuple[str, ...]
) -> list[dict[str, str]]:
    try:
        table = csv.DictReader(io.StringIO(small_text.text_of(content), newline=""))
        lines = [line for line in table if any(line.values())]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no table", evidence=repr(error)) from error
    names = tuple(name.strip() for name in table.fieldnames or ())
    if names != columns:
        try_next = ",".join(columns)
        raise DataError(
            f"{path} has other columns", evidence=f"{names}", try_next=try_next
        )
    return lines


def _published(
    path: Path, number: int, line: Mapping[str, str]
) -> tuple[Workload, int]:
    where = f"{path}, line {number}"
    try:
        if None in line:
            raise ValueError("too many cells")
        nodes, density, seed, value = (line[name] for name in COLUMNS)
        workload = Workload(int(nodes), float(density), int(seed))
        least = int(value)
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        evidence = f"{error!r}: {dict(line)}"
        raise DataError(f"{where} is damaged", evidence=evidence) from error
    if not -workload.nodes <= least <= 0:
        raise DataError(
            f"{where}: no set of {workload} costs {least}", try_next="-nodes to 0"
        )
    return workload, least


def _write(
    path: Path, columns: tuple[str, ...], rows: Sequence[Sequence[object]]
) -> None:
    # The line ends of the published file.
    table = table_file.text([columns, *rows], end="\r\n")
    write_text(path, table)
