# SPDX-License-Identifier: Apache-2.0
"""A comparison of backends as text: cells of a table, Markdown, CSV, JSON."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

from rig.api.backends import trains
from rig.api.backends.agreement import Agreed, Agreement
from rig.api.backends.rows import (
    AS_FILE,
    AS_INTEGERS,
    BackendRow,
    Figure,
    ModelComparison,
)
from rig.files import table_file
from rig.files.plain_text import visible
from rig.network import complexity_text
from rig.results.stated import digits
from rig.units import ends, not_known, plural, scale

SCHEMA = "neurorig-backends-1"
_PAGE_COLUMNS = 100
#: The line of the network without any device, beside the reference.
_LINES = {AS_INTEGERS: "(whole numbers)", AS_FILE: "(floating point)"}
CAPTION = (
    "decisions, outputs: samples on which every trial agrees with the reference; as"
    " integers: with the network in whole numbers; as the file: decisions as in"
    " floating point; the line in brackets is the network without a device: what"
    " quantisation alone changes; intervals of 95 %: of times and energies the same"
    " samples measured again, of shares other samples of this kind"
)
INSTRUCTIONS_HEAD = "instr./op."
PER_OPERATION = (
    "instr./op.: instructions that an emulator counts in an inference, for each"
    " effective synaptic operation of the network"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A comparison in words: the lines above its table, the table, whose rows may be
    shorter than its heads, its caption, and the lines below.
    """

    about: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str
    remarks: Sequence[str]


def page(comparison: ModelComparison) -> Page:
    """Return the comparison of backends in words."""
    rows = [cells(row, comparison) for row in comparison.rows]
    rows += [each for each in [quantisation_cells(comparison)] if each]
    return Page(
        about(comparison),
        head(comparison),
        rows,
        _caption(comparison),
        remarks(comparison),
    )


def _caption(comparison: ModelComparison) -> str:
    return f"{CAPTION}; {PER_OPERATION}" if comparison.counts_instructions else CAPTION


def head(comparison: ModelComparison) -> list[str]:
    """Return the heads of the table."""
    parts = part_names(comparison)
    beside = [comparison.beside] if comparison.beside else []
    counted = [INSTRUCTIONS_HEAD] if comparison.counts_instructions else []
    last = [*comparison.main_metrics, *counted, "time", "energy", "rule"]
    return ["backend", "decisions", *parts, *beside, *last]


def cells(row: BackendRow, comparison: ModelComparison) -> list[str]:
    """Return a backend's line of the table; of one without a result its name and
    why."""
    if row.failure is not None:
        return [row.name, f"did not run: {row.failure.cause}"]
    agreement = row.agreement
    line = [row.name, agreed_text(agreement.decisions if agreement else None)]
    line += [agreed_text(part_of(agreement, name)) for name in part_names(comparison)]
    if comparison.beside:
        line.append(agreed_text(row.beside))
    for name in comparison.main_metrics:
        figure = row.figure(name)
        line.append(figure_text(figure) if figure else "-")
    if comparison.counts_instructions:
        line.append(count_text(comparison.per_operation(row)))
    return [*line, origin_of(row, "s"), origin_of(row, "J"), row.rule or "-"]


def quantisation_cells(comparison: ModelComparison) -> list[str]:
    """Return the line of the network without a device: what quantisation alone changes;
    empty without one.
    """
    if comparison.quantisation is None:
        return []
    agreed = [part_of(comparison.quantisation, name) for name in part_names(comparison)]
    counted = int(comparison.counts_instructions)
    filled = ["-"] * (len(comparison.main_metrics) + counted + 2)
    cells = [
        _LINES[comparison.beside],
        agreed_text(comparison.quantisation.decisions),
        *map(agreed_text, agreed),
    ]
    return [*cells, "itself", *filled, "no device: the network alone"]


def count_text(count: float | None) -> str:
    """Return a count of instructions for each operation."""
    return "-" if count is None else f"{count:.3g}"


def part_names(comparison: ModelComparison) -> list[str]:
    """Return what of outputs was compared: their parts, or outputs as a whole."""
    agreements = [row.agreement for row in comparison.rows if row.agreement is not None]
    every = chain.from_iterable(agreement.parts for agreement in agreements)
    parts = dict.fromkeys(part.what for part in every)
    has_trains = trains.WHAT in parts
    parts.pop(trains.WHAT, None)
    return [*([trains.WHAT] if has_trains else []), *(parts or ["outputs"])]


def part_of(agreement: Agreement | None, name: str) -> Agreed | None:
    """Return the agreement of a part of the outputs, or of the outputs."""
    if agreement is None:
        return None
    return next(
        (one for one in (*agreement.parts, agreement.outputs) if one.what == name), None
    )


def origin_of(row: BackendRow, unit: str) -> str:
    """Return the origin of a backend's times or energies."""
    return next(
        (one.origin for one in row.figures if one.unit == unit and one.origin), "-"
    )


def figure_text(figure: Figure) -> str:
    """Return a value with its interval: "2.513 ± 0.059 mJ", "0.83 (0.70 to 0.92)"."""
    if figure.value is None:
        return "-"
    low, high = figure.interval
    factor, unit = scale(figure.value, figure.unit)
    value = figure.value * factor
    if low is None and high is None:
        why = not_known(figure.reason) if figure.reason else "not known"
        return f"{value:.4g} {unit} ({why})".replace("  ", " ")
    if low is None or high is None:
        return f"{value:.4g} ({ends(low, high, figure.value, factor)}) {unit}".rstrip()
    half = (high - low) / 2 * factor
    decimals = digits(half, value)
    middle = abs(figure.value * 2 - low - high) * factor <= 1e-6 * half
    if middle and figure.unit != "1":
        return f"{value:.{decimals}f} ± {half:.{decimals}f} {unit}"
    interval = ends(low, high, figure.value, factor)
    return f"{value:.{decimals}f} ({interval}) {unit}".rstrip()


def agreed_text(agreed: Agreed | None) -> str:
    if agreed is None:
        return "-"
    late = f" ({agreed.lag_steps} steps late)" if agreed.lag_steps else ""
    if not agreed.told:
        return "not told"
    away = agreed.largest if agreed.unit and agreed.count < agreed.samples else None
    off = f", {away:.2g} off" if away is not None else ""
    return f"{agreed.count} of {agreed.samples}{late}{off}"


def about(comparison: ModelComparison) -> list[str]:
    """Return the lines above the table."""
    subject = f"{comparison.task}, {comparison.scenario}"
    what = f"{subject}, {plural(comparison.samples, 'sample')}: {comparison.data}"
    lines = [
        "; ".join(filter(None, (comparison.model, what))),
        f"reference: {comparison.reference}",
    ]
    if comparison.complexity is not None:
        lines.append(complexity_text.sentence(comparison.complexity))
    return lines


def remarks(comparison: ModelComparison) -> list[str]:
    """Return the lines below the table: notes, and the samples on which answers
    differ."""
    lines = list(comparison.notes)
    for row in comparison.rows:
        if row.failure is not None:
            lines.append(f"{row.name} did not run: {_why(row)}")
        elif row.agreement is not None:
            lines += [f"{row.name}: {each}" for each in _differences(row.agreement)]
    return lines


def _why(row: BackendRow) -> str:
    assert row.failure is not None
    parts = (row.failure.cause, row.failure.evidence, row.failure.try_next)
    return "; ".join(filter(None, parts)).replace("\n", "; ")


def _differences(agreement: Agreement) -> list[str]:
    lines = []
    if agreement.differing:
        lines.append(f"decides otherwise on sample {'; '.join(agreement.differing)}")
    for part in agreement.parts:
        if part.told and part.count < part.samples and part.largest is not None:
            unit = f" in {part.unit}" if part.unit else ""
            lines.append(f"{part.what} differ by up to {part.largest:.6g}{unit}")
    return lines


def markdown(found: Page) -> str:
    """Return a comparison as a page's section: lines, table, lines."""
    heads = found.heads
    table = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in found.rows:
        filled = [*row, *[""] * (len(heads) - len(row))]
        table.append(f"| {' | '.join(_cell(each) for each in filled)} |")
    lines = [*map(_wrapped, found.about), "", *table, "", _wrapped(f"{found.caption}.")]
    lines.append("")
    lines += [_wrapped(each, "* ") for each in found.remarks]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, bullet: str = "") -> str:
    """Return a line of prose, or of a list, in the width of a page."""
    indent = " " * len(bullet)
    return textwrap.fill(
        bullet + _line(text),
        _PAGE_COLUMNS,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    return visible(text).replace("\n", " ")


def csv_text(comparison: ModelComparison) -> str:
    """Return the comparison as CSV: a line a backend, numbers in SI units, then the
    network's complexity.
    """
    return table_file.of_records([csv_row(row, comparison) for row in comparison.rows])


def csv_row(row: BackendRow, comparison: ModelComparison) -> dict[str, Any]:
    """Return the cells of a backend by the names of their columns."""
    agreement = row.agreement
    cells: dict[str, Any] = {
        "backend": row.name,
        "sut": row.sut,
        "kind": row.kind,
        "monitor": row.monitor,
        "session": row.session,
        "failure": _why(row) if row.failure else None,
        "trials": row.trials or None,
        "samples": comparison.samples,
        "valid": row.valid,
        "verdict": row.verdict,
        "labels": "; ".join(row.labels),
        "rule": row.rule,
        "time_origin": origin_of(row, "s"),
        "energy_origin": origin_of(row, "J"),
        "time_counts": row.counts,
        "instructions": row.instructions,
        "instructions_per_operation": comparison.per_operation(row),
        "agree_decisions": _count(agreement.decisions if agreement else None),
        "agree_outputs": _count(part_of(agreement, "outputs")),
    }
    for name in part_names(comparison):
        column = f"agree_{name.replace(' ', '_')}"
        cells[column] = _count(part_of(agreement, name))
    away = part_of(agreement, "membranes")
    largest_membranes = away.largest if away and away.told else None
    quantisation_decisions = (
        comparison.quantisation.decisions.count if comparison.quantisation else None
    )
    cells |= {
        "largest_membranes": largest_membranes,
        "agree_beside": row.beside.count if row.beside else None,
        "quantisation_decisions": quantisation_decisions,
    }
    for metric in comparison.metrics:
        cells |= csv_figure(metric, row.figure(metric))
    if comparison.complexity is not None:
        for key, count in dataclasses.asdict(comparison.complexity).items():
            cells[f"network_{key}"] = count
    return cells


def _count(agreed: Agreed | None) -> int | None:
    return agreed.count if agreed and agreed.told else None


def csv_figure(metric: str, figure: Figure | None) -> dict[str, Any]:
    ends = ("", "_low", "_high", "_other_low", "_other_high")
    columns = [f"{metric}{end}" for end in ends]
    if figure is None:
        return dict.fromkeys(columns)
    numbers = (figure.value, *figure.same_samples, *figure.other_samples)
    return dict(zip(columns, numbers, strict=True))


def json_text(comparison: ModelComparison) -> str:
    """Return the comparison as JSON, in SI units."""
    return json_of({"schema": SCHEMA, **dataclasses.asdict(comparison)})


def json_of(tree: Mapping[str, Any]) -> str:
    """Return a tree of data as JSON."""
    return json.dumps(tree, indent=1, default=_plain, allow_nan=False) + "\n"


def _plain(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
