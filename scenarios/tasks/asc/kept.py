# SPDX-License-Identifier: Apache-2.0
"""Files that a session keeps of the task: a model of the bench's owner, and samples of
the owner's folder, so that `rig check` runs the model again.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.errors import DataError
from rig.interfaces.task import Regeneration, Task
from rig.network.tflite import network as network_of
from rig.network.tflite.form import Ints
from scenarios.tasks import user_files
from scenarios.tasks.asc.model import CHANNELS, SLICE_SAMPLES, STEPS
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.network import kept as nir_kept
from scenarios.tasks.tflite import kept as tflite_kept

_INPUTS = "inputs.npy"
#: Samples of more bytes are left out of a session.
_INPUTS_B = 1 << 25
INPUTS_TEXT = "32 MiB"


@dataclass(frozen=True, slots=True)
class Owned:
    """The parts of a task that are files of the bench's owner."""

    model: bool
    samples: bool


#: A task with shipped models and generated samples.
OURS = Owned(model=False, samples=False)


def files(task: Task, path: Path, sha256: str, owned: Owned) -> Mapping[str, bytes]:
    """Return the contents of a model's file, which had this SHA-256 when it was read,
    and the samples as the device gets them, of at most 32 MiB; without the model none.
    """
    if not owned.model or not nir_kept.fits(path):
        return {}
    suffix = network_of.suffix_of(path)
    is_nir = not suffix
    name = f"model{suffix or '.nir'}"
    contents = {name: user_files.content(path, sha256)}
    if not owned.samples:
        return contents
    if len(task) * len(task.payload(0)) <= _INPUTS_B:
        payloads = [
            np.frombuffer(task.payload(index), _kind(is_nir))
            for index in range(len(task))
        ]
        stream = io.BytesIO()
        np.save(stream, np.stack(payloads), allow_pickle=False)
        contents[_INPUTS] = stream.getvalue()
    return contents


def _kind(is_nir: bool) -> np.dtype[np.int16] | np.dtype[np.int8]:
    return np.dtype("<i2") if is_nir else np.dtype(np.int8)


def model_in(folder: Path, *, is_of_cnn: bool) -> tuple[Path, dict[str, str]]:
    """Return the path of the model that a session kept, and the facts that follow from
    it; raises DataError where it is none, or one that would keep a check busy.
    """
    if not is_of_cnn:
        path, _ = nir_kept.model_in(folder)
        model = read_model(path)
        return path, {"model": model.identity, "model_sha256": model.sha256}
    path = tflite_kept.model_in(folder)
    network = network_of.read(path)
    if large := tflite_kept.too_large(network, Regeneration({}).answered_max):
        raise DataError(f"{large} are more than a check runs")
    return path, {"model": network.identity, "model_sha256": network.sha256}


def inputs_in(folder: Path, count: int, *, is_of_cnn: bool) -> Ints | None:
    """Return the samples of a folder that a session kept, None where they are too
    many; raises DataError where they are not `count` samples of a task.
    """
    kind = _kind(not is_of_cnn)
    size = STEPS * CHANNELS if is_of_cnn else SLICE_SAMPLES
    values = tflite_kept.array_in(folder, kind)
    if values is None:
        if count * size * kind.itemsize <= _INPUTS_B:
            raise DataError(f"{_INPUTS} is missing, of samples that fit a session")
        return None
    if values.ndim != 2 or len(values) != count:
        raise DataError(f"{_INPUTS} holds other samples than catalogue.csv")
    if values.shape[1] != size:
        raise DataError(f"{_INPUTS} has samples of {values.shape[1]:,}, not {size:,}")
    return values
