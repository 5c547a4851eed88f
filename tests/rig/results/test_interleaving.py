# SPDX-License-Identifier: Apache-2.0
"""Errors of one recording are common to the trials that took turns in it."""

from __future__ import annotations

from rig.model.effects import COMMON, OWN, TRIAL, Influence
from rig.results.interleaving import common


def test_only_the_influences_of_the_recording_become_common() -> None:
    parts = {
        "timebase": Influence(TRIAL, "normal", -0.25),
        "noise": Influence(OWN, "normal", 0.5),
        "gain": Influence(COMMON, "rectangular", 0.75),
    }
    assert common({"energy": parts, "power": {}}) == {
        "energy": parts | {"timebase": Influence(COMMON, "normal", -0.25)},
        "power": {},
    }
