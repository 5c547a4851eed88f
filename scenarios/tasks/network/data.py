# SPDX-License-Identifier: Apache-2.0
"""Samples and labels from files, and the network they are for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rig.errors import ConfigError
from rig.network import conventions, graph
from rig.network.conventions import ConventionChoice, text_of
from rig.network.fixed import file
from rig.network.fixed.form import FixedNetwork
from rig.network.fixed.make import quantised, rule_of, side_by_side
from rig.network.fixed.report import by_input, decisions
from rig.network.interpreter import run
from scenarios.tasks.network import generate
from scenarios.tasks.user_files import array


def samples(path: Path | None, model: Path) -> Any:
    """Return the samples in a file, else random spikes for a network."""
    if path is not None:
        return array(path, "task.network.inputs")
    network = graph.network(graph.read(model))
    shapes = [network.place(name).shape_out for name in network.inputs]
    channels = sum(math.prod(shape) for shape in shapes)
    return generate.samples(shapes[0] if len(shapes) == 1 else (channels,))


def fixed_network(
    path: Path, values: Any, dt_s: float | None, choice: ConventionChoice, bits: int
) -> Any:
    """Return the quantised network of a file, quantised for the samples where it is
    not; and how many samples it decides as in floating point, None where that was not
    tried.
    """
    read = graph.read(path)
    nodes = graph.taken_apart(read)[0]
    if file.is_quantised(read):
        fixed = file.read(path)
        if choice != ConventionChoice() and text_of(choice.of(nodes)) != rule_of(fixed):
            raise ConfigError(
                f"{path.name} is quantised by the conventions {rule_of(fixed)}",
                path="task.network.rule",
                evidence=f"asked for: {text_of(choice.of(nodes))}",
                try_next=(
                    "the NIR file that it was made of, or no rule, reset, spikes_max,"
                    " start"
                ),
            )
        return fixed, None
    if dt_s is None:
        dt_s = choice.dt_s(graph.stated_dt_s(read))
    how = choice.of(nodes)
    made = quantised(read, values, dt_s, how, bits)
    return made.fixed, made.report.same_decisions


def reset_is_stated(path: Path, choice: ConventionChoice) -> bool:
    """Whether the file or the bench states the reset of a membrane by a spike."""
    read = graph.read(path)
    known = choice.says_reset or file.is_quantised(read)
    return known or conventions.states_reset(graph.taken_apart(read)[0])


def own_labels(path: Path, fixed: FixedNetwork, values: Any) -> Any:
    """Compute the network's decisions in floating point."""
    network = graph.network(graph.read(path))
    real = side_by_side(network, values)
    how = conventions.of_text(rule_of(fixed))
    done = run(network, by_input(network, real), fixed.dt_s, how)
    outputs = done.values[fixed.outputs[0]]
    last = done.membranes[fixed.membranes[0]] if fixed.membranes[0] else outputs[:, -1]
    sums = outputs.sum(axis=1).reshape(len(outputs), -1)
    return decisions(sums, last.reshape(len(outputs), -1))
