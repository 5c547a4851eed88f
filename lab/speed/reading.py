# SPDX-License-Identifier: Apache-2.0
"""CPU time of reading traces that other programs wrote: a table against pandas alone, a
JLS file against pyjls alone.

Run it: `python -m lab.speed.reading [--rows N] [--samples N]`; a minute. The table has
time, current and voltage; pandas reads it into a frame and sums current times voltage.
The rig also proves that it is evenly sampled and free of repeated rows, and writes a
trace. The JLS file has current and voltage at 1 MHz and a digital line; pyjls reads the
two in blocks of 2**20 samples and sums their product. The rig reads the file in place,
once for lost samples and once for the energy, and the edges of the line; beside it, the
cost of converting the same file. All energies must agree to 1e-6. CPU time of all
threads, as wall time is noise on a shared machine: median of five runs, in turn. The
exit code is 1 where an aim is missed: a table at no more than 5 times pandas, JLS at no
more than 4 times pyjls.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyjls

from rig.importers.open import open_any

TABLE_HZ = 100_000
JLS_HZ = 1_000_000
SUPPLY_V = 3.3
RUNS = 5
MOST_TABLE = 5.0
MOST_JLS = 4.0
_BLOCK = 1 << 20


def write_table(path: Path, rows: int) -> None:
    """Write a table of `rows` rows."""
    current_a = np.random.default_rng(1).normal(1e-3, 1e-5, rows)
    with path.open("w", encoding="ascii") as out:
        out.write("time_s,current_A,voltage_V\n")
        out.writelines(
            f"{k / TABLE_HZ:.5f},{value:.9f},{SUPPLY_V}\n"
            for k, value in enumerate(current_a.tolist())
        )


def write_jls(path: Path, samples: int) -> None:
    """Write a JLS file as another program does, with pyjls alone."""
    rng = np.random.default_rng(2)
    writer = pyjls.Writer(str(path))
    writer.source_def(source_id=1, name="other", vendor="other", model="other")
    for number, name, units in ((1, "current", "A"), (2, "voltage", "V")):
        writer.signal_def(
            signal_id=number,
            source_id=1,
            data_type="f32",
            sample_rate=JLS_HZ,
            name=name,
            units=units,
        )
    writer.signal_def(
        signal_id=3, source_id=1, data_type="u1", sample_rate=JLS_HZ, name="gpi[0]"
    )
    line = np.packbits(np.arange(_BLOCK) % 50_000 > 50, bitorder="little")
    for first in range(0, samples, _BLOCK):
        count = min(_BLOCK, samples - first)
        writer.fsr(1, first, rng.normal(0.02, 0.002, count).astype(np.float32))
        writer.fsr(2, first, np.full(count, SUPPLY_V, np.float32))
        writer.fsr(3, first, line[: (count + 7) // 8])
    writer.close()


def with_pandas(path: Path) -> float:
    """Return the energy of a table in J, with pandas alone."""
    table = pd.read_csv(path)
    return float((table["current_A"] * table["voltage_V"]).sum()) / TABLE_HZ


def with_pyjls(path: Path) -> float:
    """Return the energy of a JLS file in J, with pyjls alone."""
    with pyjls.Reader(str(path)) as reader:
        ids = {signal.name: number for number, signal in reader.signals.items()}
        length = reader.signals[ids["current"]].length
        energy_j = 0.0
        for first in range(0, length, _BLOCK):
            count = min(_BLOCK, length - first)
            current = reader.fsr(ids["current"], first, count)
            voltage = reader.fsr(ids["voltage"], first, count)
            energy_j += float(np.sum(current * voltage, dtype=np.float64)) / JLS_HZ
    return energy_j


def with_rig(path: Path, in_place: bool = True) -> float:
    """Return the energy of a file in J, as `rig measure --whole` finds it."""
    with tempfile.TemporaryDirectory() as scratch:
        trace = open_any(path, Path(scratch) / "trace", in_place=in_place).trace
        return trace.energy_j(0.0, trace.duration_s)


def compare(ways: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Return the CPU seconds of each way; raises RuntimeError where they differ in
    energy."""
    result: dict[str, list[float]] = {name: [] for name in ways}
    energies_j = set()
    for _ in range(RUNS):
        for name, way in ways.items():
            began_s = time.process_time()
            energies_j.add(way())
            result[name].append(time.process_time() - began_s)
    if max(energies_j) > (1 + 1e-6) * min(energies_j):
        raise RuntimeError(f"the energies differ: {sorted(energies_j)}")
    return {name: statistics.median(spent) for name, spent in result.items()}


def tell(title: str, size_b: int, spent_s: dict[str, float], peer: str) -> float:
    """Print the times of a file, and return the ratio of the first way to its peer."""
    print(f"{title}, {size_b / 1e6:.0f} MB")
    for name, each_s in spent_s.items():
        print(
            f"  {name:22} {each_s:7.3f} s CPU  {each_s / spent_s[peer]:5.2f} times"
            f" {peer}"
        )
    return next(iter(spent_s.values())) / spent_s[peer]


def main() -> int:
    """Write both files, read them in turn, and print CPU times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--samples", type=int, default=20_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        write_table(table, options.rows)
        ways = {"rig": lambda: with_rig(table), "pandas": lambda: with_pandas(table)}
        spent_s = compare(ways)
        as_table = tell(
            f"table of {options.rows} rows", table.stat().st_size, spent_s, "pandas"
        )
        jls = Path(folder) / "other.jls"
        write_jls(jls, options.samples)
        spent_s = compare(
            {
                "rig": lambda: with_rig(jls),
                "pyjls": lambda: with_pyjls(jls),
                "rig, converting it": lambda: with_rig(jls, in_place=False),
            }
        )
        as_jls = tell(
            f"JLS of {options.samples} samples", jls.stat().st_size, spent_s, "pyjls"
        )
    return int(as_table > MOST_TABLE or as_jls > MOST_JLS)


if __name__ == "__main__":
    sys.exit(main())
