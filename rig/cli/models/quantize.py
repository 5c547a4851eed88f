# SPDX-License-Identifier: Apache-2.0
"""`rig model quantize`: a network in whole numbers, and what that costs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rig.cli.models.conventions_options import conventions_options, dt_option
from rig.cli.models.model_kinds import refuse_int8
from rig.cli.options import FILE, to_write
from rig.cli.printed.terminal import (
    Terminal,
    escape,
    node_table,
    print_table,
    say_plain,
)
from rig.network import graph
from rig.network.array_file import array_of
from rig.network.conventions import ConventionChoice, Conventions
from rig.network.fixed import file
from rig.network.fixed.make import BITS_MAX, BITS_MIN, Quantised, quantised
from rig.network.fixed.report import QuantisationReport
from rig.units import plural


@click.command()
@click.argument("path", metavar="MODEL.nir", type=FILE)
@click.option(
    "--input",
    "inputs",
    metavar="INPUT.npy",
    type=FILE,
    help="Choose scales for these inputs, and compare with floating point over them.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="QUANTISED.nir|.json",
    type=FILE,
    callback=to_write,
    help="Where to write it.",
)
@dt_option
@click.option(
    "--bits",
    type=click.IntRange(BITS_MIN, BITS_MAX),
    default=BITS_MAX,
    show_default=True,
    help="Bits of a weight, with its sign.",
)
@conventions_options
@click.option(
    "--report",
    metavar="REPORT.json",
    type=FILE,
    callback=to_write,
    help="Write the report.",
)
def quantize(
    path: Path,
    inputs: Path | None,
    output: Path,
    dt_s: float | None,
    bits: int,
    choice: ConventionChoice,
    report: Path | None,
) -> None:
    """Quantise a network to whole numbers; print its rounding errors.

    docs/reference/FIXED_POINT.md describes how it runs. Without inputs, its agreement
    with floating point is not known.
    """
    refuse_int8(path, "which is quantised already")
    read = graph.read(path)
    values = None if inputs is None else array_of(inputs)
    dt_s, how = step_and_conventions(read, dt_s, choice)
    made = quantised(read, values, dt_s, how, bits)
    file.write(output, made.fixed, read)
    print_report(made.report)
    if report is not None:
        report.write_text(json.dumps(as_json(made), indent=1) + "\n", encoding="utf-8")
    say_plain(
        f"{output}: {made.fixed.weight_bits}-bit weights, inputs of "
        f"{made.fixed.input_b} B",
    )


def as_json(made: Quantised) -> dict[str, Any]:
    """Return a report as JSON holds it."""
    about = {"weight_bits": made.fixed.weight_bits, "input_b": made.fixed.input_b}
    return about | asdict(made.report)


def print_report(report: QuantisationReport) -> None:
    """Print a line for each node, then the agreement."""
    columns = ("node", "kind", "unit", "rounding", "clipped", "limited")
    table = node_table(*columns, "spikes", "differ")
    is_run = report.samples > 0
    for node in report.nodes:
        limited = str(node.saturated or "") if is_run else "?"
        fired, differ = str(node.spikes), _share(node.differing, node.spikes)
        if not is_run:
            fired = differ = "?"
        if not node.spiking:
            fired = differ = ""
        rounding = f"{node.rounding:.1e}" if node.rounding else ""
        cells = [escape(node.name), node.kind, f"{node.scale:.3g}", rounding]
        cells += [str(node.clipped or ""), limited, fired, differ]
        table.add_row(*cells)
    print_table(Terminal(), table)
    if not is_run:
        say_plain("no inputs: whether it answers as in floating point is not known")
        return
    if report.limited_inputs:
        say_plain(
            "limited, as they did not fit:"
            f" {plural(report.limited_inputs, 'value')} of the inputs"
        )
    differing = sum(node.differing for node in report.nodes)
    spikes = sum(node.spikes for node in report.nodes)
    say_plain(
        f"{report.same_decisions} of {report.samples} samples decided as in floating"
        " point; spikes missing or too many, step by step:"
        f" {_share(differing, spikes)}"
    )


def _share(count: int, of: int) -> str:
    return f"{count}, {count / of:.1%}" if of else str(count)


def step_and_conventions(
    read: Any, dt_s: float | None, choice: ConventionChoice
) -> tuple[float | None, Conventions]:
    """Return the time step and the conventions of a NIR file, as chosen or else as it
    states them.
    """
    if dt_s is None:
        dt_s = choice.dt_s(graph.stated_dt_s(read))
    return dt_s, choice.of(graph.taken_apart(read)[0])
