# SPDX-License-Identifier: Apache-2.0
"""`rig firmware build --model`: a NIR file put into a firmware project, if its part has
room."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rig.cli.boards.room import Needs, fitting
from rig.cli.models.quantize import (
    as_json,
    print_report,
    step_and_conventions,
)
from rig.cli.printed.terminal import (
    Terminal,
    escape,
    node_table,
    print_table,
    say_plain,
)
from rig.errors import ConfigError
from rig.files import toml_text
from rig.firmware import project as projects
from rig.firmware.model_options import ModelOptions
from rig.firmware.part import BoardMemory
from rig.network import graph
from rig.network.array_file import array_of
from rig.network.conventions import ConventionChoice
from rig.network.fixed import file
from rig.network.fixed.c_header import header
from rig.network.fixed.form import FixedNetwork
from rig.network.fixed.make import BITS_MAX, quantised, side_by_side
from rig.network.fixed.sizes import Sizes, sizes

#: In a project.
HEADER = Path("workloads/network/nr_network_model.h")
NETWORK = Path("network.nir")
#: The workload, and the task that measures it.
WORKLOAD = "network"
_WORK = """[scenario.single_stream]

[task.network]
model = "network.nir"
inputs = {inputs}
# labels = "labels.npy"   without them, what the network decides in floating point is right
# source = "generated ..."   where the samples come from: results say it
"""  # noqa: E501
REPORT = Path("network-report.json")
#: Steps of an input where neither an array nor the user says.
STEPS = 100
#: A batch's answers have 64 KiB for 16 slots in a process (ports/posix/main.c).
_ANSWERS_MAX = 512


def put_model(
    folder: Path, port: projects.Port, options: ModelOptions, part: BoardMemory | None
) -> FixedNetwork:
    """Print the size of a network and write it into a project; raise ConfigError, and
    write no file, if the part has no room for it.
    """
    read = graph.read(options.path)
    steps = options.steps or STEPS
    report = None
    if options.inputs is not None and options.steps is None:
        steps = _steps_of(options.inputs, read)
    if file.is_quantised(read):
        _refuse_options(options)
        fixed = file.read(options.path)
    else:
        values = None if options.inputs is None else array_of(options.inputs)
        dt_s, how = step_and_conventions(read, options.dt_s, options.choice)
        made = quantised(read, values, dt_s, how, options.bits)
        fixed = made.fixed
        report = json.dumps(as_json(made), indent=1)
        print_report(made.report)
    needed = sizes(fixed, steps)
    _print_sizes(needed, steps)
    slots = None if part is None else fitting(options.path, _needs(needed), part)
    if fixed.answers > _ANSWERS_MAX:
        raise ConfigError(
            f"{options.path} gives {fixed.answers} values, a device answers"
            f" {_ANSWERS_MAX} at most",
            path="--model",
        )
    (folder / HEADER).write_text(header(fixed, steps, slots), encoding="utf-8")
    file.write(folder / NETWORK, fixed, read)
    if report is not None:
        (folder / REPORT).write_text(report + "\n", encoding="utf-8")
    if options.inputs is not None:
        where = os.path.relpath(options.inputs.resolve(), folder.resolve())
        work = _WORK.format(inputs=toml_text.of_value(where))
        projects.write_benches(folder, WORKLOAD, work, port)
    return fixed


def _steps_of(inputs: Path, read: object) -> int:
    """Return how many steps the samples of an array have; raises DataError where it
    is of another shape than the network takes.
    """
    network = graph.network(read)
    return int(side_by_side(network, array_of(inputs)).shape[1])


def _refuse_options(options: ModelOptions) -> None:
    has_choice = options.choice != ConventionChoice()
    given = {
        "--dt": options.dt_s is not None,
        "--as": has_choice,
        "--bits": options.bits != BITS_MAX,
    }
    for name, is_given in given.items():
        if is_given:
            raise ConfigError(
                f"{options.path} is quantised: that is in it already",
                path=name,
                try_next="the NIR file that it was made of",
            )


def _print_sizes(needed: Sizes, steps: int) -> None:
    table = node_table("node", "kind", "flash B", "states B", "values B")
    for node in needed.nodes:
        sides = (node.constant_b, node.state_b, node.value_b)
        table.add_row(escape(node.name), node.kind, *(f"{size:,}" for size in sides))
    print_table(Terminal(), table)
    say_plain(
        f"the network takes {needed.constant_b:,} B of flash and {needed.memory_b:,} B"
        f" of RAM (values share places); an input of {steps} steps takes"
        f" {needed.input_b:,} B, an answer {needed.answer_b:,}",
    )


def _needs(needed: Sizes) -> Needs:
    largest = "; ".join(
        f"{node.name} ({node.kind}): {node.constant_b:,} B of flash, "
        f"{node.state_b + node.value_b:,} of RAM"
        for node in needed.largest()
    )
    return Needs(
        flash_b=needed.constant_b,
        memory_b=needed.memory_b,
        input_b=needed.input_b,
        answer_b=needed.answer_b,
        largest=f"the largest nodes: {largest}",
        try_next=(
            "a larger part, a smaller network, or fewer --steps (an input takes "
            f"{needed.input_b:,} B)"
        ),
    )
