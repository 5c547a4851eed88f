# SPDX-License-Identifier: Apache-2.0
"""Problems read from files: the format is recognised, entries are counted and put in
order, and oddities are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from rig.errors import DataError
from rig.files import foreign_files, small_text
from scenarios.tasks.qubo.formats import (
    dimacs,
    dimod_binary,
    dimod_models,
    edge_list,
    matrix_market,
)
from scenarios.tasks.qubo.formats.entries import (
    ENTRIES_MAX,
    Entries,
    lines_of,
    whole,
)
from scenarios.tasks.qubo.graph import NODES_MAX, Graph
from scenarios.tasks.qubo.problem import (
    CUT,
    GENERAL,
    KINDS,
    SET,
    SUM_MAX,
    Kind,
    QuadraticProblem,
    Sense,
    Whole,
    cut,
    independent_set,
    refuse_unfit,
)

#: A list of 12 million edges with weights.
LARGEST_B = 1 << 28
EDGES_MAX = ENTRIES_MAX // 2
#: So many characters show the form of a file.
_BEGINNING = 1 << 16
#: First character of a line that has no data: it is empty or a comment.
_WITHOUT_DATA = ("", "c", "#")
Reader = Callable[[str, int], Entries]
READERS: dict[str, Reader] = {
    dimacs.FORMAT: dimacs.read,
    edge_list.GSET: partial(edge_list.read, form=edge_list.GSET),
    edge_list.BIQ_MAC_CUT: partial(edge_list.read, form=edge_list.BIQ_MAC_CUT),
    edge_list.BIQ_MAC_MATRIX: partial(edge_list.read, form=edge_list.BIQ_MAC_MATRIX),
    matrix_market.FORMAT: matrix_market.read,
    dimod_models.JSON: dimod_models.read_json,
    dimod_models.COO: dimod_models.read_coo,
}
#: The kind of each format where none is named; a matrix may be of any.
KIND_OF: dict[str, Kind] = {
    dimacs.FORMAT: SET,
    edge_list.GSET: CUT,
    edge_list.BIQ_MAC_CUT: CUT,
    edge_list.BIQ_MAC_MATRIX: GENERAL,
    dimod_models.JSON: GENERAL,
    dimod_models.COO: GENERAL,
    dimod_binary.BINARY: GENERAL,
}
FORMATS = (*READERS, dimod_binary.BINARY)


@dataclass(frozen=True, slots=True)
class ProblemFile:
    """A problem, the form and the SHA-256 of its file, and notes of its oddities."""

    problem: QuadraticProblem
    format: str
    sha256: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """The kind, format and sense of a file; empty where the file shows them.

    `complement`: the pairs that are no edges are the edges, as an independent set of
    these is a clique of the file.
    """

    kind: str = ""
    format: str = ""
    sense: str = ""
    complement: bool = False


def read(path: Path, options: ReadingOptions | None = None) -> ProblemFile:
    """Read a file; raise DataError, in one sentence, where it is no problem, or none
    that can be searched.
    """
    options = options or ReadingOptions()
    try:
        with foreign_files.opened(path) as stream:
            block = stream.read(LARGEST_B + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read", evidence=str(error)) from error
    if len(block) > LARGEST_B:
        raise DataError(f"{path} has more than {LARGEST_B} bytes")
    try:
        return _of(block, path, options)
    except DataError as error:
        raise DataError(
            f"{path.name}: {error.cause}",
            evidence=error.evidence,
            try_next=error.try_next,
        ) from error


def _of(block: bytes, path: Path, options: ReadingOptions) -> ProblemFile:
    form = options.format
    if block.startswith(dimod_binary.MAGIC):
        form = form or dimod_binary.BINARY
    if form == dimod_binary.BINARY:
        kind = _kind(form, options.kind)
        entries = dimod_binary.read(block, NODES_MAX)
    else:
        text = _text(block)
        form = form or recognised(text, path.suffix.lower())
        kind = _kind(form, options.kind)
        entries = READERS[form](text, NODES_MAX)
    if len(entries.ends) > ENTRIES_MAX:
        raise DataError(f"{len(entries.ends)} entries, {ENTRIES_MAX} are possible")
    problem, notes = problem_of(entries, kind, complement=options.complement)
    if options.sense:
        problem = _turned(problem, options.sense)
    refuse_unfit(problem, "the file")
    return ProblemFile(problem, form, sha256(block).hexdigest(), notes)


def _text(block: bytes) -> str:
    try:
        return small_text.text_of(block)
    except UnicodeDecodeError as error:
        raise DataError("no text", evidence=str(error)[:200]) from error


def recognised(text: str, suffix: str) -> str:
    """Return the form of a file by its beginning and its name; raise DataError."""
    start = text[:_BEGINNING].lstrip()
    if start.startswith("{"):
        return dimod_models.JSON
    if start.lower().startswith(matrix_market.MARK):
        return matrix_market.FORMAT
    if dimod_models.VARTYPE.match(start) or suffix == ".coo":
        return dimod_models.COO
    if suffix in (".mc", ".bq"):
        return suffix[1:]
    with_data = (
        line for line in lines_of(text) if line.strip()[:1] not in _WITHOUT_DATA
    )
    first = next(with_data, "").split()
    if first[:1] == ["p"]:
        return dimacs.FORMAT
    if len(first) == 2 and all(part.isdigit() for part in first):
        return edge_list.GSET
    raise DataError(
        "no form of a problem that is known",
        evidence=" ".join(first)[:60],
        try_next=f"format = one of {', '.join(FORMATS)}",
    )


def _kind(form: str, expected: str) -> Kind:
    kind = next((kind for kind in KINDS if kind == expected), None) or KIND_OF.get(form)
    if kind is None:
        raise DataError(
            "a matrix, which may be a graph or a cost",
            try_next=f"name its kind: {', '.join(KINDS)}",
        )
    if form.startswith("dimod-") and kind != GENERAL:
        raise DataError(
            f"a model of dimod is no {kind}", try_next=f'kind = "{GENERAL}"'
        )
    if form == edge_list.BIQ_MAC_MATRIX and kind != GENERAL:
        raise DataError(f"a .bq file is no {kind}", try_next=f'kind = "{GENERAL}"')
    return kind


def problem_of(
    entries: Entries, kind: Kind, *, complement: bool = False
) -> tuple[QuadraticProblem, tuple[str, ...]]:
    """Return the problem of a file's entries, and notes of its oddities;
    raise DataError where there is none.
    """
    notes = _announced(entries)
    if complement and kind != SET:
        raise DataError(
            f"the complement of a file of kind {kind}",
            try_next=f'kind = "{SET}", or leave out complement',
        )
    if kind != SET:
        notes += _unused_weights(entries, kind)
    if kind == GENERAL:
        return _general(entries, notes)
    weights, scale = whole(entries.weights or ["1"] * len(entries.ends))
    _refuse_sum(weights)
    pairs, weights = _pairs(entries, weights, notes)
    if kind == CUT:
        pairs, weights = _summed(pairs, weights, notes)
        return cut(entries.nodes, pairs, weights, scale), tuple(notes)
    if (weights != scale).any():
        raise DataError(
            "edges with weights, which an independent set has no use for",
            try_next=f'kind = "{CUT}", or weights of nodes',
        )
    once = np.unique(pairs)
    if doubles := len(pairs) - len(once):
        notes.append(f"edges listed again, which count once: {doubles}")
    if complement:
        once = _complement(entries.nodes, once)
        notes.append(f"edges of the complement, which is the graph: {len(once)}")
    node_weights, scale = whole(entries.node_weights or ["1"] * entries.nodes)
    _refuse_sum(node_weights)
    if (node_weights < 1).any():
        raise DataError(
            f"node {int(np.argmin(node_weights)) + 1} has a weight of 0 or less",
            try_next="leave it out: it is in no best set",
        )
    graph = Graph(entries.nodes, once.astype(np.uint64))
    problem = independent_set(graph, node_weights)
    return replace(problem, scale=scale), tuple(notes)


def _refuse_sum(weights: Whole) -> None:
    """Raise DataError where sums of weights would leave 64 bits."""
    total = int(np.abs(weights).sum(dtype=np.float64))
    if total >= 2**40:
        raise DataError(
            f"the weights add up to {total}, in units of their last decimal",
            evidence=f"the search counts to {SUM_MAX}",
            try_next="smaller weights, or with fewer decimals",
        )


def _unused_weights(entries: Entries, kind: Kind) -> list[str]:
    """Return a note of weights of nodes, which only a set has; raise DataError where a
    text is none.
    """
    weights, scale = whole(entries.node_weights or ["1"])
    unused = int((weights != scale).sum())
    if not unused:
        return []
    return [f"weights of nodes, which are not used for the kind {kind}: {unused}"]


def _announced(entries: Entries) -> list[str]:
    count = len(entries.ends)
    if entries.announced in (None, count):
        return []
    return [f"entries announced: {entries.announced}, in the file: {count}"]


def _pairs(entries: Entries, weights: Whole, notes: list[str]) -> tuple[Whole, Whole]:
    """Return entries as pairs, lesser * nodes + greater, without loops; of a matrix
    that is equal on both sides of its diagonal, one side."""
    ends = entries.ends
    loops = ends[:, 0] == ends[:, 1]
    if loops.any():
        notes.append(f"loops left out: {int(loops.sum())}")
    ends, weights = ends[~loops], weights[~loops]
    below = ends[:, 0] > ends[:, 1]
    pairs = ends.min(axis=1) * entries.nodes + ends.max(axis=1)
    if not entries.is_matrix or entries.mirrored or not below.any():
        return pairs, weights
    lower = np.lexsort((weights[below], pairs[below]))
    upper = np.lexsort((weights[~below], pairs[~below]))
    same_pairs = np.array_equal(pairs[below][lower], pairs[~below][upper])
    same_weights = np.array_equal(weights[below][lower], weights[~below][upper])
    if same_pairs and same_weights:
        return pairs[~below], weights[~below]
    if (~below).any():
        raise DataError(
            "a matrix that differs on both sides of its diagonal, which is no graph",
            try_next=f'kind = "{GENERAL}"',
        )
    return pairs, weights


def _summed(pairs: Whole, weights: Whole, notes: list[str]) -> tuple[Whole, Whole]:
    """Return each pair once, with the sum of its weights, in ascending order, without
    those of weight 0."""
    once, which = np.unique(pairs, return_inverse=True)
    total = np.zeros(len(once), np.int64)
    np.add.at(total, which, weights)
    if doubles := len(pairs) - len(once):
        notes.append(f"edges listed again, whose weights are added: {doubles}")
    kept = total != 0
    if without := int((~kept).sum()):
        notes.append(f"edges of weight 0, left out: {without}")
    return once[kept], total[kept]


def _complement(nodes: int, pairs: Whole) -> Whole:
    edges = nodes * (nodes - 1) // 2 - len(pairs)
    if edges > EDGES_MAX:
        raise DataError(
            f"the complement has {edges} edges, {EDGES_MAX} are possible",
            try_next="a file with fewer nodes, or without complement",
        )
    lesser, greater = np.triu_indices(nodes, 1)
    return np.setdiff1d(lesser * nodes + greater, pairs, assume_unique=True)


def _general(
    entries: Entries, notes: list[str]
) -> tuple[QuadraticProblem, tuple[str, ...]]:
    texts = [*(entries.weights or ["1"] * len(entries.ends)), entries.offset]
    numbers, scale = whole(texts)
    weights, offset = numbers[:-1], int(numbers[-1])
    _refuse_sum(weights)
    nodes = entries.nodes
    ends = entries.ends
    single = ends[:, 0] == ends[:, 1]
    linear = np.zeros(nodes, np.int64)
    np.add.at(linear, ends[single, 0], weights[single])
    ends, weights = ends[~single], weights[~single]
    if entries.mirrored:
        weights = 2 * weights
    pairs = ends.min(axis=1) * nodes + ends.max(axis=1)
    both_sides = entries.is_matrix and not entries.mirrored
    pairs, weights = _summed(pairs, weights, [] if both_sides else notes)
    problem = QuadraticProblem(
        GENERAL, nodes, linear, pairs, weights, offset=offset, scale=scale
    )
    return (_binary(problem) if entries.spin else problem), tuple(notes)


def _binary(spins: QuadraticProblem) -> QuadraticProblem:
    """Return the problem of variables 0 and 1 of one of -1 and 1: s = 2 x - 1."""
    lesser, greater = spins.ends
    linear = 2 * spins.linear
    np.subtract.at(linear, lesser, 2 * spins.quadratic)
    np.subtract.at(linear, greater, 2 * spins.quadratic)
    constant = int(spins.quadratic.sum() - spins.linear.sum())
    return replace(
        spins,
        linear=linear,
        quadratic=4 * spins.quadratic,
        offset=spins.offset + constant,
    )


def _turned(problem: QuadraticProblem, sense: str) -> QuadraticProblem:
    """Return a problem that asks for the least or the most, as is wanted."""
    if problem.kind != GENERAL:
        raise DataError(
            f"the sense of a file of kind {problem.kind} is {problem.sense}",
            try_next="leave out sense",
        )
    if sense == problem.sense:
        return problem
    other: Sense = "max" if problem.sense == "min" else "min"
    return replace(
        problem,
        linear=-problem.linear,
        quadratic=-problem.quadratic,
        offset=-problem.offset,
        sense=other,
    )
