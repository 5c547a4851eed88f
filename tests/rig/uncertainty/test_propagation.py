# SPDX-License-Identifier: Apache-2.0
"""An error moves the numbers of a window, and no other fact of its sample."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from rig.model.trial import Crossing, Hop, Measured, Sample, Streamed, Window
from rig.uncertainty.propagation import Movable

GROUPS = ("samples", "idles", "streams")


def window(latency_s: float, energy_j: float | None = 2.0) -> Window:
    return Window("infer", 0.0, 1.0, latency_s, energy_j)


def test_a_moved_sample_differs_in_its_windows_alone() -> None:
    # Each field has another value than its default: none can be forgotten.
    reported: dict[str, Any] = {
        part.name: f"this is {part.name}" for part in dataclasses.fields(Sample)
    }
    sample = Sample(
        **reported | {"windows": (window(1.0),), "hop": None, "crossings": ()}
    )
    measured = Measured((sample,), ())
    movable = Movable.of(measured, ("samples",), lambda: measured.columns)
    [moved] = movable.moved(np.array([0.5]), np.array([0.25])).samples
    assert moved.windows == (window(1.5, 2.25),)
    assert dataclasses.replace(moved, windows=sample.windows) == sample


def test_every_window_moves_by_its_own_error() -> None:
    stream = Streamed(
        step=1,
        whole=window(6.0),
        labels=(),
        onsets_s=(),
        due=1,
        hop_s=1.0,
        window_s=1.0,
        preloaded=True,
    )
    sample = Sample(
        step=1,
        indices=(0,),
        repeat=1,
        windows=(window(1.0), window(2.0, None)),
        label="",
        answer="",
        correct=True,
        hop=Hop(0, 0, window(4.0, None), window(5.0, None)),
        crossings=(Crossing(1, window(3.0)), Crossing(2, None)),
    )
    measured = Measured((sample,), (window(7.0),), (stream,))
    movable = Movable.of(measured, GROUPS, lambda: measured.columns)
    by_s = [0.5, 0.25, 0.125, 1.5, 2.5, 3.5, 4.5]
    by_j = [0.75, 0.0, 1.25, 0.0, 0.0, 3.25, 4.25]
    moved = movable.moved(np.array(by_s), np.array(by_j))
    crossing = moved.samples[0].crossings[0].window
    hop = moved.samples[0].hop
    assert crossing is not None
    assert hop is not None
    assert [
        *moved.samples[0].windows,
        crossing,
        hop.response,
        hop.since_onset,
        *moved.idles,
        moved.streams[0].whole,
    ] == [
        window(1.5, 2.75),
        window(2.25, None),
        window(3.125, 3.25),
        window(5.5, None),
        window(7.5, None),
        window(10.5, 5.25),
        window(10.5, 6.25),
    ]
    with pytest.raises(ValueError, match="no columns"):
        _ = moved.columns
