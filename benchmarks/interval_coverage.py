# SPDX-License-Identifier: Apache-2.0
"""How often the 95 % interval holds the truth: virtual runs with errors drawn from the stated distributions.

Run it: `.venv/bin/python benchmarks/interval_coverage.py [RUNS [SCENARIO]]`; 1000 runs of each scenario unless told. Each run draws
from their limits gain and offset of the monitor's two ranges of current (idle lies in the lower one), gain and offset of its
voltage, its clock, and the delay of SYNC against power; and the device's clock from +-100 ppm. The virtual device varies from query
to query; noise, steps and edges are the monitor's. The truth is the virtual device's own model: mean durations, mean powers, and
when a window of the stream is complete by its clock. It is never read from a trace.

A coverage is remarked upon where it lies outside 93 to 97 % and so many runs are enough to tell it from 95 %: where the exact
binomial interval of its count leaves that out.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rig.binomial import Share
from rig.coverage import LEVEL
from rig.session import open_bench

BENCHES = Path(__file__).resolve().parent.parent / "benches"
#: Limits that the monitor states, as large against the scatter of the device as an instrument's are: of the current in both ranges,
#: of the voltage, of the clock, and of SYNC against power.
GAIN, OFFSET_A, LOW_GAIN, LOW_OFFSET_A, VOLTAGE_GAIN, VOLTAGE_OFFSET_V = 0.003, 20e-6, 0.004, 5e-6, 0.001, 0.002
CLOCK_PPM, EDGE_S = 50.0, 10e-6
#: Idle draws 3.6 mA, in the lower range; the phases 10 mA and more. Noise and steps of one sample are the same in both.
LOW_A, NOISE_A, LSB_A = 0.007, 50e-6, 1e-6
#: The device's model: seconds and watts.
PREPROCESS, INFER, SEARCH_W, IDLE_W, VARIATION = (0.018, 0.035), (0.042, 0.045), 0.048, 0.012, 0.002
BUSY_S = PREPROCESS[0] + INFER[0]
BUSY_J = PREPROCESS[0] * PREPROCESS[1] + INFER[0] * INFER[1]
PHASES = {
    "latency_preprocess": PREPROCESS[0],
    "latency_infer": INFER[0],
    "energy_preprocess": PREPROCESS[0] * PREPROCESS[1],
    "energy_infer": INFER[0] * INFER[1],
    "energy_total": BUSY_J,
    "energy_dynamic": BUSY_J - IDLE_W * BUSY_S,
    "power_idle": IDLE_W,
    "power_active": BUSY_J / BUSY_S,
    "power_dynamic": BUSY_J / BUSY_S - IDLE_W,
}
#: Decisions of a stream: a window is half heard before, the first one whole; each window is a second.
HOP_S, DECISIONS = 0.5, 5
TIMEOUTS_S = {"20ms": 0.02, "100ms": 0.1}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A bench of benches/, what is shortened of it, and the truth of its metrics when the device's clock is off by so many ppm."""

    bench: str
    overrides: tuple[str, ...]
    truth: Callable[[float], Mapping[str, float]]


def _stream(clock_ppm: float) -> Mapping[str, float]:
    # The last window is complete after so long by the device's clock; then it is gone through.
    whole_s = HOP_S * (DECISIONS + 1) / (1 + clock_ppm * 1e-6) + BUSY_S
    above_j = DECISIONS * (BUSY_J - IDLE_W * BUSY_S)
    return PHASES | {
        "latency_response": BUSY_S,
        "latency_response_p50": BUSY_S,
        "duty_cycle": DECISIONS * BUSY_S / whole_s,
        "power_stream": IDLE_W + above_j / whole_s,
        "power_stream_dynamic": above_j / whole_s,
        "energy_stream": IDLE_W * whole_s + above_j,
    }


EXPERIMENTS = {
    "single-stream": Experiment(
        "virtual-null.toml",
        ("task.null.samples=5", "scenario.single_stream.idle_s=0.05", "scenario.single_stream.warmup=0"),
        lambda _: PHASES | {"latency_total": BUSY_S, "latency_total_p50": BUSY_S},
    ),
    "real-time": Experiment(
        "virtual-real-time.toml",
        (
            f"scenario.real_time.duration_s={HOP_S * (DECISIONS + 1)}",
            "scenario.real_time.scene_s=[1.0,2.0]",
            "scenario.real_time.idle_s=0.1",
        ),
        _stream,
    ),
    "optimization": Experiment(
        "virtual-qubo.toml",
        (
            f"scenario.optimization.timeouts_s={list(TIMEOUTS_S.values())}",
            "scenario.optimization.target_limit_s=0",
            "scenario.optimization.idle_s=0.1",
            "task.qubo.nodes=[25]",
            "task.qubo.densities=[0.1]",
            "task.qubo.seeds=[0,1,2]",
            f"sut.virtual.solve.power_w={SEARCH_W}",
            f"sut.virtual.solve.variation={VARIATION}",
        ),
        lambda _: {"power_idle": IDLE_W, **{f"power_{name}": SEARCH_W for name in TIMEOUTS_S}},
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one run: how far it is from the truth, and how far it may be (95 %), both relative."""

    name: str
    error: float
    expanded: float


CALIBRATION = f"""
source = "the limits that errors are drawn from"
clock_ppm = {CLOCK_PPM}
edge_s = {EDGE_S}
[[current]]
up_to = {LOW_A}
gain = {LOW_GAIN}
offset = {LOW_OFFSET_A}
noise = {NOISE_A}
lsb = {LSB_A}
[[current]]
up_to = 10.0
gain = {GAIN}
offset = {OFFSET_A}
noise = {NOISE_A}
lsb = {LSB_A}
[[voltage]]
up_to = 15.0
gain = {VOLTAGE_GAIN}
offset = {VOLTAGE_OFFSET_V}
"""


def one_run(seed: int, name: str, worse: float = 1.0) -> list[Row]:
    """Run five trials with drawn errors and compare every metric with the truth; gains are `worse` times as large as stated."""
    draw, chosen = random.Random(seed), EXPERIMENTS[name]
    limits = {
        "gain": worse * GAIN,
        "offset_a": OFFSET_A,
        "low_gain": worse * LOW_GAIN,
        "low_offset_a": LOW_OFFSET_A,
        "voltage_gain": VOLTAGE_GAIN,
        "voltage_offset_v": VOLTAGE_OFFSET_V,
        "clock_ppm": CLOCK_PPM,
        "edge_delay_s": EDGE_S,
    }
    clock_ppm = draw.uniform(-100, 100)
    overrides = [
        f"bench.seed={seed}",
        f"sut.virtual.clock_ppm={clock_ppm}",
        f"sut.virtual.preprocess.variation={VARIATION}",
        f"sut.virtual.infer.variation={VARIATION}",
        "monitor.virtual.sample_hz=50_000",
        *(f"monitor.virtual.{setting}={draw.uniform(-limit, limit)}" for setting, limit in limits.items()),
        f"monitor.virtual.low_a={LOW_A}",
        f"monitor.virtual.noise_a={NOISE_A}",
        f"monitor.virtual.lsb_a={LSB_A}",
        *chosen.overrides,
    ]
    with tempfile.TemporaryDirectory() as scratch:
        calibration = Path(scratch) / "calibration.toml"
        calibration.write_text(CALIBRATION, encoding="utf-8")
        with open_bench(BENCHES / chosen.bench, [*overrides, f"monitor.virtual.calibration={calibration}"]) as bench:
            content = bench.run(5, scratch).content
    assert not content["problems"], content["problems"]
    metrics = content["metrics"]
    return [
        Row(metric, metrics[metric]["value"] / truth - 1, metrics[metric]["same_samples"]["expanded_uncertainty"] / truth)
        for metric, truth in chosen.truth(clock_ppm).items()
    ]


def finding(inside: float, runs: int) -> bool:
    """Say whether a share of truths inside is neither 93 to 97 % nor what chance makes of 95 % in so many runs."""
    low, high = Share(round(inside * runs), runs).interval()
    return not 0.93 <= inside <= 0.97 and not low <= LEVEL <= high


def experiment(runs: int, name: str = "single-stream", worse: float = 1.0) -> Iterator[tuple[str, float, float, float]]:
    """Yield for each metric its coverage, the mean half-width, and the root mean square error, relative."""
    with ProcessPoolExecutor() as pool:
        rows = [row for found in pool.map(partial(one_run, name=name, worse=worse), range(runs), chunksize=4) for row in found]
    for metric in dict.fromkeys(row.name for row in rows):
        mine = [row for row in rows if row.name == metric]
        yield (
            metric,
            sum(abs(row.error) <= row.expanded for row in mine) / len(mine),
            sum(row.expanded for row in mine) / len(mine),
            (sum(row.error**2 for row in mine) / len(mine)) ** 0.5,
        )


def main() -> int:
    """Print the tables; exit code 1 when a coverage lies outside 93 to 97 % and not by chance."""
    options = argparse.ArgumentParser(description="how often 95 % intervals contain the truth; some minutes with 1000 runs")
    options.add_argument("runs", type=int, nargs="?", default=1000, help="virtual runs of each kind (%(default)s)")
    options.add_argument("kinds", nargs="*", help=f"of {', '.join(EXPERIMENTS)}; all")
    asked = options.parse_args()
    if unknown := set(asked.kinds) - set(EXPERIMENTS):
        options.error(f"no such kind: {', '.join(sorted(unknown))}")
    print(f"{asked.runs} virtual runs of five trials; all times and energies are simulated")
    good = True
    for name in asked.kinds or EXPERIMENTS:
        print(f"\n{name:<20} {'truth inside':>12} {'mean U95':>10} {'rms error':>10}", flush=True)
        for metric, inside, expanded, error in experiment(asked.runs, name):
            found = finding(inside, asked.runs)
            good = good and not found
            remark = "  outside 93 to 97 %, and not by chance" if found else ""
            print(f"{metric:<20} {inside:>11.1%} {expanded:>9.3%} {error:>9.3%}{remark}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
