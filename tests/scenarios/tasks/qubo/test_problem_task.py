# SPDX-License-Identifier: Apache-2.0
"""Problems from files as the workloads of a bench: results in the file's own numbers,
and a session that holds what its check needs.
"""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import numpy as np
import pytest

from rig.audit.bench import with_workload
from rig.bench import config
from rig.errors import ConfigError, DataError, RigError
from rig.interfaces.context import BenchContext
from rig.session.session import SessionResult, open_bench, resume
from rig.store.events import Event, StepDone
from scenarios.tasks.qubo import (
    answer,
    problem_file,
    problem_wire,
    programs,
    reference,
)
from scenarios.tasks.qubo.answer import packed_bits
from scenarios.tasks.qubo.graph import Workload, generate
from scenarios.tasks.qubo.problem_file import ReadingOptions
from scenarios.tasks.qubo.problem_task import (
    ProblemReplica,
    ProblemSettings,
    ProblemTask,
)
from scenarios.tasks.qubo.reference import Solver
from scenarios.tasks.qubo.task import QuboTask
from tests.boards import image
from tests.builds import built
from tests.checking import check
from tests.commands import rig
from tests.scenarios.tasks.qubo.problems import least_cost

BENCH = """
[bench]
name = "own-problems"
trials = 2
seed = 1

{sut}

[monitor.virtual]
sample_hz = 500_000

[scenario.optimization]
timeouts_s = [0.02]
gaps = [0.1, 0.01]
curve = []
target_limit_s = 0.5
idle_s = 0.1
"""
SUTS = {
    "virtual": "[sut.virtual]\nsync_hold_us = 10\nsolve = { rate_hz = 1e7 }",
    "posix": '[sut.posix]\nprogram = "PROGRAM"\nsync_hold_us = 10',
    "mps2": (
        '[sut.qemu]\nmachine = "mps2-an385"\nprogram = "PROGRAM"\nsync_hold_us = 10'
    ),
}


def gset(path: Path, nodes: int, edges: int, seed: int, *, signs: bool = False) -> Path:
    """Write a random graph in the form of Gset."""
    graph = networkx.gnm_random_graph(nodes, edges, seed)
    weights = np.random.default_rng(seed).choice([-1, 1] if signs else [1], edges)
    lines = [f"{nodes} {edges}"]
    for (one, other), weight in zip(graph.edges, weights, strict=True):
        lines.append(f"{one + 1} {other + 1} {weight}")
    path.write_text("\n".join([*lines, ""]))
    return path


def bench(folder: Path, sut: str, *problems: str) -> Path:
    """Write a bench file with problems."""
    text = BENCH.format(sut=SUTS[sut])
    if sut == "posix":
        text = text.replace("PROGRAM", str(built("posix") / "posix" / "qubo"))
    elif sut == "mps2":
        text = text.replace("PROGRAM", str(image("mps2", "qubo")))
    path = folder / "bench.toml"
    path.write_text(text + "".join(f"\n[[task.qubo.problems]]\n{p}" for p in problems))
    return path


def measured(path: Path, folder: Path) -> SessionResult:
    """Run a bench."""
    with open_bench(path) as opened:
        return opened.run(2, folder)


def longest(path: Path, seconds: float = 3.0) -> float:
    """Return the best cut of a longer search on this computer."""
    settings = ProblemSettings(str(path))
    task = ProblemTask([settings], [], BenchContext())
    solver = Solver(task.payload(0))
    found = solver.search(seconds)
    scored = task.score(0, answer.encode(found.cost, False, 100, b""))
    assert scored.fault
    return -found.cost


@pytest.mark.parametrize("sut", ["virtual", "posix", "mps2"])
def test_a_gset_file_is_searched_and_its_cuts_are_found_again(
    tmp_path: Path, compiler: str, sut: str
) -> None:
    path = gset(tmp_path / "G-small.txt", 100, 600, 3, signs=True)
    best = longest(path)
    targets = f'target = {best}\ntarget_source = "a search of 3 s"\n'
    result = measured(
        bench(tmp_path, sut, f'file = "G-small.txt"\n{targets}'), tmp_path / "out"
    )
    assert result.content["problems"] == []
    cut = result.metrics["cut_G_small_20ms"]
    assert 0.9 * best < cut.value <= best and cut.unit == "1"
    assert cut.higher_is_better
    gap = result.metrics["gap_best_known_G_small_20ms"].value
    assert gap == pytest.approx((best - cut.value) / best)
    assert result.metrics["success_to_1pct_best_known_G_small"].value == 1
    assert "latency_to_1pct_best_known_G_small" in result.metrics
    assert "gap_20ms" in result.content["absent"]  # no official target
    checked = check(result.folder)
    assert checked.ok, [each for each in checked.findings if not each.ok]


def test_without_a_target_there_are_values_and_no_search_to_a_target(
    tmp_path: Path, compiler: str
) -> None:
    gset(tmp_path / "a.txt", 60, 200, 1)
    (tmp_path / "b.bq").write_text("3 4\n1 1 -1.5\n2 2 1\n1 2 -0.25\n2 3 4\n")
    (tmp_path / "c.col").write_text("p edge 3 2\nn 2 9\ne 1 2\ne 2 3\n")
    files = ('file = "a.txt"\n', 'file = "b.bq"\n', 'file = "c.col"\n')
    result = measured(bench(tmp_path, "virtual", *files), tmp_path / "out")
    assert result.content["problems"] == []
    # The matrix is symmetric: of nodes 1 and 2 the best is node 1 alone.
    assert result.metrics["energy_b_20ms"].value == -1.5
    assert result.metrics["weight_c_20ms"].value == 9
    assert result.metrics["cut_a_20ms"].value == longest(tmp_path / "a.txt", 0.5)
    assert not [name for name in result.metrics if "_to_" in name or "gap" in name]
    assert "no_target" not in str(result.content["coverage"])
    assert check(result.folder).ok


def test_another_vector_in_a_session_is_found(tmp_path: Path, compiler: str) -> None:
    gset(tmp_path / "a.txt", 60, 200, 1)
    result = measured(bench(tmp_path, "virtual", 'file = "a.txt"\n'), tmp_path / "out")
    lines = result.folder / "trial-1" / "completions.jsonl"
    changed = []
    for line in lines.read_text().splitlines():
        tree = json.loads(line)
        if tree.get("output"):
            vector = bytearray.fromhex(tree["output"])
            vector[9] ^= 1
            tree["output"] = vector.hex()
        changed.append(json.dumps(tree))
    lines.write_text("\n".join([*changed, ""]))
    assert not check(result.folder).ok


def facts_of(tmp_path: Path, settings: ProblemSettings) -> ProblemTask:
    """Open a task with one problem."""
    return ProblemTask([settings], [], BenchContext(folder=tmp_path))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target_cost", -7),
        ("offset", 1),
        ("scale", 10),
        ("sense", "min"),
        ("wire", "AAAA"),
        ("edges", 3),
        ("kind", "qubo"),
    ],
)
def test_facts_that_contradict_the_problem_are_refused(
    tmp_path: Path, key: str, value: object
) -> None:
    gset(tmp_path / "a.txt", 20, 40, 1)
    settings = ProblemSettings("a.txt")
    task = facts_of(tmp_path, settings)
    facts = task.provenance()
    ProblemReplica.of([settings], [], facts, task.catalogue())
    facts["problems"][0][key] = value
    with pytest.raises(DataError):
        ProblemReplica.of([settings], [], facts, task.catalogue())


def test_facts_of_another_sense_than_the_bench_are_refused(tmp_path: Path) -> None:
    (tmp_path / "q.bq").write_text("2 2\n1 1 -2\n1 2 1\n")
    facts = facts_of(tmp_path, ProblemSettings("q.bq", sense="max"))
    provenance, entries = facts.provenance(), facts.catalogue()
    for sense in ("", "max"):
        kept = [ProblemSettings("q.bq", sense=sense)]
        ProblemReplica.of(kept, [], provenance, entries)
    with pytest.raises(DataError, match="kind, format or sense"):
        kept = [ProblemSettings("q.bq", sense="min")]
        ProblemReplica.of(kept, [], provenance, entries)


def test_the_score_is_of_the_vector_and_not_of_the_claim(tmp_path: Path) -> None:
    gset(tmp_path / "a.txt", 20, 40, 1)
    task = facts_of(tmp_path, ProblemSettings("a.txt"))
    problem = problem_wire.decode(task.payload(0), "max-cut")
    vector = np.arange(20) % 2
    bits = packed_bits(vector.astype(np.int8))
    score = task.score(0, answer.encode(-1000, False, 20, bits))
    assert score.costs is not None
    assert (score.costs.claimed, score.costs.cost) == (-1000, problem.cost(vector))
    assert (score.costs.measure, score.costs.value) == ("cut", -score.costs.cost)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('file = "no.txt"\n', "cannot be read|no.txt"),
        ('file = "a.txt"\ntarget = 30\n', "has no source"),
        ('file = "a.txt"\ntarget = 30.5\ntarget_source = "x"\n', "no vector has"),
        ('file = "a.txt"\ntarget = -3\ntarget_source = "x"\n', "worse than"),
        ('file = "a.txt"\nsense = "min"\n', "sense of a file"),
        ('file = "a.txt"\nkind = "clique"\n', "clique"),
        ('file = "a.txt"\n[[task.qubo.problems]]\nfile = "a.txt"\n', "taken"),
        ('file = "a.txt"\n[task.qubo]\nnodes = [10]\n', "Cannot|not both|TOML"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_begun(
    tmp_path: Path, text: str, said: str
) -> None:
    gset(tmp_path / "a.txt", 20, 40, 1)
    with (
        pytest.raises(RigError, match=said) as caught,
        open_bench(bench(tmp_path, "virtual", text)),
    ):
        pass
    assert "\n" not in caught.value.cause


def test_a_name_without_latin_letters_is_that_of_its_characters(tmp_path: Path) -> None:
    gset(tmp_path / "ü.txt", 12, 30, 1)
    gset(tmp_path / "図-形.txt", 12, 30, 2)
    path = bench(
        tmp_path,
        "virtual",
        'file = "ü.txt"\n[[task.qubo.problems]]\nfile = "図-形.txt"\n',
    )
    result = measured(path, tmp_path)
    names = [name for name in result.results.metrics if name.startswith("cut_")]
    for name in ("u00fc", "u56f3_u002d_u5f62"):
        assert any(each.startswith(f"cut_{name}_") for each in names), names
    assert check(result.folder).ok


def test_the_second_of_two_files_with_the_same_name_is_refused(tmp_path: Path) -> None:
    text = 'file = "a-b.txt"\n[[task.qubo.problems]]\nfile = "a_b.txt"\n'
    with (
        pytest.raises(ConfigError, match=r"a_b\.txt' gives the name 'a_b'") as taken,
        open_bench(bench(tmp_path, "virtual", text)),
    ):
        pass
    assert "a-b.txt' gives the same" in taken.value.evidence


def test_a_wrong_kind_is_refused_with_the_kinds(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError) as other,
        open_bench(bench(tmp_path, "virtual", 'file = "a.txt"\nkind = "clique"\n')),
    ):
        pass
    said = "one of independent-set, max-cut, qubo, or empty"
    assert other.value.try_next == said


def test_a_stopped_session_of_a_file_beside_the_bench_goes_on(tmp_path: Path) -> None:
    gset(tmp_path / "own.txt", 20, 40, 3, signs=False)
    path = bench(tmp_path, "virtual", 'file = "own.txt"\n')

    def stop(event: Event) -> None:
        if isinstance(event, StepDone):
            raise KeyboardInterrupt

    with open_bench(path) as opened, pytest.raises(KeyboardInterrupt):
        opened.run(2, tmp_path / "out", [stop])
    (folder,) = (tmp_path / "out").iterdir()
    assert len(resume(folder).trials) == 2
    assert check(folder).ok


def test_a_file_of_the_command_line_is_beside_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    gset(tmp_path / "here" / "own.txt", 20, 40, 3, signs=False)
    path = bench(tmp_path, "virtual")
    stated = config.load(path, ['task.qubo.problems=[{file = "own.txt"}]'])
    (problem,) = stated.task.settings.problems
    assert problem.file == str(tmp_path / "here" / "own.txt")


def test_an_audit_uses_the_auditors_problem_files_and_compares_the_rest(
    tmp_path: Path,
) -> None:
    claimed = config.load(bench(tmp_path, "virtual", 'file = "own.txt"\n'))
    (tmp_path / "auditor").mkdir()
    path = bench(tmp_path / "auditor", "virtual")
    with pytest.raises(ConfigError, match="path of another computer"):
        with_workload(path, (), claimed, 2)
    path = bench(tmp_path / "auditor", "virtual", 'file = "own.txt"\n')
    made = with_workload(path, (), claimed, 2)
    (problem,) = made.task.settings.problems
    assert problem.file == str(tmp_path / "auditor" / "own.txt")
    path.write_text(path.read_text() + 'kind = "qubo"\n')
    with pytest.raises(ConfigError, match="another workload") as caught:
        with_workload(path, (), claimed, 2)
    assert "task.qubo.problems" in caught.value.evidence


def test_a_bench_has_problems_or_published_workloads(tmp_path: Path) -> None:
    settings = QuboTask.Settings(nodes=(10,), problems=(ProblemSettings("a.txt"),))
    with pytest.raises(ConfigError, match="not both"):
        QuboTask.open(settings, BenchContext(folder=tmp_path))


@pytest.mark.parametrize("name", ["reference", "tabu", "annealing"])
def test_programs_of_this_computer_find_the_best_cut(
    tmp_path: Path, compiler: str, name: str
) -> None:
    if name != "reference":
        pytest.importorskip("dwave.samplers")
    gset(tmp_path / "a.txt", 16, 60, 1, signs=True)
    task = facts_of(tmp_path, ProblemSettings("a.txt"))
    least = least_cost(problem_wire.decode(task.payload(0)))
    routine = getattr(programs, name)([])
    search = routine.search(routine.load(task.payload(0)), 1)
    for _ in range(200):
        if search.cost <= least or not search.advance(1.0, least):
            break
    costs = task.score(0, search.output(True)).costs
    assert costs is not None and costs.cost == costs.claimed == least


def test_samplers_of_dwave_get_the_same_problem(tmp_path: Path) -> None:
    dimod = pytest.importorskip("dimod")
    from scenarios.tasks.qubo.programs import Quadratic

    gset(tmp_path / "a.txt", 12, 30, 1, signs=True)
    wire = facts_of(tmp_path, ProblemSettings("a.txt")).payload(0)
    problem = problem_wire.decode(wire)
    found = dimod.ExactSolver().sample(Quadratic(wire, {}).model).first
    assert problem.cost(list(found.sample.values())) == round(found.energy)


def test_a_program_for_graphs_alone_refuses_other_problems(tmp_path: Path) -> None:
    from scenarios.tasks.qubo import edges

    gset(tmp_path / "a.txt", 12, 30, 1)
    wire = facts_of(tmp_path, ProblemSettings("a.txt")).payload(0)
    with pytest.raises(DataError, match="with weights, or a cut"):
        edges.decode(wire)
    assert edges.decode(edges.encode(generate(Workload(10, 0.5, 0)))).nodes == 10


def test_the_screen_says_which_problem_was_refused_and_what_it_needs(
    tmp_path: Path,
) -> None:
    edges_of_a_ring = [f"{node} {node % 900 + 1} 1" for node in range(1, 901)]
    (tmp_path / "large.txt").write_text("\n".join(["900 900", *edges_of_a_ring]))
    (tmp_path / "small.txt").write_text("3 2\n1 2 1\n2 3 1\n")
    (tmp_path / "bench.toml").write_text(
        """
        [bench]
        name = "files"
        [sut.virtual]
        slot_b = 1000
        [monitor.virtual]
        [scenario.optimization]
        timeouts_s = [1e-3, 1e-2]
        [[task.qubo.problems]]
        file = "large.txt"
        [[task.qubo.problems]]
        file = "small.txt"
        """
    )
    done = rig("run", "bench.toml", "--trials", "1", cwd=tmp_path)
    [line] = [line for line in done.stdout.splitlines() if line.startswith(" large")]
    large = problem_file.read(tmp_path / "large.txt", ReadingOptions()).problem
    needed_b = reference.memory_b(problem_wire.encode(large))
    assert "not loaded" in line and "1000" in line
    assert line.endswith(f"a device needs {needed_b} bytes for it")
    assert "cut_small_10ms" in done.stdout
