# SPDX-License-Identifier: Apache-2.0
"""Tests of a device, as a lab would write them: pytest examples --rig-bench benches/posix-asc.toml
(default: the virtual bench).
"""

from __future__ import annotations

from rig.model.steps import Sync
from rig.session.session import Bench, SessionResult


def test_it_classifies_well_enough(rig_session: SessionResult) -> None:
    assert rig_session.metrics["accuracy"].value > 0.5


def test_an_inference_costs_less_than_two_millijoules(rig_session: SessionResult) -> None:
    assert rig_session.metrics["energy_infer"].value < 2e-3


def test_working_costs_more_than_waiting(rig_session: SessionResult) -> None:
    assert rig_session.metrics["power_dynamic"].value > 0


def test_nothing_went_wrong_in_any_trial(rig_session: SessionResult) -> None:
    assert all(trial.valid for trial in rig_session.trials), rig_session.content["problems"]


def test_the_device_answers_a_sync_burst_with_marks_in_order(rig_bench: Bench) -> None:
    ticks = [mark.tick for mark in rig_bench.sut.do(Sync()).marks]
    assert len(ticks) >= 2
    assert ticks == sorted(ticks)
