# SPDX-License-Identifier: Apache-2.0
"""Files of problems: what each format means, against the library whose format it is,
and one sentence for what is no problem.
"""

from __future__ import annotations

import json
import struct
import tracemalloc
from itertools import combinations
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import DataError
from scenarios.tasks.qubo import problem_file
from scenarios.tasks.qubo.formats import dimod_binary, dimod_models, entries
from scenarios.tasks.qubo.formats.entries import fields_of, lines_of, whole
from scenarios.tasks.qubo.problem import QuadraticProblem
from scenarios.tasks.qubo.problem_file import READERS, ProblemFile, ReadingOptions
from tests.scenarios.tasks.qubo.problems import least_cost

DIMACS = """c a square with a diagonal
p edge 4 10
n 2 5
e 1 2
e 2 3
e 3 4
e 4 1
e 1 3
e 2 1
e 4 4
"""
GSET = "5 6\n1 2 1\n2 3 -1\n3 4 1\n4 5 1\n5 1 -1\n1 3 1\n"
BQ = "# three variables\n3 5\n1 1 -2\n2 2 -2\n3 3 1.5\n1 2 3\n2 3 -2.25\n"


def read(tmp_path: Path, name: str, text: str, **wanted: str | bool) -> ProblemFile:
    """Read a text as a file of that name."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return problem_file.read(path, ReadingOptions(**wanted))  # type: ignore[arg-type]


def vectors(nodes: int) -> np.ndarray:
    """Return every vector."""
    return np.arange(1 << nodes)[:, None] >> np.arange(nodes) & 1


def values(problem: QuadraticProblem) -> list[float]:
    """Return the value of every vector, in the numbers of the file."""
    return [problem.value(problem.cost(vector)) for vector in vectors(problem.nodes)]


def test_edges_of_dimacs_are_counted_and_odd_ones_reported(tmp_path: Path) -> None:
    found = read(tmp_path, "square.col", DIMACS)
    problem = found.problem
    assert (found.format, problem.kind, problem.measure) == (
        "dimacs",
        "independent-set",
        "weight",
    )
    assert (problem.nodes, problem.edges) == (4, 5)
    assert found.notes == (
        "entries announced: 10, in the file: 7",
        "loops left out: 1",
        "edges listed again, which count once: 1",
    )
    # Nodes 2 and 4 have no edge: 5 + 1.
    assert problem.value(least_cost(problem)) == 6


@pytest.mark.parametrize("kind", ["max-cut", "qubo"])
def test_weights_of_nodes_that_a_kind_does_not_use_are_reported(
    tmp_path: Path, kind: str
) -> None:
    text = "p edge 3 2\nn 1 5\nn 2 1\nn 3 2.5\ne 1 2\ne 2 3\n"
    notes = read(tmp_path, "a.col", text, kind=kind).notes
    assert notes == (f"weights of nodes, which are not used for the kind {kind}: 2",)
    unweighted = text.replace("n 1 5", "n 1 1").replace("n 3 2.5", "n 3 1.0")
    assert not read(tmp_path, "a.col", unweighted, kind=kind).notes
    with pytest.raises(DataError, match="'x' is no weight"):
        read(tmp_path, "a.col", text.replace("2.5", "x"), kind=kind)


def test_a_clique_of_dimacs_is_a_set_of_the_complement(tmp_path: Path) -> None:
    graph = networkx.gnp_random_graph(14, 0.6, seed=3)
    lines = [f"p edge 14 {graph.number_of_edges()}"]
    lines += [f"e {one + 1} {other + 1}" for one, other in graph.edges]
    found = read(tmp_path, "clique.clq", "\n".join(lines), complement=True)
    largest = max(map(len, networkx.find_cliques(graph)))
    assert found.problem.value(least_cost(found.problem)) == largest


def test_every_cut_of_a_gset_file_weighs_what_networkx_says(tmp_path: Path) -> None:
    found = read(tmp_path, "g.txt", GSET)
    graph = networkx.Graph()
    graph.add_nodes_from(range(1, 6))
    for line in GSET.splitlines()[1:]:
        one, other, weight = map(int, line.split())
        graph.add_edge(one, other, weight=weight)
    expected = [
        networkx.cut_size(graph, set(np.flatnonzero(vector) + 1), weight="weight")
        for vector in vectors(5)
    ]
    assert (found.format, found.problem.measure) == ("gset", "cut")
    assert not found.problem.weighted
    assert values(found.problem) == expected


def test_weights_of_edges_that_are_listed_again_are_added(tmp_path: Path) -> None:
    found = read(tmp_path, "g.mc", "3 4\n1 2 2\n2 1 3\n2 3 0\n3 3 1\n")
    assert found.problem.edges == 1
    assert max(values(found.problem)) == 5
    assert found.notes == (
        "loops left out: 1",
        "edges listed again, whose weights are added: 1",
        "edges of weight 0, left out: 1",
    )


def test_a_matrix_of_biq_mac_is_symmetric(tmp_path: Path) -> None:
    found = read(tmp_path, "m.bq", BQ)
    matrix = np.array([[-2, 3, 0], [3, -2, -2.25], [0, -2.25, 1.5]])
    expected = [float(vector @ matrix @ vector) for vector in vectors(3)]
    assert found.problem.measure == "energy" and found.problem.scale == 100
    assert values(found.problem) == expected
    turned = read(tmp_path, "m.bq", BQ, sense="max").problem
    assert turned.measure == "objective"
    assert values(turned) == expected
    assert turned.value(least_cost(turned)) == max(expected)


_ARRAY = "%%MatrixMarket matrix array real general\n"


@pytest.mark.parametrize("unit", [1, 0.25])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_matrix_that_scipy_writes_is_read_as_a_cost(
    tmp_path: Path, symmetric: bool, dense: bool, unit: float
) -> None:
    io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(4)
    matrix = random.integers(-9, 9, (6, 6)) * (random.random((6, 6)) < 0.5)
    if symmetric:
        matrix += matrix.T
    matrix = matrix * unit
    path = tmp_path / "q.mtx"
    io.mmwrite(path, matrix if dense else sparse.coo_matrix(matrix))
    found = problem_file.read(path, ReadingOptions(kind="qubo"))
    text = path.read_text()
    assert ("symmetric" in text, "array" in text) == (symmetric, dense)
    assert values(found.problem) == [
        float(vector @ matrix @ vector) for vector in vectors(6)
    ]


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_an_adjacency_matrix_is_a_graph(tmp_path: Path, symmetry: str) -> None:
    entries = ["2 1", "3 2", "4 3", "4 1"]
    if symmetry == "general":
        entries += [" ".join(reversed(entry.split())) for entry in entries]
    text = f"%%MatrixMarket matrix coordinate pattern {symmetry}\n% four in a ring\n"
    text += "\n".join([f"4 4 {len(entries)}", *entries])
    found = read(tmp_path, "ring.mtx", text, kind="max-cut")
    assert (found.problem.edges, max(values(found.problem))) == (4, 4)
    with pytest.raises(DataError, match="may be a graph or a cost"):
        read(tmp_path, "ring.mtx", text)


def test_a_matrix_that_is_no_graph_is_refused_as_one(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n"
    text += "1 2 1.0\n2 1 2.0\n2 3 1\n"
    with pytest.raises(DataError, match="differs on both sides"):
        read(tmp_path, "a.mtx", text, kind="max-cut")
    assert read(tmp_path, "a.mtx", text, kind="qubo").problem.edges == 2


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_models_of_dimod_have_its_energies(tmp_path: Path, vartype: str) -> None:
    dimod = pytest.importorskip("dimod")
    from dimod.serialization import coo

    random = np.random.default_rng(7)
    linear = {node: float(random.integers(-8, 9)) / 4 for node in range(5)}
    quadratic = {
        pair: float(random.integers(-8, 9)) / 8 for pair in combinations(range(5), 2)
    }
    model = dimod.BinaryQuadraticModel(linear, quadratic, 0.75, vartype)
    of_json = read(tmp_path, "m.json", json.dumps(model.to_serializable()))
    states = vectors(5) if vartype == "BINARY" else 2 * vectors(5) - 1
    assert np.allclose(values(of_json.problem), model.energies(states), atol=1e-12)
    # The text has no offset.
    of_text = read(tmp_path, "m.coo", coo.dumps(model, vartype_header=True))
    assert np.allclose(
        values(of_text.problem), model.energies(states) - 0.75, atol=1e-12
    )

    for version in (1, 2):
        path = tmp_path / f"m{version}.bqm"
        with model.to_file(version=version) as written:
            path.write_bytes(written.read())
        of_binary = problem_file.read(path)
        assert of_binary.format == "dimod-bqm"
        energies = model.energies(states)
        assert np.allclose(values(of_binary.problem), energies, atol=1e-12)


@pytest.mark.parametrize("bias", [np.float32, np.float64])
def test_the_binary_file_of_a_model_with_labels_keeps_their_order(
    tmp_path: Path, bias: type
) -> None:
    dimod = pytest.importorskip("dimod")
    model = dimod.BinaryQuadraticModel("SPIN", dtype=bias)
    model.add_linear_from({"z": 0.1, "a": -2, ("b", 1): 0})
    model.add_quadratic("a", "z", 0.3)
    path = tmp_path / "labels.bqm"
    with model.to_file() as written:
        path.write_bytes(written.read())
    problem = problem_file.read(path).problem
    energies = model.energies((2 * vectors(3) - 1, list(model.variables)))
    assert np.allclose(values(problem), energies, atol=1e-6)


def _body(numbers: tuple[float, ...]) -> bytes:
    return struct.pack("<did id idid", *numbers)


def _binary(changes: dict[str, object], body: bytes = b"") -> bytes:
    """Make a binary file of two variables and a pair, written without dimod."""
    header = {
        "shape": [2, 1],
        "dtype": "float64",
        "itype": "int32",
        "ntype": "int32",
        "vartype": "BINARY",
        "type": "BinaryQuadraticModel",
        "variables": False,
    }
    head = json.dumps(header | changes).encode()
    data = _body((1.5, 0, 2.0, 1, 3.0, 1, 4.0, 0, 4.0))
    size = len(head).to_bytes(4, "little")
    return b"DIMODBQM\x02\x00" + size + head + (body or data)


def test_a_binary_file_is_read_as_its_format_says(tmp_path: Path) -> None:
    path = tmp_path / "m.bqm"
    path.write_bytes(_binary({}))
    assert values(problem_file.read(path).problem) == [1.5, 3.5, 4.5, 10.5]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"DIMODBQM", "no binary file"),
        (b"DIMODBQM\x03\x00" + bytes(4), "in version 3"),
        (b"DIMODBQM\x02\x00" + b"\xff" * 4 + b"{", "header that is no JSON"),
        (b"DIMODBQM\x02\x00\x02\x00\x00\x00[]", "header without names"),
        (_binary({"shape": [2]}), "a shape of"),
        (_binary({"shape": [-1, 1]}), "a shape of"),
        (_binary({"shape": [10**9, 1]}), "1000000000 variables"),
        (_binary({"shape": [2, 10**9]}), "1000000000 entries"),
        (_binary({"shape": [2, 2]}), "cut off"),
        (_binary({"dtype": "object"}), "dtype of 'object'"),
        (_binary({"vartype": "INTEGER"}), "variables of type 'INTEGER'"),
        (_binary({}, _body((0, 1, 0, 0, 0, 1, 4, 0, 4))), "ascend"),
        (_binary({}, _body((0, 0, 0, 1, 0, 9, 4, 0, 4))), "a pair"),
        (_binary({}, _body((0, 0, 0, 1, 0, 0, 4, 0, 4))), "a pair"),
        (
            _binary({}, _body((0, 0, 0, 2, 0, 1, 4, 1, 4))),
            "0 pairs",
        ),
        (
            _binary({}, _body((0, 0, float("nan"), 1, 0, 1, 4, 0, 4))),
            "is no weight",
        ),
    ],
)
def test_a_binary_file_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, content: bytes, match: str
) -> None:
    path = tmp_path / "m.bqm"
    path.write_bytes(content)
    with pytest.raises(DataError, match=match) as caught:
        problem_file.read(path)
    assert "\n" not in caught.value.cause


@given(st.integers(0, 300), st.binary(max_size=4), st.integers(0, 9))
def test_a_damaged_binary_file_is_read_or_refused(
    at: int, more: bytes, dropped: int
) -> None:
    whole_file = _binary({})
    damaged = whole_file[:at] + more + whole_file[at + dropped :]
    try:
        result = dimod_binary.read(damaged, 1000)
    except DataError as error:
        assert error.cause and "\n" not in error.cause
    else:
        assert len(result.ends) == len(result.weights)


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.txt", "", "no form of a problem"),
        ("a.txt", "3 2\n1 2 1\n", "cut off"),
        ("a.txt", "3 1\n1 4 1\n", "line 2: '4' is no node: the file has 3"),
        ("a.txt", "3 1\n0 1 1\n", "'0' is no node: the file has 3 nodes, which count"),
        ("a.col", "p edge 1 1\ne 1 2\n", "'2' is no node: the file has 1 node, which"),
        ("a.txt", "3 1\n1 2 x\n", "is no weight"),
        ("a.txt", "3 1\n1 2 nan\n", "is no weight"),
        ("a.txt", "3 1\n1 2 1e400\n", "is no weight"),
        ("a.txt", "3 1\n1 2 0.1234567891\n", "more than 9 decimals"),
        ("a.txt", f"3 1\n1 2 0.3{'0' * 30}1\n", "more than 9 decimals"),
        ("a.txt", f"3 1\n1 2 0.3{'0' * 60}\n", "is no weight"),
        ("a.txt", "3 2\n1 2 4000000000\n1 3 1\n", "add up to"),
        ("a.txt", "3 2\n1 2 4611686018427387904\n1 3 1\n", "is no weight|add up to"),
        ("a.txt", "3 2\n1 2 999999999999999\n1 3 1\n", "add up to"),
        ("a.txt", "40000 1\n1 2 1\n", "40000 nodes: 1 to 32767"),
        ("a.txt", "99999999 1\n1 2 1\n", "is no number from 0 to 65535"),
        ("a.txt", "1_0 1\n1 2 1\n", "no form"),
        ("a.col", "e 1 2\n", "no form"),
        ("a.col", "p edge 3\n", "is not `p edge N M`"),
        ("a.col", "p edge 3 1\nx 1 2\n", "neither"),
        ("a.col", "p edge 3 1\nn 1 0\n", "weight of 0 or less"),
        ("a.col", "p edge 3 1\ne 1 2 7\n", "edges with weights"),
        ("a.col", "p edge 0 0\n", "has 0 nodes"),
        ("a.mtx", "%%MatrixMarket matrix array pattern general\n", "array, pattern"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n", "`rows columns`"),
        ("a.mtx", f"{_ARRAY}2 3\n", "2 x 3"),
        ("a.mtx", f"{_ARRAY}2 2\n1\n2\n3\n", "the file is cut off"),
        ("a.mtx", f"{_ARRAY}2 2\n1\n2\n3\n4\n5\n", "after the last of 4"),
        ("a.mtx", f"{_ARRAY}2 2\n1 2\n3 4\n", "'1 2' is not one value"),
        ("a.mtx", f"{_ARRAY}2 2\n0\nx\n0\n0\n", "'x' is no weight"),
        ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n", "complex"),
        ("a.json", "{", "no JSON"),
        ("a.json", "{}", "no BinaryQuadraticModel"),
        ("a.json", '{"a": ' * 5000, "no JSON"),
        ("a.coo", "0 1 1\n", "vartype"),
        ("a.coo", "# vartype=BINARY\n0 70000 1\n", "70000"),
    ],
)
def test_what_is_no_problem_is_refused_in_a_sentence(
    tmp_path: Path, name: str, text: str, match: str
) -> None:
    kind = "qubo" if name.endswith(".mtx") else ""
    with pytest.raises(DataError, match=match) as caught:
        read(tmp_path, name, text, kind=kind)
    assert caught.value.cause.startswith(name) and "\n" not in caught.value.cause


def test_the_complement_of_a_cut_is_refused_with_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="complement of a file of kind max-cut") as seen:
        read(tmp_path, "a.txt", GSET, complement=True)
    assert 'kind = "independent-set"' in seen.value.try_next


def test_entries_are_refused_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "LINES_MAX", 6)
    with pytest.raises(DataError, match="line 7: more than 6 entries"):
        read(tmp_path, "g.txt", GSET)
    monkeypatch.setattr(entries, "LINES_MAX", 7)
    assert read(tmp_path, "g.txt", GSET).problem.edges == 6
    monkeypatch.setattr(dimod_models, "JSON_LARGEST", 10)
    with pytest.raises(DataError, match="characters, 10 are read"):
        read(tmp_path, "a.json", TEXTS["dimod-json"])


@pytest.mark.parametrize(
    ("limit", "most", "name", "text", "said"),
    [
        ("LARGEST_B", 4, "g.txt", GSET, "more than 4 bytes"),
        ("EDGES_MAX", 3, "g.txt", "4 1\n1 2\n", "has 5 edges, 3 are possible"),
        ("ENTRIES_MAX", 2, "m.json", "", "3 entries, 2 are possible"),
    ],
)
def test_files_beyond_a_limit_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    most: int,
    name: str,
    text: str,
    said: str,
) -> None:
    monkeypatch.setattr(problem_file, limit, most)
    complement = limit == "EDGES_MAX"
    with pytest.raises(DataError, match=said):
        read(
            tmp_path,
            name,
            text or TEXTS["dimod-json"],
            kind="independent-set" if complement else "",
            complement=complement,
        )


@pytest.mark.parametrize(
    ("name", "line", "most"),
    [
        ("q.coo", "# vartype=BINARY\n0 0 -{}\n", 2**31 - 1),
        ("s.col", "p edge 2 1\ne 1 2\nn 1 {}\n", 65535),
    ],
)
def test_weights_up_to_the_largest_are_taken(
    tmp_path: Path, name: str, line: str, most: int
) -> None:
    problem = read(tmp_path, name, line.format(most)).problem
    assert least_cost(problem) == -most
    # No vector is better, and a target may be as good.
    value = problem.value(-most)
    assert name != "q.coo" or problem.cost_of(value, "target") == -most
    with pytest.raises(DataError, match=r"add up to|are possible"):
        read(tmp_path, name, line.format(most + 1))


@pytest.mark.parametrize(
    ("name", "text", "cause", "evidence"),
    [
        (
            "a.txt",
            "3 1\n1 2 4000000000\n",
            "the weights of .* to 4000000000",
            "536870911",
        ),
        (
            "a.txt",
            "3 2\n1 2 6e8\n2 3 1\n",
            "the weights of .* to 600000001",
            "536870911",
        ),
        ("a.txt", "3 1\n1 2 4000000.001\n", "to 4000000.001", " 536870.911 fits"),
        ("a.coo", "# vartype=SPIN\n0 1 6e8\n", "of variables 0 and 1", " 2147483647 "),
        (
            "a.col",
            "p edge 2 0\nn 1 3e9\n",
            "the weights .* to 3000000001",
            "2147483647",
        ),
    ],
)
def test_too_large_sums_are_stated_in_the_numbers_of_the_file(
    tmp_path: Path, name: str, text: str, cause: str, evidence: str
) -> None:
    with pytest.raises(DataError, match=cause) as large:
        read(tmp_path, name, text)
    assert evidence in large.value.evidence


@pytest.mark.parametrize(
    "weights", [(536_870_911,), (536_870_910, 1), (536_870_908, 3)]
)
def test_a_cut_of_a_quarter_of_the_counter_fits_whatever_its_edges(
    tmp_path: Path, weights: tuple[int, ...]
) -> None:
    lines = [f"{node} {node + 1} {each}" for node, each in enumerate(weights, start=1)]
    text = "\n".join([f"3 {len(weights)}", *lines, ""])
    assert read(tmp_path, "a.txt", text).problem.edges == len(weights)
    heavier = text.replace(str(weights[0]), str(weights[0] + 1), 1)
    with pytest.raises(DataError, match="add up to 536870912"):
        read(tmp_path, "a.txt", heavier)


def test_an_edge_inside_a_set_costs_eight_times_its_lighter_node(
    tmp_path: Path,
) -> None:
    problem = read(tmp_path, "s.col", "p edge 2 1\ne 1 2\nn 1 5\n").problem
    assert problem.cost([1, 1]) == -5 - 1 + 8 * 1


def test_an_offset_is_kept_under_either_sense(tmp_path: Path) -> None:
    found = [
        values(read(tmp_path, "m.json", TEXTS["dimod-json"], sense=sense).problem)
        for sense in ("min", "max")
    ]
    # s = 2 x - 1: s0 - s1 + s0 s1 / 2 + 2.
    assert found[0] == found[1] == [2.5, 3.5, -0.5, 2.5]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_text(end: str) -> None:
    text = end.join(["3 1", "", *("#" * (n % 97) for n in range(3000)), "1 2 1"])
    assert len(text) > 2 * entries._PIECE
    assert list(lines_of(text)) == text.splitlines()
    assert [line for line, _ in fields_of(text + end, "#")] == [1, 3003]


def test_a_text_of_empty_lines_takes_no_memory() -> None:
    text = "\n" * (1 << 20)
    tracemalloc.start()
    try:
        assert not list(fields_of(text, "#"))
        assert tracemalloc.get_traced_memory()[1] < len(text)
    finally:
        tracemalloc.stop()


TEXTS = {
    "dimacs": DIMACS,
    "gset": GSET,
    "mc": GSET,
    "bq": BQ,
    "mtx": "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 2\n3 1 -1\n",
    "dimod-coo": "# vartype=SPIN\n0 0 1.5\n0 1 -1\n",
    "dimod-json": json.dumps(
        {
            "type": "BinaryQuadraticModel",
            "variable_type": "SPIN",
            "linear_biases": [1, -1],
            "quadratic_biases": [0.5],
            "quadratic_head": [0],
            "quadratic_tail": [1],
            "offset": 2,
        }
    ),
}


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(sorted(READERS)), st.data())
def test_damaged_files_are_read_or_refused_and_never_break_the_reader(
    form: str, data: st.DataObject
) -> None:
    text = TEXTS[form]
    cut = data.draw(st.integers(0, len(text)))
    more = data.draw(
        st.text(st.sampled_from('0123456789-+.e _\n#%c\x00{}[]",:a'), max_size=8)
    )
    damaged = text[:cut] + more + text[cut + data.draw(st.integers(0, 9)) :]
    kind = "qubo" if form in ("mtx", "dimod-coo", "dimod-json", "bq") else ""
    try:
        problem, _ = problem_file.problem_of(
            READERS[form](damaged, 1000), kind or problem_file.KIND_OF[form]
        )
    except DataError as error:
        assert error.cause and "\n" not in error.cause
    else:
        assert problem.nodes <= 1000
        assert (np.diff(problem.pairs) > 0).all() and (problem.quadratic != 0).all()


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1))
def test_decimals_are_kept_to_the_last_one(numbers: list[object]) -> None:
    whole_numbers, scale = whole(list(map(str, numbers)))
    scaled = [number * scale for number in numbers]  # type: ignore[operator]
    assert scaled == whole_numbers.tolist()
