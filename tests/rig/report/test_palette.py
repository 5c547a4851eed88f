# SPDX-License-Identifier: Apache-2.0
"""The colours of phases can be distinguished, also by colour-blind readers, and follow
one rule.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.report import palette

Array = NDArray[np.float64]

#: Linear RGB as it is seen without one kind of cone: Machado, Oliveira and Fernandes
#: 2009, severity 1.
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)
#: CIE76; 2.3 is just noticed.
LEAST = {"normal": 25.0, "protanopia": 20.0, "deuteranopia": 20.0, "tritanopia": 14.0}


def linear(colour: str) -> Array:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array) -> Array:
    xyz = XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colours: tuple[str, ...], kind: str) -> float:
    seen = [lab(SEEN[kind] @ linear(colour)) for colour in colours]
    return min(
        float(np.linalg.norm(item - other)) for item, other in combinations(seen, 2)
    )


@pytest.mark.parametrize("kind", list(SEEN))
@pytest.mark.parametrize(
    "colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"]
)
def test_colours_differ_for_every_kind_of_sight(
    colours: tuple[str, ...], kind: str
) -> None:
    assert len(colours) == 6
    assert nearest(colours, kind) >= LEAST[kind]


def test_red_and_green_of_one_lightness_are_found() -> None:
    assert nearest(("#b8a901", "#e69f01"), "protanopia") < 1.0
    assert nearest(("#b8a901", "#e69f01"), "normal") > 20.0


def test_a_phase_has_its_colour_by_its_place_in_the_task() -> None:
    task = ("preprocess", "infer")
    assert [palette.place(phase, task) for phase in ("infer", "preprocess")] == [1, 0]
    assert [palette.place(phase, task) for phase in ("stream", "batch", "reached", "?")] == [
        2, 3, 4, 5,
    ]  # fmt: skip
    assert palette.place("batch", ("batch",)) == 0
