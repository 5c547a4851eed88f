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


#: Files of tests that are named after no module of their folder, by their subject.
OF_NO_MODULE = {
    "a contract or a rule, for all modules of a folder": (
        "drivers/test_contract.py",
        "gui/test_accessibility.py",
        "gui/test_clipping.py",
        "gui/test_plain_text.py",
        "gui/test_tab_order.py",
        "rig/cli/test_hints.py",
        "rig/cli/test_screen_table.py",
        "rig/cli/test_tries.py",
        "rig/test_no_metric_names.py",
        "rig/test_public_names.py",
        "rig/test_values.py",
        "scenarios/test_declared.py",
        "sut_backends/shim/test_field_widths.py",
        "sut_backends/test_contract.py",
    ),
    "screens and documents of several commands": (
        "rig/cli/test_command_screens.py",
        "rig/cli/test_json.py",
        "rig/cli/test_networks_screen.py",
        "rig/cli/test_screens.py",
        "rig/cli/test_session_screens.py",
    ),
    "a whole way through several rooms": (
        "gui/test_display.py",
        "gui/test_random.py",
        "gui/test_story.py",
        "rig/api/backends/test_compared_tflite.py",
        "rig/api/site/test_browser.py",
        "rig/check/test_old_sessions.py",
        "rig/check/test_stranger.py",
        "rig/kinds/test_sixth_kind.py",
        "rig/measure/test_truth.py",
        "rig/results/test_not_finite.py",
        "rig/session/test_thinned_session.py",
        "rig/store/test_power_cut.py",
        "rig/uncertainty/test_containment.py",
        "scenarios/optimization/test_coverage.py",
        "scenarios/tasks/tflite/test_features.py",
        "sut_backends/hosted/test_power_of_phases.py",
        "sut_backends/served/test_tls.py",
    ),
    "one quality of several modules of a folder": (
        "drivers/st_lpm01a/test_says.py",
        "gui/trace/test_axes.py",
        "gui/trace/test_lanes.py",
        "rig/importers/test_real_forms.py",
        "rig/trace/test_length.py",
        "sut_backends/shim/test_hostile.py",
        "sut_backends/uart/test_every_byte.py",
        "sut_backends/uart/test_every_byte_of_jobs.py",
        "sut_backends/uart/test_peers.py",
        "sut_backends/uart/test_solve.py",
        "sut_backends/uart/test_text_devices.py",
    ),
    "programs of others, firmware in C, pages, and stand-ins of tests": (
        "drivers/peers/test_n6705.py",
        "drivers/peers/test_otii.py",
        "drivers/peers/test_ppk2.py",
        "gui/bench/test_diagram_text.py",
        "gui/test_reference_counts.py",
        "scenarios/tasks/asc/test_firmware.py",
        "scenarios/tasks/qubo/test_images.py",
        "sut_backends/gpu/test_recorded_kernels.py",
        "sut_backends/loihi/test_images.py",
        "sut_backends/loihi/test_stand_in.py",
        "sut_backends/spinnaker/test_stand_in.py",
        "sut_backends/xylo/test_equal_trains.py",
    ),
}


def names_of_modules(folder: Path) -> set[str]:
    """Return the names of a folder of the product, its modules and its packages."""
    inside = folder.iterdir() if folder.is_dir() else ()
    modules = {path.stem for path in inside if path.is_dir() or path.suffix == ".py"}
    return {*modules, folder.name}


def is_of_a_module(path: Path) -> bool:
    """Check whether a file of tests is named after a module, where it has several files
    with a word more."""
    named = path.stem.removeprefix("test_")
    folder = ROOT / path.parent.relative_to(TESTS)
    return any(f"{named}_".startswith(f"{name}_") for name in names_of_modules(folder))


def test_the_tests_of_a_module_are_in_a_file_of_its_name() -> None:
    files = chain.from_iterable((TESTS / top).rglob("test_*.py") for top in MIRRORED)
    others = {
        str(path.relative_to(TESTS)) for path in files if not is_of_a_module(path)
    }
    listed = list(chain.from_iterable(OF_NO_MODULE.values()))
    assert len(listed) <= 59, "the list becomes no longer"
    assert sorted(others) == sorted(listed)


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
