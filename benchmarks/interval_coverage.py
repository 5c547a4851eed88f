# SPDX-License-Identifier: Apache-2.0
"""How often the 95 % interval holds the truth: virtual runs with errors drawn from the stated distributions.

Run it: `.venv/bin/python benchmarks/interval_coverage.py [RUNS]`; 1000 runs unless told. Each run draws gain, offset, voltage gain
and clock of the monitor from their limits, and the device's clock from +-100 ppm; the virtual device varies from query to query;
noise, steps and edges are the monitor's. The truth is the virtual device's own model: mean duration times mean power. It is never
read from a trace.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rig.session import open_bench

BENCH = Path(__file__).resolve().parent.parent / "benches" / "virtual-null.toml"
#: Limits that the monitor states, as large against the scatter of the device as an instrument's are.
GAIN, OFFSET_A, VOLTAGE_GAIN, CLOCK_PPM = 0.003, 20e-6, 0.001, 50.0
#: The device's model: seconds and watts.
PREPROCESS, INFER, IDLE_W, VARIATION = (0.018, 0.035), (0.042, 0.045), 0.012, 0.002
TRUTH = {
    "latency_preprocess": PREPROCESS[0],
    "latency_infer": INFER[0],
    "latency_total": PREPROCESS[0] + INFER[0],
    "energy_preprocess": PREPROCESS[0] * PREPROCESS[1],
    "energy_infer": INFER[0] * INFER[1],
    "energy_total": PREPROCESS[0] * PREPROCESS[1] + INFER[0] * INFER[1],
    "power_idle": IDLE_W,
}
TRUTH["power_active"] = TRUTH["energy_total"] / TRUTH["latency_total"]
TRUTH["power_dynamic"] = TRUTH["power_active"] - IDLE_W
TRUTH["energy_dynamic"] = TRUTH["energy_total"] - IDLE_W * TRUTH["latency_total"]


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one run: how far it is from the truth, and how far it may be (95 %), both relative."""

    name: str
    error: float
    expanded: float


def one_run(seed: int, worse: float = 1.0) -> list[Row]:
    """Run five trials with drawn errors and compare every metric with the truth; gains are `worse` times as large as stated."""
    draw = random.Random(seed)
    gain = worse * GAIN
    overrides = [
        f"bench.seed={seed}",
        f"sut.virtual.clock_ppm={draw.uniform(-100, 100)}",
        f"sut.virtual.preprocess.variation={VARIATION}",
        f"sut.virtual.infer.variation={VARIATION}",
        "monitor.virtual.sample_hz=50_000",
        f"monitor.virtual.gain={draw.uniform(-gain, gain)}",
        f"monitor.virtual.offset_a={draw.uniform(-OFFSET_A, OFFSET_A)}",
        f"monitor.virtual.voltage_gain={draw.uniform(-VOLTAGE_GAIN, VOLTAGE_GAIN)}",
        f"monitor.virtual.clock_ppm={draw.uniform(-CLOCK_PPM, CLOCK_PPM)}",
        f"monitor.virtual.gain_limit={GAIN}",
        f"monitor.virtual.offset_limit_a={OFFSET_A}",
        f"monitor.virtual.voltage_gain_limit={VOLTAGE_GAIN}",
        f"monitor.virtual.clock_limit_ppm={CLOCK_PPM}",
        "monitor.virtual.noise_a=50e-6",
        "task.null.samples=5",
        "scenario.single_stream.idle_s=0.05",
        "scenario.single_stream.warmup=0",
    ]
    with tempfile.TemporaryDirectory() as scratch, open_bench(BENCH, overrides) as bench:
        content = bench.run(5, scratch).content
    assert not content["problems"], content["problems"]
    metrics = content["metrics"]
    return [
        Row(name, metrics[name]["value"] / truth - 1, metrics[name]["expanded_uncertainty"] / truth)
        for name, truth in TRUTH.items()
    ]


def experiment(runs: int, worse: float = 1.0) -> Iterator[tuple[str, float, float, float]]:
    """Yield for each metric its coverage, the mean half-width, and the root mean square error, relative."""
    with ProcessPoolExecutor() as pool:
        rows = [row for found in pool.map(partial(one_run, worse=worse), range(runs), chunksize=4) for row in found]
    for name in TRUTH:
        mine = [row for row in rows if row.name == name]
        yield (
            name,
            sum(abs(row.error) <= row.expanded for row in mine) / len(mine),
            sum(row.expanded for row in mine) / len(mine),
            (sum(row.error**2 for row in mine) / len(mine)) ** 0.5,
        )


def main() -> int:
    """Print the table; exit code 1 when a coverage lies outside 93 to 97 %."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{runs} virtual runs of five trials; all times and energies are simulated\n")
    print(f"{'metric':<20} {'truth inside':>12} {'mean U95':>10} {'rms error':>10}")
    good = True
    for name, inside, expanded, error in experiment(runs):
        good = good and 0.93 <= inside <= 0.97
        remark = "" if 0.93 <= inside <= 0.97 else "  outside 93 to 97 %"
        print(f"{name:<20} {inside:>11.1%} {expanded:>9.3%} {error:>9.3%}{remark}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
