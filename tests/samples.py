# SPDX-License-Identifier: Apache-2.0
"""Samples of a trial, made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rig.model.trial import Sample, Window


def sample_of(
    step: int,
    windows: Iterable[Window],
    *,
    indices: tuple[int, ...] | None = None,
    repeat: int = 1,
    label: str = "",
    answer: str = "",
    correct: bool = True,
    **facts: Any,
) -> Sample:
    """Return the sample of a step, of the index of its number by default."""
    return Sample(
        step,
        (step,) if indices is None else indices,
        repeat,
        tuple(windows),
        label=label,
        answer=answer,
        correct=correct,
        **facts,
    )
