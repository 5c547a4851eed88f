# SPDX-License-Identifier: Apache-2.0
"""The time base finds the line through ticks and edges, and says how well."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.errors import LocalProtocolError
from rig.timebase.timebase import Timebase
from tests.length import length

pytestmark = pytest.mark.computes


@given(
    origin=st.integers(0, 2**50),
    hz=st.sampled_from([1_000, 32_768, 1_000_000, 168_000_000]),
    ppm=st.floats(-400, 400),
    offset_s=st.floats(-1e3, 1e3),
    intervals=st.lists(st.integers(1, 10**9), min_size=2, max_size=50),
)
@settings(max_examples=length(200, 80))
def test_points_on_a_line_are_found_again_however_large_the_ticks(
    origin: int, hz: int, ppm: float, offset_s: float, intervals: list[int]
) -> None:
    ticks = [origin + int(step) for step in np.cumsum(intervals)]
    s_per_tick = (1 + ppm * 1e-6) / hz
    edges = [offset_s + (tick - ticks[0]) * s_per_tick for tick in ticks]
    timebase = Timebase.fit(ticks, edges)
    span_s = max(abs(edge) for edge in edges) + 1.0
    assert timebase.s_per_tick == pytest.approx(s_per_tick, rel=1e-6)
    for tick, edge in zip(ticks, edges, strict=True):
        assert timebase.seconds(tick) == pytest.approx(edge, abs=1e-12 * span_s)


def test_a_quantised_line_has_a_residual_of_its_quantisation() -> None:
    random = np.random.default_rng(1)
    true_s = np.sort(random.uniform(0, 10, 2000))
    edges_s = np.floor(true_s / 1e-5) * 1e-5 + 0.5e-5
    timebase = Timebase.fit([round(t * 1e9) for t in true_s], list(edges_s), 1e-5)
    assert timebase.residual_s == pytest.approx(1e-5 / np.sqrt(12), rel=0.05)
    assert timebase.residual_max_s <= 0.51e-5
    assert abs(timebase.s_per_tick * 1e9 - 1) < 4 * timebase.slope_u


def test_the_stated_offset_uncertainty_holds_at_the_origin_also_for_uneven_marks():
    random = np.random.default_rng(4)
    times_s = np.concatenate([np.linspace(0, 0.1, 40), [0.5, 5.0, 9.0, 10.0]])
    ticks = [round(t * 1e9) for t in times_s]
    fits = [
        Timebase.fit(ticks, list(times_s + random.normal(0, 1e-6, len(times_s))))
        for _ in range(400)
    ]
    errors_s = [fit.origin_s - fit.origin_tick * 1e-9 for fit in fits]
    assert np.std(errors_s) == pytest.approx(
        np.mean([fit.offset_u_s for fit in fits]), rel=0.15
    )


def test_the_stated_slope_uncertainty_covers_the_error_in_about_two_thirds_of_fits():
    random = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        true_s = np.sort(random.uniform(0, 1, 100))
        timebase = Timebase.fit(
            [round(t * 1e9) for t in true_s], list(true_s + random.normal(0, 1e-6, 100))
        )
        inside += abs(timebase.s_per_tick * 1e9 - 1) < timebase.slope_u
    assert 0.62 < inside / 400 < 0.75


@pytest.mark.parametrize("ticks", [[], [5], [5, 5]])
def test_fewer_than_two_different_ticks_are_refused(ticks: list[int]) -> None:
    with pytest.raises(LocalProtocolError, match="two or more"):
        Timebase.fit(ticks, [0.0] * len(ticks))


# Quality of the fit


EVEN_S = np.linspace(0, 10, 200)
#: Two bursts far apart, and a few marks between them.
UNEVEN_S = np.concatenate(
    [np.linspace(0, 0.05, 20), [1.0, 3.0, 3.1], np.linspace(9.9, 10, 20)]
)
#: How often a scatter is drawn.
FITS = length(2000, 500)
FEW_S = np.array([0.0, 0.002, 0.006, 0.008, 0.016])


@cache
def fits(marks: str) -> list[Timebase]:
    """Fit often to marks whose edges lie anywhere in their samples of 10 µs."""
    times_s = {"even": EVEN_S, "uneven": UNEVEN_S}[marks]
    ticks = [round(t * 1e9) for t in times_s]
    random = np.random.default_rng(5)
    return [
        Timebase.fit(
            ticks,
            list(times_s + random.uniform(-0.5e-5, 0.5e-5, len(times_s))),
            1e-5,
            1e-9,
        )
        for _ in range(FITS)
    ]


@pytest.mark.parametrize("marks", ["even", "uneven"])
@pytest.mark.parametrize("place", [0.0, 0.3, 1.0, 2.0])
def test_the_stated_uncertainty_of_an_instant_is_the_scatter_of_its_errors(
    marks: str, place: float
) -> None:
    tick = round(place * EVEN_S[-1] * 1e9)
    errors_s = [fit.seconds(tick) - tick * 1e-9 for fit in fits(marks)]
    stated_s = [fit.seconds_u_s(tick) for fit in fits(marks)]
    # By chance some edges lie as if along a faint bend.
    assert 0.8 * np.mean(stated_s) < np.std(errors_s) < 1.1 * np.mean(stated_s)
    assert abs(np.mean(errors_s)) < 4 * np.mean(stated_s) / np.sqrt(FITS)


@pytest.mark.parametrize(
    "times_s", [EVEN_S, UNEVEN_S, FEW_S], ids=["even", "uneven", "few"]
)
@pytest.mark.parametrize("noise_periods", [0.0, 3.0])
def test_the_stated_uncertainty_of_an_interval_is_the_scatter_of_its_errors(
    times_s: NDArray[np.float64], noise_periods: float
) -> None:
    random = np.random.default_rng(6)
    period_s = 1e-5
    ticks = [round(t * 1e9) for t in times_s]
    start = round(0.2 * times_s[-1] * 1e9)
    stop = round(0.9 * times_s[-1] * 1e9)
    errors_s = []
    stated_s = []
    for _ in range(FITS):
        noise_s = (
            random.normal(0, noise_periods * period_s, len(times_s))
            if noise_periods
            else 0.0
        )
        edges_s = (
            times_s
            + random.uniform(-period_s / 2, period_s / 2, len(times_s))
            + noise_s
        )
        fit = Timebase.fit(ticks, list(edges_s), period_s, 1e-9)
        errors_s.append(fit.interval_s(start, stop) - (stop - start) * 1e-9)
        stated_s.append(fit.interval_u_s(start, stop))
    # Of the few points, the larger of residual and resolution is too large by chance: a
    # little, and on the safe side. So is what some lie along as if it were a faint
    # bend.
    stated = np.sqrt(np.mean(np.square(stated_s)))
    assert 0.75 * stated < np.std(errors_s) < 1.05 * stated


def test_the_uncertainty_is_least_where_the_marks_are_and_grows_away_from_them():
    fit = Timebase.fit([round(t * 1e9) for t in EVEN_S], list(EVEN_S), 1e-5)
    middle, end, beyond = (
        fit.seconds_u_s(tick) for tick in (5 * 10**9, 10**10, 10**11)
    )
    assert middle < end < beyond
    assert middle == pytest.approx(1e-5 / np.sqrt(12 * 200))
    assert fit.seconds_u_s(fit.origin_tick) == pytest.approx(fit.offset_u_s)
    assert fit.interval_u_s(10**9, 2 * 10**9) == pytest.approx(
        fit.slope_u * fit.s_per_tick * 10**9
    )
    assert fit.interval_u_s(5, 5) == 0.0


def test_the_devices_own_word_is_of_unknown_uncertainty() -> None:
    nominal = Timebase.nominal(100, 1_000_000)
    assert (nominal.seconds(1_000_100), nominal.interval_s(100, 1_000_100)) == (
        1.0,
        1.0,
    )
    assert nominal.seconds_u_s(100) == nominal.interval_u_s(100, 200) == np.inf


def test_far_edges_are_left_out_and_still_counted_as_far() -> None:
    edges_s = EVEN_S.copy()
    edges_s[[3, 100, 199]] += [4e-5, -9e-4, 2e-2]
    fit = Timebase.fit(
        [round(t * 1e9) for t in EVEN_S], list(edges_s), 1e-5, outlier_s=2e-5
    )
    assert fit.points == 197
    assert fit.residual_max_s == pytest.approx(2e-2)
    assert fit.residual_s < 1e-9 and fit.s_per_tick == pytest.approx(1e-9, rel=1e-9)


def test_edges_that_all_lie_far_off_are_no_outliers_of_each_other() -> None:
    random = np.random.default_rng(8)
    edges_s = EVEN_S + random.normal(0, 1e-4, len(EVEN_S))
    ticks = [round(t * 1e9) for t in EVEN_S]
    assert Timebase.fit(ticks, list(edges_s), 1e-5, outlier_s=2e-5) == Timebase.fit(
        ticks, list(edges_s), 1e-5
    )


# Crystals that drift


def sway(times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add 1 ppm of slow swaying, an hour a turn."""
    return times_s + 1e-6 * 3600 / (2 * np.pi) * (
        1 - np.cos(2 * np.pi * times_s / 3600)
    )


def warm_up(times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a rate that falls by 2 ppm in ten minutes and then stays."""
    return times_s - 2e-6 * np.where(times_s < 600, times_s**2 / 1200, times_s - 300)


def steady_creep(times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a rate that rises by 1 ppm in an hour."""
    return times_s + 1e-6 / 3600 * times_s**2 / 2


def drifting(
    drift: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int = 1
) -> tuple[Timebase, NDArray[np.float64], list[int]]:
    random = np.random.default_rng(seed)
    times_s = np.sort(random.uniform(0, 3600, 8000))
    edges_s = (np.ceil(drift(times_s) * 1e6) - 0.5) / 1e6
    ticks = [round(t * 1e9) for t in times_s]
    return Timebase.fit(ticks, list(edges_s), 1e-6, 1e-9, 3e-6), times_s, ticks


@pytest.mark.parametrize(
    ("drift", "range_ppm"), [(sway, 2.0), (warm_up, 2.0), (steady_creep, 1.0)]
)
def test_a_drift_bends_the_line_which_then_keeps_to_the_samples(
    drift: Callable[[NDArray[np.float64]], NDArray[np.float64]], range_ppm: float
) -> None:
    fit, times_s, ticks = drifting(drift)
    straight = np.polyfit(times_s, drift(times_s), 1)
    assert np.max(np.abs(np.polyval(straight, times_s) - drift(times_s))) > 50e-6, (
        "a straight line is wrong by many samples"
    )
    assert np.max(np.abs(fit.all_seconds(ticks) - drift(times_s))) < 1.5e-6
    assert fit.points == 8000 and fit.residual_max_s < 2e-6
    assert fit.drift_ppm == pytest.approx(range_ppm, rel=0.1)
    assert (
        2
        < len(fit.knot_ticks)
        == len(fit.knot_s)
        == len(fit.knot_u_s)
        == len(fit.knot_correlation) + 1
        < 100
    )


def test_a_bent_time_base_is_monotone_the_same_in_bulk_and_survives_json() -> None:
    fit, _, _ = drifting(sway)
    ticks = [round(t * 1e9) for t in np.linspace(-100, 3700, 5001)]
    seconds = [fit.seconds(tick) for tick in ticks]
    assert np.all(np.diff(seconds) > 0)
    assert fit.all_seconds(ticks) == pytest.approx(np.array(seconds), abs=1e-11)
    assert fit.interval_s(ticks[40], ticks[4000]) == pytest.approx(
        seconds[4000] - seconds[40], abs=1e-11
    )
    again = Timebase(**json.loads(json.dumps(dataclasses.asdict(fit))))
    assert [again.seconds(tick) for tick in ticks] == seconds
    assert again.interval_u_s(ticks[40], ticks[4000]) == fit.interval_u_s(
        ticks[40], ticks[4000]
    )


def test_the_stated_uncertainties_cover_the_errors_of_a_bent_line() -> None:
    random = np.random.default_rng(9)
    period_s = 1e-5
    instants = []
    intervals = []
    for _ in range(40):
        times_s = np.sort(random.uniform(0, 3600, 2000))
        edges_s = sway(times_s) + random.uniform(-0.5, 0.5, 2000) * period_s
        fit = Timebase.fit([round(t * 1e9) for t in times_s], list(edges_s), period_s)
        assert fit.knot_ticks
        starts_s = random.uniform(0, 3500, 50)
        for start_s, stop_s in zip(
            starts_s, starts_s + 10 ** random.uniform(0, 2, 50), strict=True
        ):
            start = round(start_s * 1e9)
            stop = round(stop_s * 1e9)
            true_s = sway(np.array([start_s, stop_s]))
            instants.append((fit.seconds(start) - true_s[0]) / fit.seconds_u_s(start))
            intervals.append(
                (fit.interval_s(start, stop) - (true_s[1] - true_s[0]))
                / fit.interval_u_s(start, stop)
            )
    assert np.sqrt(np.mean(np.square(instants))) == pytest.approx(1.0, abs=0.25)
    assert np.sqrt(np.mean(np.square(intervals))) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("seed", range(20))
def test_a_line_that_suffices_is_never_bent(seed: int) -> None:
    random = np.random.default_rng(seed)
    times_s = np.cumsum(random.uniform(0.002, 0.1, 500)) * (1 + 40e-6)
    edges_s = (np.ceil(times_s * 1e6) - 0.5) / 1e6 + random.normal(0, seed * 1e-6, 500)
    ticks = [round(t * 1e9) for t in times_s]
    fit = Timebase.fit(ticks, list(edges_s), 1e-6, 1e-9)
    plain = Timebase.fit(ticks, list(edges_s))
    assert (fit.knot_ticks, fit.drift_ppm) == ((), 0.0)
    assert (fit.origin_s, fit.s_per_tick, fit.residual_s) == (
        plain.origin_s,
        plain.s_per_tick,
        plain.residual_s,
    )


@pytest.mark.parametrize("skew", [0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5])
def test_marks_in_step_with_the_samples_are_no_drift(skew: float) -> None:
    times_s = np.arange(5000) * 0.05
    edges_s = (np.ceil(times_s * (1 + skew) * 1e5 + 0.3) - 0.5) / 1e5
    assert (
        Timebase.fit(
            [round(t * 1e9) for t in times_s], list(edges_s), 1e-5, 1e-9, 2e-5
        ).knot_ticks
        == ()
    )


def test_a_step_that_no_crystal_makes_is_not_bent_to() -> None:
    edges_s = EVEN_S + np.where(EVEN_S > 5, 5e-3, 0.0)
    fit = Timebase.fit(
        [round(t * 1e9) for t in EVEN_S], list(edges_s), 1e-5, outlier_s=2e-5
    )
    assert fit.knot_ticks == () and fit.residual_max_s > 1e-3


# Drift that is too faint for a knot


def one_turn(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sin(2 * np.pi * share)


def three_turns(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.cos(6 * np.pi * share)


def warming(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return 4 * (share - 0.5) ** 2


def none(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.zeros_like(share)


def faint(
    bend: Callable[[NDArray[np.float64]], NDArray[np.float64]], count: int, size: float
) -> tuple[float, float, float]:
    """Return how often its stated uncertainty a straight time base is off, root mean
    square: at instants, over intervals of any length, and from each mark to the next,
    where the clocks bend by `size` resolutions.
    """
    random = np.random.default_rng(10)
    period_s = 5e-6
    instants: list[float] = []
    intervals: list[float] = []
    short: list[float] = []
    for _ in range(30):
        times_s = np.sort(random.uniform(0, 0.03 * count, count))
        true_s = times_s + size * period_s * bend(times_s / (0.03 * count))
        ticks = [round(t * 1e9) for t in times_s]
        fit = Timebase.fit(
            ticks,
            list((np.ceil(true_s / period_s) - 0.5) * period_s),
            period_s,
            1e-9,
            2 * period_s,
        )
        assert fit.knot_ticks == ()
        off_s = fit.all_seconds(ticks) - true_s
        instants.append(
            float(
                np.mean(off_s**2)
                / np.mean([fit.seconds_u_s(tick) ** 2 for tick in ticks])
            )
        )
        ends = [
            (a, b) for a, b in random.integers(0, count, (200, 2)).tolist() if a != b
        ]
        for pairs, result in ((ends, intervals), (list(pairwise(range(count))), short)):
            result += [
                (
                    (off_s[b] - off_s[a])
                    / math.hypot(fit.interval_u_s(ticks[a], ticks[b]), 1e-9)
                )
                ** 2
                for a, b in pairs
            ]
    return (
        math.sqrt(np.mean(instants)),
        math.sqrt(np.mean(intervals)),
        math.sqrt(np.mean(short)),
    )


@pytest.mark.parametrize("size", [0.3, 0.8])
@pytest.mark.parametrize("count", [120, 400])
@pytest.mark.parametrize("bend", [one_turn, three_turns, warming])
def test_a_drift_too_faint_to_be_bent_to_is_in_the_stated_uncertainty(
    bend: Callable[[NDArray[np.float64]], NDArray[np.float64]], count: int, size: float
) -> None:
    instants, intervals, short = faint(bend, count, size)
    assert 0.8 < instants < 1.9
    assert 0.5 < intervals < 2.0
    assert 0.5 < short < 2.0


@pytest.mark.parametrize("count", [12, 40, 400])
def test_without_drift_next_to_nothing_is_added_for_one(count: int) -> None:
    # Less than a half more than the edges' own scatter leaves; of the short ones the
    # nanosecond of a tick is most.
    instants, intervals, short = faint(none, count, 0.0)
    assert 0.7 < instants < 1.2
    assert 0.7 < intervals < 1.2
    assert 0.4 < short < 1.2


# A bent time base against matrices


KNOTS = (-1000, -200, 500, 1500)
KNOT_S = (1e-6, -2e-6, 3e-6, 4e-6)
KNOT_U_S = (1e-7, 2e-7, 3e-7, 5e-7)
NEXT = (0.5, -0.3, 0.2)
#: Seconds a tick between the knots.
RATES = (-3e-6 / 800, 5e-6 / 700, 1e-6 / 1000)
BENT = Timebase(
    origin_tick=5000,
    origin_s=2.0,
    s_per_tick=1e-3,
    points=50,
    residual_s=0.0,
    residual_max_s=0.0,
    offset_u_s=0.0,
    slope_u=0.0,
    knot_ticks=KNOTS,
    knot_s=KNOT_S,
    knot_u_s=KNOT_U_S,
    knot_correlation=NEXT,
)


def weights(x: float) -> np.ndarray:
    """Return the weight of each knot, of straight pieces that go on beyond the ends."""
    unit = np.eye(4)
    piece = int(np.clip(np.searchsorted(KNOTS, x, side="right") - 1, 0, 2))
    share = (x - KNOTS[piece]) / (KNOTS[piece + 1] - KNOTS[piece])
    return unit[piece] * (1 - share) + unit[piece + 1] * share


def covariance() -> np.ndarray:
    """Return the covariance of the knots: correlations multiply along the chain."""
    rows = np.eye(4)
    for first in range(4):
        for last in range(first + 1, 4):
            rows[first, last] = rows[last, first] = math.prod(NEXT[first:last])
    return rows * np.outer(KNOT_U_S, KNOT_U_S)


def change(x: float) -> float:
    """Return the largest change of the rate at the knots of a tick's piece."""
    piece = int(np.clip(np.searchsorted(KNOTS, x, side="right") - 1, 0, 2))
    first, second, third = RATES
    changes = [abs(second - first), abs(third - second)]
    return max({0: changes[:1], 1: changes, 2: changes[1:]}[piece])


def hidden_s(x: float) -> float:
    """Return the difference of a straight piece from a curve: for a parabola whose rate
    changes by so much over the piece, root mean square."""
    piece = int(np.clip(np.searchsorted(KNOTS, x, side="right") - 1, 0, 2))
    return change(x) * (KNOTS[piece + 1] - KNOTS[piece]) / (12 * math.sqrt(5))


PLACES = st.integers(-1500, 2500)


@given(PLACES, PLACES)
def test_a_bent_time_base_is_a_sum_of_hats_with_the_errors_of_its_knots(
    start: int, stop: int
) -> None:
    at = [5000 + start, 5000 + stop]
    added_s = [float(weights(x) @ KNOT_S) for x in (start, stop)]
    seconds = [2.0 + 1e-3 * start + added_s[0], 2.0 + 1e-3 * stop + added_s[1]]
    assert [BENT.seconds(tick) for tick in at] == pytest.approx(seconds, abs=1e-12)
    assert BENT.all_seconds(at) == pytest.approx(seconds, abs=1e-12)
    assert BENT.residuals_s(at, [0.0, 0.0]) == pytest.approx([-s for s in seconds])
    assert BENT.interval_s(*at) == pytest.approx(seconds[1] - seconds[0], abs=1e-12)
    item = weights(start)
    variance = float(item @ covariance() @ item)
    assert BENT.seconds_u_s(at[0]) == pytest.approx(
        math.hypot(math.sqrt(variance), hidden_s(start)), rel=1e-9
    )
    both = weights(stop) - item
    variance = max(float(both @ covariance() @ both), 0.0)
    of_rates_s = max(change(start), change(stop)) * abs(stop - start) / math.sqrt(12)
    of_places_s = math.hypot(hidden_s(start), hidden_s(stop))
    assert BENT.interval_u_s(*at) == pytest.approx(
        math.hypot(math.sqrt(variance), min(of_rates_s, of_places_s)),
        rel=1e-6,
        abs=1e-12,
    )


@given(
    steps=st.lists(st.integers(1, 900), min_size=3, max_size=15),
    seed=st.integers(0, 99),
    period_s=st.sampled_from([0.0, 1e-4]),
)
def test_a_straight_time_base_is_the_least_squares_line_with_its_errors(
    steps: list[int], seed: int, period_s: float
) -> None:
    ticks = np.cumsum([1000, *steps])
    random = np.random.default_rng(seed)
    seconds = 3.0 + 1e-3 * (ticks - 1000) + random.normal(0, 3e-5, len(ticks))
    result = Timebase.fit(ticks.tolist(), seconds.tolist(), period_s)
    slope, offset = np.polyfit(ticks - result.origin_tick, seconds, 1)
    assert result.origin_tick == ticks[len(ticks) // 2]
    assert result.s_per_tick == pytest.approx(slope, rel=1e-9)
    assert result.origin_s == pytest.approx(offset, rel=1e-9)
    off_s = seconds - slope * (ticks - result.origin_tick) - offset
    assert result.points == len(ticks)
    assert result.residual_s == pytest.approx(math.sqrt(np.mean(off_s**2)), rel=1e-6)
    assert result.residual_max_s == pytest.approx(np.abs(off_s).max(), rel=1e-6)
    scatter_s = math.sqrt(float(np.sum(off_s**2)) / (len(ticks) - 2))
    scatter_s = max(scatter_s, period_s / math.sqrt(12))
    assert result.scatter_s == pytest.approx(scatter_s, rel=1e-6)
    x = np.vander(ticks - result.origin_tick, 2).astype(float)
    inverse = scatter_s**2 * np.linalg.inv(x.T @ x)
    assert result.offset_u_s == pytest.approx(math.sqrt(inverse[1, 1]), rel=1e-6)
    assert result.slope_u == pytest.approx(math.sqrt(inverse[0, 0]) / slope, rel=1e-6)
    if result.unseen_s:
        return
    for tick in (0, int(ticks[0]), int(ticks[-1]) + 500):
        row = np.array([tick - result.origin_tick, 1.0])
        u_s = math.sqrt(float(row @ inverse @ row))
        assert result.seconds_u_s(tick) == pytest.approx(u_s, rel=1e-6)
    length_u_s = 700 * math.sqrt(inverse[0, 0])
    assert result.interval_u_s(900, 200) == pytest.approx(length_u_s, rel=1e-6)


def test_an_unseen_bend_adds_to_instants_and_to_intervals_as_far_as_it_goes() -> None:
    straight = replace(
        BENT,
        knot_ticks=(),
        scatter_s=4e-6,
        points=16,
        slope_u=1e-6,
        centre_ticks=100.0,
        unseen_s=3e-6,
        unseen_rate=2e-6,
    )
    # 600 ticks of 1 ms from the centre; a sixteenth of the variance of an edge.
    u_s = math.hypot(1e-6, 0.6e-6, 3e-6)
    assert straight.seconds_u_s(5700) == pytest.approx(u_s)
    assert straight.seconds_u_s(4500) == pytest.approx(u_s)
    assert straight.interval_u_s(0, 500) == pytest.approx(math.hypot(0.5e-6, 1e-6))
    long_u_s = math.hypot(9e-6, 3e-6 * math.sqrt(2))
    assert straight.interval_u_s(9000, 0) == pytest.approx(long_u_s)
    unknown = Timebase.nominal(7, 1000.0)
    assert (unknown.seconds_u_s(9), unknown.interval_u_s(7, 9)) == (math.inf, math.inf)
    assert (unknown.seconds(9), unknown.interval_s(7, 10)) == (0.002, 0.003)
    assert not unknown.nominal_rate
    stated = Timebase.stated(7, 1.5, 1000.0, 1e-6, 2e-6)
    assert stated.nominal_rate
    assert stated.seconds(1007) == 2.5
    assert stated.seconds_u_s(1007) == pytest.approx(math.hypot(1e-6, 2e-6))
