# SPDX-License-Identifier: Apache-2.0
"""The tree: tests lie in a folder named as the tested one (tests/rig/trace has those of
rig/trace), and objects of a fixed form are read by attributes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.sources import parsed

TESTS = ROOT / "tests"
#: Folders of tests that mirror a folder of the product.
MIRRORED = ("rig", "drivers", "sut_backends", "scenarios", "gui")
#: Tests of several parts of one folder: other people's clients against its simulators.
OF_SEVERAL = {Path("drivers/peers")}
#: Folders without a namesake: tests of C code by its tools, of pages, of stored sessions,
#: and of several parts together.
OTHERS = ("docs", "firmware", "golden", "lab", "system", "vectors")


def folders_of_tests(top: Path) -> list[Path]:
    return sorted({path.parent.relative_to(TESTS) for path in top.rglob("test_*.py")})


@pytest.mark.parametrize("top", MIRRORED)
def test_the_tests_of_a_folder_lie_in_a_folder_of_its_name(top: str) -> None:
    result = folders_of_tests(TESTS / top)
    assert result, "there are tests"
    assert {folder for folder in result if not (ROOT / folder).is_dir()} <= OF_SEVERAL


def test_every_folder_of_tests_is_one_of_these() -> None:
    tops = {
        path.name
        for path in TESTS.iterdir()
        if path.is_dir() and folders_of_tests(path)
    }
    assert tops <= {*MIRRORED, *OTHERS}


COLUMNS = "columns of a table of numbers"
ARRAYS = "arrays in a file of arrays"
NAMES = "metrics, effects or facts, under the names that their part gives them"
GIVEN = "a mapping of another program's, or what a simulator makes of it"
WIDGETS = "widgets under the names of a list"
#: Where the product's code takes a value out of a mapping by a literal name: the
#: largest count, and the kind of mapping. All files, messages and settings of a fixed
#: form are dataclasses.
BY_NAME = {
    "drivers/joulescope/driver.py": (4, NAMES),
    "drivers/joulescope/sim/instrument.py": (2, GIVEN),
    "drivers/joulescope/sim/ranges.py": (2, GIVEN),
    "drivers/joulescope/sim/streams.py": (6, GIVEN),
    "drivers/otii/driver.py": (3, NAMES),
    "drivers/otii/sim/measurement.py": (10, GIVEN),
    "drivers/otii/sim/simulator.py": (36, GIVEN),
    "drivers/st_lpm01a/driver.py": (6, NAMES),
    "drivers/st_lpm01a/sim/shell.py": (4, GIVEN),
    "drivers/st_lpm01a/sim/simulator.py": (1, GIVEN),
    "drivers/st_lpm01a/sim/stream.py": (2, GIVEN),
    "gui/bench/file_bar.py": (2, WIDGETS),
    "gui/run/bar.py": (1, WIDGETS),
    "gui/run/setup_panel.py": (2, WIDGETS),
    "gui/sessions/detail.py": (5, WIDGETS),
    "rig/api/sessions/tables.py": (1, COLUMNS),
    "rig/api/traces/export.py": (2, COLUMNS),
    "rig/audit/audit.py": (1, NAMES),
    "rig/bench/forms.py": (1, NAMES),
    "rig/firmware/part.py": (2, GIVEN),
    "rig/importers/tables/csv_rows.py": (5, COLUMNS),
    "rig/importers/tables/csv_table.py": (13, COLUMNS),
    "rig/importers/tables/energy_counter.py": (5, COLUMNS),
    "rig/importers/profilers/otii.py": (8, COLUMNS),
    "rig/importers/profilers/ppk2.py": (2, COLUMNS),
    "rig/importers/tables/repeats.py": (1, COLUMNS),
    "rig/judge/folder.py": (2, GIVEN),
    "rig/network/nir_file.py": (1, ARRAYS),
    "rig/network/shapes.py": (2, GIVEN),
    "rig/results/schemas.py": (2, GIVEN),
    "rig/submission/crate.py": (2, GIVEN),
    "rig/trace/level_cache.py": (3, ARRAYS),
    "rig/uncertainty/window_effects.py": (3, NAMES),
    "scenarios/mlperf_tiny/cases.py": (2, NAMES),
    "scenarios/mlperf_tiny/scenario.py": (3, NAMES),
    "scenarios/optimization/time_to_solution.py": (2, NAMES),
    "scenarios/common/stream_windows.py": (1, NAMES),
    "scenarios/common/stream_power.py": (3, NAMES),
    "scenarios/real_time/scenario.py": (3, NAMES),
    "scenarios/single_stream.py": (3, NAMES),
    "scenarios/tasks/asc/task.py": (1, NAMES),
    "scenarios/tasks/mlperf_tiny/task.py": (2, NAMES),
    "scenarios/tasks/network/task.py": (4, NAMES),
    "scenarios/tasks/qubo/one_flip.py": (2, NAMES),
    "scenarios/tasks/qubo/programs.py": (4, NAMES),
    "sut_backends/loihi/lava_rule/processes.py": (3, GIVEN),
    "sut_backends/spinnaker/own_home.py": (2, GIVEN),
    "sut_backends/uart/framed_dut.py": (3, NAMES),
    "sut_backends/xylo/runner.py": (1, GIVEN),
}


#: Something in brackets that begins as a text: a file without it need not be parsed.
TAKEN = re.compile(r"""[\w)\]}"']\s*\[\s*\(*\s*\w*["']""")


def taken_by_name(path: Path) -> Iterator[str]:
    """Yield a file's subscripts by a literal name; types are left out."""
    if not TAKEN.search(path.read_text(encoding="utf-8")):
        return
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=str())):
                owner = ast.unparse(value).rpartition(".")[2]
                if not owner[:1].isupper():
                    yield f"line {node.lineno}: {ast.unparse(node)}"


def product_files() -> list[Path]:
    """Return all Python files of the product."""
    folders = (sorted((ROOT / top).rglob("*.py")) for top in MIRRORED)
    return list(chain.from_iterable(folders))


def test_what_has_a_fixed_form_is_read_by_attributes_and_not_by_names_in_strings():
    result = {
        str(path.relative_to(ROOT)): list(taken_by_name(path))
        for path in product_files()
    }
    more = {
        name: taken
        for name, taken in result.items()
        if len(taken) > BY_NAME.get(name, (0, ""))[0]
    }
    assert more == {}, "a dataclass, read in one place: rig/files/typed.py"
    assert sorted(BY_NAME) == sorted(name for name, taken in result.items() if taken)


def test_few_interfaces_are_asked_by_isinstance() -> None:
    """An optional method of a plug-in has a default in its base class; a
    runtime_checkable Protocol is for facts that the rig must know without a call.
    """
    checkable = []
    for path in product_files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                if "runtime_checkable" in decorators:
                    checkable.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert len(checkable) <= 6, checkable
