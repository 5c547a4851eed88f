# SPDX-License-Identifier: Apache-2.0
"""The trials of a session metric by metric, against results.json and by the rules
themselves."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import rig
from rig.api.trials.replication import (
    AUDIT,
    REPLICATION,
    SessionTrials,
    claims_that_hold,
    of_results,
    session_trials,
    what_if,
)
from rig.results import claim, document, replication, session_verdicts
from rig.results import results as reduction
from rig.results.document import Results
from rig.session.session import open_bench
from rig.store.session_folder import SessionFolder
from tests.conftest import VIRTUAL_NULL

ENERGY = "energy_infer"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    overrides = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
    with open_bench(VIRTUAL_NULL, [*overrides, f"claim.{ENERGY}=0.0019"]) as bench:
        return bench.run(5, tmp_path_factory.mktemp("sessions")).folder


@pytest.fixture(scope="module")
def view(folder: Path) -> SessionTrials:
    return session_trials(rig.open_session(folder))


def test_values_and_verdicts_are_those_of_the_results(
    folder: Path, view: SessionTrials
) -> None:
    stored = json.loads((folder / "results.json").read_text())
    assert [metric.name for metric in view.metrics] == list(stored["metrics"])
    for metric in view.metrics:
        row = stored["metrics"][metric.name]
        assert [dot.value for dot in metric.dots] == [
            item["value"] for item in row["per_trial"]
        ]
        assert metric.metric.value == row["value"]
        assert (
            metric.metric.same_samples.standard_uncertainty
            == (row["same_samples"]["standard_uncertainty"])
        )
    mine = view.of(ENERGY)
    judged = stored["replication"]["per_metric"][ENERGY]
    assert mine.replication is not None
    assert dataclasses.asdict(mine.replication) == judged
    assert mine.audit is not None
    assert dataclasses.asdict(mine.audit) == stored["audit"]["per_metric"][ENERGY]
    assert mine.claimed == 0.0019
    assert mine.reference == 0.0019
    assert mine.band == pytest.approx((0.0019 * 0.95, 0.0019 * 1.05))
    assert view.of("latency_infer").claimed is None


def test_the_claim_of_the_session_comes_out_as_it_did(view: SessionTrials) -> None:
    result = what_if(view.results, ENERGY, 0.0019)
    assert result.replication is not None and result.audit is not None
    assert result.replication.per_metric[ENERGY] == view.of(ENERGY).replication
    assert result.audit.per_metric[ENERGY] == view.of(ENERGY).audit


@pytest.mark.parametrize("factor", [0.9, 0.949, 0.951, 1.0, 1.0499, 1.06, 2.0])
def test_another_claim_is_judged_as_the_check_judges_it(
    folder: Path, view: SessionTrials, factor: float
) -> None:
    session = SessionFolder(folder)
    context = reduction.Context.of(session)
    trials = [
        reduction.reduce_trial(
            context, session.trial(item.number), item.number, item.seed
        )
        for item in view.results.trials
    ]
    claimed = factor * view.of(ENERGY).mean
    tested = claim.Claim(claim.of_values({ENERGY: claimed}))
    asked = session_verdicts.claim_verdicts(tested, reduction.derive(context, trials))
    result = what_if(view.results, ENERGY, claimed)
    for rule, verdict in result.verdicts.items():
        assert verdict.outcome is asked[rule].judged
        assert verdict.per_metric == asked[rule].per_metric
    assert asked[REPLICATION].ok is (abs(1 - 1 / factor) <= 0.05)
    assert asked[AUDIT].ok is (1 / factor <= 1 / 0.95)


def test_the_claims_that_hold_end_where_the_rules_do(view: SessionTrials) -> None:
    average = view.of(ENERGY).mean
    low, high = claims_that_hold(view.results, ENERGY, REPLICATION) or (0.0, 0.0)
    assert (low, high) == pytest.approx((average / 1.05, average / 0.95))
    least, most = claims_that_hold(view.results, ENERGY, AUDIT) or (0.0, 0.0)
    assert least == pytest.approx(average * 0.95)
    assert math.isinf(most), "a device may be better than claimed"


def test_what_no_trial_can_meet_is_refused_with_what_could(view: SessionTrials) -> None:
    result = what_if(view.results, "latency_infer", -1.0)
    assert result.verdicts == {}
    assert "0 or more" in result.refused


def test_a_session_with_fewer_trials_says_why_no_claim_holds(
    view: SessionTrials,
) -> None:
    fewer = _of_trials(view.results, 3)
    result = what_if(fewer, ENERGY, view.of(ENERGY).mean)
    assert result.replication is not None
    assert not result.replication.ok
    assert "3 trials" in result.replication.reason
    assert claims_that_hold(fewer, ENERGY, REPLICATION) is None


def test_the_budget_names_what_to_improve_first(view: SessionTrials) -> None:
    mine = view.of(ENERGY)
    counted = [line for line in mine.budget if line.variance_share is not None]
    assert math.fsum(line.variance_share or 0.0 for line in counted) == pytest.approx(
        1.0
    )
    first = mine.improve_first
    assert first is not None
    assert first.standard_uncertainty == max(
        line.standard_uncertainty for line in counted
    )
    assert first.left_without is not None
    expanded = mine.metric.same_samples.expanded_uncertainty
    assert expanded is not None
    assert first.left_without == pytest.approx(
        expanded * math.sqrt(1 - (first.variance_share or 0.0))
    )
    assert "Improve first" in mine.advice
    assert view.of("latency_infer").improve_first is not None


def test_a_session_that_was_cut_off_shows_its_trials(
    copied: Callable[[int], Path],
) -> None:
    folder = copied(2)
    events = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(events[:-1]))
    (folder / "results.json").unlink()
    result = session_trials(rig.Session(folder))
    assert "did not finish" in result.note
    assert len(result.of(ENERGY).dots) == 2


def test_what_an_older_schema_does_not_say_is_made_again(
    folder: Path, tmp_path: Path
) -> None:
    old = shutil.copytree(folder, tmp_path / "old")
    stored = document.read(folder / "results.json")
    (old / "results.json").write_text(document.text(stored, 3))
    result = session_trials(rig.open_session(old))
    assert result.note == ""
    assert result.of("latency_infer_p99").detail
    for trace in old.glob("trial-*/*.jls"):
        trace.unlink()
    less = session_trials(rig.open_session(old))
    assert "older schema" in less.note
    assert [dot.value for dot in less.of(ENERGY).dots] == (
        [dot.value for dot in result.of(ENERGY).dots]
    )


@pytest.mark.parametrize("how", list(replication.Deviation))
@pytest.mark.parametrize("reference", [0.2, -0.01, 3.0])
@pytest.mark.parametrize("direction", [True, False, None])
def test_the_bands_that_are_drawn_end_where_the_rules_do(
    how: replication.Deviation, reference: float, direction: bool | None
) -> None:
    def passes(value: float) -> tuple[bool, bool]:
        trials = [{"m": value}] * 5
        twice = replication.replication_check({"m": reference}, trials, 0, {"m": how})
        once = replication.one_sided_check(
            replication.AUDIT,
            {"m": reference},
            trials,
            higher_is_better={"m": direction},
            deviations={"m": how},
        )
        return twice.ok, once.ok

    for end, outwards in zip(replication.band(reference, how), (-1, 1), strict=True):
        assert passes(end)[0]
        assert not passes(end + outwards * 1e-6)[0]
    ends = replication.passing(reference, direction, how)
    for end, outwards in zip(ends, (-1, 1), strict=True):
        if math.isfinite(end):
            assert passes(end)[1]
            assert not passes(end + outwards * 1e-6)[1]
    assert sum(map(math.isfinite, ends)) == (2 if direction is None else 1)


def _of_trials(results: Results, count: int) -> Results:
    metrics = {
        name: dataclasses.replace(metric, per_trial=metric.per_trial[:count])
        for name, metric in results.metrics.items()
    }
    fewer = dataclasses.replace(results, trials=results.trials[:count], metrics=metrics)
    assert len(of_results(fewer).metrics[0].dots) == count
    return fewer
