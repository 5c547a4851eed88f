# SPDX-License-Identifier: Apache-2.0
"""The plain form of a network, read with numpy alone: nodes in the order of a step,
their parameters as arrays, and the conventions of its steps (rig/network/plain.py
writes it).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

NETWORK = "network"
_Known = TypeVar("_Known")


@dataclass(frozen=True)
class Parameters:
    """The arrays of a node's equation by their NIR names; None: the node has none."""

    weight: Any = None
    bias: Any = None
    stride: Any = None
    padding: Any = None
    dilation: Any = None
    groups: Any = None
    kernel_size: Any = None
    start_dim: Any = None
    end_dim: Any = None
    scale: Any = None
    threshold: Any = None
    delay: Any = None
    r: Any = None
    w_in: Any = None
    tau: Any = None
    tau_mem: Any = None
    tau_syn: Any = None
    v_leak: Any = None
    v_reset: Any = None
    v_threshold: Any = None

    @property
    def given(self) -> dict[str, Any]:
        """List the parameters that are there, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Metadata:
    """Metadata of neurons for their rule in whole numbers (docs/reference/ASC.md
    section 2); None: not stated."""

    dash_syn: Any = None
    dash_mem: Any = None
    scale: Any = None
    spikes_max: int | None = None


@dataclass(frozen=True)
class PlainConventions:
    """How a network is stepped, each choice by its name (docs/reference/MODELS.md)."""

    scheme: str
    current: str
    reset: str
    above: bool
    gains: str
    start: str
    spikes_max: int
    late: bool = False


@dataclass(frozen=True)
class PlainNode:
    """A node: its type as NIR calls it, shapes without a batch, the nodes that feed it
    in this step and those whose values of the step before it gets, and its parameters.
    """

    name: str
    type: str
    shape_in: tuple[int, ...]
    shape_out: tuple[int, ...]
    sources: tuple[str, ...]
    late_sources: tuple[str, ...]
    parameters: Parameters
    metadata: Metadata


@dataclass(frozen=True)
class PlainNetwork:
    """A network: time step in seconds, conventions, inputs, outputs, nodes."""

    dt_s: float
    conventions: PlainConventions
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[PlainNode, ...]


@dataclass(frozen=True)
class _NodeEntry:
    """A node as the file's text has it: of its parameters the names."""

    name: str
    type: str
    shape_in: list[int]
    shape_out: list[int]
    sources: list[str]
    late_sources: list[str]
    parameters: list[str]
    metadata: Mapping[str, Any] | None

    def node(self, arrays: Mapping[str, Any]) -> PlainNode:
        """Return the node, its parameters those of the file's arrays."""
        parameters = {key: arrays[f"{self.name}/{key}"] for key in self.parameters}
        return PlainNode(
            name=self.name,
            type=self.type,
            shape_in=tuple(self.shape_in),
            shape_out=tuple(self.shape_out),
            sources=tuple(self.sources),
            late_sources=tuple(self.late_sources),
            parameters=_known(Parameters, parameters),
            metadata=_known(Metadata, self.metadata or {}),
        )


@dataclass(frozen=True)
class _NetworkEntry:
    """A network as the file's text has it."""

    dt_s: float
    conventions: Mapping[str, Any]
    inputs: list[str]
    outputs: list[str]
    nodes: list[Mapping[str, Any]]


def read(path: str) -> PlainNetwork:
    """Read the network of an .npz file."""
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        entry = _NetworkEntry(**json.loads(str(arrays[NETWORK])))
        nodes = tuple(_NodeEntry(**node).node(arrays) for node in entry.nodes)
    inputs = tuple(entry.inputs)
    return PlainNetwork(
        entry.dt_s,
        PlainConventions(**entry.conventions),
        inputs,
        tuple(entry.outputs),
        nodes,
    )


def _known(kind: type[_Known], content: Mapping[str, Any]) -> _Known:
    """Select the items of a mapping for which a dataclass has fields."""
    names = {one.name for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in content.items() if name in names})
