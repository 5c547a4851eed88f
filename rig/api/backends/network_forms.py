# SPDX-License-Identifier: Apache-2.0
"""A comparison of several networks as text: its page, CSV, JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from rig.api.backends import forms
from rig.api.backends.forms import Page
from rig.api.backends.networks import Contrast, NetworkRow, NetworksComparison
from rig.api.backends.rows import ModelComparison
from rig.files import table_file

SCHEMA = "neurorig-networks-1"
CAPTION = (
    "a line a system and network; decisions: samples on which every trial agrees with"
    " the reference of that network; operations: effective synaptic operations of an"
    f" inference; {forms.PER_OPERATION}; time, energy: where they come from, and what a"
    " simulated time counts; intervals of 95 %: of times and energies the same samples"
    " measured again, of shares other samples of this kind"
)


def page(comparison: NetworksComparison) -> Page:
    """Return the comparison of networks in words."""
    heads = ["system", "network", "decisions", *comparison.metrics]
    heads += ["operations", forms.INSTRUCTIONS_HEAD, "time", "energy"]
    rows = [_cells(row, comparison.networks[row.network]) for row in comparison.rows]
    return Page(
        list(_about(comparison)), heads, rows, CAPTION, list(_remarks(comparison))
    )


def _about(comparison: NetworksComparison) -> Iterator[str]:
    for name, model in comparison.networks.items():
        for line in forms.about(model):
            yield f"{name}: {line}"


def _cells(row: NetworkRow, model: ModelComparison) -> list[str]:
    """Return a line of the table; of a network that did not run there, why."""
    line = row.row
    if line.failure is not None:
        return [row.system, row.network, f"did not run: {line.failure.cause}"]
    agreement, counted = line.agreement, model.complexity
    decisions = forms.agreed_text(agreement.decisions if agreement else None)
    figures = [forms.figure_text(one) if one else "-" for one in row.figures]
    cells = [row.system, row.network, decisions, *figures]
    cells.append(f"{counted.effective:,.0f}" if counted else "-")
    cells.append(forms.count_text(row.per_operation))
    time = forms.origin_of(line, "s")
    cells.append(f"{time}: {line.counts}" if line.counts else time)
    cells.append(forms.origin_of(line, "J"))
    return cells


def _remarks(comparison: NetworksComparison) -> Iterator[str]:
    for system in comparison.systems:
        for name in comparison.networks:
            if contrasts := comparison.contrasts_on(system, name):
                against = f"{name} against {contrasts[0].first}"
                yield f"{system}: {against}: {_contrasts_text(contrasts)}"
    yield from _operations(comparison)
    yield from comparison.notes
    remarks = {
        name: forms.remarks(model) for name, model in comparison.networks.items()
    }
    everyones = set.intersection(*map(set, remarks.values()))
    for name, lines in remarks.items():
        for line in lines:
            if line not in everyones:
                yield f"{name}: {line}"
    first = next(iter(remarks.values()))
    yield from (line for line in first if line in everyones)


def _contrasts_text(contrasts: Sequence[Contrast]) -> str:
    reasons = {one.reason for one in contrasts}
    if len(reasons) == 1 and (reason := reasons.pop()):
        return f"not comparable: {reason}"
    return "; ".join(map(contrast_text, contrasts))


def contrast_text(contrast: Contrast) -> str:
    """Return "latency_infer 0.434 times, intervals apart", or why there is none."""
    if contrast.reason:
        return f"{contrast.metric} not comparable ({contrast.reason})"
    verdict = "intervals apart" if contrast.apart else "no difference shown"
    if contrast.unit == "1" or contrast.factor is None:
        return f"{contrast.metric} {contrast.difference:+.3f}, {verdict}"
    return f"{contrast.metric} {contrast.factor:.3g} times, {verdict}"


def _operations(comparison: NetworksComparison) -> Iterator[str]:
    """Yield the operations of each network but the first against the first."""
    (first, base), *others = comparison.networks.items()
    for name, model in others:
        if base.complexity is None or model.complexity is None:
            continue
        if not base.complexity.effective:
            continue
        effective = model.complexity.effective / base.complexity.effective
        dense = model.complexity.dense / base.complexity.dense
        yield (
            f"{name} against {first}: effective synaptic operations {effective:.3g}"
            f" times, dense {dense:.3g} times"
        )


def csv_text(comparison: NetworksComparison) -> str:
    """Return the comparison as CSV: a line a system and network, in SI units."""
    return table_file.of_records([_csv_row(row, comparison) for row in comparison.rows])


def _csv_row(row: NetworkRow, comparison: NetworksComparison) -> dict[str, Any]:
    cells: dict[str, Any] = {"system": row.system, "network": row.network}
    for contrast in comparison.contrasts_on(row.system, row.network):
        metric = contrast.metric
        cells[f"{metric}_difference"] = contrast.difference
        cells[f"{metric}_factor"] = contrast.factor
        cells[f"{metric}_apart"] = contrast.apart
        cells[f"{metric}_not_comparable"] = contrast.reason
    cells |= forms.csv_row(row.row, comparison.networks[row.network])
    for metric, figure in zip(comparison.metrics, row.figures, strict=True):
        cells |= forms.csv_figure(metric, figure)
    return cells


def json_text(comparison: NetworksComparison) -> str:
    """Return the comparison as JSON, in SI units."""
    models = {
        name: dataclasses.asdict(each) for name, each in comparison.networks.items()
    }
    contrasts = list(map(dataclasses.asdict, comparison.contrasts))
    rows = list(map(_json_row, comparison.rows))
    tree = {
        "metrics": comparison.metrics,
        "contrasts": contrasts,
        "notes": comparison.notes,
        "networks": models,
        "rows": rows,
    }
    return forms.json_of({"schema": SCHEMA, **tree})


def _json_row(row: NetworkRow) -> dict[str, Any]:
    """Return the figures that are compared; the rest is that network's."""
    figures = [None if one is None else dataclasses.asdict(one) for one in row.figures]
    return {
        "system": row.system,
        "network": row.network,
        "figures": figures,
        "instructions_per_operation": row.per_operation,
    }
