# SPDX-License-Identifier: Apache-2.0
"""The requirements of a benchmark of searches: every cell of its grid or an explicit
"no result", the seeds of its problems, and the largest workload.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from rig.bench import plugins
from rig.errors import DAMAGE, ConfigError, RigError
from rig.files import small_text, typed
from rig.judge.evidence import Evidence
from rig.judge.requirements import JudgedCase
from rig.judge.row import JudgedRow
from rig.judge.rules import CostsRule, GridRule, LargestRule, SeedsRule
from rig.results.submission_file import SubmittedConfiguration
from rig.store.session_folder import PROVENANCE, read_json

#: Key of `no_result` for the largest workload.
LARGEST = "largest"
#: Of NeuroBench's file of costs.
_COLUMNS = ("num_vertices", "density", "random_seed", "c_optimal")


@dataclass(frozen=True, slots=True)
class SearchedWorkload:
    """A workload as a session's provenance names it."""

    nodes: int
    density: float
    seed: int
    official: int | None = None
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class SearchedWorkloads:
    """The workloads of a session."""

    workloads: tuple[SearchedWorkload, ...]


@dataclass(frozen=True, slots=True)
class TriedSize:
    """A size that was tried in the search for the largest workload."""

    nodes: int
    density: float
    outcome: str
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class LargestSize:
    """The largest size of a series, and the size at which the search ended early."""

    density: float
    nodes: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class TriedDevice:
    """The device of a search for the largest workload."""

    name: str
    firmware: str
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class LargestFile:
    """The evidence of the largest workload."""

    simulated: bool
    sut: TriedDevice
    largest: dict[str, LargestSize]
    tries: tuple[TriedSize, ...]
    more: dict[str, Any] = typed.rest()


def rows(
    case: JudgedCase, announced: Sequence[int], official: Path | None
) -> Iterator[JudgedRow]:
    """Yield the rows of a benchmark with a grid; `announced` are its official seeds,
    `official` is the file of their costs.
    """
    if case.rules.grid is not None:
        yield _cells(case, case.rules.grid)
    if case.rules.seeds is not None:
        yield from _seeds(case, case.rules.seeds, announced)
    if case.rules.costs is not None:
        yield _costs(case, case.rules.costs, official)
    if case.rules.largest is not None:
        yield _largest(case, case.rules.largest)


def _cells(case: JudgedCase, rule: GridRule) -> JudgedRow:
    """Ask for each cell of each configuration: all of its metrics, or a reason."""
    by_name = {each.stated.name: each for each in case.sessions}
    wrong: list[str] = []
    measured = 0
    for configuration in case.submission.configurations:
        sessions = [by_name[stated.name] for stated in configuration.sessions]
        cells = [_cells_of(each, rule) for each in sessions]
        counts = Counter(chain.from_iterable(cells))
        measured += len(counts)
        wrong += [f"{cell} was measured twice" for cell, n in counts.items() if n > 1]
        for cell in rule.cells():
            if cell in counts:
                wrong += _missing(configuration, cell, rule)
            elif not _reason(case.submission.no_result, cell):
                wrong.append(
                    f"{configuration.name}: {cell} has neither result nor reason"
                )
    good = f"{measured} cells measured, a reason for each other one"
    return case.row("cells", wrong, good, rule.sentence)


def _missing(
    configuration: SubmittedConfiguration, cell: str, rule: GridRule
) -> Iterator[str]:
    """Yield the metrics of a measured cell that have neither value nor reason."""
    for name in rule.due(cell):
        values = []
        for session in configuration.sessions:
            if name in session.metrics:
                values.append(session.metrics[name].value)
        is_explained = any(
            session.no_result.get(name) for session in configuration.sessions
        )
        if not is_explained and (len(values) != 1 or values[0] is None):
            yield f"{configuration.name} has no {name}, and no reason"


def _reason(no_result: Mapping[str, str], cell: str) -> str:
    """Return the stated reason why a cell has no result; empty where there is none."""
    return next(
        (why for pattern, why in no_result.items() if fnmatchcase(cell, pattern)), ""
    ).strip()


def _workloads(each: Evidence) -> tuple[SearchedWorkload, ...]:
    """Return the workloads of a session."""
    facts = each.context.provenance.task.details if each.context else {}
    stored = {"workloads": facts.get("workloads", [])}
    return typed.from_json(SearchedWorkloads, stored, PROVENANCE).workloads


def _cells_of(each: Evidence, rule: GridRule) -> set[str]:
    names = {density: name for name, density in rule.densities.items()}
    return {
        f"{one.nodes}n_{names[one.density]}"
        for one in _workloads(each)
        if one.density in names
    }


def _seeds(
    case: JudgedCase, rule: SeedsRule, announced: Sequence[int]
) -> Iterator[JudgedRow]:
    """Ask that the seeds of the results are five, none of them for tuning, and those
    that were announced.
    """
    wrong = []
    found: set[int] = set()
    for each in case.readable:
        seeds = {one.seed for one in _workloads(each)}
        found |= seeds
        name = each.stated.name
        if len(seeds) != rule.count:
            wrong.append(f"{name} has {len(seeds)} where {rule.count} seeds are due")
        if tuning := sorted(seeds & set(rule.tuning)):
            wrong.append(f"{name} reports the tuning seeds {tuning}")
    if len(found) > rule.count:
        wrong.append(f"its sessions have {len(found)} seeds")
    tuned = set(case.submission.tuning_seeds)
    if odd := sorted(tuned - set(rule.tuning)):
        wrong.append(f"it was tuned with the seeds {odd}")
    good = f"seeds {sorted(found)}; tuned with {sorted(tuned) or 'none'}"
    yield case.row("seeds", wrong, good, rule.sentence)
    if not announced:
        said = "the announced seeds are not given: --seeds"
        yield JudgedRow("announced seeds", None, said, rule.sentence)
        return
    is_other = bool(case.readable) and found != set(announced)
    other = [f"{sorted(found)} are others"] * is_other
    yield case.row("announced seeds", other, str(sorted(announced)), rule.sentence)


def _costs(case: JudgedCase, rule: CostsRule, official: Path | None) -> JudgedRow:
    """Ask that gaps and targets are those of the announced costs: a session whose own
    costs are easy has better numbers.
    """
    name = "announced costs"
    if official is None:
        said = "the file of announced costs is not given: --official"
        return JudgedRow(name, None, said, rule.sentence)
    due = _read_costs(official)
    wrong = []
    for each in case.readable:
        for one in _workloads(each):
            announced = due.get((one.nodes, one.density, one.seed))
            if announced is None or one.official != announced:
                place = f"{one.nodes} nodes, {one.density:g}, seed {one.seed}"
                said = "none" if announced is None else str(announced)
                wrong.append(f"{place}: {one.official}, announced is {said}")
    return case.row(name, wrong, f"those of {official.name}", rule.sentence)


def _read_costs(path: Path) -> dict[tuple[int, float, int], int]:
    """Read costs in NeuroBench's form, by nodes, density and seed."""
    costs = {}
    try:
        head, *lines = csv.reader(small_text.read(path).splitlines())
        if tuple(head) != _COLUMNS:
            raise ValueError(f"it begins with {', '.join(head)[:80]}")
        for nodes, density, seed, cost in lines:
            costs[int(nodes), float(density), int(seed)] = int(cost)
    except ValueError as error:
        raise ConfigError(
            f"{path} has no costs in NeuroBench's form",
            path="--official",
            evidence=str(error),
            try_next=f"columns {', '.join(_COLUMNS)}",
        ) from error
    return costs


def _largest(case: JudgedCase, rule: LargestRule) -> JudgedRow:
    """Ask for the largest workload of each series with its evidence, or a reason."""
    name = case.submission.largest
    reason = case.submission.no_result.get(LARGEST, "").strip()
    if not name:
        faults = [] if reason else ["it has neither evidence nor reason"]
        return case.row(LARGEST, faults, f"no result: {reason}", rule.sentence)
    try:
        tree = read_json(case.folder / name)
        found = typed.from_json(LargestFile, tree, name)
        wrong = list(_wrong_tries(case, rule, found))
        kind = plugins.find("task", case.rules.benchmark)
        if kind.derived(case.folder, name, tree) != tree:
            wrong.append("its tries are not found again from their vectors")
    except (RigError, *DAMAGE) as error:
        said = f"{name} cannot be read: {error}"
        return JudgedRow(LARGEST, False, said[:200], rule.sentence)
    sizes = [f"{series} = {one.nodes}" for series, one in found.largest.items()]
    return case.row(LARGEST, wrong, ", ".join(sizes), rule.sentence)


def _wrong_tries(
    case: JudgedCase, rule: LargestRule, found: LargestFile
) -> Iterator[str]:
    """Yield the faults of the evidence of the largest workload."""
    if found.simulated:
        yield "it is of a simulated device"
    suts = [each.results.provenance.sut for each in case.readable if each.results]
    own = (found.sut.name, found.sut.firmware)
    if own not in [(sut.name, sut.firmware) for sut in suts]:
        yield "it is of another device, or of other firmware"
    for series, density in rule.series.items():
        stated = found.largest.get(series)
        if stated is None or stated.density != density:
            yield f"{series} is missing, or of another density"
            continue
        tries = [one for one in found.tries if one.density == density]
        good = [one.nodes for one in tries if one.outcome == "good"]
        if stated.nodes != max(good, default=0):
            yield f"{series} is not the largest good size of its tries"
        next_size = stated.nodes + 1
        bad = [one.nodes for one in tries if one.outcome != "good"]
        if stated.limit is None and next_size not in bad:
            yield f"{series}: the next size was not tried"
