# SPDX-License-Identifier: Apache-2.0
"""`rig doctor` of a bench on loan from labgrid: the bench of docs/how-to/LABS.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rig.bench import packages
from rig.bench.doctor.examination import examine
from rig.bench.doctor.row import DoctorRow, RowState
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "how-to" / "LABS.md"
REST = "\n[scenario.single_stream]\n[task.null]\n"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    [table] = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "lent.toml"
    path.write_text(table + REST, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("missing", "state", "said"),
    [
        ([], RowState.OK, "nucleo-1"),
        (["labgrid"], RowState.MISSING, "labgrid is not installed"),
    ],
)
def test_the_place_is_a_row_and_its_ports_are_not_looked_for(
    bench: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: list[str],
    state: RowState,
    said: str,
) -> None:
    of_others = packages.missing
    monkeypatch.setattr(
        packages,
        "missing",
        lambda extra: missing if extra == "labgrid" else of_others(extra),
    )
    rows: list[DoctorRow] = list(examine(bench, sessions=bench.parent))
    [row] = [row for row in rows if row.name == "labgrid"]
    assert row.state is state and said in row.detail
    assert not [row for row in rows if row.name == "serial port"]
