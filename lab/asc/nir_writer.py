# SPDX-License-Identifier: Apache-2.0
"""Write a trained model as the NIR file that scenarios/tasks/asc/nirfile.py reads."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np

from scenarios.tasks.asc.model import (
    CHANNELS,
    CLASSES_COUNT,
    STEP_S,
    AscModel,
    NetworkLayer,
)
from scenarios.tasks.asc.nirfile import (
    FORMAT,
    FORMAT_VERSION,
    SPIKE_RULE,
    ModelMetadata,
    NodeMetadata,
)


def write_model(model: AscModel, path: Path) -> None:
    """Write `model` to `path`."""
    bank = {name: getattr(model.bank, name) for name in ("b0", "a1", "a2", "offset")}
    entry = nir.Input(np.array([CHANNELS]))
    entry.metadata = {"filter_bank": bank}
    nodes: dict[str, Any] = {"input": entry}
    for number, layer in enumerate(model.layers):
        nodes[f"weight_{number}"] = nir.Linear(
            weight=layer.weight.astype(np.float32), metadata={"scale": 1.0}
        )
        nodes[f"neurons_{number}"] = neuron_node(layer)
    nodes |= {"output": nir.Output(np.array([CLASSES_COUNT]))}
    names = list(nodes)
    about = ModelMetadata(FORMAT, FORMAT_VERSION, model.name, STEP_S, model.sha256)
    nir.write(
        str(path), nir.NIRGraph(nodes, list(pairwise(names)), metadata=asdict(about))
    )


def neuron_node(layer: NetworkLayer) -> Any:
    """Return the CubaLIF node of a layer."""
    steps_syn, steps_mem = (
        np.exp2(dash.astype(np.float32)) for dash in (layer.dash_syn, layer.dash_mem)
    )
    zero = np.zeros(layer.neurons, np.float32)
    return nir.CubaLIF(
        tau_syn=(STEP_S * steps_syn).astype(np.float32),
        tau_mem=(STEP_S * steps_mem).astype(np.float32),
        r=steps_mem - 1,
        v_leak=zero,
        v_reset=zero,
        v_threshold=layer.threshold.astype(np.float32),
        w_in=steps_syn * steps_mem / (steps_mem - 1),
        metadata=asdict(
            NodeMetadata(
                1.0, layer.dash_syn, layer.dash_mem, layer.spikes_max, SPIKE_RULE
            )
        ),
    )
