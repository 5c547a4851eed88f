# SPDX-License-Identifier: Apache-2.0
"""Files that a session keeps of its task: a copy of the model, and the inputs as the
device got them, so that `rig check` runs the model again.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.network import array_file
from rig.network.tflite import interpreter
from rig.network.tflite.form import IntegerNetwork, Ints
from rig.network.tflite.inputs import require_fit, to_payloads
from rig.network.tflite.network import suffix_of
from rig.network.tflite.payloads import PayloadForm
from rig.network.tflite.sizes import sizes
from scenarios.tasks import user_files

_MODEL = "model"
_INPUTS = "inputs.npy"
#: Inputs of more bytes are left out of a session.
INPUTS_B = 1 << 25
INPUTS_TEXT = "32 MiB"
#: A check runs a model for so many products at most, some half a minute, and none of
#: more products or bytes of tensors than this: the file may be made to keep it busy.
_PRODUCTS_MAX = 2 * 10**10
_MODEL_PRODUCTS_MAX = 10**8
_MODEL_TENSORS_B = 1 << 24


def fits(values: Ints) -> bool:
    """Check whether a session keeps inputs."""
    return values.nbytes <= INPUTS_B


def files(
    path: Path,
    network: IntegerNetwork,
    values: Ints | None,
    most_b: int | None = None,
) -> dict[str, bytes]:
    """Return the contents of a model's file and of its inputs, of at most so many
    bytes, or as many as `fits` allows, none for None; raises DataError where the file
    has changed since it was read.
    """
    name = f"{_MODEL}{suffix_of(path) or path.suffix}"
    contents = {name: user_files.content(path, network.sha256)}
    if values is None:
        return contents
    if fits(values) if most_b is None else values.nbytes <= most_b:
        stream = io.BytesIO()
        np.save(stream, values, allow_pickle=False)
        contents[_INPUTS] = stream.getvalue()
    return contents


def model_in(folder: Path) -> Path:
    """Return the path of the model that a session kept; raises DataError where there
    is none.
    """
    models = sorted(path for path in folder.iterdir() if path.stem == _MODEL)
    if len(models) != 1:
        raise DataError(f"{folder.name} holds {len(models)} models, not one")
    return models[0]


def inputs_in(
    folder: Path, network: IntegerNetwork, payload: PayloadForm
) -> Ints | None:
    """Return the inputs that a session kept, None where it kept none; raises DataError
    where they are not those of its model.
    """
    require_fit(network, payload)
    values = array_in(folder, payload.dtype)
    if values is None:
        return None
    # As the device gets them: images have their channels last already.
    return to_payloads(replace(network, channels_first=False), payload, values)[0]


def array_in(folder: Path, kind: np.dtype[Any]) -> Ints | None:
    """Return the array of this type that a session kept, None where it kept none;
    raises DataError for anything else.
    """
    try:
        values = array_file.read(folder / _INPUTS)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(f"{_INPUTS} is no array", evidence=str(error)) from error
    if values.dtype != kind:
        raise DataError(f"{_INPUTS} holds no {kind}")
    inputs: Ints = values
    return inputs


def too_large(network: IntegerNetwork, samples: int) -> str:
    """Return why a check does not run a model over samples; empty where it does."""
    products = interpreter.work(network)
    if products > _MODEL_PRODUCTS_MAX or products * samples > _PRODUCTS_MAX:
        return f"{samples:,} samples of {products:,} products"
    tensors_b = sizes(network).arena.size_b
    if tensors_b > _MODEL_TENSORS_B or tensors_b * samples > _PRODUCTS_MAX:
        return f"{samples:,} samples of {tensors_b:,} B of tensors"
    return ""
