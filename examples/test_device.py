# SPDX-License-Identifier: Apache-2.0
"""Tests of a device, as a lab would write them: pytest examples --rig-bench
benches/posix-asc.toml (default: the virtual bench).

An invalid session fails every test that uses it, so none asks for that.
"""

from __future__ import annotations

import pytest

import rig


def test_it_classifies_well_enough(rig_session: rig.Session) -> None:
    assert rig_session.metrics["accuracy"] > 0.5


def test_an_inference_costs_less_than_two_millijoules(rig_session: rig.Session) -> None:
    """The whole interval is below: shown, also if it were measured again."""
    assert rig_session.metrics["energy_infer"].surely_below(2e-3)


def test_working_costs_more_than_waiting(rig_session: rig.Session) -> None:
    assert rig_session.metrics["power_dynamic"].surely_above(0.0)


def test_five_trials_tell_the_same(rig_session: rig.Session) -> None:
    assert rig_session.verdict


@pytest.mark.rig(set={"task.asc.samples": 12}, trials=1)
def test_every_sample_is_answered_in_time(rig_session: rig.Session) -> None:
    samples = rig_session.samples()
    assert (samples["preprocess_latency_s"] + samples["infer_latency_s"] < 0.5).all()


def test_the_device_answers_a_sync_burst_with_marks_in_order(
    rig_bench: rig.OpenBench,
) -> None:
    ticks = [mark.tick for mark in rig_bench.sync().marks]
    assert len(ticks) >= 2
    assert ticks == sorted(ticks)
