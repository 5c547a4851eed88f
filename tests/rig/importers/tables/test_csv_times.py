# SPDX-License-Identifier: Apache-2.0
"""The times of a table: read exactly, with what their last digit leaves open in the ±,
and no gaps where there are none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rig.cli.measure import measure
from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.measure import trace_windows
from rig.measure.trace_windows import TraceSpan
from rig.measure.with_stamps import with_stamps
from rig.uncertainty import accuracy
from tests.length import length

EXACT = 'source = "exact, for a test"\nclock_ppm = 0\n' + "".join(
    f"[[{name}]]\nup_to = 10\ngain = 0\noffset = 0\n" for name in ("current", "voltage")
)
Read = Callable[..., Opened]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a table of 1 A and 3 V with these times."""
    count = iter(range(100))

    def read_it(times: Iterable[str], unit: str = "s", **options: Any) -> Opened:
        path = tmp_path / "a.csv"
        path.write_text(
            f"t ({unit}),I (A),U (V)\n" + "".join(f"{at},1,3\n" for at in times)
        )
        return open_any(path, tmp_path / f"scratch-{next(count)}", Options(**options))

    return read_it


def rounded(
    hz: float, rows: int, digits: int = 0, unit_s: Fraction = Fraction(1, 1000)
) -> list[str]:
    """Return stamps of rows at a rate, in a unit, rounded as a program prints them."""
    unit = Decimal(unit_s.numerator) / unit_s.denominator
    return [f"{round(Decimal(k) / Decimal(hz) / unit, digits)}" for k in range(rows)]


@pytest.mark.parametrize(
    ("times", "unit", "hz", "said"),
    [
        ([f"{1_700_000_000_000 + k}" for k in range(100)], "ms", 1000, "1700000000"),
        (
            [f"{1_700_000_000 + k // 100_000}.{k % 100_000:05d}" for k in range(1000)],
            "s",
            100_000,
            "1700000000",
        ),
        ([f"1700000000.{k:06d}" for k in range(1000)], "s", 1_000_000, "1700000000"),
        (
            [f"{1_700_000_000_123_456_789 + k * 1000}" for k in range(1000)],
            "ns",
            1_000_000,
            "1700000000.123456789",
        ),
        (
            [f"{Decimal(1_700_000_000_000_000) + Decimal(k) / 4}" for k in range(1000)],
            "us",
            4_000_000,
            "1700000000",
        ),
        (
            [f"-{Decimal(10**15) - Decimal(k) / 4}" for k in range(1000)],
            "us",
            4_000_000,
            "-1000000000",
        ),
    ],
)
def test_unix_times_keep_all_their_digits(
    read: Read, times: list[str], unit: str, hz: int, said: str
) -> None:
    result = read(times, unit)
    assert (
        result.trace.sample_hz,
        result.trace.length,
        result.trace.gaps,
        result.rate_ppm,
    ) == (hz, len(times), (), 0.0)
    assert result.trace.energy_j(0, result.trace.duration_s) == pytest.approx(
        3 * len(times) / hz, rel=1e-9
    )
    assert f"time 0 is the file's {said} s" in result.notes


def test_digits_beyond_the_first_piece_and_after_a_bad_cell_are_kept(
    read: Read,
) -> None:
    times = [f"{1_700_000_000_000_000_000 + k * 1000}" for k in range(70_000)]
    # a line with too many cells: the rest of its piece is read one by one
    times[66_000] += ",9"
    with pytest.raises(DataError, match="line 66002 has 4 cells"):
        read(times, "ns")
    times[66_000] = ""
    with pytest.raises(DataError, match="line 66002: there is no time"):
        read(times, "ns")
    del times[66_000]
    result = read(times, "ns")
    assert result.trace.sample_hz == 1e6 and [
        (gap.start, gap.stop) for gap in result.trace.gaps
    ] == [(66_000, 66_001)]


@given(
    hz=st.floats(20, 950),
    rows=st.integers(20, 400),
    start=st.sampled_from([0, 17, 1_700_000_000_000]),
    digits=st.integers(0, 2),
)
@settings(max_examples=length(60, 20), deadline=None)
def test_rows_at_any_rate_stamped_in_any_resolution_have_no_gaps_and_a_rate_within_what_is_reported(
    tmp_path_factory: pytest.TempPathFactory,
    hz: float,
    rows: int,
    start: int,
    digits: int,
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    stamps = [Decimal(text) + start for text in rounded(hz, rows, digits)]
    lines = [f"{stamp},1,3" for stamp in stamps]
    (folder / "a.csv").write_text("\n".join(["t (ms),I (A),U (V)", *lines, ""]))
    result = open_any(folder / "a.csv", folder / "scratch")
    assert result.trace.length == rows and not result.trace.gaps
    if len({b - a for a, b in pairwise(stamps)}) > 1:
        assert abs(result.trace.sample_hz / hz - 1) <= result.rate_ppm * 1e-6 * (
            1 + 1e-9
        )


@pytest.mark.parametrize(
    ("hz", "rows", "ppm"),
    [
        (300, 30, 1e6 / 97),
        (700, 30, 1e6 / 41),
        (900, 90, 1e6 / 99),
        (450, 60, 1e6 / 131),
    ],
)
def test_stamps_that_are_coarse_against_the_samples_say_how_well_the_rate_is_known(
    read: Read, hz: int, rows: int, ppm: float
) -> None:
    result = read(rounded(hz, rows), "ms")
    assert not result.trace.gaps and result.trace.length == rows
    assert (
        result.rate_ppm == pytest.approx(ppm, rel=0.02)
        and result.rate_ppm > abs(result.trace.sample_hz / hz - 1) * 1e6
    )
    [note] = [note for note in result.notes if "samples a second" in note]
    assert (
        "from the column t (ms)" in note
        and "known to within" in note
        and "1 ms" in note
        and "--rate HZ" in note
    )
    # A rate that is given is taken; the part that the stamps leave open stays in the
    # uncertainty.
    exact = read(rounded(hz, rows), "ms", rate_hz=float(hz))
    assert exact.trace.sample_hz == hz and 1000 < exact.rate_ppm < 2 * ppm
    assert any("does not confirm" in note for note in exact.notes)
    alone = read(rounded(hz, rows), "ms", rate_hz=float(hz), time="none")
    assert alone.rate_ppm == 0.0 and not any("known to" in note for note in alone.notes)


def test_one_missing_row_that_coarse_stamps_cannot_tell_from_another_rate_is_within_it(
    read: Read,
) -> None:
    result = read([str(k) for k in range(100) if k != 40], "ms")
    assert not result.trace.gaps
    assert result.trace.sample_hz == pytest.approx(98 / 0.099)
    # The last digit over the whole length: 1000 Hz and a missing row are within it.
    assert result.rate_ppm == pytest.approx(1e6 / 99, rel=0.02)


def test_missing_rows_that_no_even_sampling_explains_are_gaps(read: Read) -> None:
    kept = [k for k in range(300) if k not in (50, 51, 52, 120, 121, 200, 201, 202)]
    result = read([str(k) for k in kept], "ms")
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [
        (50, 53),
        (120, 122),
        (200, 203),
    ]
    assert result.rate_ppm == pytest.approx(1e6 / 299)


def test_two_rows_do_not_confirm_their_rate(read: Read) -> None:
    assert read(["0", "1"], "ms").rate_ppm == pytest.approx(1e6)
    assert read(["0", "1", "2"], "ms").rate_ppm == 0.0


def test_missing_rows_among_fine_stamps_are_gaps_and_leave_the_rate_exact(
    read: Read,
) -> None:
    result = read([f"{10 * k}" for k in range(300) if k % 7], "ms")
    # The first row, of k = 1, is sample 0.
    assert lost_in(result) == list(range(6, 299, 7))
    assert (result.trace.sample_hz, result.rate_ppm) == (100.0, 0.0)


def stamped(
    hz: float,
    kept: Iterable[int],
    *,
    phase: float = 0.2,
    floor: bool = False,
    start: int = 0,
) -> list[str]:
    """Return stamps in whole ms of these of the samples at a rate."""
    shift = Fraction(phase + (not floor) / 2)
    return [
        f"{start + math.floor(Fraction(k) / Fraction(hz) * 1000 + shift)}" for k in kept
    ]


def lost_in(found: Opened) -> list[int]:
    gaps = found.trace.gaps
    return list(chain.from_iterable(range(gap.start, gap.stop) for gap in gaps))


@pytest.mark.parametrize(
    "hz",
    [
        700.0,
        333.306,
        *(pytest.param(hz, marks=pytest.mark.repeats) for hz in (450.0, 812.3, 620.7)),
    ],
)
@pytest.mark.parametrize(
    "lost",
    [
        {1000},
        {1000, 1001, 2222},
        set(range(900, 940)),
        {3},
        {2996},
        set(range(7, 2990, 71)),
    ],
    ids=lambda lost: f"{len(lost)}",
)
def test_missing_rows_among_coarse_stamps_are_gaps_or_integrated_as_stamped(
    read: Read, hz: float, lost: set[int]
) -> None:
    times = stamped(hz, [k for k in range(3000) if k not in lost])
    result = read(times, "ms")
    if result.stamped is None:
        assert lost_in(result) == sorted(lost)
        assert abs(result.trace.sample_hz / hz - 1) * 1e6 <= result.rate_ppm
        return
    assert_as_stamped(result, times)
    (output,) = [
        note
        for note in result.notes
        if note.startswith("--rate HZ, if each row is one")
    ]
    low_hz, high_hz = (
        float(text) for text in output.split("between ")[1].split()[::2][:2]
    )
    assert low_hz < high_hz and (low_hz + high_hz) / 2 == pytest.approx(hz, rel=0.02)
    given_hz = (low_hz + high_hz) / 2
    taken = read(times, "ms", rate_hz=given_hz)
    assert taken.trace.sample_hz == given_hz and taken.rate_ppm > 0


def assert_as_stamped(found: Opened, times: list[str]) -> None:
    """Compare a table of 1 A and 3 V in ms with the time that its stamps tell, less its
    pauses."""
    assert found.stamped is not None
    assert any("integrated as stamped" in note for note in found.notes)
    trace = found.trace
    assert trace.duration_s == pytest.approx((int(times[-1]) - int(times[0])) / 1000)
    begin_s = max((gap.stop / trace.sample_hz for gap in trace.gaps), default=0.0)
    energy_j = trace.energy_j(begin_s, trace.duration_s)
    assert energy_j == pytest.approx(3.0 * (trace.duration_s - begin_s), rel=1e-6)


def test_a_missing_row_of_a_short_table_of_coarse_stamps_is_integrated_as_stamped(
    read: Read,
) -> None:
    times = stamped(450, [k for k in range(20) if k != 10])
    assert_as_stamped(read(times, "ms"), times)


def test_a_pause_beside_a_missing_row_among_coarse_stamps_is_a_gap(read: Read) -> None:
    again = [str(int(at) + 5123) for at in stamped(700, range(2000), phase=0.9)]
    times = [*stamped(700, [k for k in range(2000) if k != 800]), *again]
    result = read(times, "ms")
    assert_as_stamped(result, times)
    (gap,) = result.trace.gaps
    assert (gap.stop - gap.start) / result.trace.sample_hz == pytest.approx(
        2.266, abs=0.01
    )


def test_times_at_random_are_not_taken_for_rounded_ones_of_which_most_are_missing(
    read: Read,
) -> None:
    random = np.random.default_rng(4)
    for _ in range(5):
        times = [str(at) for at in np.cumsum(random.integers(1, 8, 40))]
        assert_as_stamped(read(times, "ms"), times)


def test_missing_rows_of_an_even_stamp_are_not_explained_by_chance(read: Read) -> None:
    random = np.random.default_rng(5)
    lost = sorted(random.choice(np.arange(5, 2995), 40, replace=False).tolist())
    result = read(stamped(1000, [k for k in range(3000) if k not in lost]), "ms")
    assert result.trace.sample_hz == 1000 and lost_in(result) == lost
    assert 0 < result.rate_ppm < 400


@given(
    hz=st.floats(30, 960),
    rows=st.integers(400, 1500),
    lost=st.lists(st.integers(2, 390), max_size=12, unique=True),
    phase=st.floats(0, 1, exclude_max=True),
    floor=st.booleans(),
    start=st.sampled_from([0, 1_700_000_000_000]),
)
@example(
    hz=150.0, rows=400, lost=[151, 220, 304, 382, 385], phase=0.75, floor=True, start=0
)
@settings(max_examples=length(60, 20), deadline=None)
def test_random_missing_rows_are_gaps_or_a_doubt_is_reported_or_rows_are_taken_as_stamped(
    tmp_path_factory: pytest.TempPathFactory,
    hz: float,
    rows: int,
    lost: list[int],
    phase: float,
    floor: bool,
    start: int,
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    kept = [k for k in range(rows) if k not in lost]
    times = stamped(hz, kept, phase=phase, floor=floor, start=start)
    text = "".join(f"{at},{1 + k % 9},3\n" for at, k in zip(times, kept, strict=True))
    (folder / "a.csv").write_text("t (ms),I (A),U (V)\n" + text)
    result = open_any(folder / "a.csv", folder / "scratch")
    if result.stamped is not None:
        assert any("integrated as stamped" in note for note in result.notes)
        return
    # All rows are where their stamps say, to the last digit.
    missing = np.zeros(result.trace.length, dtype=bool)
    missing[lost_in(result)] = True
    places_s = np.flatnonzero(~missing) / result.trace.sample_hz
    stamps_s = (np.array(times, dtype=np.int64) - int(times[0])) / 1000
    assert np.abs(places_s - stamps_s).max() <= 0.00102
    assert abs(places_s[-1] - (rows - 1) / hz) <= 0.00102 + 1 / hz


@dataclass(frozen=True)
class Log:
    """A table of known truth: even samples of a device, and the stamps that a program
    gave them.
    """

    scatter: float
    digits: int
    lost: float


LOGS = [
    Log(scatter=0.0, digits=6, lost=0.0),
    Log(scatter=0.0, digits=6, lost=0.1),
    Log(scatter=0.0, digits=3, lost=0.0),
    Log(scatter=0.0, digits=3, lost=0.1),
    Log(scatter=0.05, digits=6, lost=0.0),
    Log(scatter=0.25, digits=6, lost=0.0),
    Log(scatter=0.25, digits=3, lost=0.05),
]


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_the_energy_of_a_log_of_known_truth_is_within_its_interval(
    tmp_path: Path, log: Log
) -> None:
    random = np.random.default_rng(11)
    (tmp_path / "c.toml").write_text(EXACT)
    limits = accuracy.load(tmp_path / "c.toml")
    apart = []
    for number in range(20):
        hz = float(random.uniform(100, 400))
        power_w = np.repeat(random.uniform(0.5, 2, 100), 4)
        kept = random.random(400) >= log.lost
        kept[[0, 1, 2, 3, 4, -5, -4, -3, -2, -1]] = True
        places = np.flatnonzero(kept)
        times_s = 1 + (places + random.uniform(-1, 1, len(places)) * log.scatter) / hz
        cells = zip(times_s, power_w[places], strict=True)
        rows = [f"{at:.{log.digits}f},{watts / 3:.9f},3\n" for at, watts in cells]
        path = tmp_path / f"{number}.csv"
        path.write_text("t (s),I (A),U (V)\n" + "".join(rows))
        result = open_any(path, tmp_path / f"{number}")
        trace = result.trace
        runs = [(0, trace.length)]
        if trace.gaps:
            begins = [0, *(gap.stop for gap in trace.gaps)]
            ends = [*(gap.start for gap in trace.gaps), trace.length]
            runs = [
                run for run in zip(begins, ends, strict=True) if run[1] - run[0] > 7
            ]
        spans = [
            TraceSpan(f"{first}", first / trace.sample_hz, last / trace.sample_hz)
            for first, last in runs
        ]
        table = trace_windows.tabulate(trace, spans, result.promised(limits), True)
        if result.stamped is not None:
            table = with_stamps(table, spans, result.stamped)
        for row, (first, last) in zip(table[:-1], runs, strict=True):
            due_j = power_w[first:last].sum() / hz
            if result.stamped is not None:
                due_j = np.trapezoid(power_w) / hz
            assert row.energy_j is not None and row.energy_u_j is not None
            rounding_j = 1e-6 * due_j
            apart.append(abs(row.energy_j - due_j) / (row.energy_u_j + rounding_j))
    assert len(apart) >= 20
    assert np.mean(np.array(apart) < 2) >= 0.9, apart


def test_times_far_apart_do_not_fill_the_disk(read: Read) -> None:
    with pytest.raises(DataError, match="line 12: ") as caught:
        read([*map(str, range(10)), "1e15"])
    assert "missing" in str(caught.value)


def measured(folder: Path, times: list[str]) -> dict[str, Any]:
    (folder / "a.csv").write_text(
        "t (ms),I (A),U (V)\n" + "".join(f"{at},1,3\n" for at in times)
    )
    (folder / "c.toml").write_text(EXACT)
    words = [str(folder / "a.csv"), "--calibration", str(folder / "c.toml"), "--json"]
    done = CliRunner().invoke(measure, words, standalone_mode=False)
    assert done.exception is None, done.exception
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_what_the_stamps_leave_open_of_the_rate_is_in_the_uncertainty_of_energy_and_not_of_power(
    tmp_path: Path,
) -> None:
    total = measured(tmp_path, rounded(300, 30))["windows"][0]
    assert total["energy_u_j"] == pytest.approx(
        total["energy_j"] * (1 / 97) / 3**0.5, rel=0.01
    )
    assert (
        abs(total["energy_j"] - 0.3) < 2 * total["energy_u_j"]
        and total["mean_u_w"] == 0.0
    )
    assert measured(tmp_path, rounded(500, 30))["windows"][0]["energy_u_j"] == 0.0, (
        "even stamps say what they say"
    )


def test_a_single_row_between_gaps_is_read_with_its_sync_voltage(
    tmp_path: Path,
) -> None:
    rows = "".join(
        f"{at},1,3,{3 if at < 4 else 0}\n" for at in [*range(8), 20, *range(30, 40)]
    )
    (tmp_path / "a.csv").write_text("t (s),I (A),U (V),sync (V)\n" + rows)
    trace = open_any(tmp_path / "a.csv", tmp_path / "scratch").trace
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(8, 20), (21, 30)]
    assert trace.falls_s.tolist() == pytest.approx([4.0]) and not len(trace.rises_s)
