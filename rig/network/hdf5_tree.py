# SPDX-License-Identifier: Apache-2.0
"""A program: write the tree of a NIR file to standard output, in a form that is safe to
read.

rig/network/nir_file.py runs it as a process of its own, by its path: on a damaged file
HDF5's library may loop for ever in C, deaf to Ctrl-C, or crash. The form is an .npz
without pickle: entry `tree` is JSON text, whose leaves are texts ("text"), lists of
byte strings ("bytes") and the names of arrays in the same file ("array"). An error is
the last line of standard error.

Arguments: the file, the most processor time in s, the longest time by the clock, the
most bytes that its arrays may have, the process that asks. Past either time it ends at
once, also where its parent has ended.
"""

import faulthandler
import io
import json
import math
import os
import sys
from contextlib import suppress
from typing import Any

import h5py
import numpy as np

#: Deflate makes at most so many bytes of one.
INFLATION = 1_032
#: Excess that a dataset may claim: its chunks are filled up.
_SMALL_B = 1 << 20
#: Address space beyond twice that of the arrays: the libraries, and the room they
#: reserve.
_PROGRAM_B = 4 << 30
_SIGKILL = 9
_PR_SET_PDEATHSIG = 1


class Claimed(Exception):
    """A file claims more than it can hold, or more than is allowed."""


class Elsewhere(Exception):
    """A node of a file is not in the file: HDF5 would open another one for it."""


class Tree:
    """The tree of a file as it is read: arrays by number, and the bytes that are still
    allowed."""

    def __init__(self, left_b: int) -> None:
        self.arrays: dict[str, Any] = {}
        self._limit_b = self._left_b = left_b

    def of(self, group: h5py.Group) -> dict[str, Any]:
        """Return a group as JSON has it; its arrays are kept aside."""
        tree: dict[str, Any] = {}
        for name in group:
            item = own(group, name)
            if isinstance(item, h5py.Group):
                tree[str(name)] = self.of(item)
            else:
                tree[str(name)] = self._leaf(item)
        return tree

    def _leaf(self, dataset: h5py.Dataset) -> list[Any]:
        if dataset.is_virtual:
            raise Elsewhere(
                f"{dataset.name} is a virtual dataset, whose values lie elsewhere"
            )
        if dataset.external:
            raise Elsewhere(f"{dataset.name} has its values in another file")
        self._require_room(dataset)
        value = dataset[()]
        if isinstance(value, bytes):
            return ["text", value.decode("utf8")]
        array = np.asarray(value)
        if array.dtype.hasobject:
            if not all(isinstance(one, bytes) for one in array.flat):
                raise TypeError(
                    f"{dataset.name} holds {array.dtype}, neither numbers nor text"
                )
            return [
                "bytes",
                list(array.shape),
                [one.decode("latin-1") for one in array.flat],
            ]
        name = str(len(self.arrays))
        self.arrays[name] = array
        return ["array", name]

    def _require_room(self, dataset: h5py.Dataset) -> None:
        """Raise before memory is allocated for the claimed size of a dataset."""
        claimed_b = int(dataset.size or 0) * dataset.dtype.itemsize
        held_b = INFLATION * dataset.id.get_storage_size() + _SMALL_B
        if claimed_b > held_b:
            raise Claimed(
                f"{dataset.name} claims {claimed_b} bytes; what is stored of it cannot"
                f" hold more than {held_b}"
            )
        self._left_b -= claimed_b
        if self._left_b < 0:
            raise Claimed(f"its arrays claim more than {self._limit_b} bytes in all")


def own(group: h5py.Group, name: str) -> Any:
    """Return the content of a group under a name; raises `Elsewhere` for a link."""
    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        raise Elsewhere(f"{group.name.rstrip('/')}/{name} is a link into another file")
    if isinstance(link, h5py.SoftLink):
        raise Elsewhere(
            f"{group.name.rstrip('/')}/{name} is a link, which may lead elsewhere"
        )
    return group[name]


def end_with(parent: int) -> None:
    """Let the kernel end this process with the one that started it, where it knows how
    to."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)  # it was gone before the kernel knew


def limit_memory(array_b: int) -> None:
    """Let no damaged length take all memory, where the system has such a limit."""
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):
        limit_b = _PROGRAM_B + 3 * array_b
        resource.setrlimit(resource.RLIMIT_AS, (limit_b, limit_b))


def limit_processor(limit_s: float) -> None:
    """Let the kernel end this process once it has used so much processor time, where it
    can."""
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):
        soft_s = max(math.floor(limit_s), 1)
        _, most_s = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (soft_s, most_s))


def answer(path: str, limit_b: int) -> bytes:
    """Return the tree of a file in the form that this program writes."""
    tree = Tree(limit_b)
    block = io.BytesIO()
    with h5py.File(path, "r") as file:
        content = tree.of(own(file, "node"))
    np.savez(block, tree=np.asarray(json.dumps(content)), **tree.arrays)
    return block.getvalue()


def main() -> None:
    """Read the file; write its tree, or one line with the error and exit code 1."""
    path = sys.argv[1]
    processor_s, wall_s = map(float, sys.argv[2:4])
    limit_b, parent = map(int, sys.argv[4:6])
    # A thread in C: it needs no turn of an interpreter that waits for HDF5.
    faulthandler.dump_traceback_later(wall_s, exit=True)
    end_with(parent)
    limit_memory(limit_b)
    limit_processor(processor_s)
    try:
        block = answer(path, limit_b)
    except Exception as error:  # h5py raises exceptions of many classes
        text = " ".join(str(error).split()) or "no reason was given"
        sys.stderr.write(f"{type(error).__name__}: {text}\n")
        sys.exit(1)
    sys.stdout.buffer.write(block)


if __name__ == "__main__":
    main()
