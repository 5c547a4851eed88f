# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of MLPerf Tiny whose data are a folder of tensors: the form of the data
and the required quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["", "ad01", "ic01", "ic02", "kws01", "vww01"]
#: Values of a tensor for a model of int8: as the model takes them; pixels of 0 to 255,
#: which it takes about 128; float32, which are quantised on the device, whose answer is
#: their mean squared distance from the output.
Values = Literal["int8", "pixels", "reals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark.

    `files` are the counts that its lists of labels may have, `tensor_b` the bytes a
    device gets for one inference, `values` their kind, `outputs` how many numbers it
    answers, `quality` the metric and the least of it that the closed division accepts,
    `reported_by` the names that a device may give itself.
    """

    files: tuple[int, ...]
    classes: int
    tensor_b: int
    values: Values
    outputs: int
    quality: tuple[str, float]
    reported_by: tuple[str, ...]


#: Data: the tables of the benchmark's evaluation data sets (file counts, dimensions,
#: formats; ad01 has a second, shorter list). Quality: MLPerf Tiny rules, "KWS 90 %
#: [...] VWW 80 % [...] IC 85 % [...] AD 0.85 (AUC)"; the second IC model is held to 91
#: %.
BENCHMARKS: dict[str, Benchmark] = {
    "ad01": Benchmark(
        files=(248, 72),
        classes=2,
        tensor_b=2560,
        values="reals",
        outputs=1,
        quality=("auc", 0.85),
        reported_by=("ad01",),
    ),
    "ic01": Benchmark(
        files=(200,),
        classes=10,
        tensor_b=3072,
        values="pixels",
        outputs=10,
        quality=("accuracy", 0.85),
        reported_by=("ic01",),
    ),
    "ic02": Benchmark(
        files=(200,),
        classes=10,
        tensor_b=3072,
        values="pixels",
        outputs=10,
        quality=("accuracy", 0.91),
        reported_by=("ic02", "ic01"),
    ),
    "kws01": Benchmark(
        files=(1000,),
        classes=12,
        tensor_b=490,
        values="int8",
        outputs=12,
        quality=("accuracy", 0.90),
        reported_by=("kws01",),
    ),
    "vww01": Benchmark(
        files=(1000,),
        classes=2,
        tensor_b=27_648,
        values="pixels",
        outputs=2,
        quality=("accuracy", 0.80),
        reported_by=("vww01",),
    ),
}
