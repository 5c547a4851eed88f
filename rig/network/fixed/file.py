# SPDX-License-Identifier: Apache-2.0
"""A quantised network in a file: a NIR file whose weights are whole numbers times their
scale, with all numbers of the arithmetic as JSON in its metadata; or that JSON alone.

Any reader of NIR files reads the first, as the network of real numbers that the whole
ones stand for.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import cattrs
import nir
import numpy as np
from cattrs.gen import make_dict_unstructure_fn, override
from cattrs.strategies import configure_tagged_union
from numpy.typing import NDArray

from rig.errors import DataError
from rig.files import small_text
from rig.network import graph as graphs
from rig.network.fixed.checks import require_whole
from rig.network.fixed.form import (
    Body,
    Convolution,
    Dense,
    FixedNetwork,
    FixedNode,
    Ints,
    Population,
)
from rig.network.graph import DT_KEY

KEY = "fixed_point"
HASH_KEY = "fixed_point_sha256"
FORMAT = "neurorig-fixed-point"
FORMAT_VERSION = 1
_NOT_OURS = (
    cattrs.BaseValidationError,
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """The JSON of a file: its schema, and the network."""

    format: str
    format_version: int
    network: FixedNetwork


@dataclass(frozen=True, slots=True)
class _StoredArray:
    """An array of whole numbers as the file has it."""

    shape: list[int]
    numbers: list[int]

    @property
    def array(self) -> Any:
        """The array."""
        return np.asarray(self.numbers, np.int64).reshape(self.shape)


def _is_array(kind: Any) -> bool:
    return getattr(kind, "__origin__", kind) is np.ndarray


def _stored(numbers: Ints) -> dict[str, Any]:
    return asdict(_StoredArray(list(numbers.shape), numbers.ravel().tolist()))


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_unstructure_hook_func(_is_array, _stored)
    converter.register_structure_hook_func(
        _is_array, lambda stored, _: converter.structure(stored, _StoredArray).array
    )
    # Files of networks that have no use for it keep the text, and the hash, that they
    # had.
    converter.register_unstructure_hook(
        Population,
        make_dict_unstructure_fn(
            Population, converter, takes=override(omit_if_default=True)
        ),
    )
    configure_tagged_union(Body, converter, tag_name="does")
    return converter


_CONVERTER = _converter()


def to_text(network: FixedNetwork) -> str:
    """Return a network as JSON, always the same text for the same numbers."""
    stored = _CONVERTER.unstructure(Stored(FORMAT, FORMAT_VERSION, network))
    return json.dumps(stored, separators=(",", ":"), sort_keys=True)


def from_text(text: str, path: Path) -> FixedNetwork:
    """Return the network that JSON holds; raises DataError where it holds none."""
    try:
        stored = _CONVERTER.structure(json.loads(text), Stored)
    except _NOT_OURS as error:
        raise DataError(
            f"{path} holds no network in whole numbers",
            evidence=f"{type(error).__name__}: {error}",
        ) from error
    if (stored.format, stored.format_version) != (FORMAT, FORMAT_VERSION):
        raise DataError(
            f"{path} has another format",
            evidence=(
                f"{stored.format} {stored.format_version}, wanted {FORMAT}"
                f" {FORMAT_VERSION}"
            ),
            try_next=(
                "rig model quantize once more, on the NIR file that it was made of"
            ),
        )
    require_whole(stored.network)
    return stored.network


def write(path: Path, network: FixedNetwork, graph: Any) -> None:
    """Write a quantised network: JSON where the path ends so, else a NIR file made of
    `graph`, the one that was quantised.
    """
    text = to_text(network)
    if path.suffix == ".json":
        path.write_text(text + "\n", encoding="utf-8")
        return
    changed = copy.deepcopy(graph)
    _put_weights(changed, "", network)
    about = dict(changed.metadata) if isinstance(changed.metadata, dict) else {}
    digest = sha256(text.encode()).hexdigest()
    changed.metadata = {**about, DT_KEY: network.dt_s, KEY: text, HASH_KEY: digest}
    nir.write(path, changed)


def _put_weights(graph: Any, prefix: str, network: FixedNetwork) -> None:
    for name, node in graph.nodes.items():
        if isinstance(node, nir.NIRGraph):
            _put_weights(node, f"{prefix}{name}.", network)
        elif hasattr(node, "weight"):
            fixed = network.node(f"{prefix}{name}")
            body = weights_of(fixed)
            node.weight = (body.weight * fixed.weight_scale).reshape(
                np.shape(node.weight)
            )
            if hasattr(node, "bias"):
                node.bias = body.bias * fixed.weight_scale * fixed.scale_in / 2**body.up
            node.metadata = {**(node.metadata or {}), "scale": fixed.weight_scale}


def weights_of(node: FixedNode) -> Dense | Convolution:
    """Return the body of a node with weights."""
    if not isinstance(node.body, Dense | Convolution):
        raise DataError(f"{node.name} has no weights in whole numbers")
    return node.body


def is_quantised(graph: Any) -> bool:
    """Check whether a NIR graph brings its numbers in fixed point."""
    return isinstance(graph.metadata, dict) and KEY in graph.metadata


def read(path: Path) -> FixedNetwork:
    """Read a quantised network from a NIR file or JSON; raises DataError where there is
    none, or another than was written.
    """
    if path.suffix == ".json":
        try:
            return from_text(small_text.read(path).strip(), path)
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read", evidence=str(error)) from error
    graph = graphs.read(path)
    if not is_quantised(graph):
        raise DataError(
            f"{path} is not quantised",
            try_next=f"rig model quantize {path} -o QUANTISED.nir",
        )
    text = str(graph.metadata[KEY])
    digest = sha256(text.encode()).hexdigest()
    if digest != graph.metadata.get(HASH_KEY):
        raise DataError(
            f"{path} holds other numbers than were written",
            evidence=f"SHA-256 {digest}, stated {graph.metadata.get(HASH_KEY)}",
        )
    network = from_text(text, path)
    _require_same_weights(path, graph, "", network)
    return network


def _agree(stored: NDArray[np.float64], whole: Ints) -> bool:
    return stored.size == whole.size and not np.any(np.abs(stored - whole) > 1e-3)


def _require_same_weights(
    path: Path, graph: Any, prefix: str, network: FixedNetwork
) -> None:
    for name, node in graph.nodes.items():
        full = f"{prefix}{name}"
        if isinstance(node, nir.NIRGraph):
            _require_same_weights(path, node, f"{full}.", network)
        elif hasattr(node, "weight"):
            fixed = network.node(full)
            whole: Ints = weights_of(fixed).weight
            stored = np.asarray(node.weight, np.float64).ravel() / fixed.weight_scale
            if not _agree(stored, whole.ravel()):
                raise DataError(
                    f"{path}: the weights of {full} are not its whole numbers",
                    try_next=(
                        "rig model quantize once more; the file was changed after that"
                    ),
                )
