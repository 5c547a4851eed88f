# SPDX-License-Identifier: Apache-2.0
"""`rig model` for .tflite files: a quantised network looked at, checked, and run in
whole numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rig.cli.printed.terminal import Terminal, escape, node_table, print_table, say
from rig.network.array_file import array_of
from rig.network.checks import ModelFinding
from rig.network.complexity_text import Complexity
from rig.network.tflite import checks, complexity, interpreter, network
from rig.network.tflite.form import IntegerNetwork, IntegerTensor
from rig.network.tflite.inputs import to_inputs
from rig.network.tflite.sizes import IntegerSizes, sizes
from rig.units import plural

#: Samples and values of each that are printed.
_SAMPLES_SHOWN = 10
_VALUES_SHOWN = 16


def print_model(path: Path) -> None:
    """Print the operators of a file and their needs on a device."""
    read = network.read(path)
    print_network(Terminal(), read, sizes(read))


def print_network(out: Terminal, read: IntegerNetwork, needed: IntegerSizes) -> None:
    """Print totals of a network, then its operators in order."""
    ends = (read.tensors[read.input], read.tensors[read.output])
    say(out, escape(f"input: {_about(ends[0])}; output: {_about(ends[1])}"))
    say(
        out,
        f"{read.identity}: {needed.macs:,} multiplications; {needed.constant_b:,} B of"
        f" constants; tensors in {needed.arena.size_b:,} B of RAM, with a patch"
        f" {needed.memory_b:,}, beside an input of {needed.input_b:,}",
    )
    columns = ("operator", "in", "out", "products", "flash B", "tensors B")
    table = node_table("", *columns)
    for number, each in enumerate(needed.operators):
        numbers = (each.macs, each.constant_b, each.tensor_b)
        cells = (each.name, _shape(each.shape_in), _shape(each.shape_out))
        table.add_row(str(number), *cells, *(f"{size:,}" for size in numbers))
    print_table(out, table)


def findings(path: Path) -> list[ModelFinding]:
    """List the faults and doubts of a file."""
    return checks.findings(path)


def counted(path: Path, inputs: Path) -> Complexity:
    """Count the complexity of a file's network over inputs."""
    read = network.read(path)
    return complexity.count(read, to_inputs(read, array_of(inputs))[0])


def run(path: Path, inputs: Path, output: Path | None) -> None:
    """Run a file's network over inputs; print or keep the outputs."""
    read = network.read(path)
    samples, limited = to_inputs(read, array_of(inputs))
    outputs = interpreter.run(read, samples).reshape(len(samples), -1)
    tensor = read.tensors[read.output]
    say(
        Terminal(),
        escape(f"{plural(len(samples), 'sample')}; output: {_about(tensor)}"),
    )
    if limited:
        say(
            Terminal(),
            f"limited, as they did not fit: {plural(limited, 'value')} of the inputs",
        )
    for number, row in enumerate(outputs[:_SAMPLES_SHOWN]):
        numbers = " ".join(str(value) for value in row[:_VALUES_SHOWN].tolist())
        more = " ..." if row.size > _VALUES_SHOWN else ""
        largest = int(np.argmax(row))
        say(Terminal(), f"sample {number}: {numbers}{more}; largest: {largest}")
    if output is not None:
        np.savez_compressed(
            output, outputs=outputs.reshape(len(outputs), *tensor.shape)
        )
        say(Terminal(), escape(f"outputs: {output}"))


def _about(tensor: IntegerTensor) -> str:
    return (
        f"int8 {_shape(tensor.shape)}, {tensor.scale:.6g} a step about"
        f" {tensor.zero_point}"
    )


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
