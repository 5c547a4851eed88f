# SPDX-License-Identifier: Apache-2.0
"""Energy files of EEMBC's runner, written here in the form of the published ones."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.options import Options
from tests.rig.cli.test_measure import content

HZ = 1000
#: Seconds at which SYNC falls: a first stamp, then idle and inference in turn.
STAMPS = (0.014, 0.6, 1.1, 1.4, 1.9, 2.3, 2.8)
IDLE_UJ = 10.0
INFER_UJ = (50.0, 52.0, 51.0)


def recording(folder: Path, version: int = 0xF1, unit: float = 1.0) -> Path:
    """Write a recording of three inference windows, each at a power of its own."""
    energy_uj = np.full(3000, IDLE_UJ)
    for number, level in enumerate(INFER_UJ):
        first, last = (
            round(HZ * stamp) for stamp in STAMPS[2 * number + 1 : 2 * number + 3]
        )
        energy_uj[first:last] = level
    path = folder / "trace1-energy.bin"
    path.write_bytes(
        struct.pack("<Bf", version, HZ) + (unit * energy_uj).astype("<f4").tobytes()
    )
    lines = ",\n".join(f"\t{stamp:g}" for stamp in STAMPS)
    path.with_name("trace1-timestamps.json").write_text(f"[\n{lines}\n]\n")
    return path


def test_energies_of_the_runners_windows_and_their_median_are_one_command(
    tmp_path: Path,
) -> None:
    result = content(recording(tmp_path), "--windows", "even", "--per", "10")
    assert [row["name"] for row in result["windows"]] == ["2", "4", "6"]
    for row, level, length in zip(
        result["windows"], INFER_UJ, (500, 500, 500), strict=True
    ):
        assert row["energy_j"] == pytest.approx(level * length * 1e-6, rel=1e-6)
    assert result["spread"]["median_j"] == pytest.approx(51.0 * 500 * 1e-7, rel=1e-6)
    assert result["spread"]["deviation_j"] == pytest.approx(1.0 * 500 * 1e-7, rel=1e-5)
    assert any("7 falling edges" in note for note in result["notes"])


def test_between_stamps_on_borders_lies_what_the_samples_there_say(
    tmp_path: Path,
) -> None:
    # A device whose power is never even: no sample is its neighbour's twin.
    path = recording(tmp_path)
    energy_uj = np.random.default_rng(2).uniform(20.0, 80.0, 3000).astype("<f4")
    path.write_bytes(struct.pack("<Bf", 0xF1, HZ) + energy_uj.tobytes())
    result = content(path)["windows"]
    pairs = list(pairwise(STAMPS))
    for row, (start_s, stop_s) in zip(result, pairs, strict=True):
        inside = energy_uj[round(start_s * HZ) : round(stop_s * HZ)].astype(np.float64)
        assert row["energy_j"] == pytest.approx(float(inside.sum()) * 1e-6, rel=1e-7)
    times = [f"--times={start_s}-{stop_s}" for start_s, stop_s in pairs]
    for row, given in zip(result, content(path, *times)["windows"], strict=True):
        assert row["energy_j"] == pytest.approx(given["energy_j"], rel=1e-12)


def test_stamps_of_another_recording_and_other_versions_and_units_are_refused(
    tmp_path: Path,
) -> None:
    path = recording(tmp_path)
    path.with_name("trace1-timestamps.json").write_text(json.dumps([0.1, 9.0]))
    with pytest.raises(DataError, match=r"9\.0 s lies outside"):
        open_any(path, tmp_path / "1")
    path.with_name("trace1-timestamps.json").write_text(json.dumps([0.2, 0.1]))
    with pytest.raises(DataError, match="backwards"):
        open_any(path, tmp_path / "2")
    assert not len(open_any(path, tmp_path / "3", Options(sync="none")).trace.falls_s)
    with pytest.raises(DataError, match="no energy file"):
        open_any(recording(tmp_path, version=2), tmp_path / "4")
    with pytest.raises(DataError, match="unit is not clear"):
        open_any(recording(tmp_path, unit=1e-6), tmp_path / "5")


def test_lost_samples_are_a_gap_and_a_cut_sample_is_left_out(tmp_path: Path) -> None:
    path = recording(tmp_path)
    block = bytearray(path.read_bytes())
    block[5 + 4 * 700 : 5 + 4 * 710] = struct.pack("<f", float("nan")) * 10
    path.write_bytes(bytes(block) + b"\0\0")
    opened = open_any(path, tmp_path / "scratch")
    assert [(gap.start, gap.stop) for gap in opened.trace.gaps] == [(700, 710)]
    assert "the last sample is cut off and left out" in opened.notes
