# SPDX-License-Identifier: Apache-2.0
"""Tables whose rows are at uneven times: integrated as stamped, with what that leaves
open."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rig.errors import DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from tests.rig.cli.test_measure import content

EXACT = 'source = "exact, for a test"\nclock_ppm = 0\n' + "".join(
    f"[[{name}]]\nup_to = 100\ngain = 0\noffset = 0\n"
    for name in ("current", "voltage")
)


def log(
    folder: Path, rows: list[tuple[float, ...]], head: str = "t (s),I (A),U (V)"
) -> Path:
    path = folder / "log.csv"
    path.write_text(
        head + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows)
    )
    return path


def straight_j(
    times: list[float], watts: list[float], start: float, stop: float
) -> float:
    """Return the energy of straight lines, by a fine sum of its own."""
    at = np.linspace(start, stop, 200_001)
    return float(np.trapezoid(np.interp(at, times, watts), at))


@pytest.mark.parametrize("seed", range(4))
def test_the_energy_of_the_whole_is_that_of_straight_lines_between_the_rows(
    tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    times = [0.0, *np.cumsum(rng.uniform(0.01, 1.0, 60)).tolist()]
    amperes = rng.uniform(0.001, 2.0, 61).tolist()
    volts = rng.uniform(1.0, 5.0, 61).tolist()
    path = log(tmp_path, list(zip(times, amperes, volts, strict=True)))
    trace = open_any(path, tmp_path / "scratch").trace
    assert trace.duration_s == pytest.approx(times[-1])
    due_j = float(np.trapezoid(np.multiply(amperes, volts), times))
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(due_j, rel=2e-6)


TIMES = [0.0, 0.1, 0.35, 0.4, 0.9, 1.0, 1.3, 1.35, 1.9, 2.0]
AMPERES = [0.1, 0.1, 0.5, 0.5, 0.2, 0.2, 0.2, 0.9, 0.9, 0.1]


def test_the_uncertainty_is_that_of_a_power_anywhere_between_two_rows(
    tmp_path: Path,
) -> None:
    path = log(tmp_path, [(t, a, 2.0) for t, a in zip(TIMES, AMPERES, strict=True)])
    (tmp_path / "exact.toml").write_text(EXACT)
    result = content(path, "--calibration", tmp_path / "exact.toml", "--whole")
    row = result["windows"][0]
    watts = [2.0 * a for a in AMPERES]
    assert row["energy_j"] == pytest.approx(
        straight_j(TIMES, watts, 0.0, 2.0), rel=1e-5
    )
    parts = [
        abs(b - a) * (u - t) / math.sqrt(12)
        for t, u, a, b in zip(TIMES, TIMES[1:], watts, watts[1:], strict=False)
    ]
    # Steps scatter by more than programs do: 0.3 of the usual step is what one may.
    stamp_s = 0.3 * 0.1 / math.sqrt(3)
    stamps = [stamp_s * (b - a) / 2 for a, b in zip(watts, watts[2:], strict=False)]
    ends = [stamp_s * watts[0], stamp_s * watts[-1]]
    due = math.hypot(*parts, *stamps, *ends)
    assert row["energy_u_j"] == pytest.approx(due, rel=1e-6)
    assert row["charge_u_c"] == pytest.approx(due / 2.0, rel=1e-6)
    assert row["mean_u_w"] == pytest.approx(due / 2.0, rel=1e-6)
    output = [note for note in result["notes"] if "integrated as stamped" in note]
    assert len(output) == 1 and "50 ms to 550 ms apart" in output[0]


def test_a_window_holds_what_the_lines_hold_in_it(tmp_path: Path) -> None:
    path = log(tmp_path, [(t, a, 2.0) for t, a in zip(TIMES, AMPERES, strict=True)])
    trace = open_any(path, tmp_path / "scratch").trace
    watts = [2.0 * a for a in AMPERES]
    for start, stop in ((0.0, 0.4), (0.4, 1.35), (0.2, 1.8)):
        # Of a cell that a window cuts its part counts.
        assert trace.energy_j(start, stop) == pytest.approx(
            straight_j(TIMES, watts, start, stop), rel=0.02
        )


def test_a_pause_and_a_row_without_a_reading_are_gaps(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    times = np.round(np.cumsum(rng.uniform(0.01, 0.03, 100)), 4)
    times[50:] += 5.0
    rows = [f"{t:.4f},{0.1 if k != 20 else ''},2" for k, t in enumerate(times)]
    path = tmp_path / "log.csv"
    path.write_text("t (s),I (A),U (V)\n" + "\n".join(rows) + "\n")
    result = open_any(path, tmp_path / "scratch")
    gaps = [(gap.start, gap.stop) for gap in result.trace.gaps]
    assert len(gaps) == 2
    hz = result.trace.sample_hz
    begin = times[0]
    assert gaps[0][0] / hz <= times[20] - begin <= gaps[0][1] / hz
    assert gaps[1][1] / hz - gaps[1][0] / hz == pytest.approx(
        times[50] - times[49], abs=0.05
    )
    assert any("2 pauses are gaps" in note for note in result.notes)


def test_sync_is_known_to_the_interval_in_which_it_changes(tmp_path: Path) -> None:
    levels = [1, 1, 0, 0, 0, 1, 1, 0, 0, 0]
    rows = [(t, 0.1, 2.0, float(level)) for t, level in zip(TIMES, levels, strict=True)]
    trace = open_any(
        log(tmp_path, rows, "t (s),I (A),U (V),sync"), tmp_path / "scratch"
    ).trace
    assert [len(trace.falls_s), len(trace.rises_s)] == [2, 1]
    assert 1 / trace.edge_hz == pytest.approx(0.25)
    assert trace.falls_s[0] == pytest.approx(0.35, abs=0.25)


def opened(path: Path, **options: float) -> Opened:
    return open_any(path, path.with_name("scratch"), Options(**options))  # type: ignore[arg-type]


def test_time_that_runs_backwards_is_refused_as_ever(tmp_path: Path) -> None:
    rows = [(t, 0.1, 2.0) for t in [0.0, 0.1, 0.35, 0.2, 0.4]]
    with pytest.raises(DataError, match="backwards"):
        opened(log(tmp_path, rows))


def test_an_edge_of_a_voltage_is_between_the_rows_that_it_changes_between(
    tmp_path: Path,
) -> None:
    volts = [3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0]
    rows = [(t, 0.1, 2.0, v) for t, v in zip(TIMES, volts, strict=True)]
    path = log(tmp_path, rows, "t (s),I (A),U (V),sync (V)")
    result = opened(path)
    trace = result.trace
    assert result.sync == "voltage" and result.stamped is not None
    assert trace.falls_s == pytest.approx([0.375], abs=0.025)
    assert trace.rises_s == pytest.approx([1.15], abs=0.15)
    assert 1 / trace.edge_hz == pytest.approx(0.3)


def test_a_voltage_line_without_a_reading_has_no_edges(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = "".join(f"{t},0.1,2,\n" for t in TIMES)
    path.write_text("t (s),I (A),U (V),sync (V)\n" + rows)
    assert not len(opened(path).trace.falls_s)


def test_a_power_beside_uneven_rows_is_compared(tmp_path: Path) -> None:
    rows = [(t, 0.1, 2.0, 0.25) for t in TIMES]
    path = log(tmp_path, rows, "t (s),I (A),U (V),P (W)")
    assert any("20 % less than by P (W)" in note for note in opened(path).notes)
