# SPDX-License-Identifier: Apache-2.0
"""GRID.toml: its cells, their order, and grids that are refused at once."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from rig.api.campaign import grid
from rig.errors import ConfigError

NULL = '[grid]\nbench = "virtual-null"\n'
TWO_AXES = """
[grid]
bench = "virtual-null"
repetitions = 3
order = "{order}"
seed = {seed}
[axis]
sut.virtual.idle_w = [0.001, 0.002, 0.003]
"scenario.single_stream.idle_s" = [0.2, 0.3]
[settings]
bench.trials = 2
"""


def cells_of(folder: Path, text: str, most: int = 100) -> list[grid.GridCell]:
    path = folder / "grid.toml"
    path.write_text(text)
    return grid.cells(grid.read(path), most)


def test_each_combination_is_there_once_a_repetition_with_its_own_bench(
    tmp_path: Path,
) -> None:
    cells = cells_of(tmp_path, TWO_AXES.format(order="interleaved", seed=1))
    assert len(cells) == 18
    assert (
        len({cell.name for cell in cells}) == len({cell.text for cell in cells}) == 18
    )
    for cell in cells:
        tree = tomllib.loads(cell.text)
        assert tree["sut"]["virtual"]["idle_w"] == cell.values["sut.virtual.idle_w"]
        idle_s = cell.values["scenario.single_stream.idle_s"]
        assert tree["scenario"]["single_stream"]["idle_s"] == idle_s
        assert tree["bench"]["trials"] == cell.trials == 2
        assert tree["bench"]["name"] == cell.name
        assert tree["task"]["null"]["samples"] == 20, "the rest is the bench's"


def test_repetitions_have_seeds_of_their_own_which_all_combinations_share(
    tmp_path: Path,
) -> None:
    cells = cells_of(tmp_path, TWO_AXES.format(order="interleaved", seed=1))
    seeds = {
        (cell.repetition, tomllib.loads(cell.text)["bench"]["seed"]) for cell in cells
    }
    assert len(seeds) == len(dict(seeds)) == 3
    assert len({seed for _, seed in seeds}) == 3


def test_interleaved_runs_all_combinations_before_any_is_repeated(
    tmp_path: Path,
) -> None:
    cells = cells_of(tmp_path, TWO_AXES.format(order="interleaved", seed=1))
    orders = []
    for number in (1, 2, 3):
        block = cells[6 * (number - 1) : 6 * number]
        assert {cell.repetition for cell in block} == {number}
        orders.append([cell.name.removesuffix(f"-r{number}") for cell in block])
    assert len({frozenset(order) for order in orders}) == 1
    assert orders[0] != orders[1], "each block has an order of its own"


def test_blocked_repeats_a_combination_at_once(tmp_path: Path) -> None:
    cells = cells_of(tmp_path, TWO_AXES.format(order="blocked", seed=1))
    for start in range(0, 18, 3):
        block = cells[start : start + 3]
        assert [cell.repetition for cell in block] == [1, 2, 3]
        assert len({cell.name[:-3] for cell in block}) == 1


def test_the_order_is_that_of_the_seed_alone(tmp_path: Path) -> None:
    def order(seed: int) -> list[str]:
        text = TWO_AXES.format(order="interleaved", seed=seed)
        return [cell.name for cell in cells_of(tmp_path, text)]

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2))


def test_over_seeds_no_value_of_an_axis_comes_earlier(tmp_path: Path) -> None:
    # The first cell of 300 grids: each of the six has one in six, and a count above 75
    # (mean 50, standard deviation 6.5) is no accident.
    firsts: Counter[str] = Counter()
    path = tmp_path / "grid.toml"
    for seed in range(300):
        path.write_text(TWO_AXES.format(order="interleaved", seed=seed))
        settings = grid.read(path).settings
        firsts[str(next(grid._order(settings, 6)))] += 1
    assert len(firsts) == 6
    assert max(firsts.values()) < 75


def test_a_value_that_is_added_leaves_the_other_cells_as_they_are(
    tmp_path: Path,
) -> None:
    few = cells_of(tmp_path, NULL + "[axis]\nsut.virtual.idle_w = [0.001]\n")
    many = cells_of(tmp_path, NULL + "[axis]\nsut.virtual.idle_w = [0.002, 0.001]\n")
    assert {cell.text for cell in few} < {cell.text for cell in many}


def test_several_benches_are_an_axis_and_paths_start_at_the_grid(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.toml").write_text(
        "[sut.virtual]\n[monitor.virtual]\n[scenario.single_stream]\n"
        "[task.network]\nsamples = 3\n"
    )
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.nir").touch()
    cells = cells_of(
        tmp_path,
        '[grid]\nbench = ["mine.toml", "cpu-network-virtual"]\n'
        '[axis]\nmodel = ["a/net.nir", "b/net.nir"]\n',
    )
    models = {
        (cell.bench, tomllib.loads(cell.text)["task"]["network"]["model"])
        for cell in cells
    }
    benches = ("mine", "cpu-network-virtual")
    files = [str(tmp_path / name / "net.nir") for name in ("a", "b")]
    assert models == set(itertools.product(benches, files))
    assert len({cell.name for cell in cells}) == 4, "both models have one name"


def test_a_long_name_stays_one_that_a_bench_may_have(tmp_path: Path) -> None:
    values = ", ".join(f'"{"x" * 100}{number}"' for number in range(3))
    cells = cells_of(tmp_path, NULL + f"[axis]\nmetadata.what = [{values}]\n")
    assert len({cell.name for cell in cells}) == 3
    assert max(len(cell.name) for cell in cells) <= 80


REFUSED = {
    "no setting": ("[axis]\nsut.virtual.idel_w = [1.0]", "idel_w: no such key"),
    "no part": ("[axis]\nsut.uart.baud = [1]", "virtual-null has no such part"),
    "no section": ("[axis]\nsutt.virtual.idle_w = [1.0]", "has no such setting"),
    "wrong value": ("[axis]\nsut.virtual.idle_w = ['a']", "sut.virtual.idle_w"),
    "empty": ("[axis]\nsut.virtual.idle_w = []", "the axis has no values"),
    "no list": ("[axis]\nsut.virtual.idle_w = 0.1", "not a list of values"),
    "no model": ("[axis]\nmodel = ['no.nir']", "there is no model file .*no.nir"),
    "twice": ("[axis]\nsut.virtual.idle_w = [0.1, 0.1]", "the value 0.1 2 times"),
    "a name": ("[settings]\nbench.name = 'mine'", "the grid names its cells"),
    "a value": ("[settings]\nbench.name.first = 1", "name is a value, not a table"),
    "no table": ("axis = 3", "is a value, not a table"),
    "section": ("[axes]\n", "no such section"),
    "board": ("[board]\nother = 'a'", "no such bench"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_in_a_sentence(
    tmp_path: Path, text: str, said: str
) -> None:
    before = "" if text.startswith("axis =") else NULL
    after = NULL if not before else ""
    with pytest.raises(ConfigError, match=said):
        cells_of(tmp_path, f"{before}{text}\n{after}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[axis]\n", "grid.bench: this key is needed"),
        ('[grid]\nbench = "virtual-nul"\n', "grid.bench: there is no example bench"),
        ('[grid]\nbench = "nosuch.toml"\n', "nosuch.toml cannot be read"),
        ('[grid]\nbench = ["virtual-null", "virtual-null"]\n', "two benches"),
        ("[grid\n", "is not TOML"),
        (NULL + "repetitions = 101\n", "101 cells, more than 100"),
        (NULL + "repetitions = 0\n", "grid.repetitions"),
    ],
)
def test_a_wrong_grid_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        cells_of(tmp_path, text)


def test_a_missing_grid_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nosuch\.toml cannot be read"):
        grid.read(tmp_path / "nosuch.toml")


@pytest.mark.parametrize("values", ["[1, 1.0]", "[0.5, 1, 0.5]"])
def test_values_that_are_equal_are_refused(tmp_path: Path, values: str) -> None:
    # In the table they would be one line, of twice as many sessions.
    axis = f"[axis]\nscenario.single_stream.idle_s = {values}\n"
    with pytest.raises(ConfigError, match="2 times"):
        cells_of(tmp_path, NULL + axis)
