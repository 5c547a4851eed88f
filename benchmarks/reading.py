# SPDX-License-Identifier: Apache-2.0
"""Speed of reading: the energy of a whole JLS file of another program, by `rig measure`
and by the library alone. All data are simulated.

Run it: `python -m benchmarks.reading [--quick]`; a minute and 0.8 GB of disk; seconds.
CPU time of the process, the library's threads included; the rounds of all rows take
turns, so that other work on the computer meets each alike. Ratios are what can be
compared. The page docs/decisions/2026-11-21-forty-million.md states them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pyjls

from benchmarks.streams import analog
from rig.cli.main import rig
from rig.importers.tables.numeral import without_no_readings
from rig.trace import gaps
from rig.trace.integrate import Sums
from rig.trace.samples import BLOCK

RATE_HZ = 1_000_000
_DISTINCT_S = 2.0
_WRITTEN = 100_000
CURRENT, VOLTAGE = 1, 2
SAMPLES = "the library: all samples"
LOOK = "the library, and a look for lost samples"
SUMS = "the library, the look and the rig's sums"
MEASURE = "rig measure --whole"
#: The command reads a file once, as SUMS does: a second pass would take half as much
#: again.
_BESIDE = 1.3


def write(path: Path, samples: int) -> None:
    """Write current and voltage as another program does."""
    values = dict(zip((CURRENT, VOLTAGE), analog(RATE_HZ, _DISTINCT_S), strict=True))
    writer = pyjls.Writer(str(path))
    writer.source_def(
        source_id=1, name="s", vendor="v", model="m", version="1", serial_number="1"
    )
    for signal, (name, units) in {CURRENT: ("current", "A")}.items() | {
        VOLTAGE: ("voltage", "V")
    }.items():
        writer.signal_def(
            signal_id=signal,
            source_id=1,
            signal_type=pyjls.SignalType.FSR,
            data_type="f32",
            sample_rate=RATE_HZ,
            name=name,
            units=units,
        )
    for at in range(0, samples, _WRITTEN):
        first = at % round(RATE_HZ * _DISTINCT_S)
        for signal, content in values.items():
            writer.fsr(signal, at, content[first : first + _WRITTEN])
    writer.close()


def read(path: Path, take: Callable[[np.ndarray, np.ndarray], object]) -> None:
    """Read both signals a block at a time, and hand each block on."""
    reader = pyjls.Reader(str(path))
    length = int(reader.signals[CURRENT].length)
    for at in range(0, length, BLOCK):
        count = min(BLOCK, length - at)
        take(reader.fsr(CURRENT, at, count), reader.fsr(VOLTAGE, at, count))
    reader.close()


def dropped(current: np.ndarray, voltage: np.ndarray) -> None:
    """Take samples without a use of them."""


def energy(current: np.ndarray, voltage: np.ndarray) -> float:
    """Return a sum of products in double precision, as the shortest program has it."""
    return float(np.multiply(current, voltage, dtype=np.float64).sum())


def looked_through(current: np.ndarray, voltage: np.ndarray) -> None:
    """Look for samples that are no numbers, as the rig does where windows depend on
    them.
    """
    gaps.unreadable(without_no_readings(current), without_no_readings(voltage))


def summed(sums: Sums, current: np.ndarray, voltage: np.ndarray) -> None:
    """Add samples to sums, which are finite where all samples are numbers."""
    sums.add(without_no_readings(current), without_no_readings(voltage))


def measured(path: Path) -> None:
    """Measure the whole file as the command does."""
    with contextlib.redirect_stdout(io.StringIO()):
        rig(["measure", str(path), "--whole", "--json"], standalone_mode=False)


def table(path: Path, rounds: int) -> dict[str, float]:
    """Return the median of the CPU time of each row."""
    rows: dict[str, Callable[[], object]] = {
        SAMPLES: lambda: read(path, dropped),
        "the library, and products summed": lambda: read(path, energy),
        LOOK: lambda: read(path, looked_through),
        SUMS: lambda: read(path, partial(summed, Sums())),
        MEASURE: lambda: measured(path),
    }
    times: dict[str, list[float]] = {name: [] for name in rows}
    # Modules are loaded and pages of the file are in memory after the first one.
    for _ in range(rounds + 1):
        for name, row in rows.items():
            begun = time.process_time()
            row()
            times[name].append(time.process_time() - begun)
    return {name: median(each[1:]) for name, each in times.items()}


def main() -> int:
    """Print the table; return the exit code: 1 where the command needs much more than
    one pass through the file.
    """
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--quick", action="store_true", help="2 million samples")
    quick = options.parse_args().quick
    samples = 2_000_000 if quick else 100_000_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.jls"
        write(path, samples)
        found = table(path, 1 if quick else 5)
    print(f"{samples / 1e6:g} million samples of current and voltage, simulated")
    for name, cpu_s in found.items():
        print(
            f"  {name:<42} {cpu_s:6.2f} s of CPU, {samples / cpu_s / 1e6:5.0f} MS/s,"
            f" {found[SAMPLES] / cpu_s:.2f} of the library"
        )
    # To open a file takes as long as to read two million samples.
    return int(not quick and found[MEASURE] > _BESIDE * found[SUMS])


if __name__ == "__main__":
    sys.exit(main())
