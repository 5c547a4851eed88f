# SPDX-License-Identifier: Apache-2.0
"""rig measure between edges, where the truth is a waveform in continuous time: no bias, and a
covering uncertainty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from rig.cli.measure import measure
from tests.length import length

HZ = 1000
IDLE_A = 0.1
ACTIVE_A = 1.0
SUPPLY_V = 2.0
CALIBRATION = """
source = "exact, for a test"
clock_ppm = 0.0
[[current]]
up_to = 10.0
gain = 0.0
offset = 0.0
[[voltage]]
up_to = 10.0
gain = 0.0
offset = 0.0
"""


@dataclass(frozen=True, slots=True)
class Truth:
    """A current that is active between pairs of instants, in samples; and its samples, means over
    [k, k + 1).
    """

    active: list[tuple[float, float]]
    length: int

    @property
    def current_a(self) -> NDArray[np.float64]:
        """Return the means, from the integral of the waveform at the borders of the samples."""
        borders = np.arange(self.length + 1, dtype=np.float64)
        times = [0.0]
        charge = [0.0]
        for start, stop in self.active:
            for at, level_a in ((start, IDLE_A), (stop, ACTIVE_A)):
                charge.append(charge[-1] + level_a * (at - times[-1]))
                times.append(at)
        times.append(float(self.length))
        charge.append(charge[-1] + IDLE_A * (times[-1] - times[-2]))
        return np.diff(np.interp(borders, times, charge))

    @property
    def levels(self) -> NDArray[np.int64]:
        """Return the SYNC line at k: low while active."""
        levels = np.ones(self.length, dtype=np.int64)
        for start, stop in self.active:
            levels[int(np.ceil(start)) : int(np.ceil(stop))] = 0
        return levels


def measured(folder: Path, truth: Truth, *words: str) -> dict[str, Any]:
    rows = zip(truth.current_a, truth.levels, strict=True)
    lines = [f"{k},{current:.12f},{SUPPLY_V},{level}" for k, (current, level) in enumerate(rows)]
    (folder / "t.csv").write_text("\n".join(["time_ms,I (A),U (V),sync", *lines, ""]))
    (folder / "c.toml").write_text(CALIBRATION)
    done = CliRunner().invoke(
        measure,
        [
            str(folder / "t.csv"),
            "--time",
            "time_ms",
            "--calibration",
            str(folder / "c.toml"),
            "--json",
            *words,
        ],
        standalone_mode=False,
    )
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def waveform(seed: int, windows: int, shortest: float, longest: float) -> Truth:
    random = np.random.default_rng(seed)
    at = 5.3
    active = []
    for _ in range(windows):
        stop = at + random.uniform(shortest, longest)
        active.append((at, stop))
        at = stop + random.uniform(shortest, longest)
    return Truth(active, int(at) + 5)


@pytest.mark.parametrize(("shortest", "longest"), [(20, 30), (5, 8), (200, 300)])
@pytest.mark.parametrize("pattern", ["fall-rise", "rise-fall"])
def test_windows_between_edges_have_no_bias_and_their_uncertainty_covers_their_error(
    tmp_path: Path, shortest: float, longest: float, pattern: str
) -> None:
    truth = waveform(7, length(300, 150), shortest, longest)
    found = measured(tmp_path, truth, "--edges", pattern)
    ends = [*zip(*truth.active, strict=True)]
    spans = truth.active
    level_a = ACTIVE_A
    if pattern == "rise-fall":
        spans = list(zip(ends[1], ends[0][1:], strict=False))
        level_a = IDLE_A
    true_j = np.array([level_a * SUPPLY_V * (stop - start) / HZ for start, stop in spans])
    energy_j, u_j = (
        np.array([window[name] for window in found["windows"]])
        for name in ("energy_j", "energy_u_j")
    )
    off = (energy_j - true_j) / u_j
    # Two ends, each somewhere within one period: a triangle, of which two standard uncertainties
    # hold 96.6 %.
    assert 0.93 < np.mean(np.abs(off) <= 2) <= 1.0
    assert abs(off.mean()) < 4 / np.sqrt(len(off))
    assert abs(found["total"]["energy_j"] - true_j.sum()) < 3 * found["total"]["energy_u_j"]
    # What is half before or behind a window is neither its least nor its most.
    extremes = {window[name] for window in found["windows"] for name in ("least_w", "most_w")}
    assert [*extremes] == pytest.approx([level_a * SUPPLY_V] * len(extremes), rel=1e-6)


def test_a_window_of_fewer_than_four_samples_has_an_energy_and_no_uncertainty(
    tmp_path: Path,
) -> None:
    truth = Truth([(10.5, 12.7), (20.0, 40.0)], 60)
    short, long = measured(tmp_path, truth, "--edges", "fall-rise")["windows"]
    assert (
        short["energy_j"]
        and short["energy_u_j"] is None
        and "fewer than 4 samples" in short["problem"]
    )
    assert long["energy_u_j"] and not long["problem"]


@pytest.mark.parametrize(
    ("times", "least_a", "most_a"),
    [("0-0.07", 0.1, 0.1), ("0.07-0.1", 1.0, 1.0), ("0.07-0.29", 1.0, 1.0), ("0.29-0.4", 0.1, 0.1)],
)
def test_times_on_the_borders_of_samples_take_no_sample_beside(
    tmp_path: Path, times: str, least_a: float, most_a: float
) -> None:
    # 0.07 and 0.29 are no binary fractions: times 1000 they are a little more or less than 70 and
    # 290.
    [window] = measured(tmp_path, Truth([(70.0, 290.0)], 400), "--times", times)["windows"]
    assert (window["least_w"], window["most_w"]) == (
        pytest.approx(least_a * SUPPLY_V),
        pytest.approx(most_a * SUPPLY_V),
    )
