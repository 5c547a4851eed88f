# SPDX-License-Identifier: Apache-2.0
"""Weights as the firmware reads them, four in a word; by columns where the input is
spikes, so that inputs of 0 cost no products.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rig.network.fixed.form import (
    Above,
    Convolution,
    Delaying,
    Dense,
    FixedNetwork,
    FixedNode,
    Ints,
    Pass,
    Pool,
    Population,
)

Words = NDArray[np.uint32]

#: A place of an event is such a number at most.
_PLACE_MAX = 2**15 - 1
#: Channels that are marked by the bits of a number.
_MARKS = 16


def takes_spikes(network: FixedNetwork, node: FixedNode) -> bool:
    """Check whether a node with weights has spikes as input: counts, mostly 0. Others
    have values, which may all be active.
    """
    weighted = isinstance(node.body, Dense | Convolution)
    if not weighted or _places(node) > _PLACE_MAX:
        return False
    return _entered_by_spikes(network, node, frozenset())


def _entered_by_spikes(
    network: FixedNetwork, node: FixedNode, passed: frozenset[str]
) -> bool:
    if node.name in network.inputs:
        return network.input_b == 1
    return all(
        edge.plain and _gives_spikes(network, network.node(edge.source), passed)
        for edge in node.edges
    )


def _gives_spikes(
    network: FixedNetwork, node: FixedNode, passed: frozenset[str]
) -> bool:
    body = node.body
    if isinstance(body, Above) or (isinstance(body, Population) and body.spiking):
        return True
    hands_on = isinstance(body, Pass | Delaying)
    hands_on |= isinstance(body, Pool) and body.shift == 0
    if not hands_on or node.name in passed:
        return False
    return _entered_by_spikes(network, node, passed | {node.name})


def _places(node: FixedNode) -> int:
    """Return how many values have a part in each output."""
    if not isinstance(node.body, Dense | Convolution):
        return 0
    return math.prod(node.body.weight.shape[1:])


def scratch(network: FixedNetwork, node: FixedNode) -> int:
    """Return how many values of 16 bit a node with weights needs while it is evaluated:
    for events their places and values and, of a convolution, a mark for each value of
    a group; else for what lies under a kernel.
    """
    body = node.body
    spikes = takes_spikes(network, node)
    if not isinstance(body, Convolution):
        return 2 * _places(node) if spikes else 0
    if not spikes:
        return _places(node)
    channels = int(body.weight.shape[1])
    marks = -(-channels // _MARKS) * math.prod(node.shape_in[1:])
    return 2 * _places(node) + marks


def words(body: Dense | Convolution, spikes: bool) -> Words:
    """Return the weights of a node, group after group."""
    if isinstance(body, Dense):
        return _columns(body.weight) if spikes else _rows(body.weight)
    packed = []
    for weight in np.split(body.weight, body.groups):
        outputs = len(weight)
        if spikes:
            # A place of an event: row and column of the kernel, channel.
            moved = weight.transpose(0, 2, 3, 1)
            packed.append(_columns(moved.reshape(outputs, -1)))
        else:
            packed.append(_rows(weight.reshape(outputs, -1)))
    return np.concatenate(packed)


def _columns(weight: Ints) -> Words:
    """Pack (rows, columns): each column after the other, four rows a word."""
    rows, columns = weight.shape
    padded = np.zeros((columns, -(-rows // 4) * 4), np.int8)
    padded[:, :rows] = weight.T
    return _packed(padded.reshape(-1, 4))


def _rows(weight: Ints) -> Words:
    """Pack (rows, columns): four rows together, of each four columns in turn, in bytes
    0, 2, 1 and 3.
    """
    rows, columns = weight.shape
    high, wide = -(-rows // 4), -(-columns // 4)
    padded = np.zeros((4 * high, 4 * wide), np.int8)
    padded[:rows, :columns] = weight
    blocks = padded.reshape(high, 4, wide, 4).transpose(0, 2, 1, 3)
    return _packed(blocks.reshape(-1, 4)[:, [0, 2, 1, 3]])


def _packed(four: NDArray[np.int8]) -> Words:
    return np.ascontiguousarray(four).view("<u4").astype(np.uint32).reshape(-1)
