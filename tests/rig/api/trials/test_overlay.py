# SPDX-License-Identifier: Apache-2.0
"""Trials over each other: aligned to fractions of a sample, and the drifting one is
named."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.api.traces.spans import Spans
from rig.api.trials.overlay import mean_power, occasions, of_segments, overlay
from rig.session.session import open_bench
from rig.trace.trace import Gap, Trace
from tests.conftest import VIRTUAL_NULL
from tests.traces import trace_writer

SETTINGS = ["task.null.samples=4", "scenario.single_stream.idle_s=0.1"]


def session_of(root: Path, *settings: str, trials: int = 4) -> rig.Session:
    with open_bench(VIRTUAL_NULL, [*SETTINGS, *settings]) as bench:
        return rig.open_session(bench.run(trials, root).folder)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> rig.Session:
    return session_of(tmp_path_factory.mktemp("quiet"))


@pytest.fixture(scope="module")
def drifting(
    quiet: rig.Session, tmp_path_factory: pytest.TempPathFactory
) -> rig.Session:
    """As the quiet one, but that its third trial draws more."""
    with quiet.trace(1) as trace:
        long_s = trace.duration_s
    drift = [
        f"sut.virtual.drift.begins_s={2.1 * long_s}",
        f"sut.virtual.drift.lasts_s={long_s}",
    ]
    drift += ["sut.virtual.drift.power=0.2"]
    return session_of(tmp_path_factory.mktemp("drifting"), *drift)


def first_sample(session: rig.Session) -> int:
    sample = next(span.sample for span in session.spans(1) if span.kind == "sample")
    assert sample is not None
    return sample


def test_trials_lie_over_each_other(quiet: rig.Session) -> None:
    result = overlay(quiet, [1, 2, 3, 4], first_sample(quiet))
    assert result.odd is None and result.rail == ""
    assert (result.sample, result.repetition) == (
        first_sample(quiet),
        1,
    ) and not result.remark
    rows = np.array([item.power_w for item in result.trials])
    assert rows.shape == (4, len(result.start_s)) and np.isfinite(rows).all()
    spans = {span.step: span for span in quiet.spans(2) if span.phase == "preprocess"}
    second = result.trials[1]
    assert second.start_s == spans[second.step].start_s
    for at, item in enumerate(result.trials):
        others = np.delete(rows, at, axis=0).mean(axis=0)
        np.testing.assert_allclose(item.difference_w, item.power_w - others, atol=1e-15)
    # The power steps up at the edge, in all trials in the same column.
    inside = (result.start_s > 0) & (
        result.stop_s < min(item.length_s for item in result.trials)
    )
    before = result.stop_s <= 0
    assert rows[:, before].mean() < 0.7 * rows[:, inside].mean()


def test_the_drifting_trial_is_named(drifting: rig.Session) -> None:
    samples = [item.sample for item in occasions(drifting, 1) if item.kind == "sample"]
    odd = {overlay(drifting, [1, 2, 3, 4], sample).odd for sample in samples}
    assert 3 in odd and odd <= {3, None}
    result = next(
        item
        for sample in samples
        if (item := overlay(drifting, [4, 3, 2, 1], sample)).odd == 3
    )
    assert "trial 3 is off" in result.remark
    assert overlay(drifting, [1, 3], samples[-1]).odd is None, "two have no middle"


def test_a_sample_is_the_same_in_all_trials_whatever_their_orders(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("orders")
    session = session_of(root, trials=3)
    first = occasions(session, 1)
    assert [item.sample for item in first if item.kind == "sample"] != [
        item.sample for item in occasions(session, 2) if item.kind == "sample"
    ], "a step number means other samples in other trials"
    for item in first:
        result = overlay(
            session, [1, 2, 3], item.sample, item.repetition, kind=item.kind
        )
        for laid in result.trials:
            spans = [
                span
                for span in session.spans(laid.trial)
                if span.step == laid.step and span.kind == item.kind
            ]
            assert {span.sample for span in spans} == {item.sample}
            assert min(span.start_s for span in spans) == laid.start_s


def test_a_sample_that_comes_again_is_named_by_how_often_it_came(
    quiet: rig.Session,
) -> None:
    of = quiet.spans(1)
    step = of.step.max()
    again = replace(
        of, step=of.step + step + 1, start_s=of.start_s + 9, stop_s=of.stop_s + 9
    )
    once, twice = of_segments([of]), of_segments([of, again])
    assert twice[: len(once)] == once
    later = twice[len(once) :]
    for item, other in zip(once, later, strict=True):
        assert (item.kind, item.sample, item.repetition * 0) == (*other.identity[:2], 0)
        assert other.repetition == item.repetition + sum(
            each.identity[:2] == item.identity[:2] for each in once
        )
        assert (item.segment, other.segment) == (
            1,
            2,
        ) and other.start_s == item.start_s + 9
    sample = next(item for item in later if item.kind == "sample")
    assert str(sample) == f"sample {sample.sample}, time 2"
    assert str(next(item for item in once if item.kind == "idle")) == "idle 1"


def test_a_trial_that_did_not_come_to_a_sample_is_left_out_and_named(
    quiet: rig.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = first_sample(quiet)
    spans = quiet.spans
    none = np.zeros(0, dtype=np.int64)

    def cut(trial: int, rail: str = "", segment: int = 1) -> Spans:
        result = spans(trial, rail, segment)
        kept = none if trial == 2 else np.arange(len(result))
        columns = {
            name: getattr(result, name)[kept]
            for name in result.__slots__
            if name != "phases"
        }
        return replace(result, **columns)

    monkeypatch.setattr(rig.Session, "spans", lambda _, *of: cut(*of))
    result = overlay(quiet, [1, 2, 3], sample)
    assert [item.trial for item in result.trials] == [1, 3]
    assert result.remark == "trial 2 did not come to it"


def test_an_overlay_has_no_more_columns_than_samples(quiet: rig.Session) -> None:
    result = overlay(quiet, [1, 2], first_sample(quiet), columns=50)
    assert len(result.trials[0].power_w) == 50
    with quiet.trace(1) as trace:
        assert len(
            overlay(quiet, [1], first_sample(quiet), columns=10**6).start_s
        ) <= 1.3 * (result.trials[0].length_s * trace.sample_hz)


def test_what_cannot_be_overlaid_is_reported(quiet: rig.Session) -> None:
    with pytest.raises(rig.DataError, match="no trials"):
        overlay(quiet, [], 3)
    with pytest.raises(rig.DataError, match="no trial has sample 9999 1 times"):
        overlay(quiet, [1, 2], 9999)
    with pytest.raises(rig.DataError, match="no trial 9"):
        overlay(quiet, [1, 9], first_sample(quiet))


def test_mean_power_between_instants_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hz = 1000.0
    current = np.random.default_rng(1).normal(0.01, 0.003, 5000)
    with trace_writer(tmp_path, hz, sync_kind="none") as writer:
        writer.analog(current, np.full(5000, 3.0))
        writer.gap(Gap(4000, 4001, "for the test"))
    trace = Trace.open(tmp_path / "trace.jls")
    borders_s = 0.7 + np.sort(np.random.default_rng(2).uniform(0, 3.0, 300))
    want = [
        trace.mean_w(float(start), float(stop)) for start, stop in pairwise(borders_s)
    ]
    for block in (1 << 20, 64, 1):
        monkeypatch.setattr("rig.api.trials.overlay._BLOCK", block)
        np.testing.assert_allclose(mean_power(trace, borders_s), want, rtol=1e-6)
    ends_s = np.array([-0.1, 0.1, 3.9, 4.0, 4.0005, 4.001, 4.1, 4.9, 5.1])
    lost = np.isnan(mean_power(trace, ends_s))
    assert lost.tolist() == [True, False, False, True, True, False, False, True]
