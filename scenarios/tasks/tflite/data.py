# SPDX-License-Identifier: Apache-2.0
"""Samples and labels of a model, from an array or from a folder for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from rig.errors import ConfigError, DataError
from rig.network.tflite.form import IntegerNetwork, Ints
from rig.network.tflite.inputs import output_size, require_fit, to_payloads
from rig.network.tflite.payloads import PayloadForm
from rig.units import plural
from scenarios.tasks.tflite import generate, sounds
from scenarios.tasks.user_files import array, digest, require_labels

_INPUTS = "task.tflite.inputs"
_LABELS = "task.tflite.labels"
#: Files of a folder of samples.
_FILES_MAX = 200_000
#: Characters of a folder's name in a message.
_NAME_SHOWN = 30


@dataclass(frozen=True, slots=True)
class LabelledInputs:
    """Inputs as a device takes them, and their right outputs, None where none are
    known; how many real numbers were limited, and a SHA-256 over all files, "" where
    there are none.
    """

    values: Ints
    labels: Ints | None
    limited: int = 0
    sha256: str = ""


def samples(
    network: IntegerNetwork,
    inputs: Path | None,
    labels: Path | None,
    payload: PayloadForm = PayloadForm.VALUES,
) -> LabelledInputs:
    """Return a model's samples as its device takes them: of an array, of a folder for
    each class, or generated ones. Raises DataError where the device does not suit the
    model, ConfigError where the samples do not.
    """
    require_fit(network, payload)
    if inputs is None:
        made, _ = to_payloads(network, payload, _generated(network, payload))
        return LabelledInputs(made, _labels(labels))
    if inputs.is_dir():
        if labels is not None:
            raise ConfigError(
                "the folder of inputs says the labels already",
                path=_LABELS,
                try_next="no labels, or inputs in one array",
            )
        return _of_folder(network, payload, inputs)
    values, limited = _fitted(network, payload, array(inputs, _INPUTS))
    return LabelledInputs(values, _labels(labels), limited, digest(inputs))


def right(network: IntegerNetwork, inputs: LabelledInputs) -> list[str]:
    """Return labels that outputs are judged with; raises DataError where they do not
    fit.
    """
    if inputs.labels is None:
        return []
    return require_labels(inputs.labels, len(inputs.values), output_size(network))


def _generated(network: IntegerNetwork, payload: PayloadForm) -> Ints:
    if payload is PayloadForm.MFCC:
        return sounds.samples()
    shape = network.tensors[network.input].shape
    return generate.samples(shape[1:] if shape[0] == 1 else shape)


def _fitted(
    network: IntegerNetwork, payload: PayloadForm, values: Ints
) -> tuple[Ints, int]:
    try:
        return to_payloads(network, payload, values)
    except DataError as error:
        raise ConfigError(
            error.cause, path=_INPUTS, evidence=error.evidence, try_next=error.try_next
        ) from error


def _labels(path: Path | None) -> Ints | None:
    if path is None:
        return None
    labels: Ints = array(path, _LABELS)
    return labels


def _of_folder(
    network: IntegerNetwork, payload: PayloadForm, folder: Path
) -> LabelledInputs:
    """Return the samples of a folder with a folder for each class, in the order of
    their names; a name that is a number is the output.
    """
    classes = sorted(each for each in folder.iterdir() if each.is_dir())
    outputs_of_classes = _outputs_of(folder, classes, output_size(network))
    values: list[Ints] = []
    labels: list[int] = []
    limited = 0
    hashed = sha256()
    for output, each in zip(outputs_of_classes, classes, strict=True):
        files = sorted(each.glob("*.npy"))
        if len(values) + len(files) > _FILES_MAX:
            raise ConfigError(
                f"{folder} has more than {_FILES_MAX:,} files",
                path=_INPUTS,
                try_next="several samples in a file, or fewer files",
            )
        for file in files:
            fitted, beyond = _fitted(network, payload, array(file, _INPUTS))
            values.append(fitted)
            limited += beyond
            labels += [output] * len(fitted)
            hashed.update(f"{each.name}/{file.name}\n{digest(file)}\n".encode())
    if not values:
        raise ConfigError(
            f"{folder} has no samples", path=_INPUTS, try_next="FOLDER/CLASS/NAME.npy"
        )
    return LabelledInputs(
        np.concatenate(values), np.array(labels), limited, hashed.hexdigest()
    )


def _outputs_of(folder: Path, classes: Sequence[Path], outputs: int) -> Sequence[int]:
    """Return the output that each class is: its number, or else its position among the
    names; raises ConfigError where names and outputs do not agree.
    """
    numbers = [each.name for each in classes if each.name.lstrip("-").isdecimal()]
    if numbers and len(numbers) == len(classes):
        for number in numbers:
            if not number.isdecimal() or int(number) >= outputs:
                raise ConfigError(
                    f"{folder} has a folder {number[:_NAME_SHOWN]}, which is no output"
                    " of the model",
                    path=_INPUTS,
                    evidence=f"the model has {plural(outputs, 'output')}: 0 to"
                    f" {outputs - 1}",
                    try_next="the number of the right output as the folder's name",
                )
        return list(map(int, numbers))
    if numbers:
        named = next(each.name for each in classes if each.name not in numbers)
        raise ConfigError(
            f"some folders in {folder} are numbers, and others are names",
            path=_INPUTS,
            evidence=f"{numbers[0][:_NAME_SHOWN]} and {named[:_NAME_SHOWN]}",
            try_next="numbers of outputs for all folders, or names for all",
        )
    if len(classes) != outputs:
        raise ConfigError(
            f"{folder} has {plural(len(classes), 'folder')}, the model"
            f" {plural(outputs, 'output')}",
            path=_INPUTS,
            try_next="a folder for each class, or folders named by numbers of outputs",
        )
    return range(outputs)
