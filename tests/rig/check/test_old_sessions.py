# SPDX-License-Identifier: Apache-2.0
"""A session of an earlier version, of results schema 3, is read and checked in its own form.

`stored/schema-3-resumed` is of a virtual device without a monitor whose inference is too short,
stopped in its only trial and resumed: its folders are `sitting-N`, and its events and problems say
"sitting".
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rig.check.check import check
from rig.report.report import rendered
from rig.results import document

STORED = Path(__file__).with_name("stored") / "schema-3-resumed"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED, tmp_path / "session"))


def test_every_number_is_found_again_byte_for_byte(session: Path) -> None:
    checked = check(session)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    (results,) = (found for found in checked.findings if "every number" in found.detail)
    assert "byte for byte equal" in results.detail
    (trial,) = checked.trials
    assert trial.segments == 2 and trial.problems[0].detail.startswith("sitting 1: ")


def test_its_results_are_read_under_the_present_names(session: Path) -> None:
    results = document.read(session / "results.json")
    assert results.trials[0].segments == 2
    assert document.text(results, 3) == (session / "results.json").read_text()
    assert json.loads(document.text(results))["trials"][0]["segments"] == 2
    assert "old-resumed" in rendered(session)


@pytest.mark.parametrize(
    "name", ["sitting-1/completions.jsonl", "sitting-2/completions.jsonl", "samples.jsonl"]
)
def test_a_change_in_it_is_found(session: Path, name: str) -> None:
    path = session / "trial-1" / name
    path.write_text(path.read_text().replace("1", "2", 1))
    bad = [finding.name for finding in check(session).findings if not finding.ok]
    assert f"trial-1/{name}" in bad


def test_a_changed_number_of_its_results_is_found(session: Path) -> None:
    path = session / "results.json"
    tree = json.loads(path.read_text())
    tree["metrics"]["latency_total"]["value"] *= 1.001
    path.write_text(json.dumps(tree))
    details = [finding.detail for finding in check(session).findings if not finding.ok]
    assert any("metrics.latency_total.value" in detail for detail in details)
