# SPDX-License-Identifier: Apache-2.0
"""Trials over each other: aligned to fractions of a sample, and the drifting one is named."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.api.trials.overlay import mean_power, overlay
from rig.session.session import open_bench
from rig.trace.trace import Gap, Trace
from rig.trace.writer import TraceWriter
from tests.conftest import VIRTUAL_NULL

SETTINGS = ["task.null.samples=4", "scenario.single_stream.idle_s=0.1"]


def session_of(root: Path, *settings: str, trials: int = 4) -> rig.Session:
    with open_bench(VIRTUAL_NULL, [*SETTINGS, *settings]) as bench:
        return rig.open_session(bench.run(trials, root).folder)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> rig.Session:
    return session_of(tmp_path_factory.mktemp("quiet"))


@pytest.fixture(scope="module")
def drifting(quiet: rig.Session, tmp_path_factory: pytest.TempPathFactory) -> rig.Session:
    """As the quiet one, but that its third trial draws more."""
    with quiet.trace(1) as trace:
        long_s = trace.duration_s
    drift = [f"sut.virtual.drift.begins_s={2.1 * long_s}", f"sut.virtual.drift.lasts_s={long_s}"]
    drift += ["sut.virtual.drift.power=0.2"]
    return session_of(tmp_path_factory.mktemp("drifting"), *drift)


def first_step(session: rig.Session) -> int:
    step = next(span.step for span in session.spans(1) if span.kind == "sample")
    assert step is not None
    return step


def test_trials_lie_over_each_other(quiet: rig.Session) -> None:
    found = overlay(quiet, [1, 2, 3, 4], first_step(quiet))
    assert found.odd is None and found.rail == ""
    assert len({one.sample for one in found.trials}) == 1 and not found.remark
    rows = np.array([one.power_w for one in found.trials])
    assert rows.shape == (4, len(found.start_s)) and np.isfinite(rows).all()
    spans = {span.step: span for span in quiet.spans(2) if span.phase == "preprocess"}
    second = found.trials[1]
    assert second.start_s == spans[second.step].start_s
    for at, one in enumerate(found.trials):
        others = np.delete(rows, at, axis=0).mean(axis=0)
        np.testing.assert_allclose(one.difference_w, one.power_w - others, atol=1e-15)
    # The power steps up at the edge, in all trials in the same column.
    inside = (found.start_s > 0) & (found.stop_s < min(one.length_s for one in found.trials))
    before = found.stop_s <= 0
    assert rows[:, before].mean() < 0.7 * rows[:, inside].mean()


def test_the_drifting_trial_is_named(drifting: rig.Session) -> None:
    odd = {overlay(drifting, [1, 2, 3, 4], first_step(drifting)).odd for _ in range(1)}
    steps = [span.step for span in drifting.spans(1) if span.kind == "sample"]
    odd |= {overlay(drifting, [1, 2, 3, 4], step).odd for step in steps if step is not None}
    assert 3 in odd and odd <= {3, None}
    found = next(
        one
        for step in steps
        if step is not None and (one := overlay(drifting, [4, 3, 2, 1], step)).odd == 3
    )
    assert "trial 3 is off" in found.remark
    assert overlay(drifting, [1, 3], steps[-1] or 0).odd is None, "two have no middle"


def test_an_overlay_has_no_more_columns_than_samples(quiet: rig.Session) -> None:
    found = overlay(quiet, [1, 2], first_step(quiet), columns=50)
    assert len(found.trials[0].power_w) == 50
    with quiet.trace(1) as trace:
        assert len(overlay(quiet, [1], first_step(quiet), columns=10**6).start_s) <= 1.3 * (
            found.trials[0].length_s * trace.sample_hz
        )


def test_what_cannot_be_overlaid_is_said(quiet: rig.Session) -> None:
    with pytest.raises(rig.DataError, match="no trials"):
        overlay(quiet, [], 3)
    with pytest.raises(rig.DataError, match="step 9999 has no window"):
        overlay(quiet, [1, 2], 9999)
    with pytest.raises(rig.DataError, match="no trial 9"):
        overlay(quiet, [1, 9], first_step(quiet))


def test_mean_power_between_instants_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hz = 1000.0
    current = np.random.default_rng(1).normal(0.01, 0.003, 5000)
    with TraceWriter(
        tmp_path, sample_hz=hz, edge_hz=hz, source="t", serial="", about={}, sync_kind="none"
    ) as writer:
        writer.analog(current, np.full(5000, 3.0))
        writer.gap(Gap(4000, 4001, "for the test"))
    trace = Trace.open(tmp_path / "trace.jls")
    borders_s = 0.7 + np.sort(np.random.default_rng(2).uniform(0, 3.0, 300))
    want = [trace.mean_w(float(start), float(stop)) for start, stop in pairwise(borders_s)]
    for block in (1 << 20, 64, 1):
        monkeypatch.setattr("rig.api.trials.overlay._BLOCK", block)
        np.testing.assert_allclose(mean_power(trace, borders_s), want, rtol=1e-6)
    ends_s = np.array([-0.1, 0.1, 3.9, 4.0, 4.0005, 4.001, 4.1, 4.9, 5.1])
    lost = np.isnan(mean_power(trace, ends_s))
    assert lost.tolist() == [True, False, False, True, True, False, False, True]
