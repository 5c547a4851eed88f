# SPDX-License-Identifier: Apache-2.0
"""Units of a table's columns: written out, in the cells, or a voltage across a shunt;
and one refusal that names all that is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rig.cli.measure import measure
from rig.errors import ConfigError, DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options


def opened(folder: Path, text: str, **options: Any) -> Opened:
    (folder / "a.csv").write_text(text)
    return open_any(folder / "a.csv", folder / "scratch", Options(**options))


def table(heading: str, row: str, rows: int = 50) -> str:
    """Return a table whose rows are this one, with its number for K."""
    return (
        heading + "\n" + "".join(row.replace("K", str(k)) + "\n" for k in range(rows))
    )


@pytest.mark.parametrize(
    ("heading", "row", "hz", "power_w"),
    [
        ("time (seconds),current (amps),volts", "K,0.5,2", 1.0, 1.0),
        ("millis,current_mA,bus_V", "K,500,2", 1000.0, 1.0),
        ("micros,milliamps,volts", "K,500,2", 1e6, 1.0),
        ("Time (sec),Power (Watts)", "K,33.3", 1.0, 33.3),
        # As nvidia-smi --format=csv writes it: the unit in every cell, too.
        ("millis,power.draw [W]", "K, 33.30 W", 1000.0, 33.3),
        ("millis,power", "K,33.30 W", 1000.0, 33.3),
        ("t,i,u", "K ms,500 mA,2.00 V", 1000.0, 1.0),
        ("t;i;u", "K ms;500,0 mA;2,00 V", 1000.0, 1.0),
    ],
)
def test_units_that_are_written_out_or_stand_in_the_cells_are_read(
    tmp_path: Path, heading: str, row: str, hz: float, power_w: float
) -> None:
    trace = opened(tmp_path, table(heading, row)).trace
    assert trace.sample_hz == hz
    assert trace.mean_w(0.0, trace.duration_s) == pytest.approx(power_w)


def test_a_cell_with_another_prefix_than_its_column_is_read_in_its_own(
    tmp_path: Path,
) -> None:
    rows = ["0,33.30 W", "1,950.0 mW", "2,1.05 W", "3,950000 uW"]
    trace = opened(tmp_path, "millis,power\n" + "\n".join([*rows, ""])).trace
    total_w = 33.3 + 0.95 + 1.05 + 0.95
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(1e-3 * total_w)


@pytest.mark.parametrize("cell", ["33.30 V", "33.30 MW", "33.30 [N/A]", "33.30 X"])
def test_a_cell_in_another_unit_than_its_column_is_refused_with_its_line(
    tmp_path: Path, cell: str
) -> None:
    text = table("millis,power.draw [W]", "K, 33.30 W") + f"50, {cell}\n"
    with pytest.raises(DataError, match=r"line 52: .* is not a number") as caught:
        opened(tmp_path, text)
    assert cell in caught.value.evidence


def test_one_refusal_names_all_that_a_heading_leaves_open(tmp_path: Path) -> None:
    # The heading of a data logger's export in BenchVue: no unit anywhere.
    with pytest.raises(DataError) as caught:
        opened(tmp_path, table("Sample,Curr avg 1,Volt avg 1", "K,0.5,2"))
    error = caught.value
    for what in ("no column of times", "no column of current or power", "no voltage"):
        assert what in error.cause
    assert "without a unit: Sample, Curr avg 1, Volt avg 1" in error.evidence
    for option in (
        "--rate HZ",
        "--current COLUMN:UNIT, as 'Curr avg 1:UNIT'",
        "--supply-v VOLTS",
    ):
        assert option in error.try_next
    # And its text is enough.
    options = {"rate_hz": 100.0, "current": "Curr avg 1:A", "voltage": "Volt avg 1:V"}
    trace = opened(
        tmp_path, table("Sample,Curr avg 1,Volt avg 1", "K,0.5,2"), **options
    ).trace
    assert trace.mean_w(0.0, trace.duration_s) == pytest.approx(1.0)


def test_options_that_are_wrong_are_named_together(tmp_path: Path) -> None:
    text = table("t,I,U,sync", "K,0.5,2,1")
    wrong = {"time": "t:mA", "current": "J:mA", "voltage": "U", "sync": "gate"}
    with pytest.raises(DataError) as caught:
        opened(tmp_path, text, **wrong)
    for what in (
        "column t has no unit of time",
        "no columns are called J",
        "no column is called gate",
        "column U has no unit of voltage",
    ):
        assert what in caught.value.cause
    for option in ("--time", "--current", "--voltage", "--sync"):
        assert option in caught.value.try_next


def test_a_voltage_across_a_shunt_is_a_current_of_a_stated_resistance(
    tmp_path: Path,
) -> None:
    # An oscilloscope: the first channel across 0.1 ohm, the second at the supply.
    text = table("Time (s),CH1 (mV),CH2 (V)", "K,5,2")
    with pytest.raises(DataError) as caught:
        opened(tmp_path, text)
    assert "--shunt-ohm OHMS" in caught.value.try_next
    result = opened(tmp_path, text, current="CH1 (mV)", shunt_ohm=0.1)
    assert result.trace.mean_w(0.0, result.trace.duration_s) == pytest.approx(0.05 * 2)
    assert any("0.1 ohm, as given" in note for note in result.notes)
    with pytest.raises(ConfigError, match="which column"):
        opened(tmp_path, text, shunt_ohm=0.1)
    with pytest.raises(DataError, match="has no unit of voltage"):
        opened(tmp_path, table("Time (s),I (A)", "K,5"), current="I (A)", shunt_ohm=0.1)
    (tmp_path / "a.csv").write_text(text)
    words = ["--current", "CH1 (mV)", "--shunt-ohm", "0.1"]
    done = CliRunner().invoke(
        measure, [str(tmp_path / "a.csv"), *words], standalone_mode=False
    )
    assert done.exception is None
