# SPDX-License-Identifier: Apache-2.0
"""A rate that is given with --rate cannot silently contradict the file: beyond 1 % it
is refused, below it is reported.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import DataError
from rig.importers.given_rate import CONFIRMED_PPM, fit
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from tests.length import length
from tests.rig.importers.joulescope.test_jls1 import recording, steady
from tests.rig.importers.profilers.test_ppk2 import archive, frame
from tests.traces import jls_writer

HEAD = "time_s,power_w\n"


def rows(times_s: Any, power_w: float = 1.0) -> str:
    return HEAD + "".join(f"{at:.6f},{power_w}\n" for at in times_s)


def opened(
    folder: Path, content: str | bytes, name: str = "log.csv", **options: Any
) -> Opened:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_any(path, folder / "scratch", Options(**options))


def jls(folder: Path, rate: int, stamped_hz: float = 0.0) -> bytes:
    path = folder / "made.jls"
    writer = jls_writer(path, rate, "current")
    writer.fsr(1, 0, np.ones(1000, np.float32))
    if stamped_hz:
        for at in (0, 1000):
            writer.utc(1, at, round((1000 + at / stamped_hz) * 2**30))
    writer.close()
    return path.read_bytes()


def ppk2(rate_hz: float) -> bytes:
    return archive(
        frame(1000.0) * 100,
        json.dumps({"formatVersion": 2, "metadata": {"samplesPerSecond": rate_hz}}),
    )


#: Each kind of file at 1000 samples a second, and its options beside the rate.
KINDS: dict[str, tuple[Callable[[Path], str | bytes], dict[str, Any]]] = {
    "log.csv": (lambda folder: rows(np.arange(200) / 1000), {}),
    "a.ppk2": (lambda folder: ppk2(1000), {"supply_v": 3.0}),
    "a.jls": (lambda folder: jls(folder, 1000), {"supply_v": 3.0}),
    "stamped.jls": (lambda folder: jls(folder, 1000, 1000.0), {"supply_v": 3.0}),
    "one.jls": (lambda folder: recording(steady(100).rows()), {}),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("rate_hz", [100.0, 980.0, 1020.0, 10_000.0])
def test_a_rate_that_the_file_contradicts_by_more_than_1_percent_is_refused(
    tmp_path: Path, name: str, rate_hz: float
) -> None:
    make, options = KINDS[name]
    with pytest.raises(DataError, match=f"rate, {rate_hz:g} Hz, contradicts") as caught:
        opened(tmp_path, make(tmp_path), name, rate_hz=rate_hz, **options)
    assert "1000" in caught.value.evidence or "1005.03" in caught.value.evidence
    assert "leave out the rate" in caught.value.try_next


@pytest.mark.parametrize("name", KINDS)
def test_a_rate_within_1_percent_is_taken_and_the_difference_said(
    tmp_path: Path, name: str
) -> None:
    make, options = KINDS[name]
    result = opened(tmp_path, make(tmp_path), name, rate_hz=1005.0, **options)
    assert result.trace.sample_hz == 1005.0
    note, *_ = [note for note in result.notes if "1005 Hz, is taken" in note]
    assert "0.5 % more than" in note and "1000 Hz" in note
    same = opened(tmp_path, make(tmp_path), name, rate_hz=1000.0, **options)
    assert not any("is taken" in note for note in same.notes)


def test_a_log_whose_rows_are_not_even_is_not_advised_to_be_taken_as_even(
    tmp_path: Path,
) -> None:
    # As a program that reads a GPU's power writes it: 5 samples a second at first, and
    # then fewer.
    times_s = np.concatenate([np.arange(100) * 0.2, 20 + np.arange(100) * 0.33])
    result = opened(tmp_path, rows(times_s))
    assert result.trace.duration_s == pytest.approx(times_s[-1])
    assert not any("--rate" in note for note in result.notes)
    for rate_hz in (5.0, (len(times_s) - 1) / times_s[-1]):
        with pytest.raises(DataError, match="contradicts the column time_s"):
            opened(tmp_path, rows(times_s), rate_hz=rate_hz)
    assert (
        opened(tmp_path, rows(times_s), rate_hz=5.0, time="none").trace.duration_s
        == 40.0
    )


def test_a_log_whose_stamps_scatter_about_an_even_sampling_names_the_range_of_its_rate(
    tmp_path: Path,
) -> None:
    scatter = np.random.default_rng(3).uniform(-0.45, 0.45, 400)
    content = rows((np.arange(400) + 1 + scatter) / 10)
    notes = "\n".join(opened(tmp_path, content).notes)
    low_hz, high_hz = advised_hz(notes)
    assert 9.9 < low_hz < 10.0 < high_hz < 10.1
    for given_hz in (low_hz, 10.0, high_hz):
        result = opened(tmp_path, content, rate_hz=given_hz)
        assert result.trace.duration_s == pytest.approx(400 / given_hz)
        assert abs(given_hz / 10.0 - 1) * 1e6 <= result.rate_ppm


def advised_hz(text: str) -> tuple[float, float]:
    """Return the range of rates that an advice names, which names none as an option."""
    assert "--rate HZ" in text and not re.search(r"--rate [0-9]", text)
    low, high = re.findall(r"between (\S+) and (\S+) Hz", text)[0]
    return float(low), float(high)


def test_stamps_in_whole_seconds_may_be_given_their_rate_as_far_as_they_tell_it(
    tmp_path: Path,
) -> None:
    content = HEAD + "".join(f"{k // 10},1\n" for k in range(1000))
    with pytest.raises(DataError, match="stands still") as caught:
        opened(tmp_path, content)
    low_hz, high_hz = advised_hz(caught.value.try_next)
    assert 9.8 < low_hz < 10.0 < high_hz < 10.2
    result = opened(tmp_path, content, rate_hz=10.0)
    assert result.trace.duration_s == 100.0 and result.rate_ppm < 2200
    (note,) = [note for note in result.notes if "does not confirm" in note]
    assert f"between {low_hz:g} and {high_hz:g} Hz" in note
    with pytest.raises(DataError, match="contradicts"):
        opened(tmp_path, content, rate_hz=10.4)


def seconds_of_day(count: int) -> str:
    """Return a table as a power meter stores it, with ten rows to each second of its
    clock."""
    cells = (f"2026/03/01,12:00:{3 + k // 10:02d},1.0\n" for k in range(7, count + 7))
    return "Date,Time,P (W)\n" + "".join(cells)


@pytest.mark.parametrize(
    ("content", "worst_hz"),
    [
        (HEAD + "".join(f"{k // 10},1\n" for k in range(300)), 10.3103),
        (seconds_of_day(50), 12.25),
        (seconds_of_day(50), 9.8),
    ],
    ids=["seconds", "seconds of the day", "as many as there seem to be"],
)
def test_a_rate_that_stamps_leave_open_is_refused_or_its_energies_are_within_what_is_reported(
    tmp_path: Path, content: str, worst_hz: float
) -> None:
    with pytest.raises(DataError) as caught:
        opened(tmp_path, content)
    low_hz, high_hz = advised_hz(caught.value.try_next)
    assert low_hz < 10.0 < high_hz
    true_j = content.count("\n") / 10.0 - 0.1
    for given_hz in (10.0, worst_hz):
        try:
            result = opened(tmp_path, content, rate_hz=given_hz)
        except DataError as error:
            # Of 300 rows in whole seconds the average is 10.3103 Hz, and no even
            # sampling.
            assert given_hz != 10.0 and f"between {low_hz:g} and {high_hz:g} Hz" in str(
                error
            )
            continue
        part = result.rate_ppm * 1e-6
        energy_j = result.trace.energy_j(0.0, result.trace.duration_s)
        assert part > 50e-6 and abs(energy_j - true_j) <= part * energy_j
        assert any(
            "does not confirm" in note and "known to within" in note
            for note in result.notes
        )


@given(
    rate_hz=st.floats(0.2, 2000),
    count=st.integers(4, 300),
    samples=st.floats(0.01, 30),
    phase=st.floats(0, 1),
    floor=st.booleans(),
    wrong=st.floats(0.7, 1.4),
)
@settings(max_examples=length(120, 25), deadline=None)
def test_a_given_rate_is_refused_or_the_true_energy_is_within_what_is_reported(
    tmp_path_factory: pytest.TempPathFactory,
    rate_hz: float,
    count: int,
    samples: float,
    phase: float,
    floor: bool,
    wrong: float,
) -> None:
    # Stamps are rounded to a digit that stands for up to 30 samples.
    places = -math.floor(math.log10(samples / rate_hz))
    step = Decimal(10) ** -places
    to = ROUND_FLOOR if floor else ROUND_HALF_EVEN
    stamps = [
        (Decimal((k + phase) / rate_hz)).quantize(step, to) + Decimal(0)
        for k in range(count)
    ]
    content = HEAD + "".join(f"{stamp:f},1\n" for stamp in stamps)
    folder = tmp_path_factory.mktemp("t")
    for given_hz in (rate_hz, rate_hz * wrong):
        try:
            result = opened(folder, content, rate_hz=given_hz)
        except DataError as error:
            assert given_hz != rate_hz and "contradicts" in error.cause
            continue
        if any("tells none" in note for note in result.notes):
            assert stamps[0] == stamps[-1]
            continue
        energy_j = result.trace.energy_j(0.0, result.trace.duration_s)
        part = max(result.rate_ppm, CONFIRMED_PPM) * 1e-6
        assert abs(energy_j - count / rate_hz) <= part * energy_j * (1 + 1e-6)


def test_a_rate_beside_that_of_the_file_is_in_the_uncertainty(tmp_path: Path) -> None:
    for name, (make, options) in KINDS.items():
        result = opened(tmp_path, make(tmp_path), name, rate_hz=1005.0, **options)
        assert 4900 < result.rate_ppm < 5100, name
        same = opened(tmp_path, make(tmp_path), name, rate_hz=1000.0, **options)
        assert same.rate_ppm == 0.0, name


def test_rows_that_are_missing_contradict_a_rate_that_takes_each_row_for_one_sample(
    tmp_path: Path,
) -> None:
    times_s = np.concatenate([np.arange(100), 150 + np.arange(100)]) / 100
    assert opened(tmp_path, rows(times_s)).trace.gaps
    with pytest.raises(DataError, match="contradicts"):
        opened(tmp_path, rows(times_s), rate_hz=100.0)


def test_a_jls_file_whose_rate_is_cut_to_a_whole_number_may_be_given_the_true_one(
    tmp_path: Path,
) -> None:
    for given_hz, rate in ((12.7, 12), (12.7, 13), (10.5, 10)):
        result = opened(
            tmp_path, jls(tmp_path, rate), "a.jls", supply_v=1.0, rate_hz=given_hz
        )
        assert result.trace.sample_hz == given_hz
    with pytest.raises(DataError, match="contradicts"):
        opened(tmp_path, jls(tmp_path, 12), "a.jls", supply_v=1.0, rate_hz=14.1)


def test_without_a_column_of_times_none_is_asked_for(tmp_path: Path) -> None:
    assert (
        opened(tmp_path, "power_w\n" + "1\n" * 20, rate_hz=10.0).trace.duration_s == 2.0
    )
    with pytest.raises(DataError, match="no column of times") as caught:
        opened(tmp_path, rows(np.arange(20)), time="none")
    assert caught.value.try_next == "--rate HZ"


FORMS = [
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%H:%M:%S.%f",
]


def dated(form: str, times_s: Any) -> str:
    begin = datetime(2026, 3, 1, 12)
    cells = [(begin + timedelta(seconds=float(at))).strftime(form) for at in times_s]
    return "timestamp,power_w\n" + "".join(f"{cell},1\n" for cell in cells)


@pytest.mark.parametrize("form", FORMS)
def test_dates_that_are_not_read_contradict_a_rate_as_well(
    tmp_path: Path, form: str
) -> None:
    # A program that reads a GPU's power asks for 10 samples a second, and gets 7.5 of
    # them.
    content = dated(form, np.arange(400) / 7.52)
    with pytest.raises(
        DataError, match="the given rate, 10 Hz, contradicts the column timestamp"
    ) as caught:
        opened(tmp_path, content, rate_hz=10.0)
    assert "7.52 samples a second on average" in caught.value.evidence
    assert opened(tmp_path, content, rate_hz=7.52).trace.sample_hz == 7.52
    (note,) = [
        note
        for note in opened(tmp_path, content, rate_hz=10.0, time="none").notes
        if "contradicts" in note
    ]
    assert "7.52 samples a second" in note


def test_times_of_day_past_midnight_are_compared_and_those_that_are_none_are_reported(
    tmp_path: Path,
) -> None:
    content = dated("%H:%M:%S", 43_190 + np.arange(40))
    assert opened(tmp_path, content, rate_hz=1.0).rate_ppm == 0
    with pytest.raises(DataError, match="contradicts the column timestamp"):
        opened(tmp_path, content, rate_hz=1.3)
    result = opened(tmp_path, content, rate_hz=1.0, time="none")
    assert (
        "the given rate, 1 Hz, is not compared with the column timestamp, whose times"
        " are not understood" in result.notes
    )


@given(
    rate_hz=st.floats(0.01, 1e5),
    count=st.integers(2, 400),
    piece=st.integers(1, 50),
    stretch=st.floats(0.9, 1.1),
    first_s=st.floats(-1e3, 1e3),
)
def test_how_far_rows_are_from_an_even_sampling_is_what_the_farthest_is(
    rate_hz: float, count: int, piece: int, stretch: float, first_s: float
) -> None:
    times_s = first_s + np.arange(count) / rate_hz * stretch
    result = fit((times_s[at : at + piece] for at in range(0, count, piece)), rate_hz)
    assert result.rows == count
    assert result.duration_s == pytest.approx(
        (count - 1) / rate_hz * stretch, rel=1e-6, abs=1e-9
    )
    assert result.off_s == pytest.approx(
        abs(stretch - 1) * (count - 1) / rate_hz, rel=1e-6, abs=1e-9
    )
    assert (
        math.isclose(result.average_hz * stretch, rate_hz, rel_tol=1e-4)
        or result.duration_s < 1e-3
    )
