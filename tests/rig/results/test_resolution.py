# SPDX-License-Identifier: Apache-2.0
"""The window that resolves 5 %, against the root of its equation."""

from __future__ import annotations

import math

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.model.effects import OWN, Effect, Effects
from rig.model.steps import Solve
from rig.model.trial import Measured, Sample, Trial, Window
from rig.results.resolution import Resolution, resolve
from tests.samples import sample_of


def window(
    phase: str, length_s: float, energy_j: float | None, **parts_j: float
) -> Window:
    effects = {
        name.replace("_", " "): Effect(OWN, 0.0, part) for name, part in parts_j.items()
    }
    # Repeated four times: the window is as long as all, its latency a quarter.
    return Window(
        phase,
        1.0,
        1.0 + length_s,
        length_s / 4,
        energy_j=energy_j,
        effects=Effects(effects),
    )


def trial(*windows: Window, idles: tuple[Window, ...] = ()) -> Trial:
    samples = tuple(
        sample_of(k, [each], indices=(0,), repeat=4) for k, each in enumerate(windows)
    )
    return Trial(1, 1, Measured(samples, idles), {}, None)


def of(*windows: Window) -> Resolution:
    (result,) = resolve([trial(*windows)], ["infer"])
    return result


@settings(max_examples=40)
@given(
    length_s=st.floats(1e-3, 1.0),
    edges=st.floats(0.0, 0.2),
    noise=st.floats(0.0, 0.2),
    gain=st.floats(0.0, 0.03),
)
def test_a_window_resolves_five_percent_from_the_root_of_its_equation_on(
    length_s: float, edges: float, noise: float, gain: float
) -> None:
    parts = {"edges": edges, "noise": noise, "gain": gain}
    # Twice the energy, and twice the effect: relative ones count.
    result = of(
        window("infer", length_s, 2.0, **{k: 2 * v for k, v in parts.items()}),
        window("infer", length_s, 2.0, **{k: -2 * v for k, v in parts.items()}),
    )
    assert (result.phase, result.window_s) == ("infer", pytest.approx(length_s))

    def excess(factor: float) -> float:
        root = math.sqrt(factor)
        return 2 * math.hypot(gain, edges / factor, noise / root) - 0.05

    assert result.energy_u95 == pytest.approx(excess(1.0) + 0.05)
    if excess(1.0) <= 0:
        assert result.needed_s == 0.0
        assert result.ok
        return
    assert parts[result.because] == max(parts.values())
    assert not result.ok
    longest = 3600.0 / length_s
    if gain >= 0.025 or excess(longest) > 0:
        assert result.needed_s is None
        return
    least = scipy.optimize.brentq(excess, 1.0, longest)
    assert (
        result.needed_s is None or least <= result.needed_s / length_s <= 1.0101 * least
    )
    if 1.02 * least < longest:
        assert result.needed_s is not None


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("edges", 2.0),
        ("edge bias", 2.0),
        ("edge delay", 2.0),
        ("end samples", 2.0),
        ("io: edges", 2.0),
        ("noise", 4.0),
        ("quantisation", 4.0),
        ("offset", None),
    ],
)
def test_ends_shrink_with_the_length_noise_with_its_root_and_others_not(
    name: str, times: float | None
) -> None:
    each = Window(
        "infer",
        0.0,
        0.5,
        0.5,
        energy_j=1.0,
        effects=Effects({name: Effect(OWN, 0.0, 0.05)}),
    )
    result = of(each)
    if times is None:
        assert result.needed_s is None
    else:
        assert result.needed_s == pytest.approx(0.5 * times, rel=0.011)
    assert result.because == name


def test_windows_without_energy_do_not_count_and_the_mean_of_the_others_does() -> None:
    windows = [
        window("infer", 1.0, None),
        window("infer", 1.0, -1.0, noise=9.0),
        window("infer", 1.0, 0.0, noise=9.0),
        window("infer", 1.0, 1.0, noise=0.02),
        window("infer", 3.0, 3.0, noise=0.06),
        window("infer", 2.0, 2.0),
    ]
    result = of(*windows)
    assert result.window_s == pytest.approx(2.0)
    # A mean of 0.08 / 3 on a mean energy of 2.
    assert result.energy_u95 == pytest.approx(2 * 0.08 / 3 / 2)
    assert resolve([trial(window("infer", 1.0, None))], ["infer"]) == []


def test_each_phase_and_the_idle_windows_have_a_row() -> None:
    both = tuple(window(name, 1.0, 1.0) for name in ("preprocess", "infer"))
    query = sample_of(0, both, repeat=4)
    idle = window("idle", 5.0, 1.0, gain=0.01)
    item = Trial(1, 1, Measured((query,), (idle,)), {}, None)
    result = resolve([item, item], ["preprocess", "infer"])
    assert [row.phase for row in result] == ["preprocess", "infer", "idle"]
    assert result[2].window_s == pytest.approx(5.0)
    assert result[2].energy_u95 == pytest.approx(0.02)


def test_searches_have_a_row_for_each_way_to_end() -> None:
    def search(length_s: float, solve: Solve) -> Sample:
        windows = (window("solve", length_s, 1.0),)
        return sample_of(0, windows, solve=solve)

    def solve(timeout_s: float, target: int | None) -> Solve:
        return Solve(index=0, timeout_s=timeout_s, seed=1, target=target)

    samples = (
        search(2.0, solve(2.0, None)),
        search(4.0, solve(2.0, None)),
        search(1.0, solve(9.0, -5)),
    )
    item = Trial(1, 1, Measured(samples, ()), {}, None)
    result = resolve([item], ["solve"])
    assert [(row.phase, row.window_s) for row in result] == [
        ("solve 2 s", pytest.approx(3.0)),
        ("solve to target", pytest.approx(1.0)),
    ]
