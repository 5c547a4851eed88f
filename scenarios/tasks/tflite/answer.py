# SPDX-License-Identifier: Apache-2.0
"""The score of an output: its largest value against a label, else its bytes against
those that are due.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from rig.errors import RemoteProtocolError
from rig.model.scores import Score

_DIGITS = 16


def digest(output: bytes) -> str:
    """Return a short name of an output's bytes."""
    return sha256(output).hexdigest()[:_DIGITS]


def values(outputs: int, output: bytes) -> list[int]:
    """Return the numbers of an output; raises RemoteProtocolError for another
    length.
    """
    if len(output) != outputs:
        raise RemoteProtocolError(
            f"an output of {len(output)} B, the model gives {outputs} B",
            evidence=output[:32].hex(),
        )
    numbers: list[int] = np.frombuffer(output, np.int8).tolist()
    return numbers


def scored(label: str, outputs: int, output: bytes, *, labelled: bool) -> Score:
    """Compare an output with its label: by its largest value, of equal ones the first;
    without labels by all of its bytes.
    """
    numbers = values(outputs, output)
    decided = str(numbers.index(max(numbers))) if labelled else digest(output)
    return Score(decided == label, label, decided)
