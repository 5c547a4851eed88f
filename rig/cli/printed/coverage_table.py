# SPDX-License-Identifier: Apache-2.0
"""Table of the cells of a grid: done, failed, missing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich.console import Console

from rig.cli.printed.terminal import borderless_table, escape, print_line, print_table
from rig.model.grid import DONE, FAILED, Coverage, Covered


def print_states(console: Console, coverage: Coverage) -> None:
    """Print how many cells are done, and for each incomplete workload the missing cells
    or the reasons why they failed.
    """
    line = (
        f"coverage: {coverage.done} cells done, {coverage.failed} failed, "
        f"{coverage.missing} missing"
    )
    print_line(console, line, 2)
    for workload in dict.fromkeys(cell.workload for cell in coverage.cells):
        cells = []
        for cell in coverage.cells:
            if cell.workload == workload and cell.state != DONE:
                cells.append(cell)
        for state in dict.fromkeys(cell.state for cell in cells):
            of_state = [cell for cell in cells if cell.state == state]
            failures = chain.from_iterable(cell.failures for cell in of_state)
            reasons = dict.fromkeys(failures)
            whats = ", ".join(cell.what for cell in of_state)
            line = ": ".join([f"{workload} {whats}", *reasons])
            print_line(console, f"  [red]{escape(state)}[/] {escape(line)}", 4)


def print_coverage(console: Console, cells: Sequence[Covered]) -> None:
    """Print the cells that are not done, then a table of all workloads."""
    whats = list(dict.fromkeys(cell.what for cell in cells))
    by_place = {(cell.workload, cell.what): cell for cell in cells}
    tables = []
    # In a narrow terminal a cell has a line for each of its words.
    for break_words in (False, True):
        table = borderless_table()
        table.add_column(" workload", no_wrap=True)
        for what in whats:
            table.add_column(escape(what), no_wrap=not break_words)
        for workload in dict.fromkeys(cell.workload for cell in cells):
            states = (_state(by_place.get((workload, what))) for what in whats)
            table.add_row(f" {escape(workload)}", *states)
        tables.append(table)
    print_states(console, Coverage.of(cells))
    print_table(console, *tables)


def _state(cell: Covered | None) -> str:
    if cell is None:
        return ""
    colour = {DONE: "green", FAILED: "red"}.get(cell.state, "yellow")
    count = "" if cell.asked == 1 or not cell.done else f" {cell.done} of {cell.asked}"
    return f"[{colour}]{escape(cell.state)}{count if cell.state != DONE else ''}[/]"
