# SPDX-License-Identifier: Apache-2.0
"""rig measure between edges, where the truth is a waveform in continuous time: no bias,
and a covering uncertainty.
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
from tests.traces import trace_writer

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
    """A current that is active between pairs of instants, in samples; and its samples,
    means over [k, k + 1).
    """

    active: list[tuple[float, float]]
    length: int

    @property
    def current_a(self) -> NDArray[np.float64]:
        """Return the means, from the integral of the waveform at the borders of the
        samples."""
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
    lines = [
        f"{k},{current:.12f},{SUPPLY_V},{level}"
        for k, (current, level) in enumerate(rows)
    ]
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
    result: dict[str, Any] = json.loads(done.stdout)
    return result


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
    result = measured(tmp_path, truth, "--edges", pattern)
    ends = [*zip(*truth.active, strict=True)]
    spans = truth.active
    level_a = ACTIVE_A
    if pattern == "rise-fall":
        spans = list(zip(ends[1], ends[0][1:], strict=False))
        level_a = IDLE_A
    true_j = np.array(
        [level_a * SUPPLY_V * (stop - start) / HZ for start, stop in spans]
    )
    windows = result["windows"]
    energy_j = np.array([window["energy_j"] for window in windows])
    u_j = np.array([window["energy_u_j"] for window in windows])
    off = (energy_j - true_j) / u_j
    # Two ends, each somewhere within one period: a triangle, where two standard
    # uncertainties hold 96.6 %.
    assert 0.93 < np.mean(np.abs(off) <= 2) <= 1.0
    assert abs(off.mean()) < 4 / np.sqrt(len(off))
    assert (
        abs(result["total"]["energy_j"] - true_j.sum())
        < 3 * result["total"]["energy_u_j"]
    )
    # A sample half before or after a window is neither its least nor its most.
    windows = result["windows"]
    extremes = {window["least_w"] for window in windows}
    extremes |= {window["most_w"] for window in windows}
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
    [
        ("0-0.07", 0.1, 0.1),
        ("0.07-0.1", 1.0, 1.0),
        ("0.07-0.29", 1.0, 1.0),
        ("0.29-0.4", 0.1, 0.1),
    ],
)
def test_times_on_the_borders_of_samples_take_no_sample_beside(
    tmp_path: Path, times: str, least_a: float, most_a: float
) -> None:
    # 0.07 and 0.29 are no binary fractions: times 1000 they are a little more or less
    # than 70 and 290.
    [window] = measured(tmp_path, Truth([(70.0, 290.0)], 400), "--times", times)[
        "windows"
    ]
    assert (window["least_w"], window["most_w"]) == (
        pytest.approx(least_a * SUPPLY_V),
        pytest.approx(most_a * SUPPLY_V),
    )


def decaying(
    folder: Path, starts: NDArray[np.float64], lasts: float, even: bool
) -> list[float]:
    """Write a trace of a device that draws an inrush at each edge, which dies away
    within a sample or two, and stamps of its edges; return the true energy of each
    window, in joules.
    """
    fine = 64
    inrush_a = 0.0 if even else 3.0
    at = (np.arange(int(starts[-1] + lasts + 40) * fine) + 0.5) / fine
    current_a = np.full(len(at), IDLE_A)
    true_j = []
    for start in starts:
        since = at - start
        inside = (since >= 0) & (since < lasts)
        current_a[inside] = ACTIVE_A + inrush_a * np.exp(-since[inside] / 0.8)
        true_j.append(float(current_a[inside].sum()) / fine / HZ * SUPPLY_V)
    means_a = current_a.reshape(-1, fine).mean(axis=1).astype(np.float32)
    with trace_writer(folder, HZ, 1e6, sync_kind="stamps") as writer:
        writer.analog(means_a, np.full(len(means_a), SUPPLY_V, np.float32))
        for start in starts.tolist():
            writer.stamp(start / HZ)
            writer.stamp((start + lasts) / HZ, fall=False)
    (folder / "c.toml").write_text(CALIBRATION)
    return true_j


def between_stamps(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the energies that are measured between the stamps, and their
    uncertainties."""
    words = ["--edges", "fall-rise", "--calibration", str(folder / "c.toml"), "--json"]
    done = CliRunner().invoke(
        measure, [str(folder / "trace.jls"), *words], standalone_mode=False
    )
    assert done.exception is None, done.exception
    rows = json.loads(done.stdout)["windows"]
    energies = np.array([row["energy_j"] for row in rows])
    return energies, np.array([row["energy_u_j"] for row in rows])


def test_samples_that_no_edge_cuts_count_as_they_were_read(tmp_path: Path) -> None:
    # 0.1 s at 1 kS/s: with the reading of its neighbour in the first sample's place,
    # 1.6 % less.
    starts = np.array([50.0, 250.0, 450.0])
    true_j = decaying(tmp_path, starts, 100.0, even=False)
    energy_j, _ = between_stamps(tmp_path)
    assert energy_j == pytest.approx(true_j, rel=1e-5)


def test_the_uncertainty_covers_a_power_that_is_not_even_beside_an_edge(
    tmp_path: Path,
) -> None:
    random = np.random.default_rng(11)
    starts = 50 + 200 * np.arange(40) + random.uniform(0.02, 0.98, 40).round(2)
    true_j = decaying(tmp_path, starts, 100.0, even=False)
    energy_j, u_j = between_stamps(tmp_path)
    off_j = energy_j - true_j
    assert np.abs(off_j).max() > 0.005 * max(true_j), (
        "the neighbour of a cut sample is no twin"
    )
    assert (np.abs(off_j) <= 2 * u_j).all()


def test_a_power_that_is_even_on_both_sides_of_an_edge_costs_no_more_than_before(
    tmp_path: Path,
) -> None:
    starts = 50 + 200 * np.arange(10) + np.linspace(1 / 16, 15 / 16, 10).round(4)
    starts = np.round(starts * 64) / 64
    true_j = decaying(tmp_path, starts, 100.0, even=True)
    energy_j, u_j = between_stamps(tmp_path)
    assert energy_j == pytest.approx(true_j, rel=1e-6)
    assert u_j.max() < 1e-5 * max(true_j)


@pytest.mark.parametrize("inside_a", [0.02, 1.0])
def test_an_edge_that_is_known_to_one_sample_only_is_covered_on_a_border(
    tmp_path: Path, inside_a: float
) -> None:
    # Stamps in milliseconds at 1 kS/s, as of EEMBC's runner: the true edge lies
    # anywhere within half a sample of the border it is put on.
    random = np.random.default_rng(3)
    count = length(300, 120)
    stamps = 40 * np.arange(1, 2 * count + 1)
    edges = stamps + random.uniform(-0.5, 0.5, 2 * count)
    pairs = edges.reshape(-1, 2)
    truth = Truth(
        [(start, stop) for start, stop in pairs.tolist()], int(stamps[-1]) + 40
    )
    outside_a = 0.3
    share = (truth.current_a - IDLE_A) / (ACTIVE_A - IDLE_A)
    means_a = outside_a + (inside_a - outside_a) * share
    with trace_writer(tmp_path, HZ, sync_kind="stamps") as writer:
        writer.analog(
            means_a.astype(np.float32), np.full(len(means_a), SUPPLY_V, np.float32)
        )
        for number, stamp in enumerate(stamps.tolist()):
            writer.stamp(stamp / HZ, fall=number % 2 == 0)
    (tmp_path / "c.toml").write_text(CALIBRATION)
    energy_j, u_j = between_stamps(tmp_path)
    true_j = inside_a * SUPPLY_V * (pairs[:, 1] - pairs[:, 0]) / HZ
    covered = np.abs(energy_j - true_j) <= 2 * u_j
    assert covered.mean() > 0.93, covered.mean()
