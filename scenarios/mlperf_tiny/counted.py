# SPDX-License-Identifier: Apache-2.0
"""Which windows of MLPerf Tiny count: one of each input, long enough by the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rig.model.trial import Sample
from rig.store.sample_lines import SampleLine

#: MLPerf Tiny: "run for at least 10 s and at least 10 iterations".
WINDOW_S = 10.0
ITERATIONS = 10

#: A sample as it was measured, or as its line of samples.jsonl.
Timed = TypeVar("Timed", Sample, SampleLine)


def counted(samples: Sequence[Timed]) -> list[Timed]:
    """Return one window of each input: the first that is by the rule, or its last where
    none is.

    A window that came out too short was asked for again
    (scenarios/mlperf_tiny/windows.py).
    """
    chosen: dict[int, Timed] = {}
    for sample in samples:
        index = sample.indices[0]
        if index not in chosen or not by_the_rule(chosen[index]):
            chosen[index] = sample
    return list(chosen.values())


def by_the_rule(sample: Sample | SampleLine) -> bool:
    """Check whether a window is as long as the rule asks for."""
    return length_s(sample) >= WINDOW_S and sample.repeat >= ITERATIONS


def length_s(sample: Sample | SampleLine) -> float:
    """Return how long a window is."""
    window = sample.windows[-1]
    return window.stop_s - window.start_s
