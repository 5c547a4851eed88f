# SPDX-License-Identifier: Apache-2.0
"""The effects on one window against arithmetic by hand, and budgets of whole
sessions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.errors import ConfigError
from rig.model.effects import COMMON, OWN, Effect, Effects, merged
from rig.session.session import SessionResult
from rig.trace.trace import EndPower, Integral, Trace
from rig.uncertainty import window_effects
from rig.uncertainty.accuracy import Accuracy, Range, load
from rig.uncertainty.window_effects import beyond, energy_u_j, of_energy, ranges_a
from tests.length import length
from tests.traces import trace_writer

pytestmark = pytest.mark.computes

Run = Callable[..., SessionResult]
HZ = 10_000
PLAIN = Accuracy((Range(10.0, 0.0, 0.0),), (Range(15.0, 0.0, 0.0),), 0.0, "test")
ROOT3 = math.sqrt(3)


def constant(
    folder: Path, current_a: float, volt: float = 2.0, seconds: float = 1.0
) -> Trace:
    count = round(seconds * HZ)
    with trace_writer(folder, HZ) as writer:
        writer.analog(
            np.full(count, current_a, np.float32), np.full(count, volt, np.float32)
        )
        writer.sync(np.ones(count, np.uint8))
    return Trace.open(folder / "trace.jls")


def effects(
    trace: Trace, accuracy: Accuracy, ends_u_s: float = 0.0
) -> dict[str, float]:
    integral = trace.integrals([(0.25, 0.75)], ranges_a(accuracy))[0]
    result = of_energy(integral, accuracy, trace.sample_hz, (ends_u_s, ends_u_s)).of
    return {name: effect.energy_j for name, effect in result.items()}


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [
        (
            replace(PLAIN, current=(Range(10.0, 0.01, 0.0),)),
            {"current gain": 0.01 / ROOT3 * 0.125 * 2.0 * 0.5},
        ),
        (
            replace(PLAIN, current=(Range(10.0, 0.0, 1e-3),)),
            {"current offset": 1e-3 / ROOT3 * 2.0 * 0.5},
        ),
        (
            replace(PLAIN, voltage=(Range(15.0, 0.01, 0.0),)),
            {"voltage gain": 0.01 / ROOT3 * 0.125 * 2.0 * 0.5},
        ),
        (
            replace(PLAIN, voltage=(Range(15.0, 0.0, 0.02),)),
            {"voltage offset": 0.02 / ROOT3 * 0.125 * 0.5},
        ),
        (replace(PLAIN, clock_ppm=100.0), {"clock": 100e-6 / ROOT3 * 0.125}),
        # Both ends of a window are late by as much: at constant power no energy is
        # lost.
        (replace(PLAIN, edge_s=1e-4), {}),
        (
            replace(PLAIN, current=(Range(10.0, 0.0, 0.0, noise=1e-3),)),
            {"noise": 1e-3 * 2.0 * 0.5 / math.sqrt(5000)},
        ),
        # A step that no noise stirs is the same error in every sample; a stirred one
        # averages out.
        (
            replace(PLAIN, current=(Range(10.0, 0.0, 0.0, lsb=1e-3),)),
            {"steps": 1e-3 / math.sqrt(12) * 2.0 * 0.5},
        ),
        (
            replace(PLAIN, current=(Range(10.0, 0.0, 0.0, noise=1e-3, lsb=1e-3),)),
            {
                "noise": 1e-3 * 2.0 * 0.5 / math.sqrt(5000),
                "quantisation": 1e-3 / math.sqrt(12) * 2.0 * 0.5 / math.sqrt(5000),
            },
        ),
        (
            replace(PLAIN, current=(Range(10.0, 0.0, 0.0, lsb_relative=0.004),)),
            {"steps": 0.004 * 0.125 / math.sqrt(12) * 2.0 * 0.5},
        ),
        (
            replace(PLAIN, current=(Range(10.0, 0.02, 0.0),), distribution="normal"),
            {"current gain": 0.02 / 2 * 0.125},
        ),
        (
            replace(PLAIN, voltage=(Range(15.0, 0.0, 0.0, noise=0.1),)),
            {"noise": 0.1 * 0.125 * 0.5 / math.sqrt(5000)},
        ),
        (
            replace(PLAIN, voltage=(Range(15.0, 0.0, 0.0, lsb=0.01),)),
            {"steps": 0.01 / math.sqrt(12) * 0.125 * 0.5},
        ),
        (
            replace(PLAIN, voltage=(Range(15.0, 0.0, 0.0, lsb_relative=0.005),)),
            {"steps": 0.01 / math.sqrt(12) * 0.125 * 0.5},
        ),
    ],
)
def test_each_limit_gives_its_effect_and_no_more(
    tmp_path: Path, accuracy: Accuracy, expected: dict[str, float]
) -> None:
    assert effects(constant(tmp_path, 0.125), accuracy) == pytest.approx(
        expected, rel=1e-6
    )


#: At 50 Hz, from the middle of a sample to a fifth of one.
WINDOW = Integral(
    start_s=1.01,
    stop_s=3.004,
    energy_j=-6.0,
    charge_c=2.0,
    least_w=-4.0,
    most_w=8.0,
    ends=(EndPower(1.0, 4.0), EndPower(2.0, -3.0)),
    range_energy_j=(-7.0, 1.0),
    range_charge_c=(0.5, 1.5),
    range_volt_s=(1.0, 3.0),
    lost_s=0.25,
    stepped=True,
    apart_j=(0.5, -0.25),
)


def test_at_one_volt_powers_are_currents_and_the_energy_is_the_charge() -> None:
    result = window_effects.at_one_volt(replace(WINDOW, stop_s=1.01 + 2.0))
    # A mean of 2 V.
    assert (result.energy_j, result.range_energy_j) == (2.0, (0.5, 1.5))
    assert result.range_volt_s == pytest.approx((0.5, 1.5))
    assert (result.least_w, result.most_w) == pytest.approx((-2.0, 4.0))
    assert result.ends[0] == pytest.approx((0.5, 2.0))
    assert result.ends[1] == pytest.approx((1.0, -1.5))
    assert result.apart_j == pytest.approx((0.25, -0.125))


@pytest.mark.parametrize("nominal", [False, True])
def test_effects_of_two_ranges_and_of_lost_samples(nominal: bool) -> None:
    accuracy = Accuracy(
        (Range(0.1, 0.01, 1e-3, lsb=0.1), Range(1.0, 0.02, 2e-3, noise=0.5, lsb=0.4)),
        (Range(1.0, 9.0, 9.0), Range(5.0, 0.03, 0.1, noise=0.02, lsb=0.01)),
        50.0,
        "test",
    )
    window = replace(WINDOW, stop_s=3.01, stepped=False)
    result = of_energy(window, accuracy, 50.0, (1e-3, 2e-3), nominal).of
    energies_j = {name: effect.energy_j for name, effect in result.items()}
    # 100 samples, 25 and 75 of them in the two ranges; 2 V all the time. The steps of
    # the first range meet no noise. Currents are up to 8 W / 2 V.
    square_a2 = 2.0 * 4.0 * 2.0 / 100
    expected_j = {
        "current gain to 100 mA": -7 * 0.01 / ROOT3,
        "current gain to 1 A": 0.02 / ROOT3,
        "current offset to 100 mA": 1e-3 / ROOT3,
        "current offset to 1 A": 3 * 2e-3 / ROOT3,
        "voltage gain": 6 * 0.03 / ROOT3,
        "voltage offset": 2 * 0.1 / ROOT3,
        "clock": 6 * 50e-6 / ROOT3,
        "steps": 0.1 / math.sqrt(12),
        "edges": math.hypot(1e-3 * math.sqrt(17), 2e-3 * math.sqrt(13)) / math.sqrt(2),
        "noise": math.hypot(0.5 * 3 / math.sqrt(75), 0.02 * math.sqrt(square_a2)),
        "lost samples": 0.25 * 12 / math.sqrt(12),
        "quantisation": math.hypot(0.4 * 3 / math.sqrt(75), 0.01 * math.sqrt(square_a2))
        / math.sqrt(12),
    }
    # Both ends are whole: their samples differ by up to these, times three deviations.
    apart_j = energies_j.pop("end samples")
    assert energies_j == pytest.approx(expected_j)
    assert apart_j == pytest.approx((0.5 - 0.25) / ROOT3)
    own = {name for name, effect in result.items() if effect.kind == OWN}
    assert own == {"noise", "lost samples", "quantisation"} | (
        set() if nominal else {"edges"}
    )
    assert of_energy(replace(window, stop_s=1.01), accuracy, 50.0, (0.0, 0.0)).of == {}


@pytest.mark.parametrize(
    ("inward", "u", "crosses"),
    [
        # On a border a mark lies inside or outside of it.
        (None, 1e-3, 1.0),
        # It cannot reach the border, or just can.
        (0.5, 0.28, 0.0),
        (0.5, 0.29, math.sqrt(2 / math.pi) / ROOT3),
        (0.0, 0.3, 0.0),
        (0.9, 0.57, math.sqrt(2 / math.pi) / ROOT3),
        # Any place is allowed.
        (0.0, 0.6, math.sqrt(2 / math.pi) * 0.6),
        (0.5, 2.0, 1.0),
    ],
)
def test_an_uncertain_end_mixes_both_powers_as_often_as_a_mark_crosses_the_border(
    inward: float | None, u: float, crosses: float
) -> None:
    end = EndPower(3.0, -5.0)
    scatter_j, bias_j = window_effects._stepped_j(end, inward, u / 50, 50.0)
    # A normal shift x costs the power inside, -5 x; where it crosses, that power to one
    # side and the power outside, 3 x, to the other.
    mean = crosses * math.sqrt(2 / math.pi) * (3 + 5) / 2
    square = (1 - crosses) * 25 + crosses * (25 + 9) / 2
    assert bias_j == pytest.approx(u / 50 * mean)
    assert scatter_j == pytest.approx(u / 50 * math.sqrt(square - mean**2))


def test_shifts_of_both_ends_add_in_squares_and_their_biases_add() -> None:
    ends_u_s = (0.6 / 50, 0.3 / 50)
    result = window_effects._shifts_j(WINDOW, ends_u_s, 50.0)
    # Half a sample from the start's border, a fifth from the stop's.
    parts = [
        window_effects._stepped_j(end, inward, u_s, 50.0)
        for end, inward, u_s in zip(WINDOW.ends, (0.5, 0.2), ends_u_s, strict=True)
    ]
    assert result[0] == pytest.approx(math.hypot(parts[0][0], parts[1][0]))
    assert result[1] == pytest.approx(parts[0][1] + parts[1][1])
    whole = replace(WINDOW, cut=(True, False))
    result = window_effects._shifts_j(whole, ends_u_s, 50.0)
    stop = window_effects._stepped_j(WINDOW.ends[1], None, ends_u_s[1], 50.0)
    assert result[1] == pytest.approx(parts[0][1] + stop[1])


@pytest.mark.parametrize(
    ("apart_j", "u_s", "edge_s", "total"),
    [
        # The end is known to half a sample: 10 ms at a step of 3 W.
        (0.0299, 5e-3, 0.0, 0.0),
        (0.0301, 5e-3, 0.0, 0.0301),
        (-0.0301, 5e-3, 0.0, -0.0301),
        # ... to four standard deviations, or to three of a uniform error and a delay.
        (0.0119, 1e-3, 0.0, 0.0),
        (0.0121, 1e-3, 0.0, 0.0121),
        (0.0149, 1e-3, 1e-3, 0.0),
        (0.0151, 1e-3, 1e-3, 0.0151),
        (0.10, 0.02, 0.0, 0.0),
        (0.11, 0.02, 0.0, 0.11),
    ],
)
def test_a_cut_sample_counts_where_its_end_does_not_explain_it(
    apart_j: float, u_s: float, edge_s: float, total: float
) -> None:
    window = replace(WINDOW, ends=(EndPower(1.0, 4.0), EndPower(2.0, 2.0)))
    window = replace(window, apart_j=(apart_j, 0.0))
    result = window_effects._apart_j(window, (u_s, 1e-3), edge_s, 50.0)
    assert result == pytest.approx(total / ROOT3)


def test_a_whole_end_sample_counts_as_often_as_a_mark_cuts_its_neighbour() -> None:
    window = replace(WINDOW, cut=(False, False), apart_j=(0.5, -0.2))
    result = window_effects._apart_j(window, (0.1 / 50, 9.0), 0.0, 50.0)
    assert result == pytest.approx((ROOT3 * 0.1 * 0.5 - 0.2) / ROOT3)


@pytest.mark.parametrize(
    ("changes", "samples", "cost_w"),
    [
        # The part before the start goes, the part after the stop comes: 2 - 4, 1 + 3.
        ({"stepped": False}, 0.1, 4.0),
        ({"cut": (True, False)}, 0.1, 4.0),
        ({}, 3.0, 4.0),
        ({}, 0.0, 7.0),
        ({}, 0.5, math.hypot(7.0, math.sqrt(0.45 * 0.5) * 4.0)),
        ({"ends": (EndPower(0.0, 9.0), EndPower(1.0, 2.0))}, 3.0, 8.0),
    ],
)
def test_a_delay_costs_what_lies_across_or_inside_of_both_ends(
    changes: dict[str, Any], samples: float, cost_w: float
) -> None:
    result = window_effects._delay_w(replace(WINDOW, **changes), samples)
    assert result == pytest.approx(cost_w)


def test_noise_of_the_voltage_counts_with_the_root_mean_square_of_a_current_in_bursts(
    tmp_path: Path,
) -> None:
    current = np.zeros(HZ, np.float32)
    current[::100] = 1.0
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(current, np.full(HZ, 2.0, np.float32))
        writer.sync(np.ones(HZ, np.uint8))
    result = effects(
        Trace.open(tmp_path / "trace.jls"),
        replace(PLAIN, voltage=(Range(15.0, 0.0, 0.0, noise=0.1),)),
    )
    # Each of 50 samples of 1 A errs by 0.1 V, the others draw no current.
    assert result == pytest.approx({"noise": 0.1 * 1.0 * math.sqrt(50) / HZ}, rel=1e-6)


@pytest.mark.parametrize(
    ("edge_s", "steps", "costs_w"),
    [
        # While neither end leaves its sample, only the inner part differs from one to
        # the other; the fewer samples, the more so.
        (1e-8, True, 0.6 - 0.4),
        (1e-4, True, math.hypot(0.6 - 0.4, math.sqrt(0.45) * (0.6 - 0.1))),
        # Beyond, the window takes at its end the part that it leaves at its start, or
        # the other way.
        (3e-4, True, 0.6 - 0.1),
        (1e-4, False, 0.6 - 0.1),
    ],
)
def test_a_delay_that_all_edges_have_costs_what_is_before_and_after(
    tmp_path: Path, edge_s: float, steps: bool, costs_w: float
) -> None:
    # 0.05 A before, 0.2 A in the first half, 0.3 A in the second, 0.05 A after it, at 2
    # V.
    current = np.repeat([0.05, 0.2, 0.3, 0.05], HZ // 4).astype(np.float32)
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(current, np.full(HZ, 2.0, np.float32))
        writer.sync(np.ones(HZ, np.uint8))
    accuracy = replace(PLAIN, edge_s=edge_s)
    window = (
        (0.25 + 0.5 / HZ, 0.75 - 0.5 / HZ)
        if steps
        else (0.25 - 0.5 / HZ, 0.75 + 0.5 / HZ)
    )
    [integral] = Trace.open(tmp_path / "trace.jls").integrals(
        [window], ranges_a(accuracy), steps_at_ends=steps
    )
    result = of_energy(integral, accuracy, HZ, (0.0, 0.0)).of["edge delay"]
    assert result.energy_j == pytest.approx(costs_w * edge_s / ROOT3, rel=1e-3)


def windows_between(
    folder: Path, outside_a: float, inside_a: float, phases: NDArray[np.float64]
) -> tuple[Trace, NDArray[np.float64]]:
    """Return a trace of windows of 20 samples, at 2 V, and where they begin, in
    samples: each at a phase of its own.
    """
    length = 60
    starts = length * np.arange(len(phases)) + 20 + phases
    borders = length * np.arange(len(phases))[:, None] + np.arange(length + 1)
    inside = np.clip(borders, starts[:, None], starts[:, None] + 20)
    current = (
        (outside_a + (inside_a - outside_a) * np.diff(inside, axis=1))
        .ravel()
        .astype(np.float32)
    )
    with trace_writer(folder, HZ) as writer:
        writer.analog(current, np.full(len(current), 2.0, np.float32))
        writer.sync(np.ones(len(current), np.uint8))
    return Trace.open(folder / "trace.jls"), starts


@pytest.mark.parametrize("samples", [0.2, 0.5, 1.0, 2.0, 3.0])
def test_a_delay_is_covered_on_average_over_where_in_their_samples_marks_lie(
    tmp_path: Path, samples: float
) -> None:
    # The line says so a little too late or too early.
    random = np.random.default_rng(5)
    count = length(1000, 500)
    trace, starts = windows_between(tmp_path, 0.1, 1.0, random.uniform(size=count))
    delays = random.uniform(-samples, samples, size=count)
    accuracy = replace(PLAIN, edge_s=samples / HZ)
    windows = [(begin / HZ, (begin + 20) / HZ) for begin in starts + delays]
    result = trace.integrals(windows, ranges_a(accuracy), steps_at_ends=True)
    off_j = [integral.energy_j - 2.0 * 20 / HZ for integral in result]
    stated_j = [
        of_energy(integral, accuracy, HZ, (0.0, 0.0)).energy_u_j for integral in result
    ]
    ratio = math.hypot(*stated_j) / math.hypot(*off_j)
    assert 1.0 <= ratio < 1.35, ratio


def test_uncertain_ends_cost_the_power_at_them(tmp_path: Path) -> None:
    assert effects(constant(tmp_path, 0.125), PLAIN, 1e-5) == pytest.approx(
        {"edges": math.sqrt(2) * 0.25 * 1e-5}, rel=1e-6
    )


def uncertain_ends(
    folder: Path, outside_a: float, inside_a: float, samples: float
) -> tuple[NDArray[np.float64], list[Effects]]:
    """Return the errors (J) of windows at random phases where each end errs
    independently by so many samples, and the stated uncertainty.
    """
    random = np.random.default_rng(7)
    count = 2500
    trace, starts = windows_between(
        folder, outside_a, inside_a, random.uniform(size=count)
    )
    ends = starts[:, None] + (0.0, 20.0) + samples * random.standard_normal((count, 2))
    windows = [(begin / HZ, end / HZ) for begin, end in ends.tolist()]
    result = trace.integrals(windows, ranges_a(PLAIN), steps_at_ends=True)
    off_j = (
        np.array([integral.energy_j for integral in result]) - inside_a * 2.0 * 20 / HZ
    )
    return off_j, [
        of_energy(integral, PLAIN, HZ, (samples / HZ, samples / HZ))
        for integral in result
    ]


@pytest.mark.parametrize("samples", [0.03, 0.1, 0.45, 1.0])
@pytest.mark.parametrize(
    ("outside_a", "inside_a"),
    [
        (0.45, 0.001),
        pytest.param(0.45, 0.12, marks=pytest.mark.repeats),
        pytest.param(0.12, 0.45, marks=pytest.mark.repeats),
        (0.001, 0.45),
    ],
)
def test_uncertain_ends_are_covered_whichever_side_draws_more(
    tmp_path: Path, outside_a: float, inside_a: float, samples: float
) -> None:
    off_j, stated = uncertain_ends(tmp_path, outside_a, inside_a, samples)
    ratio = math.hypot(*off_j) / math.hypot(*(item.energy_u_j for item in stated))
    assert 0.8 < ratio < 1.1, ratio


@pytest.mark.parametrize(
    ("outside_a", "inside_a", "samples"),
    [(0.45, 0.01, 0.1), (0.45, 0.01, 0.3), (0.45, 0.01, 0.6), (0.01, 0.45, 0.6)],
)
def test_what_uncertain_ends_do_always_the_same_way_does_not_shrink_with_the_number_of_windows(
    tmp_path: Path, outside_a: float, inside_a: float, samples: float
) -> None:
    off_j, stated = uncertain_ends(tmp_path, outside_a, inside_a, samples)
    biases = [item.of["edge bias"] for item in stated if "edge bias" in item.of]
    assert {bias.kind for bias in biases} == {COMMON}
    ratio = math.fsum(off_j) / math.fsum(bias.energy_j for bias in biases)
    assert 0.7 < ratio < 1.2, ratio


def test_an_edge_that_was_seen_in_step_with_the_samples_costs_only_what_is_inside(
    tmp_path: Path,
) -> None:
    # The line is sampled twice as often as the current: a mark lies in the quarter of a
    # sample to either side of where it is put.
    trace, [start] = windows_between(tmp_path, 0.45, 0.01, np.array([0.25]))
    [integral] = trace.integrals(
        [(start / HZ, (start + 20) / HZ)], ranges_a(PLAIN), steps_at_ends=True
    )
    end_u_s = 0.5 / HZ / math.sqrt(12)
    result = of_energy(integral, PLAIN, HZ, (end_u_s, end_u_s)).of
    assert {name: effect.energy_j for name, effect in result.items()} == pytest.approx(
        {"edges": math.sqrt(2) * 0.02 * end_u_s}, rel=1e-5
    )


def test_each_sample_counts_with_the_limits_of_its_range(tmp_path: Path) -> None:
    count = HZ
    current = np.where(np.arange(count) % 2 == 0, 0.001, 0.1).astype(np.float32)
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(current, np.full(count, 2.0, np.float32))
        writer.sync(np.ones(count, np.uint8))
    ranges = (Range(0.01, 0.05, 1e-6), Range(1.0, 0.01, 1e-3))
    result = effects(Trace.open(tmp_path / "trace.jls"), replace(PLAIN, current=ranges))
    small_j = 0.001 * 2 * 0.25
    large_j = 0.1 * 2 * 0.25
    assert result["current gain to 10 mA"] == pytest.approx(
        0.05 * small_j / ROOT3, rel=1e-6
    )
    assert result["current gain to 1 A"] == pytest.approx(
        0.01 * large_j / ROOT3, rel=1e-6
    )
    assert result["current offset to 10 mA"] == pytest.approx(
        1e-6 * 2 * 0.25 / ROOT3, rel=1e-6
    )
    assert result["current offset to 1 A"] == pytest.approx(
        1e-3 * 2 * 0.25 / ROOT3, rel=1e-6
    )


def test_errors_of_two_ranges_do_not_cancel_in_a_difference(
    run_virtual: Run, tmp_path: Path
) -> None:
    path = tmp_path / "calibration.toml"
    ranges = "".join(
        f"[[current]]\nup_to = {up_to}\ngain = 0.01\noffset = 1e-4\n"
        for up_to in (0.005, 10.0)
    )
    path.write_text(
        f'source = "test"\nclock_ppm = 1.0\n{ranges}[[voltage]]\nup_to = 15.0\ngain ='
        " 1e-9\noffset = 0.0\n"
    )
    # Idle draws 3.6 mA, in the lower range; the phases 10 mA and more, in the upper
    # one.
    result = run_virtual(f"monitor.virtual.calibration={path}")
    results = budget(result, "power_dynamic")
    assert results["current offset to 5 mA"] == pytest.approx(
        1e-4 * 3.3 / ROOT3, rel=0.01
    )
    assert results["current offset to 10 A"] == pytest.approx(
        1e-4 * 3.3 / ROOT3, rel=0.01
    )
    assert results["current gain to 5 mA"] == pytest.approx(
        0.01 * 0.012 / ROOT3, rel=0.01
    )


def limits(path: Path, up_to_a: float, up_to_v: float) -> Path:
    path.write_text(
        f'source = "test"\nclock_ppm = 1.0\n[[current]]\nup_to = {up_to_a}\ngain ='
        f" 0.01\noffset = 1e-4\n[[voltage]]\nup_to = {up_to_v}\ngain = 1e-3\noffset ="
        " 0.0\n"
    )
    return path


@pytest.mark.parametrize(
    ("up_to_a", "up_to_v", "said"),
    [
        # The phases draw 10 and 16 mA, idle 3.6 mA; two warm-ups, four samples, two
        # idle times.
        (
            0.012,
            15.0,
            (
                "^6 of 14 windows, first infer of step 3, where all of the energy was"
                " measured at more than 12 mA: "
            ),
        ),
        (
            0.005,
            15.0,
            (
                "^12 of 14 windows, first preprocess of step 3, where all of the energy"
                " was measured at more than 5 mA: "
            ),
        ),
        (
            10.0,
            3.0,
            r"^14 of 14 windows, first idle of step 1, where the voltage was 3\.3 V,"
            r" more than 3 "
            r"V: ",
        ),
    ],
)
def test_a_reading_beyond_the_ranges_that_have_limits_is_a_problem(
    run_virtual: Run, tmp_path: Path, up_to_a: float, up_to_v: float, said: str
) -> None:
    path = limits(tmp_path / "calibration.toml", up_to_a, up_to_v)
    [problem] = run_virtual(
        f"monitor.virtual.calibration={path}", "task.null.samples=4", trials=1
    ).content["problems"]
    assert problem["code"] == "range"
    assert re.search(
        said + ".*no limits of error are known there", problem["detail"]
    ), problem["detail"]


def test_a_share_of_the_energy_beyond_the_ranges_is_reported(tmp_path: Path) -> None:
    current = np.full(HZ, 0.001, np.float32)
    current[5000:5100] = 0.2
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(current, np.full(HZ, 2.0, np.float32))
        writer.sync(np.ones(HZ, np.uint8))
    accuracy = replace(PLAIN, current=(Range(0.01, 0.05, 0.0), Range(0.1, 0.05, 0.0)))
    inside, beside = Trace.open(tmp_path / "trace.jls").integrals(
        [(0.25, 0.75), (0.25, 0.5)], ranges_a(accuracy), steps_at_ends=True
    )
    share = 0.2 * 100 / (0.2 * 100 + 0.001 * 4900)
    assert (
        beyond(inside, accuracy)
        == f"{share:.2g} of the energy was measured at more than 100 mA"
    )
    assert beyond(beside, accuracy) == "", (
        "what an end's neighbour has is none of the window's"
    )


def test_the_uncertainty_of_an_energy_between_two_edges_holds_their_sampling(
    tmp_path: Path,
) -> None:
    integral = constant(tmp_path, 0.125).integrals([(0.25, 0.75)], [10.0])[0]
    assert energy_u_j(integral, PLAIN, HZ, 1000.0) == pytest.approx(
        math.sqrt(2) * 0.25 * 1e-3 / math.sqrt(12), rel=1e-6
    )


def test_the_same_error_in_two_readings_adds_up_and_different_ones_in_squares() -> None:
    same = merged(
        [
            Effects({"gain": Effect("common", energy_j=3.0)}),
            Effects({"gain": Effect("common", energy_j=4.0)}),
        ]
    )
    apart = merged(
        [
            Effects({"a: gain": Effect("common", energy_j=3.0)}),
            Effects({"b: gain": Effect("common", energy_j=4.0)}),
        ]
    )
    assert (same.energy_u_j, apart.energy_u_j) == (7.0, 5.0)


QUIET = ("monitor.virtual.noise_a=0", "monitor.virtual.lsb_a=0")


def budget(result: SessionResult, metric: str) -> dict[str, float]:
    content = result.content["metrics"][metric]
    return {
        part["component"]: part["standard_uncertainty"]
        for part in content["budget"]
        if part["counted"]
    }


def test_an_offset_cancels_in_dynamic_power_and_a_clock_in_any_power(
    run_virtual: Run,
) -> None:
    result = run_virtual(
        "monitor.virtual.offset_limit_a=1e-4",
        "monitor.virtual.clock_limit_ppm=1000",
        trials=2,
    )
    supply_v = 3.3
    assert budget(result, "power_idle")["current offset"] == pytest.approx(
        1e-4 * supply_v / ROOT3, rel=1e-6
    )
    assert "current offset" not in budget(result, "power_dynamic")
    assert "clock" not in budget(result, "power_active")
    assert budget(result, "latency_total")["clock"] == pytest.approx(
        1e-3 / ROOT3 * 0.06, rel=0.02
    )


def test_the_combined_uncertainty_is_the_root_of_the_squares_of_what_counts(
    run_virtual: Run,
) -> None:
    for metric in run_virtual(trials=3).content["metrics"].values():
        counted = [
            part["standard_uncertainty"] for part in metric["budget"] if part["counted"]
        ]
        same = metric["same_samples"]
        if same["standard_uncertainty"] is not None:
            assert same["standard_uncertainty"] == pytest.approx(
                math.hypot(*counted), rel=1e-12
            )
            assert (
                same["expanded_uncertainty"]
                == same["coverage_factor"] * same["standard_uncertainty"]
            )


def test_one_sample_alone_is_left_with_what_ticks_and_edges_must_give(
    run_virtual: Run,
) -> None:
    result = run_virtual("task.null.samples=1", *QUIET, trials=1)
    assert set(budget(result, "latency_infer")) == {"clock", "ticks", "time base"}
    assert budget(result, "latency_infer")["ticks"] == pytest.approx(
        1e-6 / math.sqrt(6), rel=1e-6
    )
    assert "edges" in budget(result, "energy_infer")


def test_accuracy_is_uncertain_by_the_choice_of_samples(run_virtual: Run) -> None:
    result = run_virtual("task.null.samples=50", "sut.virtual.error_rate=0.2", trials=2)
    share = result.metrics["accuracy"].value
    other = result.content["metrics"]["accuracy"]["other_samples"]
    half = (other["high"] - other["low"]) / 2
    # Two trials know with one degree of freedom what differs between them.
    assert half > 0.9 * 1.96 * math.sqrt(share * (1 - share) / 49)


def test_every_window_carries_its_uncertainty(run_virtual: Run) -> None:
    for sample in run_virtual().trials[0].measured.samples:
        for window in sample.windows:
            assert 0 < window.latency_u_s < 1e-4 * window.latency_s
            assert window.energy_u_j is not None and window.energy_j is not None
            assert 0.001 < window.energy_u_j / window.energy_j < 0.003


def test_a_calibration_file_replaces_the_data_sheet(
    run_virtual: Run, tmp_path: Path
) -> None:
    path = tmp_path / "calibration.toml"
    path.write_text(
        'source = "certificate 17"\nyear = 2026\nclock_ppm = 1.0\ndistribution ='
        ' "normal"\nverified = true\n[[current]]\nup_to = 10.0\ngain = 1e-4\noffset ='
        " 1e-7\n[[voltage]]\nup_to = 15.0\ngain = 1e-4\noffset = 0.0\n"
    )
    result = run_virtual(f"monitor.virtual.calibration={path}")
    assert (
        result.content["provenance"]["monitors"][""]["accuracy"]["source"]
        == "certificate 17"
    )
    energy = result.content["metrics"]["energy_total"]
    assert budget(result, "energy_total")["current gain"] == pytest.approx(
        1e-4 / 2 * energy["value"], rel=1e-6
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "not TOML"),
        ('source = "x"\nclock_ppm = 1.0\n', "current: this key is needed"),
        ('source="x"\nclock_ppm=1.0\ncurrent=[]\nvoltage=[]\n', "ranges"),
        (
            (
                'source="x"\nclock_ppm=1.0\nfoo=1\n[[current]]\nup_to=1.0\ngain=0.1\noffset=0.0\n'
                "[[voltage]]\nup_to=1.0\ngain=0.1\noffset=0.0\n"
            ),
            "foo",
        ),
        (
            (
                'source="x"\nclock_ppm=1.0\n[[current]]\nup_to=1.0\ngain=-0.1\noffset=0.0\n'
                "[[voltage]]\nup_to=1.0\ngain=0.1\noffset=0.0\n"
            ),
            "0 or more",
        ),
        (
            (
                'source="x"\nclock_ppm=1.0\ndistribution="flat"\n'
                "[[current]]\nup_to=1.0\ngain=0.1\noffset=0.0\n"
                "[[voltage]]\nup_to=1.0\ngain=0.1\noffset=0.0\n"
            ),
            "rectangular, normal",
        ),
    ],
)
def test_a_bad_calibration_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        load(path)


def test_a_missing_calibration_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "no.toml")


def test_a_window_that_cannot_tell_five_percent_says_how_long_it_must_be(
    run_virtual: Run,
) -> None:
    def preprocess(duration_s: float) -> dict[str, Any]:
        monitor = ("gain_limit=0.02", "noise_a=0.01", "sample_hz=5000")
        rows = run_virtual(
            *(f"monitor.virtual.{setting}" for setting in monitor),
            "sut.virtual.sync_hold_us=400",
            f"sut.virtual.preprocess.duration_s={duration_s}",
            "task.null.samples=30",
        ).content["resolution"]
        return {row["phase"]: row for row in rows}["preprocess"]

    short = preprocess(0.05)
    # By hand: noise of 10 mA beside 10.6 mA over 250 samples, and a gain of 2 %, both
    # with k = 2.
    assert short["energy_u95"] == pytest.approx(
        2
        * math.hypot(
            0.01 / (0.035 / 3.3) / math.sqrt(250), 0.02 / ROOT3, 0.001 / ROOT3
        ),
        rel=0.05,
    )
    assert short["because"] == "noise"
    assert preprocess(short["needed_s"] * 1.1)["needed_s"] == 0.0
    assert preprocess(short["needed_s"] * 0.9)["needed_s"] == pytest.approx(
        short["needed_s"], rel=0.05
    )


def test_a_gain_that_is_worse_than_five_percent_makes_every_window_too_short(
    run_virtual: Run,
) -> None:
    rows = run_virtual("monitor.virtual.gain_limit=0.08").content["resolution"]
    assert all(
        row["needed_s"] is None and row["because"] == "current gain" for row in rows
    )


def test_steps_that_no_noise_stirs_do_not_cancel_between_two_currents(
    run_virtual: Run,
) -> None:
    still = (
        "sut.virtual.preprocess.variation=0",
        "sut.virtual.infer.variation=0",
        "monitor.virtual.noise_a=0",
    )
    still = (
        *(text.replace("=0", "=0.0") for text in still),
        "sut.virtual.preprocess.power_w=0.045",
    )
    for lsb_a in (0.003, 0.004, 0.005):
        dynamic = run_virtual(*still, f"monitor.virtual.lsb_a={lsb_a}").content[
            "metrics"
        ]["power_dynamic"]
        # Idle current and active current each lie somewhere within their own step.
        assert (
            abs(dynamic["value"] - (0.045 - 0.012))
            < dynamic["same_samples"]["expanded_uncertainty"]
        ), lsb_a
        shown = {
            part["component"]: part["standard_uncertainty"]
            for part in dynamic["budget"]
        }
        assert (
            shown["steps"]
            == pytest.approx(lsb_a / math.sqrt(12) * 3.3, rel=1e-3)
            == shown["steps, idle"]
        )


def test_a_delay_of_sync_that_dominates_wants_longer_windows(
    run_virtual: Run, tmp_path: Path
) -> None:
    path = tmp_path / "calibration.toml"
    path.write_text(
        'source = "test"\nclock_ppm = 1.0\nedge_s = 0.001\n[[current]]\nup_to ='
        " 10.0\ngain = 1e-4\noffset = 0.0\n[[voltage]]\nup_to = 15.0\ngain ="
        " 1e-4\noffset = 0.0\n"
    )

    def preprocess(duration_s: float) -> dict[str, Any]:
        rows = run_virtual(
            f"monitor.virtual.calibration={path}",
            f"sut.virtual.preprocess.duration_s={duration_s}",
            "task.null.samples=2",
        ).content["resolution"]
        return {row["phase"]: row for row in rows}["preprocess"]

    short = preprocess(0.01)
    assert short["because"] == "edge delay" and short["needed_s"] > short["window_s"]
    assert preprocess(1.1 * short["needed_s"])["needed_s"] == 0.0


def test_an_accuracy_of_one_has_an_interval_below_it_however_many_trials_there_are(
    run_virtual: Run,
) -> None:
    for trials in (1, 5):
        metric = run_virtual("task.null.samples=20", trials=trials).content["metrics"][
            "accuracy"
        ]
        assert metric["value"] == 1.0
        other = metric["other_samples"]
        same = metric["same_samples"]
        ends = (pytest.approx(0.025 ** (1 / 20)), 1.0)
        assert (
            other["low"],
            other["high"],
        ) == ends, "the samples are the same in every trial"
        assert (
            metric["binomial"]["low"],
            metric["binomial"]["high"],
            metric["binomial"]["n"],
        ) == (*ends, 20)
        assert other["units"] == "20 samples"
        if trials == 1:
            assert same["low"] is None and "one trial" in same["reason"]
        else:
            assert same["low"] == pytest.approx(0.025 ** (1 / 100)), (
                "one answer of 100 may yet differ"
            )


def test_both_intervals_of_any_other_metric_have_ends_or_a_reason(
    run_virtual: Run,
) -> None:
    for name, metric in run_virtual(trials=2).content["metrics"].items():
        for which in ("same_samples", "other_samples"):
            stated = metric[which]
            if stated["reason"]:
                assert stated["low"] is None and stated["high"] is None, name
            else:
                assert (
                    stated["low"] <= metric["value"] <= stated["high"]
                    and stated["method"]
                ), name
            if stated["expanded_uncertainty"] is not None:
                half = stated["expanded_uncertainty"]
                assert [stated["low"], stated["high"]] == [
                    metric["value"] - half,
                    metric["value"] + half,
                ], name


def test_a_metric_that_a_trial_cannot_give_is_absent_with_its_reason(
    run_virtual: Run,
) -> None:
    content = run_virtual("task.null.samples=5", trials=2).content
    assert content["absent"] == {
        "latency_total_p90_early_stopping": "trial 1: needs 64 samples, there are 5"
    }
    content = run_virtual("task.null.samples=64", trials=1).content
    assert content["absent"] == {}
    estimate = content["metrics"]["latency_total_p90_early_stopping"]
    assert estimate["value"] > content["metrics"]["latency_total_p90"]["value"]
    assert (
        "latency_total_p90_early_stopping" not in content["replication"]["per_metric"]
    ), "percentiles are not compared"


@pytest.mark.parametrize("beside", ["before", "behind"])
def test_an_end_beside_a_lost_sample_errs_as_one_beside_the_farthest_power_that_was_seen(
    tmp_path: Path, beside: str
) -> None:
    current = np.full(60, 0.001, np.float32)
    current[20:40] = 0.045
    current[30] = 0.012
    lost = {"before": 18, "behind": 41}[beside]
    current[lost] = np.nan
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(current, np.full(len(current), 2.0, np.float32))
        writer.sync(np.ones(len(current), np.uint8))
    trace = Trace.open(tmp_path / "trace.jls")
    window = (
        ((lost + 1.5) / HZ, 38.5 / HZ)
        if beside == "before"
        else (21.5 / HZ, (lost - 0.5) / HZ)
    )
    assert trace.lost_between(*window) == 0
    integral = trace.integrals([window], ranges_a(PLAIN), steps_at_ends=True)[0]
    end = integral.ends[beside == "behind"]
    assert end == pytest.approx((0.024, 0.09), rel=1e-6)
    effects = of_energy(integral, PLAIN, HZ, (1e-5, 1e-5))
    assert math.isfinite(effects.energy_u_j) and effects.of["edges"].energy_j > 0
