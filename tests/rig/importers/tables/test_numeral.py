# SPDX-License-Identifier: Apache-2.0
"""Only numbers are read as numbers: no separators of thousands, no program's word for
no reading.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.importers.tables import csv_rows
from rig.importers.tables.numeral import is_number
from tests.traces import jls_writer

HEAD = ("time_s", "I (A)", "U (V)")


def opened(
    folder: Path,
    rows: list[tuple[str, ...]],
    delimiter: str = "\t",
    heading: tuple[str, ...] = HEAD,
    **more: Any,
) -> Opened:
    text = "".join(delimiter.join(row) + "\n" for row in [heading, *rows])
    (folder / "a.csv").write_text(text)
    return open_any(folder / "a.csv", folder / "scratch", Options(**more))


def even(count: int, *cells: str) -> list[tuple[str, ...]]:
    return [(str(k), *cells) for k in range(count)]


@pytest.mark.parametrize("delimiter", ["\t", ";"])
@pytest.mark.parametrize("at", [1, 2, 15])
def test_a_comma_beside_a_point_is_no_decimal_comma(
    tmp_path: Path, delimiter: str, at: int
) -> None:
    rows = even(20, "1.5", "3.30")
    rows[at] = (rows[at][0], "1,002", "3.30")
    with pytest.raises(DataError, match=r"I \(A\) is not a number") as caught:
        opened(tmp_path, rows, delimiter)
    assert (
        "'1,002'" in caught.value.evidence
        and "decimal points (1.5)" in caught.value.try_next
    )
    assert f"line {at + 2}" in caught.value.cause


def test_a_comma_in_the_first_row_is_named_with_the_point_that_contradicts_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match=r"line 2: U \(V\) is not a number") as caught:
        opened(tmp_path, even(20, "1,002", "3.30"))
    assert (
        "'3.30'" in caught.value.evidence
        and "decimal commas (1,002)" in caught.value.try_next
    )


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_a_point_beside_decimal_commas_is_no_decimal_point(
    tmp_path: Path, delimiter: str
) -> None:
    rows = even(20, "1,5", "3,30")
    rows[7] = ("7", "1.002", "3,30")
    with pytest.raises(DataError, match=r"line 9: I \(A\) is not a number") as caught:
        opened(tmp_path, rows, delimiter)
    assert "'1.002'" in caught.value.evidence


def test_the_two_of_one_column_each_are_refused_as_well(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a number"):
        opened(tmp_path, even(20, "1,002", "3.30"))
    with pytest.raises(DataError, match="is not a number"):
        opened(tmp_path, [(f"{k},5", "1", "3.30") for k in range(20)])


def test_a_comma_far_below_a_point_is_found(tmp_path: Path) -> None:
    rows = even(70_000, "1", "3")
    rows[2] = ("2", "1.5", "3")
    rows[69_000] = ("69000", "1,002", "3")
    with pytest.raises(DataError, match="line 69002: I"):
        opened(tmp_path, rows)


def test_decimal_commas_alone_are_read_and_reported(tmp_path: Path) -> None:
    rows = even(20, "1", "3")
    rows[10] = ("10", "2,5", "3")
    result = opened(tmp_path, rows)
    assert result.trace.energy_j(0.0, 20.0) == pytest.approx((19 + 2.5) * 3)
    assert "commas are decimal commas" in result.notes
    assert (
        "commas are decimal commas" not in opened(tmp_path, even(20, "1.5", "3")).notes
    )


def test_what_stands_in_columns_that_are_not_read_decides_nothing(
    tmp_path: Path,
) -> None:
    rows = [(str(k), "1,5", "3,0", "v1.2") for k in range(20)]
    result = opened(tmp_path, rows, heading=(*HEAD, "remark"))
    assert result.trace.energy_j(0.0, 20.0) == pytest.approx(90.0)
    rows = [(str(k), "1.5", "3.0", "a, b") for k in range(20)]
    assert opened(tmp_path, rows, heading=(*HEAD, "remark")).trace.energy_j(
        0.0, 20.0
    ) == pytest.approx(90.0)


@pytest.mark.parametrize(
    "cell",
    [
        "1_012",
        "1_0.5",
        "0x10",
        "1e",
        "٣",
        "1 012",
        "1'012",
        "1d3",
        "½",
        "--1",
        "1.2.3",
        "1,002,003",
    ],
)
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_what_other_programs_take_for_a_number_is_none(
    tmp_path: Path, cell: str, column: int, delimiter: str
) -> None:
    if delimiter == "," and "," in cell:
        cell = f'"{cell}"'
    rows = even(20, "1", "3")
    rows[12] = tuple(cell if at == column else text for at, text in enumerate(rows[12]))
    with pytest.raises(DataError, match=r"line 14: .* is not a number"):
        opened(tmp_path, rows, delimiter)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["r", ".3f", ".6e", "+.2f", "g"]),
)
def test_every_number_that_python_prints_is_one(value: float, form: str) -> None:
    assert is_number(repr(value) if form == "r" else format(value, form))


@given(st.text(alphabet="0123456789.eE+-_ ,xna", max_size=8))
def test_a_number_is_what_float_and_no_more_reads(text: str) -> None:
    if is_number(text):
        float(text)


@pytest.mark.parametrize(
    "cell", ["9.9E37", "9.91E37", "-9.9E37", "+9.900000E+37", "9.91e+37", "99E36"]
)
@pytest.mark.parametrize("unit", ["A", "mA", "uA"])
def test_what_instruments_write_for_no_reading_is_a_gap(
    tmp_path: Path, cell: str, unit: str
) -> None:
    rows = even(20, "1", "3")
    rows[5] = rows[6] = ("5", cell, "3")
    rows[6] = ("6", cell, "3")
    result = opened(tmp_path, rows, heading=("time_s", f"I ({unit})", "U (V)"))
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(5, 7)]
    assert "9.9E37" in result.trace.gaps[0].cause
    assert result.trace.energy_j(10.0, 20.0) == pytest.approx(
        30.0 * {"A": 1, "mA": 1e-3, "uA": 1e-6}[unit]
    )


def test_an_empty_cell_is_a_lost_sample_and_costs_the_others_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(csv_rows.Piece, "_slow")
    rows = even(20, "1.5", "3.3")
    rows[5] = ("5", "", "3.3")
    result = opened(tmp_path, rows, ",")
    assert result.trace.length == 20
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(5, 6)]


def test_an_empty_line_is_no_sample(tmp_path: Path) -> None:
    rows = [("1.5",)] * 5 + [("",)] + [("1.5",)] * 5
    result = opened(
        tmp_path, rows, ";", ("I (A)",), time="none", rate_hz=10.0, supply_v=3.0
    )
    assert result.trace.length == 10 and not result.trace.gaps


def test_no_reading_of_sync_s_voltage_is_no_edge(tmp_path: Path) -> None:
    rows = [(str(k), "1", "3", "3.3" if k < 30 else "0") for k in range(60)]
    rows[10] = ("10", "1", "3", "9.91E37")
    rows[45] = ("45", "1", "3", "")
    result = opened(tmp_path, rows, heading=(*HEAD, "sync (V)"))
    assert result.trace.falls_s.tolist() == pytest.approx([30.0])
    assert not len(result.trace.rises_s)


def test_a_jls_file_with_no_readings_has_gaps_there(tmp_path: Path) -> None:
    writer = jls_writer(tmp_path / "a.jls", 1000, "current")
    current = np.ones(1000, np.float32)
    current[100:103] = (9.9e37, -9.9e37, 9.91e37)
    writer.fsr(1, 0, current)
    writer.close()
    result = open_any(tmp_path / "a.jls", tmp_path / "scratch", Options(supply_v=3.0))
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(100, 103)]
