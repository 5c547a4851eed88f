# SPDX-License-Identifier: Apache-2.0
"""The table of monitors is the one that their stated limits of error give."""

from __future__ import annotations

import importlib.util
import math
import sys
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def table() -> ModuleType:
    """Load the script, which is in no package."""
    script = ROOT / "tools" / "monitor_table.py"
    spec = importlib.util.spec_from_file_location("monitor_table", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["monitor_table"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(table: ModuleType) -> None:
    stored = (ROOT / "docs/reference/MONITOR_TABLE.md").read_text(encoding="utf-8")
    assert table.page() == stored, (
        "python tools/monitor_table.py > docs/reference/MONITOR_TABLE.md"
    )


def test_the_uncertainties_are_those_of_a_calculation_by_hand(
    table: ModuleType,
) -> None:
    rows = {row.name: row for row in table.rows()}
    # 30.3 mA at 3.3 V: gains of 0.3 %, 150 uA and 15 mV of offset; rectangles.
    current_a = 0.1 / 3.3
    limits = (0.003, 0.003, 150e-6 / current_a, 0.015 / 3.3)
    u = math.hypot(*limits) / math.sqrt(3)
    assert rows["Joulescope JS220"].budget.standard_uncertainty == pytest.approx(
        u * 1e-3, rel=0.01
    )
    # 10 %, 50 uA, 50 mV and the step of 1.8 V / 40 960 over 0.94 ohm.
    step = 1.8 / 40_960 / 0.94 / current_a / 2
    limits = (0.1, 50e-6 / current_a, 0.05 / 3.3, step)
    u = math.hypot(*limits) / math.sqrt(3)
    assert rows["Nordic PPK2"].budget.standard_uncertainty == pytest.approx(
        u * 1e-3, rel=0.01
    )
    # Two edges within 400 us each, at 100 mW.
    edges = math.sqrt(2 / 12) * 400e-6 * 0.1
    [part] = [
        part
        for part in rows["ST X-NUCLEO-LPM01A"].budget.parts
        if part.component == "edges"
    ]
    assert part.standard_uncertainty == pytest.approx(edges, rel=0.2)


def test_a_slow_monitor_needs_several_inferences_in_a_window(table: ModuleType) -> None:
    rows = {row.name: row for row in table.rows()}
    assert rows["INA3221"].repeat == 100
    assert rows["Joulescope JS110"].repeat == 1
