# SPDX-License-Identifier: Apache-2.0
"""The times of a table: read exactly, with what their last digit leaves open in the ±, and no gaps where there are none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.cli.measure import measure
from rig.errors import DataError
from rig.foreign import open_any
from rig.foreign.origin import Opened, Options

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
        path.write_text(f"t ({unit}),I (A),U (V)\n" + "".join(f"{at},1,3\n" for at in times))
        return open_any(path, tmp_path / f"scratch-{next(count)}", Options(**options))

    return read_it


def rounded(hz: float, rows: int, digits: int = 0, unit_s: Fraction = Fraction(1, 1000)) -> list[str]:
    """Return stamps of rows at a rate, in a unit, rounded as a program prints them."""
    return [f"{round(Decimal(k) / Decimal(hz) / (Decimal(unit_s.numerator) / unit_s.denominator), digits)}" for k in range(rows)]


@pytest.mark.parametrize(
    ("times", "unit", "hz", "said"),
    [
        ([f"{1_700_000_000_000 + k}" for k in range(100)], "ms", 1000, "1700000000"),
        ([f"{1_700_000_000 + k // 100_000}.{k % 100_000:05d}" for k in range(1000)], "s", 100_000, "1700000000"),
        ([f"1700000000.{k:06d}" for k in range(1000)], "s", 1_000_000, "1700000000"),
        ([f"{1_700_000_000_123_456_789 + k * 1000}" for k in range(1000)], "ns", 1_000_000, "1700000000.123456789"),
        ([f"{Decimal(1_700_000_000_000_000) + Decimal(k) / 4}" for k in range(1000)], "us", 4_000_000, "1700000000"),
        ([f"-{Decimal(10**15) - Decimal(k) / 4}" for k in range(1000)], "us", 4_000_000, "-1000000000"),
    ],
)
def test_unix_times_keep_all_their_digits(read: Read, times: list[str], unit: str, hz: int, said: str) -> None:
    found = read(times, unit)
    assert (found.trace.sample_hz, found.trace.length, found.trace.gaps, found.rate_ppm) == (hz, len(times), (), 0.0)
    assert found.trace.energy_j(0, found.trace.duration_s) == pytest.approx(3 * len(times) / hz, rel=1e-9)
    assert f"time 0 is the file's {said} s" in found.notes


def test_digits_beyond_the_first_piece_and_behind_a_bad_cell_are_kept(read: Read) -> None:
    times = [f"{1_700_000_000_000_000_000 + k * 1000}" for k in range(70_000)]
    times[66_000] += ",9"  # a line with too many cells: the rest of its piece is read one by one
    with pytest.raises(DataError, match="line 66002 has 4 cells"):
        read(times, "ns")
    times[66_000] = ""
    with pytest.raises(DataError, match="line 66002: there is no time"):
        read(times, "ns")
    del times[66_000]
    found = read(times, "ns")
    assert found.trace.sample_hz == 1e6 and [(gap.start, gap.stop) for gap in found.trace.gaps] == [(66_000, 66_001)]


@given(
    hz=st.floats(20, 950), rows=st.integers(20, 400), start=st.sampled_from([0, 17, 1_700_000_000_000]), digits=st.integers(0, 2)
)
@settings(max_examples=60, deadline=None)
def test_rows_at_any_rate_stamped_in_any_resolution_have_no_gaps_and_a_rate_within_what_is_said(
    tmp_path_factory: pytest.TempPathFactory, hz: float, rows: int, start: int, digits: int
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    lines = [f"{Decimal(text) + start},1,3" for text in rounded(hz, rows, digits)]
    (folder / "a.csv").write_text("\n".join(["t (ms),I (A),U (V)", *lines, ""]))
    found = open_any(folder / "a.csv", folder / "scratch")
    steps = {Decimal(b.split(",")[0]) - Decimal(a.split(",")[0]) for a, b in pairwise(lines)}
    lost = sum(gap.stop - gap.start for gap in found.trace.gaps)
    if lost:
        # One step of twice the others may be either: then it is a gap, and said.
        assert lost <= 2 and any("cannot tell" in note for note in found.notes)
    assert found.trace.length == rows + lost
    if len(steps) > 1:
        assert abs(found.trace.sample_hz / hz - 1) <= found.rate_ppm * 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("hz", "rows", "ppm"), [(300, 30, 1e6 / 97), (700, 30, 1e6 / 41), (900, 90, 1e6 / 99), (450, 60, 1e6 / 131)]
)
def test_stamps_that_are_coarse_against_the_samples_say_how_well_the_rate_is_known(
    read: Read, hz: int, rows: int, ppm: float
) -> None:
    found = read(rounded(hz, rows), "ms")
    assert not found.trace.gaps and found.trace.length == rows
    assert found.rate_ppm == pytest.approx(ppm, rel=0.02) and found.rate_ppm > abs(found.trace.sample_hz / hz - 1) * 1e6
    [note] = [note for note in found.notes if "samples a second" in note]
    assert "from the column t (ms)" in note and "known to ±" in note and "1 ms" in note and "--rate HZ" in note
    exact = read(rounded(hz, rows), "ms", rate_hz=float(hz))
    assert exact.trace.sample_hz == hz and exact.rate_ppm == 0.0 and not any("±" in note for note in exact.notes)


def test_one_missing_row_that_coarse_stamps_cannot_tell_from_another_rate_is_a_gap_and_said(read: Read) -> None:
    found = read([str(k) for k in range(100) if k != 40], "ms")
    assert [(gap.start, gap.stop) for gap in found.trace.gaps] == [(40, 41)] and found.trace.sample_hz == 1000
    assert any("cannot tell" in note and "--rate 989.899" in note for note in found.notes)
    # Either way: 1 % between both, and 1 % of the even one.
    assert found.rate_ppm == pytest.approx(2e6 / 99, rel=0.02)


def test_missing_rows_that_no_even_sampling_explains_are_gaps(read: Read) -> None:
    kept = [k for k in range(300) if k not in (50, 51, 52, 120, 200)]
    found = read([str(k) for k in kept], "ms")
    assert [(gap.start, gap.stop) for gap in found.trace.gaps] == [(50, 53), (120, 121), (200, 201)]
    assert not any("cannot tell" in note for note in found.notes)


def test_times_far_apart_do_not_fill_the_disk(read: Read) -> None:
    with pytest.raises(DataError, match="line 12: ") as caught:
        read([*map(str, range(10)), "1e15"])
    assert "missing" in str(caught.value)


def measured(folder: Path, times: list[str]) -> dict[str, Any]:
    (folder / "a.csv").write_text("t (ms),I (A),U (V)\n" + "".join(f"{at},1,3\n" for at in times))
    (folder / "c.toml").write_text(EXACT)
    words = [str(folder / "a.csv"), "--calibration", str(folder / "c.toml"), "--json"]
    done = CliRunner().invoke(measure, words, standalone_mode=False)
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_the_stamps_leave_open_of_the_rate_is_in_the_uncertainty_of_energy_and_not_of_power(tmp_path: Path) -> None:
    total = measured(tmp_path, rounded(300, 30))["windows"][0]
    assert total["energy_u_j"] == pytest.approx(total["energy_j"] * (1 / 97) / 3**0.5, rel=0.01)
    assert abs(total["energy_j"] - 0.3) < 2 * total["energy_u_j"] and total["mean_u_w"] == 0.0
    assert measured(tmp_path, rounded(500, 30))["windows"][0]["energy_u_j"] == 0.0, "even stamps say what they say"


def test_a_single_row_between_gaps_is_read_with_its_sync_voltage(tmp_path: Path) -> None:
    rows = "".join(f"{at},1,3,{3 if at < 4 else 0}\n" for at in [*range(8), 20, *range(30, 40)])
    (tmp_path / "a.csv").write_text("t (s),I (A),U (V),sync (V)\n" + rows)
    trace = open_any(tmp_path / "a.csv", tmp_path / "scratch").trace
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(8, 20), (21, 30)]
    assert trace.falls_s.tolist() == pytest.approx([4.0]) and not len(trace.rises_s)
