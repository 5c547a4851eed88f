# SPDX-License-Identifier: Apache-2.0
"""The scenario offline: its requests to any device, and its refusals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.model.completion import BATCH, END, IDLE, Completion, Mark
from rig.model.scores import Score
from rig.model.steps import Idle, Load, Query, Step
from rig.model.trial import Measured, Window
from rig.session.planning import steps
from rig.settings.check import checked
from scenarios.offline import Offline
from scenarios.tasks.null import NullTask
from tests.samples import sample_of
from tests.scenarios.steps import steps_of

TICK_HZ = 1_000_000


def offline(slots: int = 0, **settings: Any) -> Offline:
    scenario = Offline.open(
        checked(Offline.Settings(**settings), "scenario.offline"), BenchContext()
    )
    return scenario.fitted(device(slots)) if slots else scenario


def device(batch_max: int) -> SutInfo:
    return SutInfo("dut", "uart", False, TICK_HZ, "null", batch_max=batch_max)


def null(samples: int) -> NullTask:
    return NullTask(NullTask.Settings(samples=samples, payload_b=16))


def steady(sample_s: float, took_s: list[float]) -> Callable[[Step], Completion | None]:
    """Return a device that takes as long for each sample; `took_s` gets the length of
    each window that counts.
    """
    now = [12345]

    def mark(phase: int, duration_s: float) -> Mark:
        tick = now[0]
        now[0] += round(duration_s * TICK_HZ)
        return Mark(phase, tick)

    def answer(step: Step) -> Completion | None:
        match step:
            case Idle(duration_s):
                return Completion((mark(IDLE, duration_s), mark(END, 0.001)))
            case Query():
                whole_s = sample_s * len(step.indices) * step.repeat
                if not step.warmup:
                    took_s.append(whole_s)
                return Completion((mark(BATCH, whole_s), mark(END, 0.001)))
        return None

    return answer


def carried_out(
    scenario: Offline,
    samples: int,
    answer: Callable[[Step], Completion | None],
    seed: int = 1,
) -> list[Step]:
    return steps_of(scenario.plan(null(samples), seed), answer)


def batches(done: list[Step]) -> list[Query]:
    return [step for step in done if isinstance(step, Query) and not step.warmup]


@given(
    samples=st.integers(1, 60),
    slots=st.integers(1, 9),
    chunk=st.integers(0, 9),
    sample_s=st.floats(1e-5, 2.0),
    min_duration_s=st.floats(0.5, 600.0),
    min_count=st.integers(1, 30_000),
    seed=st.integers(0, 3),
)
def test_every_sample_is_in_one_batch_of_loaded_ones_and_the_minimums_hold(
    samples: int,
    slots: int,
    chunk: int,
    sample_s: float,
    min_duration_s: float,
    min_count: int,
    seed: int,
) -> None:
    took_s: list[float] = []
    scenario = offline(
        slots,
        min_duration_s=min_duration_s,
        min_count=min_count,
        chunk=min(chunk, slots),
    )
    done = carried_out(scenario, samples, steady(sample_s, took_s), seed)
    asked = batches(done)
    indices = chain.from_iterable(query.indices for query in asked)
    assert sorted(indices) == list(range(samples))
    assert sorted(step.index for step in done if isinstance(step, Load)) == list(
        range(samples)
    )
    assert isinstance(done[0], Idle) and isinstance(done[-1], Idle)

    held: list[int] = []  # by a device that forgets the oldest
    for step in done:
        if isinstance(step, Load):
            held = [*held, step.index][-slots:]
        elif isinstance(step, Query):
            assert step.batch and set(step.indices) <= set(held)
            assert len(step.indices) <= (min(chunk, slots) or slots)

    (repeat,) = {query.repeat for query in asked}
    assert sum(took_s) >= min_duration_s
    assert repeat * samples >= min_count
    # And no longer than is of use.
    less = repeat - 1
    assert (
        less == 0
        or less * samples < min_count
        or less * samples * sample_s <= min_duration_s * 1.06
    )
    assert all(
        query.limit_s > length_s for query, length_s in zip(asked, took_s, strict=True)
    )


def test_the_order_is_that_of_the_trials_seed() -> None:
    orders = []
    for seed in (1, 1, 2):
        steps = carried_out(offline(4), 12, steady(0.1, []), seed)
        orders.append([query.indices for query in batches(steps)])
    assert orders[0] == orders[1] != orders[2]


def test_a_plan_without_a_device_is_one_batch_of_all_samples() -> None:
    (query,) = [
        step
        for step in steps(offline(), null(10), 1)
        if isinstance(step, Query) and not step.warmup
    ]
    assert sorted(query.indices) == list(range(10))


def test_a_device_without_batches_is_refused_and_another_scenario_named() -> None:
    scenario = offline()
    with pytest.raises(
        ConfigError, match="cannot process several samples in one window"
    ) as refused:
        scenario.fitted(device(0))
    assert "single_stream" in refused.value.try_next


def test_a_chunk_that_the_device_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="5 samples at a time, dut takes 4"):
        offline(4, chunk=5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("min_duration_s", 0.0),
        ("min_duration_s", 1e9),
        ("min_count", 0),
        ("margin", 0.0),
        ("chunk", -1),
        ("idle_s", 0.0),
        ("limit_s", 0.0),
        ("limit_s", float("nan")),
    ],
)
def test_settings_out_of_range_are_refused(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"scenario\.offline\.{key}"):
        offline(**{key: value})


def measured(*lengths_s: float, repeat: int = 1, size: int = 2) -> Measured:
    """Return batches of so many seconds in all, at 2 W, each with `size` samples the
    first one right.
    """
    each = (Score(True, "a", "a"), *[Score(False, "a", "b")] * (size - 1))
    samples = tuple(
        sample_of(
            number,
            [
                Window(
                    "batch", 0.0, length_s, length_s / repeat, 2.0 * length_s / repeat
                )
            ],
            indices=tuple(range(size * number, size * (number + 1))),
            repeat=repeat,
            correct=False,
            each=each,
        )
        for number, length_s in enumerate(lengths_s)
    )
    return Measured(samples, (Window("idle", 0.0, 1.0, 1.0, 0.5),))


def test_rates_are_over_all_windows_together() -> None:
    metrics = offline().summarise(measured(1.0, 3.0, repeat=5, size=4), ["batch"])
    assert {name: metric.value for name, metric in metrics.items()} == pytest.approx(
        {
            "accuracy": 1 / 4,
            "throughput": 40 / 4.0,
            "power_idle": 0.5,
            "power_active": 2.0,
            "power_dynamic": 1.5,
            "energy_total": 8.0 / 40,
            "energy_idle": 0.5 * 4.0 / 40,
            "energy_dynamic": (8.0 - 2.0) / 40,
        }
    )
    assert metrics["accuracy"].n == 8


def test_a_trial_below_its_own_minimums_breaks_a_rule() -> None:
    scenario = offline(min_duration_s=2.0, min_count=4)
    assert scenario.problems(measured(1.0, 1.0)) == ()
    assert [
        "min_duration_s" in p.detail
        for p in scenario.problems(measured(0.9, 1.0))
        if p.code == "rule"
    ] == [True]
    assert [
        "min_count" in p.detail
        for p in scenario.problems(measured(2.0))
        if p.code == "rule"
    ] == [True]


def test_the_lines_tell_chunks_untimed_loading_and_what_loadgen_does_differently():
    first, other, last = offline().lines(measured(1.0, 3.0, repeat=5, size=4))
    assert first.startswith(
        "8 samples in 2 chunks of 4 or less, 5 rounds over each: 40 inferences in 4.000"
        " s of windows."
    )
    assert "untimed" in first
    assert (
        other
        == "LoadGen's Offline has all samples in one query and lasts 600 s or more."
    )
    assert last == "Samples per second: 10"
    assert len(offline().lines(measured(600.0))) == 2
