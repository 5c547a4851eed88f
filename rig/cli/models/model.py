# SPDX-License-Identifier: Apache-2.0
"""`rig model`: look at a NIR file, check it, and run it in the reference interpreter;
the same for a .tflite file, in whole numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from rig.cli.lazy import LazyGroup
from rig.cli.models import tflite_model
from rig.cli.models.conventions_options import conventions_options, dt_option
from rig.cli.models.model_kinds import is_int8
from rig.cli.models.on_backend import map_model, sense_model
from rig.cli.models.quantize import quantize, step_and_conventions
from rig.cli.options import FILE, refuse_idle, to_write
from rig.cli.printed.terminal import (
    Terminal,
    escape,
    node_table,
    print_table,
    say,
    say_plain,
)
from rig.errors import ConfigError, did_you_mean
from rig.network import complexity, complexity_text, conventions, footprint, graph
from rig.network.array_file import array_of
from rig.network.checks import ModelFinding, findings, require_sound
from rig.network.complexity_text import Complexity
from rig.network.conventions import PRESETS, ConventionChoice, Conventions, Gains, Reset
from rig.network.firing import of_firing
from rig.network.fixed import file
from rig.network.fixed.form import FixedNetwork
from rig.network.fixed.interpreter import FixedRun
from rig.network.fixed.interpreter import run as run_fixed
from rig.network.fixed.make import quantised, side_by_side
from rig.network.fixed.report import to_inputs
from rig.network.graph import Network
from rig.network.interpreter import Run
from rig.network.interpreter import run as run_network
from rig.units import plural, quantity

#: Exit code where something is wrong.
_WRONG = 1

_model = click.argument("path", metavar="MODEL.nir|.tflite|.onnx", type=FILE)
#: Options of a NIR file, which a file of int8 leaves no choice of.
_OF_NIR = ("dt_s", "preset", "reset", "spikes_max", "start")
_BESIDE = "beside a .tflite or ONNX file, whose arithmetic is known"


@click.group(cls=LazyGroup)
def model() -> None:
    """Look at, check, run and quantise a spiking network in a NIR file, or an int8
    network in a .tflite or ONNX file.
    """


model.add_command(quantize)
model.add_command(map_model)
model.add_command(sense_model)


@model.command()
@_model
@click.option(
    "--input",
    "inputs",
    metavar="INPUT.npy",
    type=FILE,
    help="Run the network on these inputs, and print its complexity.",
)
@dt_option
@conventions_options
def inspect(
    path: Path, inputs: Path | None, dt_s: float | None, choice: ConventionChoice
) -> None:
    """Print the nodes of a network in order, with shapes and sizes.

    With inputs (as for rig model run), also print its footprint, sparsities, synaptic
    operations and execution rate, as NeuroBench's algorithm track defines them. Of a
    .tflite file, print its operators and the memory of a device that each takes; it
    has no execution rate.
    """
    if is_int8(path):
        refuse_idle(_BESIDE, *_OF_NIR)
        tflite_model.print_model(path)
        if inputs is not None:
            _print_complexity(tflite_model.counted(path, inputs))
        return
    if inputs is None:
        refuse_idle("without --input", "dt_s")
    read = graph.read(path)
    network = graph.network(read)
    dt_s, how = step_and_conventions(read, dt_s, choice)
    print_network(Terminal(), network, how)
    _warn_of_reset(read, choice)
    if inputs is not None:
        require_sound(read, dt_s)
        counted = complexity.count(network, _samples(inputs, network), dt_s, how)
        _print_complexity(counted)


@model.command()
@_model
@dt_option
@conventions_options
def check(path: Path, dt_s: float | None, choice: ConventionChoice) -> int:
    """Print errors and doubtful points of a NIR, .tflite or ONNX file.

    The exit code is 1 if something is wrong.
    """
    if is_int8(path):
        refuse_idle(_BESIDE, *_OF_NIR)
        return _print_findings(path, tflite_model.findings(path))
    read = graph.read(path)
    if dt_s is None:
        dt_s = choice.dt_s(graph.stated_dt_s(read))
    found = findings(read, dt_s)
    if not any(finding.wrong for finding in found):
        how = choice.of(graph.taken_apart(read)[0])
        found += of_firing(graph.network(read), how, dt_s)
    found += _of_reset(read, choice)
    return _print_findings(path, found)


def _print_findings(path: Path, of_model: list[ModelFinding]) -> int:
    """Print findings and their count; return the exit code."""
    for finding in of_model:
        _print_finding(finding)
    wrong = sum(finding.wrong for finding in of_model)
    Terminal().print(
        f"{escape(path.name)}: {wrong} wrong, {len(of_model) - wrong} doubtful"
    )
    return _WRONG if wrong else 0


@model.command()
@_model
@click.argument("inputs", metavar="INPUT.npy", type=FILE)
@dt_option
@conventions_options
@click.option(
    "--record",
    multiple=True,
    metavar="NODE",
    help="Also keep the values of this node.",
)
@click.option(
    "--output",
    type=FILE,
    callback=to_write,
    metavar="OUT.npz",
    help="Write all values.",
)
@click.option(
    "--fixed-point",
    is_flag=True,
    help="Run it in whole numbers, quantised for these inputs unless it already is.",
)
def run(
    path: Path,
    inputs: Path,
    dt_s: float | None,
    choice: ConventionChoice,
    record: tuple[str, ...],
    output: Path | None,
    fixed_point: bool,
) -> None:
    """Run a network on inputs; print or keep its outputs.

    INPUT.npy is an array (samples, steps, *shape), or (steps, *shape) of one sample;
    for a .tflite or ONNX file (samples, *shape) of int8, or of real numbers as
    float32.
    """
    if is_int8(path):
        refuse_idle(_BESIDE, "record", "fixed_point", *_OF_NIR)
        tflite_model.run(path, inputs, output)
        return
    if fixed_point:
        values = array_of(inputs)
        fixed = _fixed(path, values, dt_s, choice)
        _require_nodes(record, [node.name for node in fixed.nodes])
        numbers, limited = to_inputs(fixed, side_by_side(fixed, values))
        whole = run_fixed(fixed, numbers, record)
        _print_run(whole, numbers.shape)
        for name, count in {**whole.saturated, "inputs": limited}.items():
            if count:
                Terminal().print(f"{escape(name)}: {plural(count, 'value')} limited")
        _write(output, dict(whole.values))
        return
    read = graph.read(path)
    dt_s, how = step_and_conventions(read, dt_s, choice)
    require_sound(read, dt_s)
    network = graph.network(read)
    _require_nodes(record, [place.name for place in network.places])
    values = _samples(inputs, network)
    done = run_network(network, values, dt_s, how, record)
    _print_run(done, values.shape)
    _warn_of_reset(read, choice)
    _write(output, dict(done.values))


def print_network(out: Terminal, network: Network, how: Conventions) -> None:
    """Print totals of a network, then its nodes in order, with shapes and times."""
    sizes = footprint.of(network)
    step = (
        "no time step stated" if network.dt_s is None else quantity(network.dt_s, "s")
    )
    say(
        out,
        f"time step: {step}; neurons: {sizes.neurons}; synapses: {sizes.synapses}, "
        f"{sizes.nonzero} of them not zero; parameters: {sizes.parameters}",
    )
    say(out, f"conventions: {_words(how)}")
    columns = ("node", "kind", "in", "out", "parameters", "times")
    table = node_table(*columns)
    for place in network.places:
        late = (
            f" (and {', '.join(place.late_sources)}, a step late)"
            if place.late_sources
            else ""
        )
        name = escape(place.name + late)
        kind = type(place.node).__name__
        shapes = (_shape(place.shape_in), _shape(place.shape_out))
        parameters = str(footprint.parameters(place.node))
        table.add_row(name, kind, *shapes, parameters, _times(place.node))
    print_table(out, table)


def _fixed(
    path: Path, values: Any, dt_s: float | None, choice: ConventionChoice
) -> FixedNetwork:
    """Return the network of a quantised file, else quantise it for these inputs."""
    if path.suffix == ".json" or file.is_quantised(graph.read(path)):
        if dt_s is not None or choice != ConventionChoice():
            raise ConfigError(
                f"{path} is quantised: its time step and conventions are in it",
                path="--dt" if dt_s is not None else "--as",
            )
        return file.read(path)
    read = graph.read(path)
    return quantised(read, values, *step_and_conventions(read, dt_s, choice)).fixed


def _require_nodes(record: tuple[str, ...], names: list[str]) -> None:
    if unknown := [name for name in record if name not in names]:
        raise ConfigError(
            f"no node {unknown[0]!r}",
            path="--record",
            try_next=f"{did_you_mean(unknown[0], names)}one of {', '.join(names)}",
        )


def _write(output: Path | None, arrays: dict[str, Any]) -> None:
    if output is not None:
        np.savez_compressed(output, **arrays)
        Terminal().print(escape(f"values of {', '.join(arrays)}: {output}"))


def _of_reset(read: Any, choice: ConventionChoice) -> list[ModelFinding]:
    """Return a finding if neither the file nor the user states the reset."""
    known = choice.says_reset or file.is_quantised(read)
    if known or conventions.states_reset(graph.taken_apart(read)[0]):
        return []
    remark = f"{conventions.NOT_STATED}: a spike puts a membrane to 0"
    return [ModelFinding(False, "graph", remark, conventions.STATE_IT)]


def _warn_of_reset(read: Any, choice: ConventionChoice) -> None:
    for finding in _of_reset(read, choice):
        _print_finding(finding)


def _print_finding(finding: ModelFinding) -> None:
    kind = "[red]wrong[/]" if finding.wrong else "[yellow]doubtful[/]"
    say_plain(f"{finding.node}: {finding.what}", f"{kind}: ")
    if finding.try_next:
        say_plain(finding.try_next, "  try: ")


def _samples(path: Path, network: Network) -> Any:
    """Return the inputs in a file (samples, steps, *shape), also where it has one
    without the first axis.
    """
    values = array_of(path)
    one = values.ndim == len(network.place(network.inputs[0]).shape_out) + 1
    return values[None] if one else values


def _print_complexity(counted: Complexity) -> None:
    for name, value in complexity_text.rows(counted):
        say_plain(str(value), f"{escape(name)}: ")
    about = f"{complexity_text.basis(counted)}; {complexity_text.MEANING}"
    say_plain(about)


def _print_run(done: Run | FixedRun, shape: tuple[int, ...]) -> None:
    samples = plural(shape[0], "sample")
    Terminal().print(f"{samples} of {plural(shape[1], 'step')}")
    for name, count in done.spikes.items():
        Terminal().print(f"{escape(name)}: {count} spikes")
    if done.spikes and not any(done.spikes.values()):
        say_plain("no neuron ever fires", "[yellow]doubtful[/]: ")
        say_plain("rig model check, which says why", "  try: ")
    for name, values in done.values.items():
        sums = values.sum(axis=1).reshape(shape[0], -1)
        for number, row in enumerate(sums[:10]):
            numbers = " ".join(f"{value:.6g}" for value in row[:16])
            more = " ..." if row.size > 16 else ""
            line = f"{name}, sample {number}, sum over the steps: {numbers}{more}"
            say_plain(line)


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _times(node: Any) -> str:
    texts = []
    for name in ("tau", "tau_syn", "tau_mem", "delay"):
        times_s = getattr(node, name, None)
        if times_s is not None:
            least, most = (float(end(times_s)) for end in (np.min, np.max))
            ends = quantity(least, "s")
            texts.append(
                f"{name} {ends}"
                + ("" if least == most else f" to {quantity(most, 's')}")
            )
    return ", ".join(texts)


def _words(how: Conventions) -> str:
    name = next((name for name, one in PRESETS.items() if one == how), "its own")
    resets = {
        Reset.VALUE: "to v_reset",
        Reset.SUBTRACT: "subtracts it",
        Reset.SUBTRACT_NEXT: "subtracts it in the next step",
        Reset.NONE: "none",
    }
    gains = {
        Gains.FILE: "of the file",
        Gains.UNIT: "of 1",
        Gains.WHOLE: "of 1, after the decay",
    }
    late = ", which leaves a step later" if how.late else ""
    above = "above" if how.above else "at"
    often = f", up to {how.spikes_max} a step" if how.spikes_max > 1 else ""
    return (
        f"{name}: {how.scheme.value}, {how.current.value} current, a spike {above} the"
        f" threshold{often}{late}, reset {resets[how.reset]}, gains {gains[how.gains]}"
    )
