# SPDX-License-Identifier: Apache-2.0
"""A session of an earlier version, of results schema 3, is read and checked in its own
form.

`stored/schema-3-resumed` is of a virtual device without a monitor whose inference is
too short, stopped in its only trial and resumed: its folders are `sitting-N`, and its
events and problems say "segment".
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rig.check.check import check
from rig.model.metric import Prominence, Statistic
from rig.report.report import rendered
from rig.results import document, results
from rig.store.session_folder import SessionFolder

STORED = Path(__file__).with_name("stored") / "schema-3-resumed"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED, tmp_path / "session"))


def test_every_value_is_found_again_byte_for_byte_and_intervals_are_reported_as_older(
    session: Path,
) -> None:
    checked = check(session)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    (numbers,) = (
        result for result in checked.findings if "every value" in result.detail
    )
    assert "byte for byte equal" in numbers.detail
    assert "intervals" in numbers.detail and "not compared" in numbers.detail
    (trial,) = checked.trials
    assert trial.segments == 2 and trial.problems[0].detail.startswith("sitting 1: ")


def test_its_results_are_read_under_the_present_names(session: Path) -> None:
    stored = document.read(session / "results.json")
    assert stored.trials[0].segments == 2
    assert document.text(stored, 3) == (session / "results.json").read_text()
    assert json.loads(document.text(stored))["trials"][0]["segments"] == 2
    assert "old-resumed" in rendered(session)


def test_what_its_metrics_do_not_say_of_themselves_its_scenario_does(
    session: Path,
) -> None:
    stored = document.read(session / "results.json").metrics
    assert {metric.prominence for metric in stored.values()} == {Prominence.MAIN}
    metrics = results.read(SessionFolder(session)).metrics
    assert {name: metric.value for name, metric in metrics.items()} == {
        name: metric.value for name, metric in stored.items()
    }
    headlines = [
        name
        for name, metric in metrics.items()
        if metric.prominence is Prominence.HEADLINE
    ]
    assert headlines == ["accuracy", "latency_total"]
    assert metrics["latency_total_p99"].statistic is Statistic.PERCENTILE
    assert (
        metrics["latency_total"].budget_shown and not metrics["accuracy"].budget_shown
    )
    page = rendered(session)
    assert "<code>latency_total_p99</code>" in page.partition("further metrics")[2]


@pytest.mark.parametrize(
    "name",
    ["sitting-1/completions.jsonl", "sitting-2/completions.jsonl", "samples.jsonl"],
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
