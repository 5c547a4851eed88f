# SPDX-License-Identifier: Apache-2.0
"""Columns of a table are read as chosen, and impossible choices are refused; so is a
last line without its end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options

HEAD = "time_ms,I (A),U (V),sync\n"
GOOD = "".join(f"{k},1,2,{k % 2}\n" for k in range(20))


def opened(folder: Path, text: str, **options: Any) -> Opened:
    (folder / "a.csv").write_bytes(text.encode())
    return open_any(folder / "a.csv", folder / "scratch", Options(**options))


@pytest.mark.parametrize(
    ("heading", "options", "said"),
    [
        (
            "time_ms,phase_a,U (V)",
            {},
            "time: time_ms in ms; current: phase_a in A; voltage: U (V) in V",
        ),
        (
            "t,I,U",
            {"time": "t:ms", "current": "I:mA", "voltage": "U:V"},
            "time: t in ms; current: I in mA; voltage: U in V",
        ),
        ("t_ms,power_mw,x", {}, "time: t_ms in ms; power: power_mw in mW"),
        ("t_ms,I (MA),x", {"supply_v": 2.0}, "time: t_ms in ms; current: I (MA) in mA"),
    ],
)
def test_the_columns_and_units_that_were_taken_are_reported(
    tmp_path: Path, heading: str, options: dict[str, Any], said: str
) -> None:
    result = opened(
        tmp_path, heading + "\n" + "".join(f"{k},1,2\n" for k in range(20)), **options
    )
    assert said in result.notes


@pytest.mark.parametrize("unit", ["MA", "Ma", "kA", "V", "", "mA "])
def test_a_unit_that_is_none_as_it_is_written_is_refused(
    tmp_path: Path, unit: str
) -> None:
    text = "t,I,U (V)\n" + "".join(f"{k},1,2\n" for k in range(20))
    if unit.strip() == "mA":
        assert opened(tmp_path, text, time="t:ms", current=f"I:{unit}").trace.energy_j(
            0, 0.02
        ) == pytest.approx(0.02 * 2e-3)
        return
    with pytest.raises(DataError, match="column I has no unit of current") as caught:
        opened(tmp_path, text, time="t:ms", current=f"I:{unit}")
    assert "mA" in caught.value.try_next and "uA" in caught.value.try_next


@pytest.mark.parametrize("sync", ["I (A)", "time_ms", "U (V)", "T [W]"])
def test_a_column_of_something_else_is_not_taken_for_sync(
    tmp_path: Path, sync: str
) -> None:
    text = "time_ms,I (A),U (V),T [W]\n" + "".join(f"{k},1,2,1\n" for k in range(20))
    with pytest.raises(DataError, match="SYNC") as caught:
        opened(
            tmp_path, text, sync=sync, voltage="U (V)", current="I (A)", time="time_ms"
        )
    assert "--sync" in caught.value.try_next and sync in str(caught.value)


def test_a_last_line_without_its_end_is_left_out_and_reported(tmp_path: Path) -> None:
    # A part of a number may be a number, too: 1 of 1.5.
    result = opened(tmp_path, "time_s,I (A),U (V)\n0,1,1.5\n1,1,1.5\n2,1,1.")
    assert result.trace.length == 2
    assert (
        "the last line, 4, does not end and may be cut off: it is left out"
        in result.notes
    )
    whole = opened(tmp_path, "time_s,I (A),U (V)\r\n0,1,1.5\r\n1,1,1.5\r\n2,1,1.5\r\n")
    assert whole.trace.length == 3 and not any(
        "cut off" in note for note in whole.notes
    )


def test_a_table_whose_only_row_does_not_end_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="heading and no rows") as caught:
        opened(tmp_path, HEAD + "0,1,2,1")
    assert "does not end" in caught.value.evidence


@pytest.mark.parametrize(
    ("row", "said", "hint"),
    [
        ('"0,0","1,5","2",1\n', "'0,0'", "decimal commas"),
        ('20,"1.234,5",2,1\n', "'1.234,5'", "thousands"),
        ("2024-01-01T00:00:00,1,2,1\n", "2024-01-01T00:00:00", "seconds"),
        ("2024-01-01 00:00:00.5,1,2,1\n", "2024-01-01", "seconds"),
        ("12:00:01.5,1,2,1\n", "12:00:01.5", "seconds"),
        ("20,overload,2,1\n", "overload", "empty cell"),
    ],
)
def test_a_cell_that_is_no_number_says_what_to_do_about_it(
    tmp_path: Path, row: str, said: str, hint: str
) -> None:
    with pytest.raises(DataError, match="is not a number") as caught:
        opened(tmp_path, HEAD + GOOD + row)
    assert said in caught.value.evidence and hint in caught.value.try_next
    assert "make the file again" not in caught.value.try_next


@pytest.mark.parametrize("cell", ["1e39", "-1e39", "1e300"])
def test_a_reading_beyond_single_precision_is_an_error_with_its_line(
    tmp_path: Path, cell: str
) -> None:
    with pytest.raises(DataError, match=r"line 22: I \(A\)") as caught:
        opened(tmp_path, HEAD + GOOD + f"20,{cell},2,1\n")
    assert (
        cell.lstrip("-") in caught.value.evidence.replace("+", "")
        and caught.value.try_next
    )


def test_a_reading_that_its_program_calls_infinite_is_a_lost_sample(
    tmp_path: Path,
) -> None:
    result = opened(tmp_path, HEAD + GOOD + "20,inf,2,1\n21,1,2,1\n")
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(20, 21)]
