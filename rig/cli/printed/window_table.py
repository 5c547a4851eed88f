# SPDX-License-Identifier: Apache-2.0
"""The windows of a trace with their energies."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from rig.cli.printed.terminal import Terminal, escape, print_table, say, table_width
from rig.measure.trace_windows import WindowRow
from rig.units import scale

#: The heading of the halves of 95 % intervals.
_HALF = "± 95 %"
#: Heading, field of a row, unit, and the field whose prefix the column shares.
_COLUMNS = (
    ("start", "start_s", "s", "start_s"),
    ("time", "duration_s", "s", "duration_s"),
    ("energy", "energy_j", "J", "energy_j"),
    (_HALF, "energy_u95_j", "J", "energy_j"),
    ("charge", "charge_c", "C", "charge_c"),
    ("power", "mean_w", "W", "mean_w"),
    (_HALF, "mean_u95_w", "W", "mean_w"),
    ("min", "least_w", "W", "mean_w"),
    ("max", "most_w", "W", "mean_w"),
    ("current", "mean_a", "A", "mean_a"),
)
#: Those that a narrow terminal goes without, the first ones first.
_LEAST = ("mean_a", "charge_c", "least_w", "most_w", "mean_u95_w", "start_s")
#: Significant digits, where not four.
_DIGITS = {"start": 7, "time": 5, _HALF: 2, "min": 3, "max": 3}

#: A smaller number is next to none beside the others of its column.
_SHOWN = 1e-6


def print_windows(
    out: Terminal, title: str, labels: Sequence[str], rows: Sequence[WindowRow]
) -> None:
    """Print the windows and their total, one prefix for each column and four digits,
    then the problems. A terminal that is too narrow omits the least important columns
    and names them.
    """
    badges = "".join(f"  [black on yellow] {escape(label)} [/]" for label in labels)
    without: tuple[str, ...] = ()
    table = _table(rows, without)
    while (
        out.is_terminal
        and len(without) < len(_LEAST)
        and table_width(out, table) > out.width
    ):
        without = _LEAST[: len(without) + 1]
        table = _table(rows, without)
    say(out, f"[italic]{escape(title)}[/]{badges}")
    print_table(out, table)
    for row in rows:
        if row.problem:
            lacking = "energy" if row.energy_j is None else "uncertainty"
            say(out, f"[red]{escape(row.name)}: no {lacking}[/], {escape(row.problem)}")
    if without:
        left = [heading for heading, name, *_ in _COLUMNS if name in without]
        say(out, f"[dim]in a wider terminal, or with --csv: {', '.join(left)}[/]")


def _table(rows: Sequence[WindowRow], without: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("\nwindow", no_wrap=True)
    columns = [column for column in _COLUMNS if column[1] not in without]
    scales = {}
    for heading, name, unit, like in columns:
        values = [getattr(row, like) for row in rows[:-1]]
        largest = max(
            (abs(value) for value in values if value is not None), default=None
        )
        scales[name] = _scale(largest, unit)
        table.add_column(f"{heading}\n{scales[name][1]}", justify="right", no_wrap=True)
    for row in rows:
        cells = []
        for heading, name, _, _ in columns:
            digits = _DIGITS.get(heading, 4)
            cells.append(_cell(getattr(row, name), scales[name][0], digits))
        table.add_row(escape(row.name), *cells, style="bold" if row is rows[-1] else "")
    return table


def _scale(value: float | None, unit: str) -> tuple[float, str]:
    # A coulomb is an ampere second, and takes its prefixes.
    factor, name = scale(value, "A" if unit == "C" else unit)
    return factor, name[:-1] + unit


def _cell(value: float | None, factor: float, digits: int) -> str:
    if value is None:
        return "-"
    scaled = value * factor
    if 10**digits <= abs(scaled) < 1e5:
        return f"{scaled:.0f}"  # not 2.8e+02
    if 0 < abs(scaled) < 1e-4:
        return f"{scaled:.6f}" if abs(scaled) >= _SHOWN else f"<{_SHOWN:.6f}"
    return f"{scaled:#.{digits}g}".rstrip(".")
