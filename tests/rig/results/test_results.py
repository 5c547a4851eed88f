# SPDX-License-Identifier: Apache-2.0
"""Recordings of a session are read once, and one at a time is in memory; results state
the means that stand for samples between windows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rig.results import results
from rig.results.results import Recordings
from rig.session.session import SessionResult
from rig.timebase.timebase import Timebase


class Steps(list[Any]):
    """A list that can be referenced weakly."""


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each recording that is read: whether those before it are free by then."""
    before: list[weakref.ref[Steps]] = []
    free: list[bool] = []

    def counted(folder: Path) -> list[Steps]:
        free.append(all(steps() is None for steps in before))
        steps = Steps()
        before.append(weakref.ref(steps))
        return [steps]

    monkeypatch.setattr(results, "counted", counted)
    monkeypatch.setattr(results, "segments", lambda folder: [folder])
    monkeypatch.setattr(results, "rails_of", lambda context, folder: [])
    return free


def test_a_recording_is_free_before_the_next_is_read(free: list[bool]) -> None:
    context: Any = SimpleNamespace(
        provenance=SimpleNamespace(sut=SimpleNamespace(clock="")), interleaved=False
    )
    recordings = Recordings()
    for name in ("trial-1", "trial-1", "trial-2", "trial-3"):
        recordings.of(context, Path(name), Path(name))
    assert free == [True, True, True]


def test_results_state_how_long_a_mean_between_windows_is(
    run_virtual: Callable[..., SessionResult],
) -> None:
    small = ("task.null.samples=1", "scenario.single_stream.idle_s=0.05")
    thinned = run_virtual(*small, "bench.between_windows=reduced").content
    # docs/reference/RESULTS.md: means over 1 ms, every sample within 10 ms of a mark.
    assert thinned["between_windows"] == {"mean_s": 0.001, "margin_s": 0.01}
    assert "between_windows" not in run_virtual(*small).content


@pytest.mark.parametrize(
    ("s_per_tick", "slope_u", "skew_ppm", "skew_u_ppm"),
    [
        # 1.000003 s by the first clock: 3 ppm; two uncertainties of 3 and 4 ppm.
        (1.000003e-6, 4e-6, 3.0, 5.0),
        (0.999998e-6, 0.0, -2.0, 3.0),
    ],
)
def test_the_skew_of_a_rail_is_relative_to_the_first_monitor(
    s_per_tick: float, slope_u: float, skew_ppm: float, skew_u_ppm: float
) -> None:
    def clock(s_per_tick: float, slope_u: float) -> Timebase:
        return Timebase(
            0,
            0.0,
            s_per_tick,
            9,
            residual_s=1e-7,
            residual_max_s=1e-7,
            offset_u_s=1e-7,
            slope_u=slope_u,
        )

    first, other = clock(1e-6, 3e-6), clock(s_per_tick, slope_u)
    rail = results._rail(other, first)
    assert rail.skew_ppm == pytest.approx(skew_ppm)
    assert rail.skew_u_ppm == pytest.approx(skew_u_ppm)
    assert results._rail(first, first).skew_u_ppm == 0.0
    alone = results._rail(other, None)
    assert (alone.skew_ppm, alone.skew_u_ppm) == (None, None)
