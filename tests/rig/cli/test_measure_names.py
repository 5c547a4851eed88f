# SPDX-License-Identifier: Apache-2.0
"""Names of windows of a trace that recorded interleaved trials."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from click.testing import CliRunner

from rig.cli.measure import measure
from rig.session.session import open_bench
from tests.conftest import VIRTUAL_NULL

INTERLEAVED = (
    "task.null.samples=2",
    "scenario.single_stream.idle_s=0.1",
    "scenario.single_stream.interleaved=true",
)


def test_windows_of_all_interleaved_trials_have_names(tmp_path: Path) -> None:
    with open_bench(VIRTUAL_NULL, INTERLEAVED) as opened:
        folder = opened.run(3, tmp_path).folder
    trace = str(folder / "trial-1")
    done = CliRunner().invoke(measure, [trace, "--json"], standalone_mode=False)
    assert done.exception is None
    names = [window["name"] for window in json.loads(done.stdout)["windows"]]
    counted = [
        name.partition(" ")[2]
        for name in names
        if " of sample " in name and "warm-up" not in name
    ]
    due = [
        f"{phase} of sample {sample}, trial {trial}"
        for sample, trial, phase in product((0, 1), (1, 2, 3), ("preprocess", "infer"))
    ]
    assert sorted(counted) == sorted(due)
    idles = [name.partition(" ")[2] for name in names if " idle" in name]
    assert sorted(idles) == sorted(2 * [f"idle, trial {trial}" for trial in (1, 2, 3)])
