# SPDX-License-Identifier: Apache-2.0
"""Files that a session keeps of a benchmark: the model, the tensors as the data folder
has them, and their list, so that `rig check` runs the model again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.errors import DataError
from rig.files import small_text
from scenarios.tasks.mlperf_tiny.benchmarks import Benchmark
from scenarios.tasks.mlperf_tiny.dataset import (
    Tensor,
    TinyDataset,
    laid_out,
    offsets_b,
)
from scenarios.tasks.mlperf_tiny.labels import LabelRow, read_labels
from scenarios.tasks.mlperf_tiny.model import TinyModel
from scenarios.tasks.tflite import kept

_LABELS = "labels.csv"
#: Why a session has a model and no tensors.
LEFT_OUT = (
    f"files of more than {kept.INPUTS_TEXT} together, or of different sizes, are not in"
    " the session, only their SHA-256 (provenance.json, data_sha256)"
)


@dataclass(frozen=True, slots=True)
class KeptDataset(TinyDataset):
    """The tensors in a session; `contents` are the files of the data folder by name."""

    contents: Mapping[str, bytes]

    def read(self, tensor: Tensor) -> bytes:
        """Return the bytes of a tensor."""
        content = self.contents[tensor.row.file]
        return content[tensor.offset_b : tensor.offset_b + tensor.length_b]

    def size_b(self, row: LabelRow) -> int:
        """Return the bytes of a listed file."""
        return len(self.contents[row.file])


def files(run: TinyModel, data: TinyDataset) -> dict[str, bytes]:
    """Return the contents of the model's file, and of the tensors with their list where
    a session keeps them; raises DataError where a file has changed.
    """
    sizes_b = [data.size_b(row) for row in data.rows]
    is_even = min(sizes_b) == max(sizes_b)
    if not is_even or sum(sizes_b) > kept.INPUTS_B:
        return kept.files(run.path, run.network, None)
    rows = [np.frombuffer(data.content(row), np.uint8) for row in data.rows]
    contents = kept.files(run.path, run.network, np.stack(rows))
    contents[_LABELS] = small_text.read_block(data.labels)
    return contents


def dataset(
    folder: Path, labels: str, benchmark: Benchmark, count: int
) -> KeptDataset | None:
    """Return the `count` tensors that a session kept, by the name of their list; None
    where it kept none. Raises DataError where they are others.
    """
    values = kept.array_in(folder, np.dtype(np.uint8))
    if values is None:
        return None
    rows = read_labels(folder / _LABELS)
    if values.ndim != 2 or len(values) != len(rows):
        raise DataError(f"inputs.npy holds other files than {_LABELS}")
    size_b = values.shape[1]
    # A forged list may have a window at every byte: it is counted first.
    if sum(len(offsets_b(row, size_b)) for row in rows) != count:
        raise DataError(f"{_LABELS} has other tensors than catalogue.csv")
    tensors, unused_b = laid_out(folder / _LABELS, rows, lambda _: size_b, benchmark)
    contents = {
        row.file: value.tobytes() for row, value in zip(rows, values, strict=True)
    }
    return KeptDataset(
        folder=folder,
        labels=Path(labels),
        rows=tuple(rows),
        tensors=tensors,
        unused_b=unused_b,
        contents=contents,
    )
