# SPDX-License-Identifier: Apache-2.0
"""Samples of a trace are read where windows are, and summed in the same pieces after
any earlier reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rig.arrays import Float32s
from rig.trace.samples import BLOCK, Samples


class Counted:
    """A layout that counts the samples that are read."""

    def __init__(self) -> None:
        self.samples = 0

    def read(self, reader: Any, first: int, count: int) -> tuple[Float32s, Float32s]:
        self.samples += count
        numbers = np.arange(first, first + count, dtype=np.float32)
        return numbers, -numbers


LENGTH = 20 * BLOCK + 77


def samples(layout: Counted) -> Samples:
    return Samples(None, layout, LENGTH)  # type: ignore[arg-type]


def test_short_windows_far_apart_take_an_eighth_of_what_lies_between() -> None:
    layout = Counted()
    result = samples(layout)
    for number in range(20):
        first = number * BLOCK + 1000
        ((at, current, voltage),) = result.blocks(first, first + 500)
        assert at == first and len(current) == 500
        assert current[0] == first and voltage[-1] == -(first + 499)
    assert layout.samples <= 20 * BLOCK // 8


def test_windows_that_follow_each_other_are_read_once() -> None:
    layout = Counted()
    result = samples(layout)
    for first in range(0, 3 * BLOCK - 500, 500):
        list(result.blocks(first, first + 500))
    assert layout.samples <= 1.1 * 3 * BLOCK


@pytest.mark.parametrize("first", [0, 5, BLOCK - 1, 19 * BLOCK])
def test_pieces_end_at_whole_blocks_and_at_the_end(first: int) -> None:
    pieces = list(samples(Counted()).blocks(first, LENGTH))
    ends = [at + len(current) for at, current, _ in pieces]
    assert ends[-1] == LENGTH and not any(end % BLOCK for end in ends[:-1])
    joined = np.concatenate([current for _, current, _ in pieces])
    np.testing.assert_array_equal(joined, np.arange(first, LENGTH, dtype=np.float32))
