# SPDX-License-Identifier: Apache-2.0
"""The uncertainty budgets of a session, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich.console import Console

from rig.cli.printed.terminal import borderless_table, escape, print_line, print_table
from rig.results.budget_table import BudgetCell
from rig.results.budget_table import table as budget_table
from rig.results.document import Results
from rig.units import share

#: A component below this share everywhere is left out of the terminal's table; the
#: report has all.
_TELLING = 1e-5
_TITLE = (
    "Each cause has this relative standard uncertainty, for the same samples again:"
)
_BRACKETS = "in brackets: contained in the scatter"


def print_budget(console: Console, results: Results) -> None:
    """Print the uncertainty budgets side by side as shares of the value; components
    that the scatter contains stand in brackets.
    """
    budget = budget_table(results)
    if not budget.rows:
        return
    table = borderless_table()
    table.add_column(" component")
    for column in budget.columns:
        table.add_column(
            escape(column.name).replace("_", "\n"), justify="right", no_wrap=True
        )
    telling = [(name, cells) for name, cells in budget.rows if _is_telling(cells)]
    for component, cells in telling:
        table.add_row(f" {escape(component)}", *(_cell(cell) for cell in cells))
    combined = [column.standard_uncertainty / column.value for column in budget.columns]
    expanded = [column.expanded_uncertainty / column.value for column in budget.columns]
    table.add_row(" [bold]all[/]", *(f"[bold]{share(part)}[/]" for part in combined))
    table.add_row(
        " [bold]± (95 %)[/]", *(f"[bold]{share(part)}[/]" for part in expanded)
    )
    print_line(console, f" {_TITLE}", 1)
    print_table(console, table)
    shown = chain.from_iterable(cells for _, cells in telling)
    is_counted = all(cell.counted for cell in shown if cell is not None)
    remarks = [] if is_counted else [_BRACKETS]
    if left := len(budget.rows) - len(telling):
        remarks.append(f"{left} smaller components not shown")
    if remarks:
        print_line(console, f" {'; '.join(remarks)}", 1)


def _is_telling(cells: Sequence[BudgetCell | None]) -> bool:
    return any(cell and cell.relative >= _TELLING for cell in cells)


def _cell(cell: BudgetCell | None) -> str:
    if cell is None:
        return ""
    return share(cell.relative) if cell.counted else f"({share(cell.relative)})"
