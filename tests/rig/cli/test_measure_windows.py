# SPDX-License-Identifier: Apache-2.0
"""Windows from a file of time stamps and above a threshold, some of them, and their
spread."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.errors import ConfigError, DataError
from tests.rig.cli.test_measure import content, run

HZ = 1000
#: First sample and last of each burst, and its current.
BURSTS = ((100, 150, 0.010), (300, 350, 0.012), (500, 550, 0.011))
IDLE_A = 0.001
VOLTS = 3.0


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a table of three bursts between idle times."""
    current_a = [IDLE_A] * 1000
    for first, last, level in BURSTS:
        current_a[first:last] = [level] * (last - first)
    rows = "".join(f"{k / HZ:.3f},{a}\n" for k, a in enumerate(current_a))
    (tmp_path / "a.csv").write_text("t (s),I (A)\n" + rows)
    return tmp_path / "a.csv"


def energies(path: Path, *words: str | Path) -> list[float]:
    rows = content(path, "--supply-v", str(VOLTS), *words)["windows"]
    return [row["energy_j"] for row in rows]


DUE = [
    pytest.approx(VOLTS * level * (last - first) / HZ) for first, last, level in BURSTS
]


def test_above_a_threshold_each_burst_is_a_window(table: Path) -> None:
    assert energies(table, "--threshold", "0.005") == DUE
    assert energies(table, "--threshold", "0.0115") == DUE[1:2]
    with pytest.raises(DataError, match="does not rise above 1 A"):
        energies(table, "--threshold", "1")
    with pytest.raises(ConfigError, match="one way at a time"):
        energies(table, "--threshold", "1", "--whole")


@pytest.mark.parametrize("lost", [(310, 320), (298, 302), (349, 352), (280, 370)])
def test_a_burst_that_touches_lost_samples_is_one_window_without_energy(
    table: Path, lost: tuple[int, int]
) -> None:
    """Not two, nor a shorter one, which would be a mean per inference that was not
    measured.
    """
    heading, *rows = table.read_text().splitlines(keepends=True)
    table.write_text(heading + "".join(rows[: lost[0]] + rows[lost[1] :]))
    whole_is_lost = lost[0] < BURSTS[1][0] and lost[1] > BURSTS[1][1]
    between = [] if whole_is_lost else [None]
    assert energies(table, "--threshold", "0.005") == [DUE[0], *between, DUE[2]]


def test_at_the_border_of_two_blocks_stretches_are_what_they_are_within_one(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table.read_text().splitlines(keepends=True)
    table.write_text("".join(rows[:311] + rows[331:]))
    whole = content(table, "--supply-v", "3", "--threshold", "0.005")["windows"]
    monkeypatch.setattr("rig.measure.threshold._BLOCK", 5)
    assert content(table, "--supply-v", "3", "--threshold", "0.005")["windows"] == whole


@pytest.mark.parametrize(
    "text",
    [
        "[0.1, 0.15, 0.3, 0.35, 0.5, 0.55]",
        '{"stamps": [0.1, 0.15, 0.3, 0.35, 0.5, 0.55]}',
        "0.1\n0.15  # end of the first\n\n0.3\n0.35\n0.5\n5.5e-1\n",
        "\ufeff0.1\r\n0.15\r\n0.3\r\n0.35\r\n0.5\r\n0.55\r\n",
    ],
    ids=["JSON", "JSON in an object", "text", "text of Windows"],
)
def test_of_single_stamps_each_begins_a_window_and_odd_ones_are_the_bursts(
    table: Path, tmp_path: Path, text: str
) -> None:
    stamps = tmp_path / "stamps"
    stamps.write_text(text, encoding="utf-8")
    assert len(energies(table, "--times", stamps)) == 5
    assert energies(table, "--times", stamps, "--windows", "odd") == DUE
    assert energies(table, "--times", stamps, "--windows", "1,3-5") == [
        DUE[0],
        DUE[1],
        pytest.approx(VOLTS * IDLE_A * 0.15),
        DUE[2],
    ]


@pytest.mark.parametrize(
    "text",
    ["[[0.1, 0.15], [0.3, 0.35], [0.5, 0.55]]", "0.1 0.15\n0.3, 0.35\n0.5;0.55\n"],
)
def test_pairs_are_windows_as_they_stand(
    table: Path, tmp_path: Path, text: str
) -> None:
    stamps = tmp_path / "pairs"
    stamps.write_text(text)
    assert energies(table, "--times", stamps) == DUE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[0.1]", "one time stamp"),
        ("[]", "no time stamps"),
        ("[0.2, 0.1]", "ends before it begins"),
        ("[0.1, null]", "no time stamp"),
        ("[0.1, 1e999]", "ends before"),
        ("[[1, 2, 3]]", "no time stamps"),
        ("{}", "no list"),
        ("[0.1, ", "no JSON"),
        ("soon\nlater\n", "no time stamp"),
        ("-1 2", "ends before"),
    ],
)
def test_an_input_that_is_no_list_of_stamps_is_refused(
    table: Path, tmp_path: Path, text: str, said: str
) -> None:
    stamps = tmp_path / "stamps"
    stamps.write_text(text)
    with pytest.raises(DataError, match=said):
        energies(table, "--times", stamps)


def test_mean_median_and_spread_are_a_line_of_their_own(table: Path) -> None:
    words = (table, "--supply-v", "3", "--threshold", "0.005", "--per", "5")
    spread = content(*words)["spread"]
    each = [VOLTS * level * 0.05 / 5 for _, _, level in BURSTS]
    assert spread["mean_j"] == pytest.approx(sum(each) / 3)
    assert spread["median_j"] == pytest.approx(each[2])
    assert spread["deviation_j"] == pytest.approx(VOLTS * 0.001 * 0.05 / 5)
    printed = run(*words).stdout
    assert (
        "energy of each of 5 in a window, 3 windows: mean 330 µJ, median 330 µJ"
        in printed
    )
    assert content(table, "--supply-v", "3", "--whole")["spread"] is None


@pytest.mark.parametrize("which", ["7", "none", "1-", "2-1", "0"])
def test_windows_that_are_not_there_are_refused(table: Path, which: str) -> None:
    with pytest.raises(ConfigError, match="--windows"):
        energies(table, "--threshold", "0.005", "--windows", which)
