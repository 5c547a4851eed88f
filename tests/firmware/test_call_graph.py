# SPDX-License-Identifier: Apache-2.0
"""The files of firmware/core call each other in one direction only."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.firmware.call_graph import CORE, find_cycle, read_calls

pytestmark = pytest.mark.skipif(
    shutil.which(os.environ.get("CC", "cc")) is None or shutil.which("nm") is None,
    reason="needs a C compiler and nm (binutils)",
)


def test_the_files_of_the_core_call_each_other_without_a_cycle() -> None:
    calls = read_calls(CORE)
    assert set(calls) == {source.name for source in CORE.glob("*.c")}
    assert {"nr_framed_layer.c", "nr_text_layer.c", "nr_window.c"} <= calls["nr_shim.c"]
    # which only the small build has
    assert "nr_text_minimal.c" in calls["nr_text_layer.c"]
    assert find_cycle(calls) == []


def test_a_cycle_is_found_and_named_from_caller_to_called(tmp_path: Path) -> None:
    declared = "void first(void); void second(void); void third(void);\n"
    (tmp_path / "nr_first.c").write_text(declared + "void first(void) { second(); }\n")
    (tmp_path / "nr_second.c").write_text(declared + "void second(void) { third(); }\n")
    (tmp_path / "nr_third.c").write_text(declared + "void third(void) { second(); }\n")
    cycle = find_cycle(read_calls(tmp_path))
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {"nr_second.c", "nr_third.c"}
