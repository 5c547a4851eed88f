# SPDX-License-Identifier: Apache-2.0
"""Tables that have a row twice, as Power Profiler's export wrote them for years."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options


def exported(folder: Path, rows: int, piece: int) -> Opened:
    """Write a table at 100 kHz as the export did: each piece begins with the last row
    of the one before.
    """
    lines = [f"{k / 100:.2f},{1000 + k % 700 / 10:.3f},00000000\n" for k in range(rows)]
    text = "Timestamp(ms),Current(uA),D0-D7\n" + "".join(
        line + (line if k % piece == piece - 1 and k < rows - 1 else "")
        for k, line in enumerate(lines)
    )
    path = folder / "ppk.csv"
    path.write_text(text)
    return open_any(path, folder / "scratch", Options(supply_v=3.0))


def test_a_row_in_10000_that_stands_twice_is_left_out_and_reported(
    tmp_path: Path,
) -> None:
    rows = 70_001  # more than is read at once
    result = exported(tmp_path, rows, 10_000)
    assert (result.trace.sample_hz, result.trace.length, result.trace.gaps) == (
        100_000,
        rows,
        (),
    )
    due_j = sum(1000 + k % 700 / 10 for k in range(rows)) * 1e-6 * 3.0 / 100_000
    assert result.trace.energy_j(0.0, result.trace.duration_s) == pytest.approx(
        due_j, rel=1e-6
    )
    assert any("7 rows that repeat the one before" in note for note in result.notes)
    assert any("the first is line 10002" in note for note in result.notes)


def test_rows_that_stand_twice_more_often_are_time_that_stands_still(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        DataError, match="line 102: time runs backwards or stands still"
    ):
        exported(tmp_path, 1000, 100)


def test_the_same_time_with_another_reading_is_no_repetition(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{k},{k}" for k in range(2000)]
    rows[1000] = "999,1000"
    path.write_text("t (ms),I (A)\n" + "\n".join(rows) + "\n")
    with pytest.raises(
        DataError, match="line 1002: time runs backwards or stands still"
    ):
        open_any(path, tmp_path / "scratch", Options(supply_v=3.0))
