# SPDX-License-Identifier: Apache-2.0
"""Read NIR files, which are HDF5, in a process of their own: it may hang or crash, the rig may not.

One byte that is wrong lets HDF5's library loop for ever, deaf to Ctrl-C, or end its process. The
process has `_LIMIT_S`, and a second for each `PER_S_B` of the file; it is killed then, or as soon
as the rig is asked to stop; it ends with the rig, however that ends (where the kernel offers
nothing for that, at its limit). What it read comes back without pickle (rig/network/hdf5_tree.py).
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nir
import numpy as np

from rig.errors import DataError
from rig.network import hdf5_tree
from rig.stop import LOOK_S, look

#: A file is read within so many seconds, and one more for each so many of its bytes.
_LIMIT_S = 20.0
PER_S_B = 1_000_000
#: The arrays of a network have at most so many bytes.
ARRAYS_B = 1 << 30
#: Files that a run reads several times are read once: so many answers are kept, of so many bytes.
_KEPT = 8
_KEPT_B = 4_000_000
_SPOILT = "take the file from where it came from again, or write it anew (nir.write)"

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
    except Exception as error:  # nir raises whatever it stumbles over
        raise _not_nir(path, f"{type(error).__name__}: {error}") from error


def _not_nir(path: Path, evidence: str) -> DataError:
    return DataError(f"{path} is not a NIR file", evidence=evidence, try_next=_SPOILT)


def _answer(path: Path) -> bytes:
    """Return what the process says of a file, unless it is known of the same file already."""
    try:
        about = path.stat()
    except OSError as error:
        raise _not_nir(path, str(error)) from error
    if not path.is_file():
        raise _not_nir(path, "it is no file")
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
    """Return what the process writes; raises DataError where it fails, or is not through in
    time.
    """
    # Not the folder that happens to be the present one: a module that lies there is none of ours.
    command = [sys.executable, "-P", hdf5_tree.__file__, str(path)]
    command += [str(limit_s + 1), str(ARRAYS_B), str(os.getpid())]
    end_s = time.monotonic() + limit_s
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        try:
            while True:
                try:
                    answer, said = child.communicate(timeout=LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    look()
                if time.monotonic() > end_s:
                    raise _not_nir(
                        path,
                        f"HDF5 did not come to an end of it within {limit_s:.0f} s: it is damaged",
                    )
        finally:
            child.kill()
    if child.returncode < 0:
        raise _not_nir(path, f"HDF5 crashed on it, with signal {-child.returncode}: it is damaged")
    if child.returncode:
        lines = said.decode("utf-8", "backslashreplace").strip().splitlines()
        raise _not_nir(path, lines[-1] if lines else f"exit code {child.returncode}")
    return answer


def _content(tree: dict[str, Any], arrays: Any) -> dict[str, Any]:
    """Return the tree as nir's own reader has it."""
    return {
        name: _content(part, arrays) if isinstance(part, dict) else _leaf(part, arrays)
        for name, part in tree.items()
    }


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
