# SPDX-License-Identifier: Apache-2.0
"""Tables in the forms that instruments and loggers write, rebuilt by hand: dates, lines
above the heading, headings of two rows. The power is 1 W in all of them, and then 2 W.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options

ROWS = 100
STEP_S = 0.02
BEGIN = datetime(2026, 3, 1, hour=23, minute=59, second=59)


def watts(k: int) -> float:
    return 1.0 if k < ROWS // 2 else 2.0


def opened(folder: Path, text: str, **options: Any) -> Opened:
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    return open_any(path, folder / "scratch", Options(**options))


def check(found: Opened, hz: float = 1 / STEP_S) -> None:
    trace = found.trace
    assert (
        trace.sample_hz == pytest.approx(hz) and trace.length == ROWS and not trace.gaps
    )
    half_s = ROWS / 2 / hz
    assert trace.energy_j(0.0, half_s) == pytest.approx(half_s)
    assert trace.energy_j(half_s, 2 * half_s) == pytest.approx(2 * half_s)


def at(k: int) -> datetime:
    return BEGIN + timedelta(seconds=k * STEP_S)


DATED = {
    "ISO with T": lambda k: f"{at(k):%Y-%m-%dT%H:%M:%S.%f}",
    "ISO with a zone": lambda k: f"{at(k):%Y-%m-%dT%H:%M:%S.%f}+01:00",
    "UTC": lambda k: f"{at(k):%Y-%m-%dT%H:%M:%S.%f}Z",
    "year first with /": lambda k: f"{at(k):%Y/%m/%d %H:%M:%S.%f}",
    "Python, zeros dropped": lambda k: at(k).isoformat(" "),
    "time of day past midnight": lambda k: f"{at(k):%H:%M:%S.%f}",
}


@pytest.mark.parametrize("form", DATED)
def test_dates_are_read_as_times(tmp_path: Path, form: str) -> None:
    cells = DATED[form]
    text = "timestamp,power (W)\n" + "".join(
        f"{cells(k)},{watts(k)}\n" for k in range(ROWS)
    )
    result = opened(tmp_path, text)
    check(result)
    assert any("time: timestamp in dates" in note for note in result.notes)


def test_a_date_beside_a_time_of_day_is_read_as_one(tmp_path: Path) -> None:
    rows = "".join(
        f"{at(k):%Y-%m-%d};{at(k):%H:%M:%S.%f};{watts(k)};\n" for k in range(ROWS)
    )
    result = opened(tmp_path, "Date;Time;P (W);Remark\n" + rows)
    check(result)
    assert any("time: Date and Time in dates" in note for note in result.notes)


def test_nanoseconds_of_a_date_are_kept(tmp_path: Path) -> None:
    rows = "".join(
        f"2026-03-01T12:00:00.{1_000 * k + 123_000_000:09d},{watts(k)}\n"
        for k in range(ROWS)
    )
    check(opened(tmp_path, "timestamp,power_w\n" + rows), 1e6)


def test_a_date_that_is_none_is_named_by_its_line_and_day_first_is_not_guessed(
    tmp_path: Path,
) -> None:
    rows = [f"{DATED['UTC'](k)},1" for k in range(20)]
    rows[7] = "2026-13-01T00:00:00Z,1"
    with pytest.raises(DataError, match="line 9: timestamp is no date or time"):
        opened(tmp_path, "timestamp,power_w\n" + "\n".join(rows) + "\n")
    rows = [f"{at(k):%d/%m/%Y %H:%M:%S.%f},1" for k in range(20)]
    with pytest.raises(DataError, match="no column of times"):
        opened(tmp_path, "timestamp,power_w\n" + "\n".join(rows) + "\n")


def plain(delimiter: str = ",") -> str:
    return "".join(f"{k}{delimiter}{watts(k) / 2}{delimiter}2.0\n" for k in range(ROWS))


PREAMBLES = {
    "Keysight data log": (
        "Model,N6705C\nSample interval,0.02\nDate,2026/03/01 12:00:00\n\n"
        "Sample,Curr avg 1 (A),Volt avg 1 (V)\n" + plain()
    ),
    "Keysight data log, in words": (
        "Data log file\nSample interval: 20 ms\n\nSample,I1 (A),V1 (V)\n" + plain()
    ),
    "oscilloscope, Start and Increment": (
        "X,CH1,CH2,Start,Increment\nSequence,Ampere,Volt,-1.0,0.02\n"
        + "".join(f"{k},{watts(k) / 2},2.0,,\n" for k in range(ROWS))
    ),
    "oscilloscope, key and value": (
        "Record Length,100\nSample Interval,2.0e-02\nVertical Units,V\n"
        "n,CH1 (A),CH2 (V)\n" + plain()
    ),
    "a rate": "# logger 3\n# Sample rate: 50 Hz\nn;I (A);U (V)\n" + plain(";"),
}


@pytest.mark.parametrize("form", PREAMBLES)
def test_the_interval_of_a_preamble_is_the_rate(tmp_path: Path, form: str) -> None:
    result = opened(tmp_path, PREAMBLES[form])
    check(result)
    assert any("50 samples a second, as the file's" in note for note in result.notes)
    with pytest.raises(DataError, match="contradicts"):
        opened(tmp_path, PREAMBLES[form], rate_hz=70.0)


INTERVALS = {
    "Sample interval (us),100": 1e4,
    "Sampling interval [ms],10": 100.0,
    "Sample interval,100,us": 1e4,
    "Sample interval (us),0.1 ms": 1e4,
    "Sampling rate [kS/s],2": 2000.0,
    "Sample interval;0,0001": 1e4,
}


@pytest.mark.parametrize("line", INTERVALS)
def test_the_unit_of_an_interval_may_stand_beside_its_name(
    tmp_path: Path, line: str
) -> None:
    rows = "".join(f"{k},{watts(k)}\n" for k in range(ROWS))
    text = "No,P (W)\n" + rows
    result = opened(
        tmp_path, f"{line}\n" + (text.replace(",", ";") if ";" in line else text)
    )
    check(result, INTERVALS[line])


@pytest.mark.parametrize("value", ["12.03.2024", "1e400", "-0.1", "3 furlong"])
def test_an_input_that_is_no_interval_is_not_taken_for_one(
    tmp_path: Path, value: str
) -> None:
    rows = "".join(f"{k},{watts(k)}\n" for k in range(ROWS))
    with pytest.raises(DataError, match="no column of times"):
        opened(tmp_path, f"Sample interval,{value}\nNo,P (W)\n{rows}")


def test_a_heading_of_two_rows_has_names_and_units(tmp_path: Path) -> None:
    rows = "".join(f"{k * STEP_S:.2f},{watts(k) / 2},2.0\n" for k in range(ROWS))
    check(opened(tmp_path, "x-axis,1,2\nsecond,Ampere,Volt\n" + rows))


def test_lines_above_a_heading_with_times_are_passed_over(tmp_path: Path) -> None:
    rows = "".join(f"{k * STEP_S:.2f},{watts(k)}\n" for k in range(ROWS))
    check(
        opened(
            tmp_path, "Recorder,3\nOperator,somebody\nNotes,\n\nTime (s),P (W)\n" + rows
        )
    )
