# SPDX-License-Identifier: Apache-2.0
"""The task as programs for this computer's processor: what [sut.cpu] runs, in a process of its own.

Both share the front end, which is integer arithmetic by definition (docs/ASC.md section 2); they
differ in the network. Both are numpy: the same model in C is the firmware on the host, [sut.posix]
with host_clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rig.interfaces.cpu_program import Program, Routine
from rig.network import conventions, graph, interpreter
from rig.network.checks import require_sound
from scenarios.tasks.asc.integer import infer, spike_counts
from scenarios.tasks.asc.model import SLICE_SAMPLES, STATE_MAX, AscModel
from scenarios.tasks.asc.nirfile import read_model

_SPIKE = 65_536


def programs(path: Path, model: AscModel) -> dict[str, Program]:
    """Return the programs of a model: its integer arithmetic, and its NIR graph in floating
    point.
    """
    entries = {"integer": integer, "nir": interpreted}
    return {
        name: Program(
            f"{function.__module__}:{function.__name__}", "asc", model.identity, {"path": str(path)}
        )
        for name, function in entries.items()
    }


def integer(path: str) -> Routine:
    """Return the integer model: the firmware's bytes."""
    model = read_model(Path(path))
    return Routine(
        load=_slice,
        phases=(lambda audio: spike_counts(model.bank, audio), lambda counts: infer(model, counts)),
        output=lambda result: _bytes(result[0][0], result[1][0]),
    )


def interpreted(path: str) -> Routine:
    """Return the NIR graph's network in floating point behind the same front end."""
    bank = read_model(Path(path)).bank
    model = graph.read(Path(path))
    require_sound(model)
    network = graph.network(model)
    how = conventions.stated(model.nodes)
    last = graph.neurons(network)[-1].name

    def infer_floats(counts: Any) -> tuple[Any, Any]:
        run = interpreter.run(network, counts[None], how=how)
        return run.values[network.outputs[0]][0].sum(axis=0), run.membranes[last][0]

    return Routine(
        load=_slice,
        phases=(lambda audio: spike_counts(bank, audio)[0], infer_floats),
        output=lambda result: _bytes(*result),
    )


def _slice(payload: bytes) -> Any:
    if len(payload) != 2 * SLICE_SAMPLES:
        raise ValueError(f"{len(payload)} bytes, one second of audio has {2 * SLICE_SAMPLES}")
    return np.frombuffer(payload, "<i2").astype(np.int16)[None]


def _bytes(fired: Any, membrane: Any) -> bytes:
    """Return the output as docs/ASC.md section 3 has it, the membrane rounded to a whole number
    within 16 bits.
    """
    whole = np.clip(np.rint(membrane), -STATE_MAX - 1, STATE_MAX)
    output: bytes = (fired * _SPIKE + whole + STATE_MAX + 1).astype("<i4").tobytes()
    return output
