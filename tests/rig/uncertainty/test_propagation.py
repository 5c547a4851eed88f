# SPDX-License-Identifier: Apache-2.0
"""An error moves the numbers of a window, and no other fact of its sample."""

from __future__ import annotations

import dataclasses
from typing import Any

from rig.model.effects import OWN, Effect
from rig.model.trial import Measured, Sample, Window
from rig.uncertainty.propagation import _moved


def test_a_moved_sample_differs_in_its_windows_alone() -> None:
    # Each field has another value than its default: none can be forgotten.
    reported: dict[str, Any] = {
        part.name: f"this is {part.name}" for part in dataclasses.fields(Sample)
    }
    window = Window("infer", 0.0, 1.0, 1.0, 2.0)
    sample = Sample(**reported | {"windows": (window,), "hop": None, "crossings": ()})
    [moved] = _moved(
        Measured((sample,), ()),
        lambda _: Effect(OWN, latency_s=0.5, energy_j=0.25),
        ("samples",),
    ).samples
    assert moved.windows == (dataclasses.replace(window, latency_s=1.5, energy_j=2.25),)
    assert dataclasses.replace(moved, windows=sample.windows) == sample
