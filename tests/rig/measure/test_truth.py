# SPDX-License-Identifier: Apache-2.0
"""The rig's own errors, measured against the truth of the virtual bench."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.session.session import open_bench
from rig.simulation.world import State
from rig.trace.trace import Trace
from tests.conftest import VIRTUAL_NULL
from tests.length import length

SAMPLE_HZ = 100_000


@dataclass
class Worst:
    """The largest errors seen: edges in monitor samples, energy relative."""

    edge_samples: float = 0.0
    fit_samples: float = 0.0
    energy: float = 0.0
    latency: float = 0.0
    windows: int = 0


def falls_ns(states: list[State]) -> list[int]:
    return [new.time_ns for old, new in pairwise(states) if old.level and not new.level]


def mark_times(
    completions: Path, truth_s: NDArray[np.float64]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Give each step the true times of its marks, by counting."""
    at = 0
    for line in completions.read_text().splitlines():
        content = json.loads(line)
        count = len(content["marks"])
        yield content["step"], truth_s[at : at + count]
        at += count
    assert at == len(truth_s)


def one_run(seed: int, root: Path, worst: Worst) -> None:
    draw = random.Random(seed)
    device_ppm = draw.uniform(-100, 100)
    monitor_ppm = draw.uniform(-100, 100)
    overrides = [
        f"bench.seed={seed}",
        f"sut.virtual.clock_ppm={device_ppm}",
        f"sut.virtual.clock_offset_ticks={draw.getrandbits(40)}",
        f"monitor.virtual.clock_ppm={monitor_ppm}",
        f"monitor.virtual.sample_hz={SAMPLE_HZ}",
        "monitor.virtual.noise_a=50e-6",
        "monitor.virtual.edge_jitter_s=1e-6",
        "task.null.samples=6",
        "scenario.single_stream.idle_s=0.1",
    ]
    with open_bench(VIRTUAL_NULL, overrides) as bench:
        result = bench.run(1, root)
        world = bench.context.world
    assert not result.content["problems"]

    # True time = monitor time over the rate of the monitor's crystal, from the moment
    # the recording began: the world's time 0.
    stretch = 1 / (1 + monitor_ppm * 1e-6)
    truth_s = np.array(falls_ns(world.states())) / 1e9
    trace = Trace.open(result.folder / "trial-1" / "trace.jls")
    worst.edge_samples = max(
        worst.edge_samples,
        float(np.max(np.abs(trace.falls_s * stretch - truth_s))) * SAMPLE_HZ,
    )

    # The k-th mark of the trial is the k-th fall: after 8 pulses of the first burst the
    # steps follow in their order.
    expected = iter(
        mark_times(result.folder / "trial-1" / "completions.jsonl", truth_s)
    )
    lines = [
        json.loads(line)
        for line in (
            (result.folder / "trial-1" / "samples.jsonl").read_text().splitlines()
        )
    ]
    results = {line["step"]: line["windows"] for line in lines if "step" in line}
    idles = iter([line["idle"]] for line in lines if "idle" in line)
    for step, times_s in expected:
        windows = (
            results[step]
            if step in results
            else next(idles)
            if len(times_s) == 2
            else []
        )
        for window, (true_start_s, true_stop_s) in zip(
            windows, pairwise(times_s), strict=bool(windows)
        ):
            start_s = window["start_s"] * stretch
            stop_s = window["stop_s"] * stretch
            off_s = max(abs(start_s - true_start_s), abs(stop_s - true_stop_s))
            worst.fit_samples = max(worst.fit_samples, off_s * SAMPLE_HZ)
            true_j = world.true_energy_j(
                round(true_start_s * 1e9), round(true_stop_s * 1e9)
            )
            worst.energy = max(worst.energy, abs(window["energy_j"] / true_j - 1))
            worst.latency = max(
                worst.latency,
                abs(window["latency_s"] / (true_stop_s - true_start_s) - 1),
            )
            worst.windows += 1


@pytest.mark.timeout(900)  # a minute or two, where others want the processor too
@pytest.mark.computes
def test_runs_with_skew_jitter_and_noise_stay_close_to_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worst = Worst()
    runs = length(200, 20)
    for seed in range(runs):
        one_run(seed, tmp_path, worst)
    with capsys.disabled():
        print(
            f"\n{runs} virtual runs, up to 100 ppm skew each: worst edge"
            f" {worst.edge_samples:.3f} samples, worst fitted mark"
            f" {worst.fit_samples:.3f} samples, worst energy of a window"
            f" {worst.energy:.2e}, worst latency {worst.latency:.2e}"
        )
    assert worst.edge_samples < 1.0
    assert worst.fit_samples < 1.0
    assert worst.energy < 1e-3
    assert worst.latency < 1e-3
    assert worst.windows == runs * (2 + 2 * 6), (
        "two idle times and two phases of six samples in each run"
    )
