# SPDX-License-Identifier: Apache-2.0
"""`rig qubo inspect` and `rig qubo search` on files of problems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click import UsageError
from click.testing import CliRunner, Result

from rig.errors import ConfigError, DataError
from scenarios.tasks.qubo import problem_file
from scenarios.tasks.qubo.command import qubo
from scenarios.tasks.qubo.problem_task import EXAMPLE

pytestmark = pytest.mark.usefixtures("compiler")


def command(*arguments: object) -> Result:
    """Call a command of `rig qubo`."""
    return CliRunner().invoke(
        qubo,
        list(map(str, arguments)),
        standalone_mode=False,
        catch_exceptions=False,
    )


def test_inspect_prints_size_oddities_and_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.col"
    path.write_text("p col 4 9\ne 1 2\ne 2 1\ne 3 4\n")
    output = " ".join(command("inspect", path).output.split())
    assert "dimacs, independent-set of 4 nodes and 2 edges, weights 1" in output
    assert "entries announced: 9, in the file: 3" in output
    assert "edges listed again, which count once: 1" in output
    assert "bytes of memory" in output


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("1", "3 nodes and 1 edge, weights 1"),
        ("-1", "3 nodes and 1 edge, weights -1"),
        ("0.001", "3 nodes and 1 edge, weights 0.001"),
        ("0", "3 nodes and 0 edges, no weights"),
        ("2.5", "3 nodes and 1 edge, weighted, counted in units of 1/10"),
    ],
)
def test_inspect_prints_weights_in_the_numbers_of_the_file(
    tmp_path: Path, weight: str, said: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"3 1\n1 2 {weight}\n")
    output = " ".join(command("inspect", path).output.split())
    assert f"gset, max-cut of {said} " in output


def test_a_search_finds_the_best_cut_and_keeps_its_vector(tmp_path: Path) -> None:
    out = tmp_path / "best.json"
    # 72 is the most: found by taking the grid row after row, all cuts at once.
    done = command("search", EXAMPLE, "--target=72", "--seconds=20", f"--out={out}")
    assert done.return_value == 0 and "target cut 72: reached" in done.output
    kept = json.loads(out.read_text())
    problem = problem_file.read(EXAMPLE).problem
    vector = np.array(list(map(int, kept["vector"])))
    assert kept["cut"] == problem.value(problem.cost(vector)) == 72


def test_a_target_that_is_not_reached_is_an_exit_code() -> None:
    done = command("search", EXAMPLE, "--target=74", "--seconds=0.1")
    assert done.return_value == 1
    assert "target cut 74: not reached" in done.output


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("1e12", "as all weights together make"),
        ("-1", "worse than"),
        ("7.5", "whole numbers"),
    ],
)
def test_a_target_that_no_vector_has_is_refused(target: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        command("search", EXAMPLE, f"--target={target}")
    assert caught.value.path == "--target" and caught.value.try_next


@pytest.mark.parametrize("target", ["nan", "-inf"])
def test_a_target_that_is_no_finite_number_is_wrong_usage(target: str) -> None:
    with pytest.raises(UsageError, match=f"{target} is no finite number"):
        command("search", EXAMPLE, f"--target={target}")


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text(EXAMPLE.read_text()[:300])
    with pytest.raises(DataError, match=r"cut off|is not"):
        command("inspect", path)


def test_the_example_is_the_grid_that_it_is_called() -> None:
    problem = problem_file.read(EXAMPLE).problem
    degrees = np.bincount(np.concatenate(problem.ends), minlength=100)
    assert (problem.nodes, problem.edges) == (100, 200)
    assert (degrees == 4).all() and set(problem.quadratic.tolist()) == {-2, 2}
