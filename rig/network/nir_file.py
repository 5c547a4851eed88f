# SPDX-License-Identifier: Apache-2.0
"""Read NIR files, which are HDF5, in a process of their own: it may hang or crash, the
rig may not.

One byte that is wrong lets HDF5's library loop for ever, deaf to Ctrl-C, or end its
process. The process has `_LIMIT_S` of processor time, and a second for each `PER_S_B`
of the file, and three times as much by the clock (rig/host/processor_limit.py); it is
killed then, or as soon as the rig is asked to stop; it ends with the rig, however that
ends (where the kernel has no means for that, at its limit). The content comes back
without pickle (rig/network/hdf5_tree.py).
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import nir
import numpy as np

from rig.errors import DataError
from rig.files import foreign_files
from rig.host import processor_limit
from rig.network import hdf5_tree
from rig.trace import limited_child

#: A file is read within so much processor time, and one second more for each so many of
#: its bytes.
_LIMIT_S = 20.0
PER_S_B = 1_000_000
#: The arrays of a network have at most so many bytes.
ARRAYS_B = 1 << 30
#: Files that a run reads several times are read once: so many answers are kept, of so
#: many bytes.
_KEPT = 8
_KEPT_B = 4_000_000
_SPOILT = "take the file from its source once more, or write it again (nir.write)"
_INT8 = (
    "[task.tflite], or rig firmware build DIR --model FILE; rig model inspect, rig"
    " compare"
)

_known: dict[tuple[object, ...], bytes] = {}


def read(path: Path, *, type_check: bool = False) -> Any:
    """Return the NIR node of a file; raises DataError where it is none."""
    answer = _answer(path)
    try:
        with np.load(io.BytesIO(answer), allow_pickle=False) as stored:
            content = _content(json.loads(str(stored["tree"])), stored)
        if "type_check" in content:
            raise ValueError("its graph has an entry type_check")
        return nir.dict2NIRNode({**content, "type_check": type_check})
    except Exception as error:  # nir raises exceptions of many classes
        raise _not_nir(path, f"{type(error).__name__}: {error}") from error


def _not_nir(path: Path, evidence: str, hint: str = "") -> DataError:
    if path.suffix.lower() in (".tflite", ".onnx"):
        hint = _INT8
    elif _begins_as_tflite(path):
        evidence = "it begins as a .tflite file"
        hint = f"the same file by the name {path.name}.tflite"
    return DataError(
        f"{path} is not a NIR file", evidence=evidence, try_next=hint or _SPOILT
    )


def _begins_as_tflite(path: Path) -> bool:
    try:
        with foreign_files.opened(path) as stream:
            return stream.read(8)[4:] == b"TFL3"
    except (OSError, DataError):
        return False


def _answer(path: Path) -> bytes:
    """Return the output of the process on a file, unless it is known of the same file
    already.
    """
    try:
        foreign_files.checked(path)
        about = path.stat()
    except OSError as error:
        raise _not_nir(path, str(error)) from error
    except DataError as error:
        raise _not_nir(path, error.cause, error.try_next) from error
    key = (path.resolve(), about.st_ino, about.st_size, about.st_mtime_ns)
    if key not in _known:
        answer = _ask(path, _LIMIT_S + about.st_size / PER_S_B)
        if len(answer) > _KEPT_B:
            return answer
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)))
        _known[key] = answer
    return _known[key]


def _ask(path: Path, limit_s: float) -> bytes:
    """Return the output of the process; raises DataError where it fails, or does not
    end within `limit_s` of processor time.
    """
    wall_s = processor_limit.wall_s(limit_s)
    asked = [
        hdf5_tree.__file__,
        str(path),
        str(limit_s),
        str(wall_s + 1),
        str(ARRAYS_B),
    ]
    try:
        child = limited_child.run([*asked, str(os.getpid())], b"", limit_s)
    except subprocess.TimeoutExpired as error:
        raise DataError(
            f"{path} was not read in time",
            evidence=f"HDF5 {processor_limit.late(limit_s)}",
            try_next=(
                "again when this computer has less to do, or with the file on another"
                " disk"
            ),
        ) from error
    if processor_limit.is_used_up(child.returncode):
        raise DataError(
            f"{path} cannot be read",
            evidence=(
                f"HDF5 {processor_limit.used_up(limit_s)}: on a damaged file it may"
                " loop for ever"
            ),
            try_next=_SPOILT,
        )
    if child.returncode < 0:
        raise _not_nir(path, f"HDF5 crashed on it, with signal {-child.returncode}")
    if child.returncode:
        lines = child.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise _not_nir(path, lines[-1] if lines else f"exit code {child.returncode}")
    return child.stdout


def _content(tree: dict[str, Any], arrays: Any) -> dict[str, Any]:
    """Return the tree as nir's own reader has it."""
    content: dict[str, Any] = {}
    for name, part in tree.items():
        read = _content if isinstance(part, dict) else _leaf
        content[name] = read(part, arrays)
    return content


def _leaf(part: list[Any], arrays: Any) -> Any:
    match part:
        case ["text", str(text)]:
            return text
        case ["bytes", list(shape), list(texts)]:
            strings = np.empty(len(texts), dtype=object)
            strings[:] = [text.encode("latin-1") for text in texts]
            return strings.reshape(shape)
        case ["array", str(name)]:
            return arrays[name][()]
    raise ValueError(f"unknown leaf {part!r}"[:80])
