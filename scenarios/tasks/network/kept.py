# SPDX-License-Identifier: Apache-2.0
"""Files that a session keeps of its task: copies of the NIR file and of the inputs, so
that `rig check` quantises the network again and runs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from rig.errors import DataError
from rig.files import foreign_files
from rig.network import array_file, footprint, graph
from rig.network.fixed import file
from rig.network.fixed.form import Convolution, Dense, FixedNetwork
from scenarios.tasks import user_files

_MODEL = "model.nir"
_INPUTS = "inputs.npy"
#: A file of more bytes is left out of a session.
_FILE_B = 1 << 25
FILE_TEXT = "32 MiB"
#: A check runs a network for so many products and values at most, some half a minute;
#: a sample has at most so many values; and of nodes, each step takes its time.
_WORK_MAX = 5 * 10**9
_SAMPLE_VALUES_MAX = 1 << 25
_NODE_STEPS_MAX = 10**6


def fits(path: Path) -> bool:
    """Check whether a session keeps a file."""
    return path.stat().st_size <= _FILE_B


def files(model: tuple[Path, str], inputs: tuple[Path, str] | None) -> dict[str, bytes]:
    """Return the contents of a NIR file and of its inputs, each a path and the SHA-256
    that it had when it was read; raises DataError where one has changed since. Without
    the model no file is kept.
    """
    if not fits(model[0]):
        return {}
    contents = {_MODEL: user_files.content(*model)}
    if inputs is not None and fits(inputs[0]):
        contents[_INPUTS] = user_files.content(*inputs)
    return contents


def model_in(folder: Path) -> tuple[Path, str]:
    """Return the path of the NIR file that a session kept, and its SHA-256."""
    path = folder / _MODEL
    return path, sha256(_content(path)).hexdigest()


def inputs_in(folder: Path) -> tuple[Any, str] | None:
    """Return the inputs that a session kept and their SHA-256, None where it kept none;
    raises DataError where they are no numbers.
    """
    path = folder / _INPUTS
    if not path.exists():
        return None
    digest = sha256(_content(path)).hexdigest()
    try:
        values = array_file.read(path)
    except ValueError as error:
        raise DataError(f"{_INPUTS} is no array", evidence=str(error)) from error
    if values.ndim < 2 or not values.size:
        raise DataError(f"{_INPUTS} has the shape {values.shape}: samples, steps, ...")
    return values, digest


def _content(path: Path) -> bytes:
    try:
        content = foreign_files.read_bytes(path)
    except FileNotFoundError as error:
        raise DataError(f"the session holds no {path.name}") from error
    if len(content) > _FILE_B:
        raise DataError(f"{path.name} is larger than a session keeps: {FILE_TEXT}")
    return content


def too_large(model: Path, samples: int, steps: int) -> str:
    """Return why a check does not run the network of a file over so many samples and
    steps; empty where it does.
    """
    read = graph.read(model)
    network = graph.network(read)
    shapes = [(place.shape_in, place.shape_out) for place in network.places]
    most = footprint.of(network).synapses
    if file.is_quantised(read):
        # Its arithmetic is text of its own, which need not be that of the graph.
        fixed = file.read(model)
        shapes += [(node.shape_in, node.shape_out) for node in fixed.nodes]
        most = max(most, products(fixed))
    size = _values(shapes)
    if samples * steps * (most + size) > _WORK_MAX:
        return (
            f"{samples:,} samples of {steps:,} steps, {most:,} products and"
            f" {size:,} values each,"
        )
    if steps * size > _SAMPLE_VALUES_MAX:
        return f"samples of {steps:,} steps and {size:,} values each"
    if samples * steps * len(shapes) > _NODE_STEPS_MAX:
        return f"{samples:,} samples of {steps:,} steps through {len(shapes):,} nodes"
    return ""


def _values(shapes: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> int:
    return sum(math.prod(into) + math.prod(out) for into, out in shapes)


def products(network: FixedNetwork) -> int:
    """Return the products of a step."""
    total = 0
    for node in network.nodes:
        if isinstance(node.body, Dense | Convolution):
            per_position = max(len(node.body.weight), 1)
            total += node.body.weight.size * math.ceil(node.outputs / per_position)
    return total
