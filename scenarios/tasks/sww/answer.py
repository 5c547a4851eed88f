# SPDX-License-Identifier: Apache-2.0
"""The meaning of an output: the wake word is detected where output 0 is above a
threshold.
"""

from __future__ import annotations

import numpy as np

from rig.errors import RemoteProtocolError
from rig.interfaces.task import EVENT, NO_EVENT
from rig.model.scores import Score

#: DETECT_THRESHOLD of the reference firmware (sww_ref_util_submitter.h): an int8 share
#: of output 0, "out_data[0] > DETECT_THRESHOLD".
THRESHOLD = 115


def values(outputs: int, output: bytes) -> list[int]:
    """Return the numbers of an output; raises RemoteProtocolError for another
    length.
    """
    if len(output) != outputs:
        raise RemoteProtocolError(
            f"an output of {len(output)} B, the model gives {outputs} B",
            evidence=output[:32].hex(),
        )
    found: list[int] = np.frombuffer(output, np.int8).tolist()
    return found


def scored(label: str, outputs: int, output: bytes) -> Score:
    """Compare the decision of a window with its label."""
    found = EVENT if values(outputs, output)[0] > THRESHOLD else NO_EVENT
    return Score(found == label, label, found)
