# SPDX-License-Identifier: Apache-2.0
"""The example notebook runs on a session of the virtual bench, and is kept without
outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rig
from tests.conftest import ROOT

PATH = ROOT / "examples" / "session.ipynb"


@pytest.fixture
def notebook() -> Any:
    import nbformat  # takes half a second, in each process that collects tests

    return nbformat.read(PATH, as_version=4)


def test_it_is_kept_without_outputs_and_without_traces_of_a_machine(
    notebook: Any,
) -> None:
    assert all(
        not cell.outputs and cell.execution_count is None
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert "/home/" not in PATH.read_text() and "/work/" not in PATH.read_text()


def test_it_runs(notebook: Any, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    with rig.open_bench(
        ROOT / "benches" / "virtual-asc.toml", {"task.asc.samples": 8}
    ) as bench:
        bench.run(root=tmp_path / "sessions")
    client = NotebookClient(
        notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}
    )
    # The title of the figure, as the notebook leaves it.
    notebook.cells.append(nbformat.v4.new_code_cell("figure.get_suptitle()"))
    client.execute()
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown += [
                output.get("text", "") or output.get("data", {}).get("text/plain", "")
                for output in cell.outputs
            ]
    assert "PASS" in shown[0]
    assert any("surely below 2 mJ: energy_infer = " in text for text in shown)
    assert any("SYNC edges in" in text for text in shown)
    assert shown[-2] == "True"
    assert shown[-1] == "'SIMULATED, GENERATED DATA, SUBSET'"
