# SPDX-License-Identifier: Apache-2.0
"""MeasuredColumns of a changed trial are those of its changed samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.model.columns import MeasuredColumns
from rig.model.trial import Measured, Sample, Window
from rig.uncertainty.deletion import without
from rig.uncertainty.propagation import Movable, windows_of

SECONDS = st.floats(1e-6, 1e3)
JOULES = st.none() | st.just(float("nan")) | st.floats(-1.0, 1e3)


@st.composite
def windows(draw: st.DrawFn, phase: str) -> Window:
    return Window(phase, 0.0, 1.0, draw(SECONDS), draw(JOULES))


@st.composite
def trials(draw: st.DrawFn) -> Measured:
    samples = []
    for step in range(draw(st.integers(0, 5))):
        count = draw(st.integers(1, 3))
        indices = draw(st.tuples(*[st.integers(0, 6)] * count))
        samples.append(
            Sample(
                step=step,
                indices=indices,
                repeat=draw(st.integers(1, 3)),
                windows=(draw(windows("a")), draw(windows("b"))),
                label="1",
                answer=draw(st.sampled_from(["", "1"])),
                correct=draw(st.booleans()),
            )
        )
    idles = draw(st.lists(windows("idle"), max_size=3))
    return Measured(tuple(samples), tuple(idles))


def parts(table: Any) -> list[Any]:
    numbers = []
    for field in dataclasses.fields(table):
        value = getattr(table, field.name)
        numbers += parts(value) if dataclasses.is_dataclass(value) else [value]
    return numbers


def assert_same(columns: MeasuredColumns, samples: Measured) -> None:
    due = parts(samples.columns)
    assert due
    for own, other in zip(parts(columns), due, strict=True):
        if len(own) or len(other):
            np.testing.assert_array_equal(own, other)


@given(trials(), st.data())
def test_moved_columns_are_those_of_moved_samples(
    measured: Measured, data: st.DataObject
) -> None:
    groups = data.draw(
        st.sampled_from([("samples",), ("idles",), ("samples", "idles")])
    )
    count = len(windows_of(measured, groups))
    by_s, by_j = data.draw(
        st.tuples(*[st.lists(SECONDS, min_size=count, max_size=count)] * 2)
    )
    movable = Movable.of(measured, groups, lambda: measured.columns)
    moved = movable.moved(np.array(by_s, np.float64), np.array(by_j, np.float64))
    assert_same(moved.columns, Measured(moved.samples, moved.idles))


@given(trials(), st.frozensets(st.integers(0, 6)))
def test_columns_without_samples_are_those_of_the_samples_left(
    measured: Measured, gone: frozenset[int]
) -> None:
    assert_same(measured.columns.without(gone), without(measured, gone))


def test_samples_of_different_lengths_have_no_columns() -> None:
    window = Window("a", 0.0, 1.0, 1.0, 1.0)

    def sample(count: int) -> Sample:
        return Sample(
            step=1,
            indices=(0,),
            repeat=1,
            windows=(window,) * count,
            label="1",
            answer="1",
            correct=True,
        )

    with pytest.raises(ValueError, match="reshape"):
        _ = Measured((sample(1), sample(2)), ()).columns
