# SPDX-License-Identifier: Apache-2.0
"""The meaning of an output: the wake word is detected where output 0 is above a
threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

from rig.interfaces.task import EVENT, NO_EVENT
from rig.model.scores import Score
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.wake.features import HOP
from scenarios.tasks.tflite.answer import values

#: DETECT_THRESHOLD of the reference firmware (sww_ref_util_submitter.h): an int8 share
#: of output 0, "out_data[0] > DETECT_THRESHOLD".
THRESHOLD = 115


def scored(words: str, outputs: int, output: bytes) -> Score:
    """Compare the decision of a window with the words in it, by name."""
    share = values(outputs, output)[0]
    label = EVENT if words else NO_EVENT
    decided = EVENT if share > THRESHOLD else NO_EVENT
    return Score(decided == label, label, decided, (float(share),), words)


def names_of(words: Sequence[tuple[int, int]], hops: int) -> list[str]:
    """Return the words that have a sample in each hop, by their beginning and end in
    seconds.
    """
    names = [""] * hops
    for begin, end in words:
        name = f"{begin / SAMPLE_HZ:.9g}-{end / SAMPLE_HZ:.9g}"
        for hop in range(begin // HOP, min(-(-end // HOP), hops)):
            names[hop] = f"{names[hop]} {name}".strip()
    return names
