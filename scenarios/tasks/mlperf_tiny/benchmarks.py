# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of MLPerf Tiny whose data are a folder of tensors: what the data must
look like, and the quality they ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["", "ad01", "ic01", "ic02", "kws01", "vww01"]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark.

    `files` are the counts that its lists of labels may have, `tensor_b` the bytes a
    device gets for one inference, `outputs` how many numbers it answers, `quality` the
    metric and the least of it that the closed division accepts, `reported_by` the names
    that a device may give itself.
    """

    files: tuple[int, ...]
    classes: int
    tensor_b: int
    outputs: int
    quality: tuple[str, float]
    reported_by: tuple[str, ...]


#: Data: the tables of the benchmark's evaluation data sets (file counts, dimensions,
#: formats; ad01 has a second, shorter list). Quality: MLPerf Tiny rules, "KWS 90 %
#: [...] VWW 80 % [...] IC 85 % [...] AD 0.85 (AUC)"; the second IC model is held to 91
#: %.
BENCHMARKS: dict[str, Benchmark] = {
    "ad01": Benchmark((248, 72), 2, 2560, 1, ("auc", 0.85), ("ad01",)),
    "ic01": Benchmark((200,), 10, 3072, 10, ("accuracy", 0.85), ("ic01",)),
    "ic02": Benchmark((200,), 10, 3072, 10, ("accuracy", 0.91), ("ic02", "ic01")),
    "kws01": Benchmark((1000,), 12, 490, 12, ("accuracy", 0.90), ("kws01",)),
    "vww01": Benchmark((1000,), 2, 27_648, 2, ("accuracy", 0.80), ("vww01",)),
}
