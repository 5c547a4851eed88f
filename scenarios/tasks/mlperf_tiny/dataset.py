# SPDX-License-Identifier: Apache-2.0
"""A data folder of MLPerf Tiny: its list of labels and its tensors, whole files as they
are or windows slid over them.
"""

from __future__ import annotations

import hashlib
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

    def sha256(self) -> str:
        """Return one hash over the names, labels and bytes of all files, in the order
        of the list.
        """
        digest = hashlib.sha256()
        for row in self.rows:
            content = self.read(Tensor(row, 0, (self.folder / row.file).stat().st_size))
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
                content = (self.folder / tensor.row.file).read_bytes()
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
    if benchmark is not None and rows[0].classes != benchmark.classes:
        raise DataError(
            f"{path}, line {rows[0].line}: {rows[0].classes} classes, the benchmark has"
            f" {benchmark.classes}"
        )
    due_b = benchmark.tensor_b if benchmark is not None else 0
    tensors: list[Tensor] = []
    unused_b = 0
    for row in rows:
        mine, left_b = _tensors(folder, path, row)
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
    return TinyDataset(folder, path, tuple(rows), tuple(tensors), unused_b)


def _tensors(folder: Path, labels: Path, row: LabelRow) -> tuple[list[Tensor], int]:
    """Return the tensors of one file and how many bytes of it are in none."""
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
    if not row.window_b:
        return [Tensor(row, 0, size_b)], 0
    if row.window_b > size_b:
        raise DataError(
            f"{labels}, line {row.line}: a window of {row.window_b} bytes, {row.file}"
            f" has {size_b}"
        )
    # The benchmark's runner: the window moves on by the stride as long as all of it
    # lies in the file.
    offsets_b = range(0, size_b - row.window_b + 1, row.stride_b)
    reached_b = offsets_b[-1] + row.window_b
    windows = [Tensor(row, offset_b, row.window_b) for offset_b in offsets_b]
    return windows, size_b - reached_b
