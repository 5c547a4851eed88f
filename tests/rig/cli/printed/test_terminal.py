# SPDX-License-Identifier: Apache-2.0
"""Text from outside is shown as it is: no markup, no pictures, no commands to the
terminal, and no crash.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.markup import escape
from rich.table import Table

from rig.check.check import Check
from rig.cli.printed.budget_table import print_budget
from rig.cli.printed.checks import print_answer, print_findings
from rig.cli.printed.coverage_table import print_coverage
from rig.cli.printed.result_tables import print_results
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    print_error,
    print_rows,
    print_table,
)
from rig.cli.printed.verdicts import print_explained
from rig.errors import DataError
from rig.files.plain_text import visible
from rig.model.finding import Finding
from rig.model.grid import CellState, Coverage, Covered
from rig.problems import Problem
from rig.results.verdict import Outcome
from rig.session.session import SessionResult
from tests import screens
from tests.commands import rig
from tests.length import length

#: A picture's name between colons, markup that closes no tag, a link, a command to the
#: terminal, one that turns the writing.
EVIL = "H:M:S [/x] [red]:smile: [link=x] \x1b]0;title\x07 \x9b2J \u202egnp"
SHOWN = "H:M:S [/x] [red]:smile: [link=x] �]0;title� �2J �gnp"


def terminal(**options: Any) -> tuple[Terminal, io.StringIO]:
    stream = io.StringIO()
    return Terminal(file=stream, width=400, **options), stream


def said(show: Callable[[Terminal], object]) -> str:
    console, stream = terminal()
    show(console)
    # titles are folded to the width of their tables
    text = " ".join(stream.getvalue().split())
    assert (
        "\x1b" not in text
        and "\x9b" not in text
        and "\u202e" not in text
        and "😄" not in text
    ), repr(text)
    return text


def test_print_and_tables_and_titles_show_what_was_given() -> None:
    table = Table(title=escape(EVIL))
    table.add_column(escape(EVIL))
    table.add_row(escape(EVIL))
    text = said(
        lambda console: (
            console.print(escape(EVIL), highlight=False),
            console.print(table),
        )
    )
    assert text.count(SHOWN) == 4


def test_out_shows_what_was_given() -> None:
    console, stream = terminal()
    console.out(EVIL, highlight=False)
    assert stream.getvalue() == SHOWN + "\n"


@given(st.text())
@settings(max_examples=length(100, 30))
def test_no_text_commands_the_terminal(text: str) -> None:
    seen = visible(text)
    assert len(seen) == len(text)
    assert all(
        sign in "\n\t" or (ord(sign) >= 32 and not 127 <= ord(sign) < 160)
        for sign in seen
    )
    seen.encode("utf-8")


def test_results_of_a_stranger_are_shown_as_they_are(
    run_virtual: Callable[..., SessionResult],
) -> None:
    measured = run_virtual().results
    results = replace(
        measured,
        task=EVIL,
        scenario=EVIL,
        sut=EVIL,
        monitor=EVIL,
        problems=(Problem(EVIL, EVIL, trial=1),),
        trials=tuple(replace(trial, lines=(EVIL,)) for trial in measured.trials),
        replication=replace(
            measured.replication,
            outcome=Outcome.PASS,
            reason=EVIL,
            scope=EVIL,
            rule=EVIL,
            rule_text=EVIL,
            not_tested={EVIL: EVIL},
        ),
        coverage=Coverage(
            0, 1, 0, (CellState(EVIL, EVIL, 1, 0, failures=(EVIL,), state=EVIL),)
        ),
    )
    text = said(lambda console: print_results(console, results))
    assert text.count(SHOWN) >= 4 + 2 + 1 + 3 + 3
    explained = said(lambda console: print_explained(console, results.verdicts))
    assert explained.count(SHOWN) >= 4
    said(lambda console: print_budget(console, results))


def test_checks_errors_lists_and_coverage_are_shown_as_they_are() -> None:
    checked = Check(EVIL, (Finding(EVIL, False, EVIL), Finding(EVIL, True, EVIL)), ())
    reported = said(lambda console: print_answer(console, checked, (), wide=True))
    reported += said(
        lambda console: print_findings(console, Path(EVIL), checked, wide=True)
    )
    assert reported.count(SHOWN) == 6
    reported = said(
        lambda console: print_findings(console, Path(EVIL), checked, wide=False)
    )
    assert reported.count(SHOWN) == 4
    assert (
        said(
            lambda console: print_error(
                console, DataError(EVIL, evidence=EVIL, try_next=EVIL)
            )
        ).count(SHOWN)
        == 3
    )
    assert SHOWN in said(lambda console: print_rows(console, EVIL, [(EVIL, EVIL)]))
    cell = Covered(EVIL, EVIL, 1, 0, (EVIL,))
    assert SHOWN in said(lambda console: print_coverage(console, [cell]))


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]])
def test_a_heading_of_a_table_is_no_picture(tmp_path: Path, form: list[str]) -> None:
    path = tmp_path / "[red]H:M:S.csv"
    path.write_text(
        "t (s),H:M:S,\x1b[31mx,I (A),U (V)\n"
        + "".join(f"{k},1,2,1,2\n" for k in range(20))
    )
    done = rig("measure", path, *form)
    assert done.returncode == 0, done.stderr
    both = done.stdout + done.stderr
    assert "H:M:S" in both and "Ⓜ" not in both and "\x1b[31m" not in both
    refused = rig("measure", path, "--current", "x")
    assert refused.returncode == 2 and "t (s), H:M:S, �[31mx" in refused.stderr


METRIC = "energy_of_an_inference"
NUMBERS = ("60.001 ± 0.036 ms", "-59.998 ± 0.051 ms")


def wide() -> Table:
    table = borderless_table()
    for head in (" metric", "value", "difference", "method"):
        table.add_column(head, no_wrap=True)
    table.add_row(METRIC, *NUMBERS, "by the scatter")
    return table


def narrow() -> Table:
    table = borderless_table()
    for head in (" metric", "value", "difference"):
        table.add_column(head, no_wrap=True)
    table.add_row(METRIC, *NUMBERS)
    return table


@pytest.mark.parametrize("width", [30, 44, 62, 70, 100])
def test_no_number_is_cut_and_what_is_left_out_is_named(width: int) -> None:
    text = screens.screen(
        lambda out: print_table(out, wide(), narrow(), also="with --json"), width
    )
    words = " ".join(text.split())
    assert all(number in words for number in (METRIC, *NUMBERS))
    assert "…" not in text and not screens.wider(f"===== {width} columns\n{text}")
    if width < 80:
        assert "in a wider terminal, or with --json: method" in words
    else:
        assert "by the scatter" in text and "wider" not in text
