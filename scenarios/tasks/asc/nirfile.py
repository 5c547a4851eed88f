# SPDX-License-Identifier: Apache-2.0
"""The model as a NIR file: Linear and CubaLIF nodes, with the front end and the
quantisation in the nodes' metadata.

Conventions (docs/reference/ASC.md section 4 says why): weights and thresholds are the
integers themselves times `scale`; times are seconds, tau = dt 2^dash; r = tau_mem / dt
- 1 as Rockpool's importer wants it, and w_in makes up for it where r and w_in are
honoured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import nir
import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network import nir_file
from scenarios.tasks.asc.model import (
    STATE_MAX,
    STEP_S,
    AscModel,
    FilterBank,
    NetworkLayer,
)

FORMAT = "neurorig-asc"
FORMAT_VERSION = 1
SPIKE_RULE = "v >= v_threshold; v -= v_threshold for each spike"


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Metadata of a graph that describe the model; None where absent."""

    format: Any = None
    format_version: Any = None
    name: Any = None
    dt_s: Any = None
    sha256: Any = None


@dataclass(frozen=True, slots=True)
class NodeMetadata:
    """Metadata of a node that describe its whole numbers; None where absent. `scale` is
    the factor of each number, `dash_syn` and `dash_mem` are the decay shifts of
    neurons."""

    scale: Any = None
    dash_syn: Any = None
    dash_mem: Any = None
    spikes_max: Any = None
    spike_rule: Any = None


_Known = TypeVar("_Known", ModelMetadata, NodeMetadata)


def known(kind: type[_Known], metadata: Mapping[str, Any]) -> _Known:
    """Return what of a file's metadata is known here."""
    names = {part.name for part in fields(kind)}
    return kind(**{name: value for name, value in metadata.items() if name in names})


def read_model(path: Path) -> AscModel:
    """Read and check the model at `path`; DataError with the cause if any number of it
    cannot be right.
    """
    graph = nir_file.read(path, type_check=True)
    try:
        return built(graph)
    except DataError as problem:
        raise DataError(
            f"{path}: {problem.cause}",
            evidence=problem.evidence,
            try_next=problem.try_next,
        ) from problem
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as problem:
        raise DataError(
            f"{path}: a value is of the wrong kind",
            evidence=f"{type(problem).__name__}: {problem}",
        ) from problem


def has_format(path: Path) -> bool:
    """Check whether a file says that it is a model of this format, sound or not."""
    try:
        about = nir_file.read(path).metadata
    except DataError:
        return False
    return isinstance(about, dict) and known(ModelMetadata, about).format == FORMAT


def built(graph: Any) -> AscModel:
    """Turn a NIR graph into a model."""
    about = known(ModelMetadata, graph.metadata)
    if (about.format, about.format_version) != (FORMAT, FORMAT_VERSION):
        raise DataError(
            f"not a model of format {FORMAT} {FORMAT_VERSION}",
            evidence=f"metadata {sorted(graph.metadata)}",
        )
    if about.dt_s != STEP_S:
        raise DataError(
            f"made for a time step of {about.dt_s} s", evidence=f"wanted {STEP_S}"
        )
    count = sum(name.startswith("neurons_") for name in graph.nodes)
    order = ["input"]
    for number in range(count):
        order += [f"weight_{number}", f"neurons_{number}"]
    order.append("output")
    if sorted(order) != sorted(graph.nodes):
        raise DataError(
            "nodes are missing or unknown",
            evidence=f"{sorted(set(order) ^ set(graph.nodes))}",
        )
    if sorted(graph.edges) != sorted(pairwise(order)):
        raise DataError(
            "the nodes are not one chain from input to output",
            evidence=f"{graph.edges}",
        )
    layers = tuple(layer(graph.nodes, number) for number in range(count))
    model = AscModel(str(about.name), filter_bank(graph.nodes[order[0]]), layers)
    if about.sha256 != model.sha256:
        hashes = f"hash {model.sha256}, stored {about.sha256}"
        raise DataError(
            "the numbers are not those the file was written with", evidence=hashes
        )
    return model


def filter_bank(node: Any) -> FilterBank:
    """Read the filter bank from the input node's metadata."""
    stored = node.metadata.get("filter_bank")
    kinds = {"b0": np.int32, "a1": np.int32, "a2": np.int32, "offset": np.int16}
    if not isinstance(stored, dict) or stored.keys() != kinds.keys():
        raise DataError("input: no filter bank in its metadata")
    numbers = {}
    for name, kind in kinds.items():
        numbers[name] = whole(stored[name], kind, f"filter bank {name}")
    return FilterBank(**numbers)


def layer(nodes: dict[str, Any], number: int) -> NetworkLayer:
    """Read layer `number` from its Linear and its CubaLIF node."""
    where = f"layer {number}"
    linear = nodes[f"weight_{number}"]
    neurons = nodes[f"neurons_{number}"]
    if not isinstance(linear, nir.Linear) or not isinstance(neurons, nir.CubaLIF):
        raise DataError(
            f"{where}: {type(linear).__name__} and {type(neurons).__name__}",
            evidence="wanted Linear and CubaLIF",
        )
    about = known(NodeMetadata, neurons.metadata)
    for name in ("tau_syn", "tau_mem", "r", "v_leak", "v_reset", "v_threshold", "w_in"):
        finite(getattr(neurons, name), f"{where} {name}")
    dash_syn = dashes(neurons.tau_syn, about.dash_syn, f"{where} tau_syn")
    dash_mem = dashes(neurons.tau_mem, about.dash_mem, f"{where} tau_mem")
    if np.any(neurons.v_leak != 0) or np.any(neurons.v_reset != 0):
        raise DataError(f"{where}: v_leak and v_reset must be 0")
    spikes_max = about.spikes_max or 0
    if about.spike_rule != SPIKE_RULE or not spikes_max >= 1:
        raise DataError(
            f"{where}: no known spike rule or spikes_max in its metadata",
            evidence=f"{sorted(neurons.metadata)}",
        )
    weight = whole(
        finite(linear.weight, f"{where} weight") / scale(linear, where),
        np.int8,
        f"{where} weight",
    )
    if weight.ndim != 2 or bool(np.any(weight == -128)):
        raise DataError(
            f"{where}: weights of shape {weight.shape}",
            evidence="wanted a matrix within -127..127",
        )
    threshold = whole(
        neurons.v_threshold / scale(neurons, where), np.int16, f"{where} v_threshold"
    )
    return NetworkLayer(weight, dash_syn, dash_mem, threshold, int(spikes_max))


def scale(node: Any, where: str) -> float:
    """Return what an integer of a node was multiplied with."""
    value = known(NodeMetadata, node.metadata).scale
    if not isinstance(value, float) or not 0 < value < STATE_MAX:
        raise DataError(f"{where}: no scale in its metadata", evidence=f"{value!r}")
    return value


def finite(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return `array` if it holds finite numbers only."""
    if not bool(np.all(np.isfinite(array))):
        raise DataError(f"{what} holds NaN or infinity")
    return array


def whole(array: Any, kind: type[Any], what: str) -> NDArray[Any]:
    """Return `array` as integers of `kind` if it is that exactly."""
    numbers = finite(np.asarray(array, np.float64), what)
    limits = np.iinfo(kind)
    beyond = (numbers < limits.min) | (numbers > limits.max)
    if bool(np.any(beyond | (numbers != np.rint(numbers)))):
        raise DataError(
            f"{what} is not of whole numbers of {np.dtype(kind).name}",
            evidence=f"{numbers.min()} to {numbers.max()}",
        )
    return numbers.astype(kind)


def dashes(tau_s: NDArray[Any], stored: Any, what: str) -> NDArray[np.uint8]:
    """Return the decay shifts stored with a time constant, if they are its own."""
    if bool(np.any(tau_s <= 0)):
        raise DataError(f"{what} is not positive", evidence=f"{float(tau_s.min())} s")
    if stored is None:
        raise DataError(f"{what}: no decay shifts in its metadata")
    shifts = whole(stored, np.uint8, what)
    due_s = STEP_S * np.exp2(shifts.astype(np.float64))
    is_same = shifts.shape == tau_s.shape
    if not (is_same and bool(np.allclose(tau_s, due_s, rtol=1e-5, atol=0))):
        raise DataError(
            f"{what} is not the time step times a power of two",
            evidence=f"{tau_s.tolist()} s",
        )
    return shifts
