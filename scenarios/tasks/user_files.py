# SPDX-License-Identifier: Apache-2.0
"""Samples and labels in files of the bench's owner."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import ConfigError, DataError
from rig.files import small_text
from rig.files.user_folders import expanded
from rig.model.need import Need, NeedKind
from rig.network import array_file
from rig.units import plural

#: Python refuses to read numbers of thousands of digits, and NumPy has 64 bits.
_DIGITS = 18


def has_files(settings: Any) -> bool:
    """Check whether a bench file names a model, samples or labels."""
    return bool(settings.model or settings.inputs or settings.labels)


def outside_session(*paths: object) -> str:
    """Return why a check does not read the files that a bench file names, and what a
    person can do.
    """
    named = ", ".join(str(path) for path in paths if path)
    return (
        f"{named} (bench.toml) is not kept in the session folder, and no other place is"
        " looked at; compare your copy with what provenance.json says of it, or measure"
        " again with rig audit"
    )


def source_of(settings: Any, default: str) -> str:
    """Return the source of the samples: that of the bench file, or its default."""
    owners = "files of the bench's owner" if settings.inputs else default
    return settings.source or owners


def facts_of_data(
    source: str, judged: str, count: int, available: int
) -> dict[str, Any]:
    """Return the facts of samples that are no benchmark's: `judged` says how, and
    `count` of the `available` ones are used.
    """
    generated = source.lower().startswith(("generated", "random"))
    statement = f"{source}; {judged}" + ("" if generated else ": no benchmark's data")
    subset = "all" if count == available else f"the first {count} of {available}"
    return {
        "source": source,
        "official": False,
        "unofficial": "OWN DATA",
        "statement": statement,
        "samples": count,
        "subset": subset,
    }


def path_of(folder: Path, name: str) -> Path | None:
    """Return the path of a file that a bench in a folder names; None without a name."""
    return folder / expanded(name) if name else None


def needs(folder: Path, *names: str) -> list[Need]:
    """Return the files that a bench in a folder names."""
    paths = [path for name in names if (path := path_of(folder, name)) is not None]
    return [Need(NeedKind.FILE, str(path)) for path in paths]


def reader_of(model: str) -> Need:
    """Return the package that reads a model of whole numbers, or the example."""
    is_onnx = model.lower().endswith(".onnx")
    return Need(NeedKind.EXTRA, "onnx" if is_onnx else "tflite")


def array(path: Path, setting: str) -> Any:
    """Return the array in a file, .npy, or for labels a number a line; raises
    ConfigError.
    """
    try:
        values = array_file.array_of(path) if path.suffix == ".npy" else _lines(path)
    except DataError as error:
        raise ConfigError(
            error.cause,
            path=setting,
            evidence=error.evidence,
            try_next=error.try_next,
        ) from error
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is no array",
            path=setting,
            evidence=str(error),
            try_next="a whole number a line, or a .npy file: numpy.save(FILE, ARRAY)",
        ) from error
    if not values.size:
        raise ConfigError(
            f"{path} holds no numbers", path=setting, try_next="numpy.save of one array"
        )
    return values


def _lines(path: Path) -> Any:
    """Return whole numbers, one a line; the first line may be a heading."""
    lines = small_text.read(path).split()
    if lines and not lines[0].lstrip("-").isdigit():
        del lines[0]
    for line in lines:
        if len(line) > _DIGITS:
            raise ValueError(f"{line[:_DIGITS]}... has more than {_DIGITS} digits")
    return np.array([int(line) for line in lines], np.int64)


def require_labels(labels: Any, samples: int, outputs: int) -> list[str]:
    """Return labels as tasks name them; raises DataError where they do not fit."""
    numbers = np.asarray(labels).reshape(-1)
    if len(numbers) != samples:
        raise DataError(
            f"{plural(len(numbers), 'label')} of {plural(samples, 'sample')}",
            try_next="a label for each sample",
        )
    # NaN and numbers of more than 64 bits are compared before they are converted.
    is_output = (numbers >= 0) & (numbers < outputs) & (np.rint(numbers) == numbers)
    wrong = np.flatnonzero(~is_output)
    if wrong.size:
        raise DataError(
            f"label {int(wrong[0])} is {str(numbers[wrong[0]])[:20]}",
            evidence=f"the network has {outputs} outputs: 0 to {outputs - 1}",
            try_next="the number of the right output, from 0 on",
        )
    return [str(number) for number in numbers.astype(np.int64).tolist()]


def content(path: Path, sha: str) -> bytes:
    """Return the bytes of a file; raises DataError where it has changed since it was
    read, when its SHA-256 was `sha`.
    """
    read_now = path.read_bytes()
    if sha256(read_now).hexdigest() != sha:
        raise DataError(
            f"{path} is another file than when the bench was opened",
            try_next="start the run again",
        )
    return read_now


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()
