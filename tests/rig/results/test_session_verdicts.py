# SPDX-License-Identifier: Apache-2.0
"""The scope of a session's verdict: its subject, and the reason why other metrics are
not tested.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rig.cli.main import rig as command
from rig.model.metric import Prominence, Repeatability
from rig.results import claim, document, judging, replication, session_verdicts
from rig.results.document import Results, VerdictResult
from rig.results.session_verdicts import HOST_TIME
from rig.results.verdict import Outcome
from rig.session.session import SessionResult as SessionResult
from rig.session.session import open_bench
from tests import checking
from tests.conftest import ROOT, VIRTUAL_NULL


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    overrides = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
    with open_bench(VIRTUAL_NULL, overrides) as opened:
        return opened.run(5, tmp_path_factory.mktemp("null")).results


@pytest.fixture(scope="module")
def search_session(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    overrides = ["scenario.optimization.timeouts_s=[1e-3,1e-2]"]
    with open_bench(ROOT / "benches" / "virtual-qubo.toml", overrides) as opened:
        return opened.run(5, tmp_path_factory.mktemp("qubo"))


@pytest.fixture(scope="module")
def searched(search_session: SessionResult) -> Results:
    return search_session.results


def test_every_metric_is_covered_or_not_tested_with_a_reason(
    measured: Results, searched: Results
) -> None:
    for results in (measured, searched):
        verdict = results.replication
        covered = {*verdict.per_metric, *verdict.drawn}
        assert covered | set(verdict.not_tested) == set(results.metrics)
        assert not covered & set(verdict.not_tested)
        assert all(verdict.not_tested.values())
        assert verdict.outcome is Outcome.PASS


def test_a_verdict_without_a_claim_is_not_about_what_random_searches_scatter(
    searched: Results,
) -> None:
    verdict = searched.replication
    for name, metric in searched.metrics.items():
        drawn = metric.repeatability is Repeatability.DRAWN
        assert (verdict.not_tested.get(name) == judging.SEARCHES.text) is drawn
    powers = sum(metric.unit == "W" for metric in searched.metrics.values())
    left = len(searched.metrics) - powers
    assert verdict.scope == f"{powers} powers; {left} metrics not tested"


def with_sut(results: Results, **facts: Any) -> Results:
    stored = results.provenance.stored
    sut = dict(stored["sut"]) | facts
    return replace(
        results,
        provenance=replace(results.provenance, stored=dict(stored) | {"sut": sut}),
    )


def test_the_running_time_of_a_simulator_on_the_host_is_outside_of_the_verdict(
    measured: Results,
) -> None:
    hosted = with_sut(measured, clock="CLOCK_MONOTONIC", simulated=True)
    verdict = judging.of_trials(session_verdicts.measurement(hosted))
    assert (
        verdict.not_tested["latency_infer"]
        == verdict.not_tested["energy_infer"]
        == HOST_TIME
    )
    assert "accuracy" in verdict.per_metric and "power_idle" in verdict.per_metric
    own = with_sut(measured, clock="CLOCK_MONOTONIC", simulated=False)
    assert (
        "latency_infer"
        in judging.of_trials(session_verdicts.measurement(own)).per_metric
    )


def test_a_claimed_time_of_a_simulator_on_the_host_is_not_tested(
    measured: Results,
) -> None:
    hosted = with_sut(measured, clock="CLOCK_MONOTONIC", simulated=True)
    claimed = {"latency_infer": judging.ClaimedMetric(value=1e-9)}
    result = judging.of_claim(claimed, session_verdicts.measurement(hosted))
    assert result.replication.outcome is result.audit.outcome is Outcome.NOT_TESTED
    assert result.replication.not_tested["latency_infer"] == HOST_TIME


def published(results: Results, factor: float) -> Any:
    """Return a results.json whose gaps, latencies, energies and WADE were divided by a
    factor, with their intervals, as if they had been measured so; powers are as they
    are.
    """
    tree = document.to_json(results)
    for metric in tree["metrics"].values():
        if metric["unit"] == "W" or metric["statistic"] in ("share", "percentile"):
            continue
        metric["value"] = None if metric["value"] is None else metric["value"] / factor
        for interval in (metric["same_samples"], metric["other_samples"]):
            for key in ("low", "high", "standard_uncertainty", "expanded_uncertainty"):
                interval[key] = (
                    None if interval[key] is None else interval[key] / factor
                )
    return tree


def verdicts_on(
    tmp_path: Path, tree: Any, results: Results
) -> dict[str, VerdictResult]:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(tree))
    return session_verdicts.claim_verdicts(claim.read(path), results)


def test_an_honest_published_search_is_confirmed_with_what_would_have_been_noticed(
    searched: Results, tmp_path: Path
) -> None:
    result = verdicts_on(tmp_path, published(searched, 1.0), searched)
    for rule in ("replication", "audit"):
        assert result[rule].outcome is Outcome.PASS, result[rule].reason
        assert result[rule].drawn and result[rule].per_metric
        times = judging.noticeable(result[rule].drawn)
        assert times is not None and 1 < times < judging.FARTHEST


def test_a_published_search_a_hundred_times_too_good_is_refused_by_its_searches_alone(
    searched: Results, tmp_path: Path
) -> None:
    result = verdicts_on(tmp_path, published(searched, 100.0), searched)
    for rule in ("replication", "audit"):
        assert result[rule].outcome is Outcome.FAIL
        assert all(row.ok for row in result[rule].per_metric.values())
        assert not all(test.ok for test in result[rule].drawn.values())
        assert "better than measured" in result[rule].reason


def checked(folder: Path, path: Path, *options: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rig.cli.check_session.recompute", checking.check)
        words = ["check", str(folder), "--claim", str(path), *options]
        return CliRunner().invoke(command, words, standalone_mode=False)


def test_the_command_prints_scope_chances_and_what_would_have_been_noticed(
    search_session: SessionResult, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(published(search_session.results, 1.0)))
    done = checked(search_session.folder, path, "--explain")
    assert done.return_value == 0, done.output
    text = " ".join(done.output.split())
    assert "PASS for" in text and "metrics not tested" in text and "chance" in text
    assert "would have noticed a claim that is" in text
    assert "Holm 1979" in text and f"policy: {replication.POLICY[:20]}" in text
    path.write_text(json.dumps(published(search_session.results, 100.0)))
    done = checked(search_session.folder, path)
    assert done.return_value == 1, done.output
    assert "times better than measured" in " ".join(done.output.split())
    assert "Holm 1979" not in done.output, "the words of a rule are no finding"


def test_a_claim_without_an_uncertainty_takes_that_of_the_measurement_and_says_so(
    search_session: SessionResult, tmp_path: Path
) -> None:
    metrics = search_session.results.metrics
    drawn = [
        name
        for name, metric in metrics.items()
        if metric.same_samples.degrees_of_freedom is not None and metric.value
    ]
    path = tmp_path / "claim.toml"
    path.write_text(
        f"{drawn[0]} = {metrics[drawn[0]].value!r}\nsuccess_to_10pct = 1.0\n"
    )
    done = checked(search_session.folder, path)
    assert done.return_value == 0, done.output
    assert "that of the measurement is taken for it" in " ".join(done.output.split())


def test_headlines_of_a_search_are_drawn(searched: Results) -> None:
    shown = [
        item
        for item in searched.metrics.values()
        if item.prominence is not Prominence.DETAIL
    ]
    assert any(item.repeatability is Repeatability.DRAWN for item in shown)
