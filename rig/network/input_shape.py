# SPDX-License-Identifier: Apache-2.0
"""The error about inputs whose shape is not that of a network."""

from __future__ import annotations

from collections.abc import Sequence

from rig.errors import DataError


def other_shape(what: str, given: Sequence[int], of_step: Sequence[int]) -> DataError:
    """Return the error about inputs of a given shape, where each step has another.

    `what` begins its cause: "inputs of".
    """
    due = f"(samples, steps, {', '.join(map(str, of_step))})"
    return DataError(
        f"{what} the shape {tuple(given)}",
        evidence=f"the network takes {due}",
        try_next=f"an array {due}; numpy.moveaxis puts axes in another order",
    )
