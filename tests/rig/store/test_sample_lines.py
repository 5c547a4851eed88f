# SPDX-License-Identifier: Apache-2.0
"""samples.jsonl is read as it was written, line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rig.errors import DataError
from rig.files import typed
from rig.session.session import open_bench
from rig.store import sample_lines
from tests.conftest import ROOT


@pytest.mark.parametrize("name", ["virtual-asc", "virtual-offline", "virtual-qubo"])
def test_every_line_reads_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    small = (
        ["task.asc.samples=2"] if name != "virtual-qubo" else ["task.qubo.nodes=[10]"]
    )
    with open_bench(ROOT / "benches" / f"{name}.toml", small) as bench:
        trial = bench.run(1, tmp_path).folder / "trial-1"
    lines = sample_lines.read(trial)
    again = [
        *({"idle": typed.to_json(idle)} for idle in lines.idles),
        *({"stream": typed.to_json(stream)} for stream in lines.streams),
        *map(typed.to_json, lines.samples),
    ]
    assert again == [
        json.loads(line) for line in (trial / "samples.jsonl").read_text().splitlines()
    ]


def test_a_line_of_another_form_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text('{"idle": {"phase": 3}}\n')
    with pytest.raises(DataError, match=r"\$\.idle\.phase"):
        sample_lines.read(tmp_path)


def test_a_trial_without_the_file_has_no_lines(tmp_path: Path) -> None:
    assert sample_lines.read(tmp_path) == sample_lines.TrialLines()
