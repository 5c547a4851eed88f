# SPDX-License-Identifier: Apache-2.0
"""Searches to all six time-outs of the rules, virtual: submitted, they pass every row
of the judge but the one about simulation; without their label they fail by hashes.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from rig.errors import ConfigError
from rig.judge.judge import judge
from rig.session.session import open_bench
from tests import checking
from tests.conftest import ROOT
from tests.submissions import (
    REASONS,
    SEARCHED,
    SEEDS,
    built,
    edited,
    hashed_again,
    official,
    statements,
)

BENCH = ROOT / "benches" / "virtual-qubo.toml"
#: At 20 kHz the monitor takes 20 samples in 1 ms: just enough.
SMALL = (
    *SEARCHED,
    "monitor.virtual.sample_hz=20000",
    "scenario.optimization.target_limit_s=0.1",
    "scenario.optimization.curve=[]",
    "scenario.optimization.best_known=false",
    "scenario.optimization.idle_s=0.1",
    "sut.virtual.solve.rate_hz=10000.0",
)


def failing(folder: Path) -> dict[str, str]:
    found = judge(folder, seeds=SEEDS, read=checking.fingerprints)
    return {row.requirement: row.evidence for row in found.rows if row.passed is False}


def test_all_time_outs_pass_up_to_the_label(tmp_path: Path) -> None:
    with open_bench(BENCH, [*SMALL, official(tmp_path)]) as bench:
        result = bench.run(5, tmp_path / "sessions")
    assert all(trial.valid for trial in result.trials)
    stated = statements(tmp_path / "stated")
    stated.write_text(stated.read_text() + REASONS)
    folder = built([result.folder], stated, tmp_path / "submission")
    assert failing(folder).keys() == {"measured"}, failing(folder)

    # Hard links: a text that is edited below is written as a new file.
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare, copy_function=os.link)
    name = result.folder.name
    provenance = bare / "sessions" / name / "provenance.json"
    about = json.loads(provenance.read_text())
    about["simulated"] = about["sut"]["simulated"] = False
    about["monitors"][""]["simulated"] = False
    for path in (provenance, bare / "submission.json"):
        text = path.read_text()
        path.unlink()
        path.write_text(text)
    provenance.write_text(json.dumps(about))
    kept = ["SEEDS NOT KNOWN AS OFFICIAL"]

    def bare_of_its_label(tree: dict[str, object]) -> None:
        [configuration] = tree["configurations"]  # type: ignore[misc]
        configuration["sessions"][0]["labels"] = kept  # type: ignore[index]

    crate = bare / "ro-crate-metadata.json"
    text = crate.read_text()
    crate.unlink()
    crate.write_text(text)
    edited(bare, bare_of_its_label)
    hashed_again(bare)
    found = failing(bare)
    assert "measured" not in found
    assert "provenance.json" in found[f"session {name}"]


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (
            ["monitor.virtual.sample_hz=5000", "sut.virtual.sync_hold_us=450"],
            "a monitor that samples at 20 kHz; or",
        ),
        (["sut.virtual.sync_hold_us=800"], "a SYNC pulse of 490.2 µs or less; or"),
    ],
)
def test_a_time_out_that_is_not_resolved_is_refused_before_a_search(
    words: list[str], way: str, tmp_path: Path
) -> None:
    settings = [*SEARCHED, official(tmp_path), *words]
    with (
        open_bench(BENCH, settings) as bench,
        pytest.raises(ConfigError, match="5 steps of a trial are too short") as refused,
    ):
        bench.run(5, tmp_path / "sessions")
    assert "for 0.001 s" in refused.value.cause
    assert refused.value.try_next.startswith(way)
    assert not (tmp_path / "sessions").exists()
