# SPDX-License-Identifier: Apache-2.0
"""The one reference of a comparison: a foreign network's file in floating point, in any
order of the backends; and the changes by quantisation alone.
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from rig.api.backends import comparison, forms, runs, trains
from rig.api.backends.agreement import Agreement
from rig.api.backends.rows import (
    AS_INTEGERS,
    BackendRow,
    ComparedBackend,
    ModelComparison,
)
from rig.api.backends.runs import RequestedRuns
from rig.network import graph
from rig.network.conventions import PRESETS
from rig.network.interpreter import run
from scenarios.tasks.network.generate import samples
from tests.commands import rig
from tests.conftest import ROOT

MODEL = ROOT / "tests" / "vectors" / "nir" / "presets" / "snntorch-leaky.nir"
BENCH = """
[sut.virtual]
[sut.cpu]
program = "integer"
[sut.cpu-nir]
program = "nir"
[monitor.none]
[scenario.single_stream]
idle_s = 0.06
warmup = 0
"""
NAMES = ("cpu", "cpu-nir", "virtual")
COUNT = 8


@pytest.fixture(scope="module")
def backends(tmp_path_factory: pytest.TempPathFactory) -> list[ComparedBackend]:
    """A network of snntorch's on three backends, one of them in floating point."""
    folder = tmp_path_factory.mktemp("reference")
    bench = folder / "compare.toml"
    bench.write_text(BENCH)
    wanted = RequestedRuns(MODEL, COUNT, 1, bench, files={"rule": "snntorch"})
    result = [runs.run(runs.plan(name, wanted), folder, {}) for name in NAMES]
    for each in result:
        assert each.session is not None, each.failure
        trains.record(each.session, range(COUNT))
    return result


@pytest.fixture(scope="module")
def found(backends: list[ComparedBackend]) -> ModelComparison:
    return comparison.compare(backends)


def row_of(found: ModelComparison, name: str) -> tuple[BackendRow, Agreement]:
    row = next(item for item in found.rows if item.name == name)
    assert row.agreement is not None
    return row, row.agreement


def test_the_order_of_the_backends_changes_nothing_but_the_order_of_the_rows(
    backends: list[ComparedBackend], found: ModelComparison
) -> None:
    cells = {row.name: forms.cells(row, found) for row in found.rows}
    for order in permutations(backends):
        other = comparison.compare(order)
        assert [row.name for row in other.rows] == [each.name for each in order]
        assert {row.name: forms.cells(row, other) for row in other.rows} == cells
        assert forms.about(other) == forms.about(found)
        assert forms.head(other) == forms.head(found)
        assert forms.quantisation_cells(other) == forms.quantisation_cells(found)


def test_a_session_without_a_monitor_is_the_reason_of_no_energy(
    found: ModelComparison,
) -> None:
    assert "no energy, as the session has no monitor: all" in found.notes


def test_a_backend_alone_is_not_compared_with_itself(
    backends: list[ComparedBackend],
) -> None:
    alone = comparison.compare(backends[:1])
    row, agreement = row_of(alone, "cpu")
    assert "in floating point, rule snntorch" in alone.reference
    # Whole numbers move its membranes: 0 of 8 would be 8 of 8, were it its own
    # reference.
    assert agreement.outputs.count == 0
    assert row.beside is not None
    assert row.beside.count == COUNT


def test_the_file_in_floating_point_agrees_with_the_reference_in_every_column(
    found: ModelComparison,
) -> None:
    row, agreement = row_of(found, "cpu-nir")
    assert [agreement.decisions.count, agreement.outputs.count] == [COUNT, COUNT]
    assert {part.what: part.count for part in agreement.parts} == {
        "spike trains": COUNT, "sums": COUNT, "membranes": COUNT,
    }  # fmt: skip
    assert row.beside is not None
    assert row.beside.count < COUNT


def test_what_quantisation_changes_is_a_line_and_a_column_of_its_own(
    found: ModelComparison,
) -> None:
    assert found.beside == AS_INTEGERS
    assert found.quantisation is not None
    reported = {
        part.what: (part.count, part.largest) for part in found.quantisation.parts
    }
    for name in ("cpu", "virtual"):
        row, agreement = row_of(found, name)
        assert row.beside is not None
        assert row.beside.count == COUNT
        # All of the difference is quantisation's.
        parts = {part.what: (part.count, part.largest) for part in agreement.parts}
        assert parts == {what: reported[what] for what in parts}
    assert "| (whole numbers) |" in forms.markdown(forms.page(found))
    assert ",agree_beside," in forms.csv_text(found).splitlines()[0]


def test_membranes_are_compared_in_the_file_s_units(
    backends: list[ComparedBackend], found: ModelComparison
) -> None:
    _, agreement = row_of(found, "cpu")
    part = next(item for item in agreement.parts if item.what == "membranes")
    network = graph.network(graph.read(MODEL))
    values = samples((6,))[:COUNT].astype(float)
    real = run(network, values, 1e-4, PRESETS["snntorch"]).membranes
    (last,) = (real[name] for name in real if real[name].shape == (COUNT, 5))
    assert part.unit == "the file's units"
    assert part.largest is not None
    # Thresholds are 1: a device's own numbers would be off by millions.
    assert 0 < part.largest < 3 * float(np.abs(last).max())


def test_the_command_takes_conventions_and_says_where_the_reset_is_a_guess(
    tmp_path: Path,
) -> None:
    words = ("compare", MODEL, "--suts", "virtual", "--samples", "2", "--trials", "1")
    chosen = rig(
        *words, "--dt", "1e-4", "--as", "snntorch", "--reset", "none", cwd=tmp_path
    )
    assert "reset=none" in chosen.stdout
    assert "does not state the reset" not in chosen.stdout
    guessed = rig(*words, "--dt", "1e-4", cwd=tmp_path)
    assert (
        "the file does not state the reset: run by the rule nir; try: --as PROGRAM"
        in (guessed.stdout.replace("\n", " "))
    )


def test_conventions_of_a_task_with_a_model_of_its_own_are_refused(
    tmp_path: Path,
) -> None:
    asc = ROOT / "scenarios" / "tasks" / "asc" / "asc.nir"
    reported = rig("compare", asc, "--suts=virtual", "--reset=zero", cwd=tmp_path)
    assert reported.returncode != 0
    assert "whose conventions are its own" in reported.stderr + reported.stdout


def test_an_image_of_the_network_is_built_for_a_process_of_this_computer(
    tmp_path: Path,
) -> None:
    words = ("compare", MODEL, "--suts", "posix", "--samples", "2", "--trials", "1")
    reported = rig(*words, "--as", "snntorch", "--output", "out", cwd=tmp_path)
    assert (tmp_path / "sessions" / "images").is_dir(), (
        reported.stdout + reported.stderr
    )
    table = (tmp_path / "out" / "comparison.md").read_text()
    (line,) = (each for each in table.splitlines() if each.startswith("| posix"))
    assert "2 of 2" in line
    assert "did not run" not in line
