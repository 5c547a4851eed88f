# SPDX-License-Identifier: Apache-2.0
"""Trials without some of their samples: as if these had never been asked for."""

from __future__ import annotations

import math

import pytest

from rig.model.scores import Score
from rig.model.trial import Hop, Measured, Sample, Streamed, Window
from rig.uncertainty.deletion import without
from scenarios.offline import Offline
from scenarios.real_time.scenario import RealTime
from scenarios.single_stream import SingleStream
from tests.samples import sample_of

HOP_S = 0.5
BUSY_S = 0.1
REST_W = 0.01
BUSY_W = 0.05


def query(index: int, latency_s: float, right: bool) -> Sample:
    window = Window("infer", 0.0, latency_s, latency_s, latency_s * BUSY_W)
    return sample_of(
        index, [window], label="a", answer="a" if right else "b", correct=right
    )


def batch(indices: tuple[int, ...], right: set[int]) -> Sample:
    each = tuple(
        Score(index in right, "a", "a" if index in right else "b") for index in indices
    )
    return sample_of(
        1,
        [Window("batch", 0.0, 1.0, 1.0, 1.0)],
        indices=indices,
        repeat=2,
        correct=False,
        each=each,
    )


def played(*scenes: int) -> Measured:
    """Return a stream of scenes of so many windows each; scene k is of the task's
    sample k, and only even ones are recognised.
    """
    samples = []
    labels = []
    onsets_s = []
    number = 0
    for scene, windows in enumerate(scenes):
        labels.append(f"label {scene}")
        onsets_s.append(number * HOP_S)
        for age in range(windows):
            busy = Window("infer", 0.0, BUSY_S, BUSY_S, BUSY_S * BUSY_W * (1 + scene))
            response = Window("response", 0.0, BUSY_S, BUSY_S, None)
            hop = Hop(
                number,
                scene,
                response,
                Window("since_onset", 0.0, 0.0, age * HOP_S + BUSY_S, None),
            )
            samples.append(
                sample_of(
                    1,
                    [busy],
                    indices=(),
                    label=labels[-1],
                    correct=scene % 2 == 0,
                    hop=hop,
                )
            )
            number += 1
    length_s = number * HOP_S
    busy_j = math.fsum(sample.windows[0].energy_j or 0.0 for sample in samples)
    whole = Window(
        "stream",
        0.0,
        length_s,
        length_s,
        busy_j + REST_W * (length_s - number * BUSY_S),
    )
    indices = tuple((scene,) for scene in range(len(scenes)))
    stream = Streamed(
        1,
        whole,
        tuple(labels),
        tuple(onsets_s),
        due=number,
        hop_s=HOP_S,
        window_s=1.0,
        preloaded=False,
        indices=indices,
    )
    return Measured(tuple(samples), (Window("idle", 0.0, 1.0, 1.0, 0.01),), (stream,))


def test_queries_without_a_sample_are_those_of_the_others() -> None:
    samples = [query(0, 0.1, True), query(1, 0.2, False), query(2, 0.3, True)]
    left = without(Measured(tuple(samples), ()), frozenset({1}))
    assert left == Measured((samples[0], samples[2]), ())
    metrics = SingleStream(SingleStream.Settings()).summarise(left, ("infer",))
    assert metrics["accuracy"].value == 1.0 and metrics[
        "latency_infer"
    ].value == pytest.approx(0.2)


def test_a_batch_keeps_the_answers_of_the_others_and_its_time_is_not_known() -> None:
    measured = Measured(
        (batch((0, 1, 2), {0, 2}), batch((3, 4), {3, 4})),
        (Window("idle", 0.0, 1.0, 1.0, 0.01),),
    )
    metrics = Offline(Offline.Settings()).summarise(
        without(measured, frozenset({1})), ("batch",)
    )
    assert metrics["accuracy"].value == 1.0 and metrics["accuracy"].n == 4
    assert math.isnan(metrics["throughput"].value) and math.isnan(
        metrics["energy_total"].value
    )
    assert metrics["power_idle"].value == pytest.approx(0.01)


def test_a_batch_whose_samples_are_all_left_out_leaves_with_its_time() -> None:
    measured = Measured((batch((0, 1, 2), {0, 2}), batch((3, 4), {3, 4})), ())
    metrics = Offline(Offline.Settings()).summarise(
        without(measured, frozenset({0, 1, 2})), ("batch",)
    )
    assert (
        metrics["throughput"].value == pytest.approx(2.0) and metrics["accuracy"].n == 2
    )


def test_a_scene_that_is_left_out_is_no_new_scene_and_none_of_its_windows_is_due():
    scenario = RealTime(RealTime.Settings())
    measured = played(3, 4, 5, 2)
    whole, left = (
        scenario.summarise(each, ("infer",))
        for each in (measured, without(measured, frozenset({1})))
    )
    assert (whole["recognised"].value, whole["recognised"].n) == (
        pytest.approx(1 / 3),
        3,
    )
    assert (left["recognised"].value, left["recognised"].n) == (0.5, 2)
    assert (left["within_deadline"].value, left["within_deadline"].n) == (1.0, 10)
    assert left["accuracy"].value == pytest.approx(8 / 10)


def test_the_first_scene_follows_no_change_whatever_is_left_out() -> None:
    scenario = RealTime(RealTime.Settings())
    for gone in ({0}, {0, 2}, {2}):
        result = scenario.summarise(
            without(played(3, 4, 5, 2), frozenset(gone)), ("infer",)
        )["recognised"]
        assert result.n == 3 - len(gone - {0})


def test_a_stream_without_a_scene_costs_what_that_scene_did_not() -> None:
    scenario = RealTime(RealTime.Settings())
    measured = played(3, 4, 5, 2)
    left = without(measured, frozenset({2}))
    # The other scenes alone, each window of scene k at (1 + k) times the power.
    busy_j = BUSY_S * BUSY_W * (3 * 1 + 4 * 2 + 2 * 4)
    whole = left.streams[0].whole
    assert whole.latency_s == pytest.approx(9 * HOP_S)
    assert whole.energy_j == pytest.approx(busy_j + REST_W * 9 * (HOP_S - BUSY_S))
    metrics = scenario.summarise(left, ("infer",))
    assert metrics["power_stream"].value == pytest.approx(
        (whole.energy_j or 0.0) / whole.latency_s
    )
    assert metrics["duty_cycle"].value == pytest.approx(BUSY_S / HOP_S)


def test_without_nothing_all_is_left() -> None:
    for measured in (
        played(3, 4),
        Measured((batch((0, 1), {0}), query(5, 0.1, True)), ()),
    ):
        assert without(measured, frozenset({77})) == measured
