# SPDX-License-Identifier: Apache-2.0
"""Cells of tables: no spreadsheet takes one for a formula, no terminal for a command,
and written cells can be read again.
"""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.files import table_file
from rig.files.plain_text import visible

FORMULAS = (
    *(
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        " =1",
        "=cmd|' /C calc'!A0",
        "-2+3+cmd|' /C'",
    ),
    *("-a", "+", "--1", "\uff1d1", "-1;2", "= 2"),
)
NUMBERS = (
    "+QM=",
    "-1.5e-3",
    "+7",
    "-.5",
    "-1.5 mA",
    "-3 %",
    "-1.2 mJ ± 0.1 mJ",
    "-inf",
    "-",
    "nan",
    "0",
    f"+{'A' * 30}==",
)


def test_the_line_of_labels_is_read_again_and_is_one_line() -> None:
    line = table_file.labels_line(("SIMULATED", "GENERATED DATA"), "a\nb; c, trial 1")
    assert line == "# neurorig: SIMULATED, GENERATED DATA; a\\nb; c, trial 1\n"
    assert table_file.labels_of(line) == ("SIMULATED", "GENERATED DATA")
    assert table_file.labels_of(table_file.labels_line(("SUBSET",))) == ("SUBSET",)
    assert table_file.labels_line(()) == "" and table_file.labels_of("# time (s)") == ()


def read(written: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(written, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_cell_that_begins_as_a_formula_begins_with_an_apostrophe(text: str) -> None:
    [[result, number]] = read(table_file.text([[text, -1.5e-3]]))
    assert result.startswith("'") and number == "-0.0015"
    assert table_file.tabbed([[text]]).startswith("'") or text.startswith("\t")
    assert table_file.original(result) == text


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_stay_numbers(text: str) -> None:
    assert read(table_file.text([[text]])) == [[text]]
    assert table_file.tabbed([[text]]) == text


def test_no_command_of_a_terminal_is_written() -> None:
    nasty = "a\x1b[2J\x9b31m\u202eb\r=1"
    written = table_file.text([[nasty, f"={nasty}"]])
    assert visible(written) == written
    assert [table_file.original(cell) for cell in read(written)[0]] == [
        nasty,
        f"={nasty}",
    ]
    assert "\x1b" not in table_file.tabbed([[nasty]])


def test_a_cell_begins_no_column_of_its_own_on_the_clipboard() -> None:
    assert table_file.tabbed([["a\t=1", "b\n=2"]]) == "a =1\tb\\n=2"


@given(
    st.text(
        alphabet=st.sampled_from("'\\=-+@\t\r\n\x1b\"u001b,;1ab \ud800"), max_size=9
    )
)
def test_what_was_written_is_read_again(text: str) -> None:
    [[result]] = read(table_file.text([[text]])) or [[""]]
    assert table_file.original(result) == text
