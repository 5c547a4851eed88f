# SPDX-License-Identifier: Apache-2.0
"""Budgets of metrics against arithmetic by hand: what counts with one trial and with
several, and windows that are not alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.model.effects import COMMON, OWN, TRIAL, Effect, Effects, Influence
from rig.model.metric import Metric
from rig.model.trial import Measured, Sample, Trial, Window
from rig.stats.summary import mean, ratio, standard_error
from rig.uncertainty import budget
from rig.uncertainty.budget import Budget
from tests.samples import sample_of

Summary = Mapping[str, Metric]


def sample(number: int, phases: Mapping[str, Effects]) -> Sample:
    windows = tuple(
        Window(phase, 0.0, 1.0, 1.0, energy_j=1.0, effects=effects)
        for phase, effects in phases.items()
    )
    return sample_of(number, windows, indices=(0,))


def noisy(*energies_u_j: float) -> Measured:
    """Return samples of one window, each with noise of its own."""
    return Measured(
        tuple(
            sample(n, {"infer": Effects({"noise": Effect(OWN, 0.0, u_j)})})
            for n, u_j in enumerate(energies_u_j)
        ),
        (),
    )


def mean_energy(measured: Measured) -> Summary:
    return of_samples(measured.samples)


def of_samples(samples: Sequence[Sample]) -> Summary:
    values_j = []
    for sample in samples:
        values_j.append(math.fsum(window.energy_j or 0.0 for window in sample.windows))
    return {
        "energy": Metric(mean(values_j), "J", standard_error(values_j), len(values_j))
    }


def mean_power(measured: Measured) -> Summary:
    windows = list(chain.from_iterable(each.windows for each in measured.samples))
    value, error = ratio(
        [window.energy_j or 0.0 for window in windows],
        [window.latency_s for window in windows],
    )
    return {"power": Metric(value, "W", error, len(windows))}


@pytest.mark.parametrize(
    "uncertain", [[1e-3, *[1e-4] * 9], [1e-4] * 10, [1e-3], [0.0, 0.0, 5e-4, 2e-3]]
)
@pytest.mark.parametrize(
    ("name", "summarise"), [("energy", mean_energy), ("power", mean_power)]
)
def test_windows_that_err_independently_add_in_squares_however_unlike(
    uncertain: list[float], name: str, summarise: Callable[[Measured], Summary]
) -> None:
    measured = noisy(*uncertain)
    result = budget.influences(measured, summarise(measured), summarise)[name]["noise"]
    # GUM 5.1.2: each window has the weight 1/n in a mean.
    assert abs(result.value) == pytest.approx(
        math.sqrt(math.fsum(u**2 for u in uncertain)) / len(uncertain), rel=1e-9
    )


def test_a_metric_of_some_of_the_samples_has_their_noise_only() -> None:
    measured = noisy(1e-3, 2e-3, 5.0, 7.0)

    def first_two(measured: Measured) -> Summary:
        return of_samples(measured.samples[:2])

    result = budget.influences(measured, first_two(measured), first_two)["energy"][
        "noise"
    ]
    assert abs(result.value) == pytest.approx(math.hypot(1e-3, 2e-3) / 2, rel=1e-6)


def test_idle_windows_that_are_not_alike_add_in_squares_too() -> None:
    own = [1e-3, 1e-4, 1e-4, 1e-4]
    idles = tuple(
        Window(
            "idle",
            0.0,
            1.0,
            1.0,
            energy_j=1.0,
            effects=Effects({"noise": Effect(OWN, 0.0, u_j)}),
        )
        for u_j in own
    )

    def idle_power(measured: Measured) -> Summary:
        value, error = ratio(
            [idle.energy_j or 0.0 for idle in measured.idles],
            [idle.latency_s for idle in measured.idles],
        )
        return {"power_idle": Metric(value, "W", error, len(measured.idles))}

    measured = Measured((), idles)
    result = budget.influences(measured, idle_power(measured), idle_power)[
        "power_idle"
    ][budget.IDLE]
    assert abs(result.value) == pytest.approx(
        math.sqrt(math.fsum(u**2 for u in own)) / 4, rel=1e-9
    )


@given(
    noise_j=st.floats(1e-6, 1e-2),
    edges_j=st.floats(1e-6, 1e-2),
    steps_j=st.floats(1e-6, 1e-2),
)
def test_components_of_idle_windows_add_in_squares_and_steps_are_a_line_of_their_own(
    noise_j: float, edges_j: float, steps_j: float
) -> None:
    def window(noise_j: float, edges_j: float, steps_j: float) -> Window:
        parts = {
            "noise": Effect(OWN, 0.0, noise_j),
            "edges": Effect(OWN, 0.0, edges_j),
            "io: steps": Effect(COMMON, 0.0, -steps_j),
        }
        return Window("idle", 0.0, 1.0, 1.0, energy_j=1.0, effects=Effects(parts))

    def difference(measured: Measured) -> Summary:
        (each,) = measured.samples
        (idle,) = measured.idles
        value = (each.windows[0].energy_j or 0.0) - (idle.energy_j or 0.0)
        return {"dynamic": Metric(value, "J", None, 1)}

    query = sample_of(0, [window(2e-6, 3e-6, 4e-6)])
    measured = Measured((query,), (window(noise_j, edges_j, steps_j),))
    result = budget.influences(measured, difference(measured), difference)["dynamic"]
    idle = Influence(OWN, "normal", pytest.approx(math.hypot(noise_j, edges_j)))
    assert result == {
        "noise": Influence(OWN, "normal", pytest.approx(2e-6)),
        "edges": Influence(OWN, "normal", pytest.approx(3e-6)),
        "io: steps": Influence(COMMON, "normal", pytest.approx(-4e-6)),
        budget.IDLE: idle,
        "io: steps, idle": Influence(COMMON, "normal", pytest.approx(steps_j)),
    }


# What counts


CLOCK = 0.1e-3
BASE = 1e-3
TICKS = 0.4e-3
INFLUENCES = {
    "clock": Influence(COMMON, "rectangular", CLOCK),
    "time base": Influence(TRIAL, "normal", BASE),
    "ticks": Influence(OWN, "normal", TICKS),
}


def trial(
    value: float,
    error: float | None,
    influences: Mapping[str, Influence],
    count: int = 40,
) -> Trial:
    return Trial(
        1,
        1,
        Measured((), ()),
        {"latency": Metric(value, "s", error, count)},
        None,
        influences={"latency": dict(influences)},
    )


def budget_of(*trials: Trial) -> Budget:
    result = budget.of_metric("latency", trials)
    assert result is not None
    return result


def counted(found: Budget) -> dict[str, bool]:
    return {part.component: part.counted for part in found.parts}


def percentiled(value: float, error: float | None, ticks_s: float) -> Trial:
    """Return a trial whose latency is the 90th percentile of forty windows, each with
    ticks of its own.
    """
    windows = [
        Window(
            "infer",
            0.0,
            1.0,
            value,
            energy_j=None,
            effects=Effects({"ticks": Effect(OWN, ticks_s, 0.0)}),
        )
        for _ in range(40)
    ]
    measured = Measured(
        tuple(sample_of(n, [window], indices=(0,)) for n, window in enumerate(windows)),
        (),
    )

    def summarise(measured: Measured) -> Summary:
        values_s = [each.windows[0].latency_s for each in measured.samples]
        return {
            "latency": replace(
                Metric.of_percentile(values_s, 90, "s"), standard_error=error
            )
        }

    metrics = summarise(measured)
    return Trial(
        1,
        1,
        measured,
        metrics,
        None,
        influences=budget.influences(measured, metrics, summarise),
    )


@pytest.mark.parametrize("trials", [1, 5])
def test_ticks_that_move_each_window_move_a_percentile_by_a_whole_tick_in_every_trial(
    trials: int,
) -> None:
    tick_s = 1 / 32_768
    result = budget_of(*[percentiled(4e-3, 1e-7, tick_s / math.sqrt(6))] * trials)
    assert result.expanded == pytest.approx(tick_s, rel=1e-3)


def test_the_budget_of_a_percentile_has_no_scatter_as_the_values_in_order_show_it():
    assert counted(
        budget_of(*(percentiled(4e-3 * trial, None, 1e-9) for trial in range(1, 6)))
    ) == {"ticks": True}
    single = percentiled(4e-3, None, 1e-9)
    assert (
        budget.of_trial(single.metrics["latency"], single.influences["latency"]) is None
    )


def test_with_one_trial_the_time_base_counts_beside_the_scatter_of_its_samples():
    single = trial(1.0, 0.5e-3, INFLUENCES)
    result = budget_of(single)
    assert counted(result) == {
        "clock": True,
        "time base": True,
        "ticks": False,
        "scatter of samples": True,
    }
    assert result.standard_uncertainty == pytest.approx(math.hypot(CLOCK, BASE, 0.5e-3))
    assert result.standard_uncertainty == budget.of_trial(
        single.metrics["latency"], single.influences["latency"]
    )


def test_samples_that_agree_too_well_leave_what_ticks_must_give() -> None:
    single = trial(1.0, 0.29 * TICKS, INFLUENCES)
    result = budget_of(single)
    assert counted(result) == {
        "clock": True,
        "time base": True,
        "ticks": True,
        "scatter of samples": False,
    }
    assert result.standard_uncertainty == pytest.approx(math.hypot(CLOCK, BASE, TICKS))
    assert result.standard_uncertainty == budget.of_trial(
        single.metrics["latency"], single.influences["latency"]
    )


def test_one_trial_without_scatter_is_uncertain_by_all_that_is_known() -> None:
    single = trial(1.0, None, INFLUENCES)
    result = budget_of(single)
    assert counted(result) == {"clock": True, "time base": True, "ticks": True}
    assert result.standard_uncertainty == pytest.approx(math.hypot(CLOCK, BASE, TICKS))
    assert result.standard_uncertainty == budget.of_trial(
        single.metrics["latency"], single.influences["latency"]
    )


def test_the_scatter_of_several_trials_holds_their_time_bases() -> None:
    result = budget_of(
        *(trial(value, 0.5e-3, INFLUENCES) for value in (0.999, 1.0, 1.001))
    )
    assert counted(result) == {
        "clock": True,
        "time base": False,
        "ticks": False,
        budget.SCATTER: True,
    }
    assert result.standard_uncertainty == pytest.approx(
        math.hypot(CLOCK, 1e-3 / math.sqrt(3))
    )


def test_several_trials_that_agree_too_well_leave_what_time_base_and_ticks_must_give():
    result = budget_of(
        *(trial(value, 0.5e-3, INFLUENCES) for value in (1.0, 1.0, 1.000001))
    )
    assert counted(result) == {
        "clock": True,
        "time base": True,
        "ticks": True,
        budget.SCATTER: False,
    }
    assert result.standard_uncertainty == pytest.approx(
        math.hypot(CLOCK, math.hypot(BASE, TICKS) / math.sqrt(3))
    )


def test_the_choice_of_samples_is_no_part_of_the_budget_of_an_area_or_a_share() -> None:
    item, other = (
        Trial(1, 1, Measured((), ()), {"auc": Metric(value, "1", 0.02, 50)}, None)
        for value in (0.90, 0.91)
    )
    assert budget.of_metric("auc", [item]) is None, (
        "one trial does not tell what differs from trial to trial"
    )
    result = budget.of_metric("auc", [item, other])
    assert result is not None and result.standard_uncertainty == pytest.approx(0.005)
    share = Trial(
        1, 1, Measured((), ()), {"accuracy": Metric.of_share([True, False])}, None
    )
    assert budget.of_metric("accuracy", [share, share]) is None
