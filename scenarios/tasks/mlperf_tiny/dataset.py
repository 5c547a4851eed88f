# SPDX-License-Identifier: Apache-2.0
"""A data folder of MLPerf Tiny: its list of labels and its tensors, whole files as they
are or windows slid over them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import DataError
from scenarios.tasks.mlperf_tiny.benchmarks import Benchmark
from scenarios.tasks.mlperf_tiny.labels import LabelRow, read_labels


@dataclass(frozen=True, slots=True)
class Tensor:
    """Input of one inference: `length_b` bytes from `offset_b` of a listed file."""

    row: LabelRow
    offset_b: int
    length_b: int


@dataclass(frozen=True, slots=True)
class TinyDataset:
    """The tensors of a folder, in the order of its list; `unused_b` are bytes at the
    ends of files that no window reaches.
    """

    folder: Path
    labels: Path
    rows: tuple[LabelRow, ...]
    tensors: tuple[Tensor, ...]
    unused_b: int

    def read(self, tensor: Tensor) -> bytes:
        """Return the bytes of a tensor; raises DataError where its file is no longer
        what it was.
        """
        path = self.folder / tensor.row.file
        try:
            with path.open("rb") as file:
                file.seek(tensor.offset_b)
                content = file.read(tensor.length_b)
        except OSError as error:
            raise DataError(f"{path} cannot be read", evidence=str(error)) from error
        if len(content) < tensor.length_b:
            raise DataError(f"{path} became shorter while it was used")
        return content

    def size_b(self, row: LabelRow) -> int:
        """Return the bytes of a listed file."""
        return (self.folder / row.file).stat().st_size

    def content(self, row: LabelRow) -> bytes:
        """Return a listed file; raises as `read`."""
        return self.read(Tensor(row, 0, self.size_b(row)))

    def sha256(self) -> str:
        """Return one hash over the names, labels and bytes of all files, in the order
        of the list.
        """
        digest = hashlib.sha256()
        for row in self.rows:
            content = self.content(row)
            fields = (
                row.file,
                row.classes,
                row.label,
                row.window_b,
                row.stride_b,
                len(content),
            )
            digest.update(f"{','.join(map(str, fields))}\n".encode())
            digest.update(content)
        return digest.hexdigest()

    def same_content(self) -> list[tuple[int, int]]:
        """Return the tensors whose bytes an earlier one has as well, each with the
        first of those.
        """
        first: dict[bytes, int] = {}
        pairs = []
        name = ""
        content = b""
        for index, tensor in enumerate(self.tensors):
            if tensor.row.file != name:
                name = tensor.row.file
                content = self.content(tensor.row)
            tensor_bytes = content[tensor.offset_b : tensor.offset_b + tensor.length_b]
            known = first.setdefault(hashlib.sha256(tensor_bytes).digest(), index)
            pairs += [(index, known)] if known != index else []
        return pairs


def open_dataset(folder: Path, labels: str, benchmark: Benchmark | None) -> TinyDataset:
    """Read the list of labels and look at every file it names; raises DataError with
    file and line where they do not agree.
    """
    path = folder / labels
    rows = read_labels(path)

    def size_b(row: LabelRow) -> int:
        return _size_b(folder, path, row)

    tensors, unused_b = laid_out(path, rows, size_b, benchmark)
    return TinyDataset(folder, path, tuple(rows), tensors, unused_b)


def laid_out(
    path: Path,
    rows: Sequence[LabelRow],
    size_b: Callable[[LabelRow], int],
    benchmark: Benchmark | None,
) -> tuple[tuple[Tensor, ...], int]:
    """Return the tensors of files with these sizes, and how many bytes are in none;
    raises DataError with `path` and line where they do not agree.
    """
    if benchmark is not None and rows[0].classes != benchmark.classes:
        raise DataError(
            f"{path}, line {rows[0].line}: {rows[0].classes} classes, the benchmark has"
            f" {benchmark.classes}"
        )
    due_b = benchmark.tensor_b if benchmark is not None else 0
    tensors: list[Tensor] = []
    unused_b = 0
    for row in rows:
        mine, left_b = _tensors(path, row, size_b(row))
        unused_b += left_b
        due_b = due_b or mine[0].length_b
        if mine[0].length_b != due_b:
            raise DataError(
                f"{path}, line {row.line}: a tensor of {row.file} has"
                f" {mine[0].length_b} bytes, {due_b} are due",
                try_next=(
                    "the data as the benchmark's own scripts write them; a folder of"
                    " another name is held to no sizes"
                ),
            )
        tensors += mine
    return tuple(tensors), unused_b


def offsets_b(row: LabelRow, size_b: int) -> range:
    """Return where the tensors of a file with `size_b` bytes begin in it."""
    # The benchmark's runner: the window moves on by the stride as long as all of it
    # lies in the file.
    return range(0, size_b - (row.window_b or size_b) + 1, row.stride_b or 1)


def _size_b(folder: Path, labels: Path, row: LabelRow) -> int:
    path = folder / row.file
    try:
        size_b = path.stat().st_size if path.is_file() else -1
    except OSError as error:
        raise DataError(
            f"{labels}, line {row.line}: {row.file} cannot be read", evidence=str(error)
        ) from error
    if size_b < 0:
        raise DataError(
            f"{labels}, line {row.line}: {row.file} is not in {folder}",
            try_next="copy the tensors beside the list",
        )
    if size_b == 0:
        raise DataError(f"{labels}, line {row.line}: {row.file} is empty")
    return size_b


def _tensors(labels: Path, row: LabelRow, size_b: int) -> tuple[list[Tensor], int]:
    """Return the tensors of one file and how many bytes of it are in none."""
    if row.window_b > size_b:
        raise DataError(
            f"{labels}, line {row.line}: a window of {row.window_b} bytes, {row.file}"
            f" has {size_b}"
        )
    length_b = row.window_b or size_b
    tensors = [Tensor(row, start_b, length_b) for start_b in offsets_b(row, size_b)]
    return tensors, size_b - tensors[-1].offset_b - length_b
