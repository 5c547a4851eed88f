# SPDX-License-Identifier: Apache-2.0
"""A pair of files of Otii, and a table with an energy counter as EnergyTrace writes
it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.options import Options


def channel(folder: Path, name: str, step_s: float, values: list[float]) -> Path:
    path = folder / name
    rows = "".join(f"{k * step_s:.6f},{value:.6f}\n" for k, value in enumerate(values))
    path.write_text('"Timestamp","Value"\n' + rows, encoding="utf-8")
    return path


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Write the two files of a second: a step of current and of voltage."""
    folder = tmp_path / "export"
    folder.mkdir()
    channel(folder, "Main current - Ace.csv", 0.001, [0.01] * 500 + [0.03] * 500)
    channel(folder, "Main voltage - Ace.csv", 0.01, [3.0] * 50 + [2.0] * 50)
    channel(folder, "Main power - Ace.csv", 0.001, [9.9] * 1000)
    return folder


@pytest.mark.parametrize(
    "name", [".", "Main current - Ace.csv"], ids=["folder", "file"]
)
def test_a_pair_is_read_by_itself(export: Path, tmp_path: Path, name: str) -> None:
    result = open_any(export / name, tmp_path / "scratch")
    trace = result.trace
    assert (trace.sample_hz, trace.length) == (1000, 1000)
    assert trace.energy_j(0.0, 0.5) == pytest.approx(0.5 * 0.01 * 3.0, rel=1e-6)
    assert trace.energy_j(0.5, 1.0) == pytest.approx(0.5 * 0.03 * 2.0, rel=1e-6)
    assert any("Main voltage - Ace.csv, held from one" in note for note in result.notes)


def test_a_voltage_that_is_missing_or_of_another_time_is_refused(
    export: Path, tmp_path: Path
) -> None:
    channel(export, "Main voltage - Ace.csv", 0.01, [3.0] * 50)
    with pytest.raises(DataError, match="does not cover the time"):
        open_any(export, tmp_path / "1")
    (export / "Main voltage - Ace.csv").unlink()
    with pytest.raises(DataError, match="no voltage of Otii"):
        open_any(export, tmp_path / "2")
    given = open_any(export, tmp_path / "3", Options(supply_v=3.0))
    assert given.trace.energy_j(0.0, 0.5) == pytest.approx(0.015, rel=1e-6)


def test_files_as_asked_for_by_their_columns_are_read_as_ever(
    export: Path, tmp_path: Path
) -> None:
    result = open_any(
        export / "Main power - Ace.csv",
        tmp_path / "scratch",
        Options(power="Value:W", time="Timestamp:s"),
    )
    assert result.trace.energy_j(0.0, 1.0) == pytest.approx(9.9)


@pytest.mark.parametrize(
    ("counts", "said"), [(1.0, "agrees within"), (1.05, "4.8 % less")]
)
def test_the_instruments_own_counter_is_compared(
    tmp_path: Path, counts: float, said: str
) -> None:
    # 2 mA at 3.3 V every millisecond: 6.6 uJ each.
    rows = "".join(
        f"{k * 1_000_000},2000000,3300,{6.6 * counts * k:.4f}\n" for k in range(1000)
    )
    path = tmp_path / "et.csv"
    path.write_text("Time (ns),Current (nA),Voltage (mV),Energy (uJ)\n" + rows)
    result = open_any(path, tmp_path / "scratch")
    assert result.trace.energy_j(0.0, 1.0) == pytest.approx(6.6e-3, rel=1e-6)
    (note,) = [note for note in result.notes if "the instrument's own counter" in note]
    assert said in note
