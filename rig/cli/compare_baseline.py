# SPDX-License-Identifier: Apache-2.0
"""`rig compare SESSION... --baseline FOLDER`: whether sessions are regressions."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from rig.api.comparing.regression import (
    Baseline,
    MetricRegression,
    Regressed,
    SessionRegression,
    each_against_baseline,
)
from rig.cli.exit_codes import of_outcomes
from rig.cli.printed.labels import badge_lines, of_session
from rig.cli.printed.terminal import (
    Terminal,
    borderless_table,
    escape,
    print_line,
    print_table,
)
from rig.cli.printed.verdicts import BADGES
from rig.errors import ConfigError
from rig.files import typed
from rig.units import scale

#: More would be noise of the arithmetic.
_MOST_DECIMALS = 9
_COLOURS = {Regressed.WORSE: "red", Regressed.NOT_TESTED: "dim"}


def against(
    places: Sequence[Path],
    baseline: Path,
    false_alarms: float,
    metrics: Sequence[str],
    *,
    as_json: bool,
) -> int:
    """Compare sessions with a baseline, print the verdicts, return the exit code."""
    if not places or not all(path.is_dir() for path in places):
        raise ConfigError(
            "--baseline goes with one SESSION or several",
            try_next="rig compare SESSION... --baseline FOLDER",
        )
    out = Terminal(stderr=as_json)
    every = each_against_baseline(places, Baseline(baseline), false_alarms, metrics)
    if as_json:
        trees = [_tree(found) for found in every]
        content = trees[0] if len(trees) == 1 else {"sessions": trees}
        Terminal().out(json.dumps(content, indent=1))
    for found in every:
        if len(every) > 1:
            print_line(out, f" [bold]{escape(found.session.name)}[/]", 3)
        _print(out, found)
    return of_outcomes(found.outcome for found in every)


def _print(out: Terminal, found: SessionRegression) -> None:
    print_line(out, f" {BADGES[found.outcome]}  {escape(found.statement)}", 3)
    for line in badge_lines(of_session(found.session), out.width):
        print_line(out, line, 7)
    out.print()
    if not found.metrics:
        return
    tables = [_table(found.metrics, wide=wide) for wide in (True, False)]
    print_table(out, *tables, also="with --json")


def _table(metrics: Sequence[MetricRegression], *, wide: bool) -> Table:
    table = borderless_table()
    table.add_column(" metric", no_wrap=True)
    for head in ("baseline", "session", "worse by", "alarm above"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=wide)
    if wide:
        table.add_column("method", no_wrap=True)
    for one in metrics:
        numbers = (one.baseline, one.value, one.worse_by, one.threshold)
        cells = [*_texts(numbers, one), one.outcome.value] + [one.method] * wide
        style = _COLOURS.get(one.outcome, "")
        table.add_row(f" {escape(one.name)}", *map(escape, cells), style=style)
    return table


def _texts(numbers: Sequence[float], one: MetricRegression) -> list[str]:
    """Format numbers in the unit that suits the metric's value, with as many decimals
    as the threshold has in two digits.
    """
    factor, unit = scale(one.value, one.unit)
    decimals = _decimals(one, factor)
    texts = []
    for number in numbers:
        text = "-"
        if math.isfinite(number):
            # No minus sign at a zero.
            rounded = round(number * factor, decimals) + 0.0
            text = f"{rounded:.{decimals}f} {unit}".rstrip()
        texts.append(text)
    return texts


def _decimals(one: MetricRegression, factor: float) -> int:
    if math.isfinite(one.threshold) and one.threshold:
        digits = 2
        number = one.threshold
    else:
        digits = 4
        number = one.value
    if not number or not math.isfinite(number):
        return 0
    magnitude = math.floor(math.log10(abs(number * factor)))
    return min(max(digits - 1 - magnitude, 0), _MOST_DECIMALS)


def _finite(content: dict[str, object]) -> dict[str, object]:
    """Replace numbers that do not exist by None."""
    finite: dict[str, object] = {}
    for key, value in content.items():
        is_missing = isinstance(value, float) and not math.isfinite(value)
        finite[key] = None if is_missing else value
    return finite


def _tree(found: SessionRegression) -> dict[str, object]:
    """Return the comparison as JSON, in SI units; null for a missing number."""
    metrics = [_finite(typed.to_json(one)) for one in found.metrics]
    return {
        "session": str(found.session),
        "outcome": found.outcome,
        "reason": found.reason or found.lacking,
        "statement": found.statement,
        "false_alarms": found.false_alarms,
        "labels": list(found.labels),
        "baseline": list(map(str, found.baseline)),
        "metrics": metrics,
    }
