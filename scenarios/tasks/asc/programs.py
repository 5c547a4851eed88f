# SPDX-License-Identifier: Apache-2.0
"""The task as what backends run in a process of its own: its integer arithmetic as a
program for this computer's processor, and its network.

They share the front end, which is integer arithmetic by definition
(docs/reference/ASC.md section 2). The program is numpy: the same model in C is the
firmware on the host, [sut.posix] with host_clock.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rig.interfaces.cpu_program import Program, Routine
from rig.interfaces.network_task import NetworkWorkload
from scenarios.tasks.asc.codec import AscCodec, answer
from scenarios.tasks.asc.codec import arguments as codec_arguments
from scenarios.tasks.asc.integer import infer, spike_counts
from scenarios.tasks.asc.model import AscModel
from scenarios.tasks.asc.nirfile import read_model


def programs(path: Path, model: AscModel) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic."""
    return {
        "integer": Program(
            f"{__name__}:integer", "asc", model.identity, {"path": str(path)}
        ),
    }


def network(path: Path, model: AscModel) -> NetworkWorkload:
    """Return the network that other backends may run, after the task's front end."""
    arguments = codec_arguments(model.bank)
    return NetworkWorkload(
        path=path,
        codec="scenarios.tasks.asc.codec:open_codec",
        task="asc",
        model=model.identity,
        arguments=arguments,
    )


def integer(path: str) -> Routine:
    """Return the integer model: the firmware's bytes."""
    model = read_model(Path(path))

    def output(result: Any) -> bytes:
        fired, membrane = result
        return answer(fired[0], membrane[0])

    features = partial(spike_counts, model.bank)
    inference = partial(infer, model)
    return Routine(AscCodec(model.bank).load, (features, inference), output)
