# SPDX-License-Identifier: Apache-2.0
"""The metrics of any trial are among those that its scenario declares, with the same
unit and direction, and within the declared limits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.populations import POPULATIONS
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.model.scores import Costs, Score
from rig.model.steps import Idle, Query, Solve, Step
from rig.model.trial import Crossing, Measured, Sample, Window
from rig.session.planning import steps
from scenarios.mlperf_tiny.scenario import Tiny
from scenarios.offline import Offline
from scenarios.optimization.scenario import Optimization
from scenarios.real_time.scenario import RealTime
from scenarios.single_stream import SingleStream
from scenarios.tasks.null import NullTask
from scenarios.tasks.qubo.task import QuboTask
from tests.samples import sample_of

NULL = NullTask(NullTask.Settings(samples=6, payload_b=16))
LENGTHS_S = st.floats(1e-4, 20.0)
POWERS_W = st.none() | st.floats(0.0, 2.0)
GAPS = (0.1, 0.05, 0.01)


@pytest.fixture(scope="module")
def qubo() -> QuboTask:
    """Graphs of two cells, with official and best known costs."""
    settings = QuboTask.Settings(nodes=(10, 25), densities=(0.1,), seeds=(0, 1))
    return QuboTask.open(settings, BenchContext())


def assert_declared(
    scenario: Scenario,
    task: Task,
    listed: Sequence[Step],
    phases: Sequence[str],
    measured: Measured,
) -> None:
    declared = scenario.declared_metrics(task, listed, phases)
    assert declared is not None
    assert not set(declared.metrics) & set(declared.absent)
    for name, metric in scenario.summarise(measured, phases).items():
        limits = declared.metrics[name]
        assert metric.unit == limits.unit, name
        assert metric.higher_is_better is limits.higher_is_better, name
        assert metric.bounded is limits.bounded, name
        assert math.isnan(metric.value) or metric.value >= 0 or limits.signed, name
        assert not metric.value > 1 or not limits.bounded, name


@st.composite
def window(draw: st.DrawFn, phase: str, length_s: float | None = None) -> Window:
    length_s = draw(LENGTHS_S) if length_s is None else length_s
    power_w = draw(POWERS_W)
    energy_j = None if power_w is None else power_w * length_s
    return Window(phase, 0.0, length_s, length_s, energy_j)


@st.composite
def trial(draw: st.DrawFn, listed: Sequence[Step], phases: Sequence[str]) -> Measured:
    """Queries that a device answers rightly or wrongly, with energies or without."""
    samples = []
    idles = []
    has_answers = draw(st.booleans())
    for number, step in enumerate(listed):
        if isinstance(step, Idle):
            idles.append(draw(window("idle", step.duration_s)))
        if isinstance(step, Query) and not step.warmup:
            right = draw(st.booleans())
            answer = "1" if has_answers else ""
            each = tuple(Score(right, "1", answer) for _ in step.indices)
            sample = sample_of(
                number,
                [draw(window(phase)) for phase in phases],
                indices=step.indices,
                repeat=step.repeat,
                label="1",
                answer=answer,
                correct=right,
                each=each if step.batch else (),
            )
            samples.append(sample)
    return Measured(tuple(samples), tuple(idles))


@pytest.mark.parametrize(
    ("scenario", "phases"),
    [
        (SingleStream(SingleStream.Settings()), ("preprocess", "infer")),
        (SingleStream(SingleStream.Settings(repeat=3)), ("infer",)),
        (Offline(Offline.Settings()), ("batch",)),
        (Tiny(Tiny.Settings()), ("infer",)),
        (Tiny(Tiny.Settings(mode="energy")), ("preprocess", "infer")),
        (Tiny(Tiny.Settings(mode="accuracy")), ("infer",)),
    ],
)
@given(data=st.data())
def test_queries_give_no_metric_that_is_not_declared(
    scenario: Scenario, phases: Sequence[str], data: st.DataObject
) -> None:
    listed = steps(scenario, NULL, 1)
    measured = data.draw(trial(listed, phases))
    assert_declared(scenario, NULL, listed, phases, measured)


class Files(NullTask):
    """Samples whose answers are one score."""

    score_count = 1


@pytest.mark.parametrize(
    ("population", "scenario", "task"),
    [
        ("unsteady answers", SingleStream(SingleStream.Settings()), NULL),
        ("40 files", Tiny(Tiny.Settings(mode="accuracy")), Files(NullTask.Settings())),
        ("own streams", RealTime(RealTime.Settings()), NULL),
        ("one stream", RealTime(RealTime.Settings(deadline_s=0.1)), NULL),
    ],
)
@given(seed=st.integers(0, 1 << 30))
def test_populations_give_no_metric_that_is_not_declared(
    population: str, scenario: Scenario, task: Task, seed: int
) -> None:
    drawn = POPULATIONS[population](random.Random(seed))
    measured = drawn.trials[0].measured
    listed = [Query(sample.indices) for sample in measured.samples]
    assert_declared(scenario, task, listed, ("infer",), measured)


@st.composite
def search(draw: st.DrawFn, task: QuboTask, number: int, step: Solve) -> Sample:
    """A search whose vector costs anything, or that gave none."""
    best_known = task.best_known(step.index)
    official = task.official(step.index)
    cost = draw(st.integers(2 * task.target(step.index), 0))
    crossings = [
        Crossing(threshold, draw(window("reached")) if cost <= threshold else None)
        for threshold in step.thresholds
    ]
    costs = Costs(cost, official, cost, best_known)
    return sample_of(
        number,
        [draw(window("solve", step.timeout_s))],
        indices=(step.index,),
        correct=costs.met,
        case=task.cell(step.index),
        solve=step,
        costs=draw(st.sampled_from([costs, None])),
        crossings=tuple(crossings),
    )


@given(data=st.data(), best_known=st.booleans(), limit_s=st.sampled_from([0.0, 2.0]))
def test_searches_give_no_metric_that_is_not_declared(
    qubo: QuboTask, data: st.DataObject, best_known: bool, limit_s: float
) -> None:
    settings = Optimization.Settings(
        timeouts_s=(1e-3, 0.1),
        gaps=GAPS,
        target_limit_s=limit_s,
        best_known=best_known,
    )
    scenario = Optimization.open(settings, BenchContext())
    listed = steps(scenario, qubo, 1)
    samples = [
        data.draw(search(qubo, number, step))
        for number, step in enumerate(listed)
        if isinstance(step, Solve)
    ]
    idles = (data.draw(window("idle", 0.5)),)
    measured = Measured(tuple(samples), idles)
    assert_declared(scenario, qubo, listed, ("solve",), measured)
