# SPDX-License-Identifier: Apache-2.0
"""Bytes of a search's answer: docs/reference/QUBO.md, "The solver".

Cost (4 bytes, signed, by the device's own account), how it ended (1: 0 time-out, 1
target), nodes (4), low byte first; then the vector, one bit a node, low bits first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError

HEAD = struct.Struct("<iBI")
TIMEOUT = 0
TARGET = 1


@dataclass(frozen=True, slots=True)
class QuboAnswer:
    """A device's vector (nodes, int8), the cost that it claims for it, and whether it
    ended at its target.
    """

    claimed: int
    met: bool
    vector: NDArray[np.int8]


def encode(claimed: int, met: bool, nodes: int, bits: bytes) -> bytes:
    """Return an answer as bytes; `bits` is the vector as `packed_bits` makes it."""
    return HEAD.pack(claimed, TARGET if met else TIMEOUT, nodes) + bits


def decode(output: bytes, nodes: int) -> QuboAnswer:
    """Decode a device's answer to a graph of `nodes`; raise DataError where it has
    another form or length."""
    if len(output) < HEAD.size:
        raise DataError(f"an answer of {len(output)} bytes has no head of {HEAD.size}")
    claimed, end, stated = HEAD.unpack_from(output)
    bits = output[HEAD.size :]
    if stated != nodes or len(bits) != (nodes + 7) // 8:
        raise DataError(
            f"a vector of {stated} nodes in {len(bits)} bytes, the workload has {nodes}"
            f" in {(nodes + 7) // 8}"
        )
    if end not in (TIMEOUT, TARGET):
        raise DataError(
            f"it ended by {end}, which is neither time-out ({TIMEOUT}) nor target"
            f" ({TARGET})"
        )
    every = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little").astype(
        np.int8
    )
    if every[nodes:].any():
        raise DataError(f"bits beyond the last of {nodes} nodes are set")
    return QuboAnswer(claimed, end == TARGET, every[:nodes])


def packed_bits(vector: NDArray[np.int8]) -> bytes:
    """Return a binary vector as bits, low first in each byte."""
    return np.packbits(vector.astype(bool), bitorder="little").tobytes()
