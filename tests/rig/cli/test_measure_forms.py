# SPDX-License-Identifier: Apache-2.0
"""Files of other programs, rebuilt by hand in their form with other numbers: `rig
measure` reads each at once, or says in one message what to add, and then reads it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rig.errors import RigError
from tests.rig.cli.test_measure import content
from tests.rig.importers.joulescope import test_jls1 as jls1
from tests.rig.importers.profilers import test_otii as otii
from tests.rig.importers.profilers import test_ppk1 as ppk1
from tests.rig.importers.profilers import test_ppk2 as ppk2
from tests.traces import jls_writer

#: In each file: 10 mA for a second, then 30 mA for another, at 3 V.
HZ = 10_000
ROWS = 2 * HZ
LEVELS_A = [0.01] * HZ + [0.03] * HZ
SUPPLY_V = 3.0
ENERGY_J = 0.12


def rows(row: Callable[[int], str]) -> str:
    return "".join(map(row, range(ROWS)))


def exported_row(k: int) -> str:
    """Return a row as Power Profiler exported it, which repeats one in 10 000."""
    return f"{k / 10:.1f},{1e6 * LEVELS_A[k]:.3f}\n" * (2 if k % 10_000 == 9_999 else 1)


def late_row(k: int) -> str:
    """Return a row of a logger that stamps when it gets to it: up to half a step
    late."""
    at_s = (k + 0.5 * (k * 0.618 % 1.0) * (0 < k < ROWS - 1)) / HZ
    text = f"2026-03-01 12:00:{at_s:09.6f};{LEVELS_A[k]:.4f};3.00\n"
    return text.replace(".", ",")


TABLES = {
    "ppk.csv": ("Timestamp(ms),Current(uA)\n", exported_row),
    "energytrace.csv": (
        "Time (ns),Current (nA),Voltage (mV),Energy (uJ)\n",
        lambda k: (
            f"{k * 100_000},{1e9 * LEVELS_A[k]:.0f},3000,{3e6 / HZ * 0.02 * k:.1f}\n"
        ),
    ),
    "datalog.csv": (
        "Model,N6705C\nSample interval,0.0001\nDate,2026/03/01 12:00:00\n\n"
        "Sample,Curr avg 1 (A),Volt avg 1 (V)\n",
        lambda k: f"{k},{LEVELS_A[k]},3.0\n",
    ),
    "oscilloscope.csv": (
        "X,CH1,CH2,Start,Increment\nSequence,Ampere,Volt,-1.0,1e-04\n",
        lambda k: f"{k},{LEVELS_A[k]},3.0,,\n",
    ),
    "logger.csv": ("Date;I (A);U (V)\n", late_row),
    "unnamed.txt": ("", lambda k: f"{k / HZ:.4f}\t{1e3 * LEVELS_A[k]:.1f}\t3.0\n"),
}


def profiler(folder: Path) -> Path:
    path = folder / "ppk.ppk2"
    raw = b"".join(ppk2.frame(1e6 * level) for level in LEVELS_A)
    about = {"metadata": {"samplesPerSecond": HZ}, "formatVersion": 2}
    path.write_bytes(ppk2.archive(raw, about))
    return path


def profiler_of_before(folder: Path) -> Path:
    path = folder / "old.ppk"
    head = {
        "samplesPerSecond": HZ,
        "timestamp": 2e6,
        "index": ROWS - 1,
        "mode": "ampere",
    }
    current_ua = (1e6 * np.array(LEVELS_A)).astype("<f4")
    start = ppk1.bson({"version": 1, "options": head, "chartState": {"live": False}})
    path.write_bytes(ppk1.packed(start, ppk1.section(current_ua.tobytes())))
    return path


def otii_export(folder: Path) -> Path:
    otii.channel(folder, "Main current - Ace.csv", 1 / HZ, LEVELS_A)
    otii.channel(folder, "Main voltage - Ace.csv", 10 / HZ, [SUPPLY_V] * (ROWS // 10))
    return folder


def eembc(folder: Path) -> Path:
    path = folder / "trace1-energy.bin"
    energy_uj = (1e6 * SUPPLY_V / HZ * np.array(LEVELS_A)).astype("<f4")
    path.write_bytes(struct.pack("<Bf", 0xF1, HZ) + energy_uj.tobytes())
    (folder / "trace1-timestamps.json").write_text(json.dumps([0.0, 1.0, 2.0]))
    return path


def joulescope(folder: Path) -> Path:
    path = folder / "capture.jls"
    writer = jls_writer(path, HZ, "current", "voltage")
    writer.fsr(1, 700, np.array(LEVELS_A, np.float32))
    writer.fsr(2, 700, np.full(ROWS, SUPPLY_V, np.float32))
    writer.close()
    return path


def joulescope_of_before(folder: Path) -> Path:
    path = folder / "capture1.jls"
    current = np.array(LEVELS_A, np.float32)
    voltage = np.full(ROWS, SUPPLY_V, np.float32)
    block = jls1.reduced(current, voltage, current * voltage, np.zeros(ROWS))
    footer = jls1.mjs(type="footer", size=ROWS)
    path.write_bytes(
        jls1.file(jls1.config(HZ, "float32_v2"), jls1.start(0), block, footer)
    )
    return path


def table(name: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        heading, row = TABLES[name]
        (folder / name).write_text(heading + rows(row), encoding="utf-8")
        return folder / name

    return write


#: The file, and what to add where it does not say all: the message names the option.
FORMS: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "Power Profiler 2, its CSV": (table("ppk.csv"), ("--supply-v", "3.0")),
    "Power Profiler 2": (profiler, ("--supply-v", "3.0")),
    "Power Profiler, first format": (profiler_of_before, ("--supply-v", "3.0")),
    "EnergyTrace": (table("energytrace.csv"), ()),
    "Keysight data log": (table("datalog.csv"), ()),
    "oscilloscope": (table("oscilloscope.csv"), ()),
    "dates, uneven, decimal commas": (table("logger.csv"), ()),
    "no heading": (
        table("unnamed.txt"),
        ("--time", "1:s", "--current", "2:mA", "--voltage", "3:V"),
    ),
    "Otii": (otii_export, ()),
    "EEMBC": (eembc, ()),
    "Joulescope": (joulescope, ()),
    "Joulescope before 2022": (joulescope_of_before, ()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_read_at_once_or_after_one_message(tmp_path: Path, form: str) -> None:
    write, missing = FORMS[form]
    path = write(tmp_path)
    if missing:
        with pytest.raises(RigError) as refused:
            content(path, "--whole")
        message = (
            f"{refused.value.cause} {refused.value.evidence} {refused.value.try_next}"
        )
        assert missing[0] in message, message
    (row,) = content(path, "--whole", *missing)["windows"]
    # A table as stamped ends at its last row, half a sample earlier than the others on
    # average.
    assert row["energy_j"] == pytest.approx(ENERGY_J, rel=1e-4)
    assert row["duration_s"] == pytest.approx(2.0, rel=1e-4)
