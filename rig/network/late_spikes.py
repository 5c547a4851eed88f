# SPDX-License-Identifier: Apache-2.0
"""Spikes that leave their neurons a step later, as delays of one step in the
network."""

from __future__ import annotations

from dataclasses import replace

import nir
import numpy as np

from rig.errors import DataError
from rig.network.conventions import Conventions
from rig.network.graph import Network, NodePlace
from rig.network.shapes import SPIKING

_BEHIND = ".next"


def with_late_spikes(network: Network, how: Conventions, dt_s: float) -> Network:
    """Return a network with a delay of one step of `dt_s` after each node that spikes,
    where the conventions have spikes leave a step later; else, and where the delays are
    there already, the network itself.

    Raises DataError for spikes that close a cycle, which are a step late already.
    """
    spiking = {
        place.name for place in network.places if isinstance(place.node, SPIKING)
    }
    there = {place.name for place in network.places}
    if not how.late or any(name + _BEHIND in there for name in spiking):
        return network
    for source, target in network.late_edges:
        if source in spiking or _is_reached(network, source, spiking):
            raise DataError(
                f"{source} feeds back to {target}, and the conventions have spikes"
                " leave a step later: a cycle would take two steps",
                try_next=(
                    "--as of another program (in a bench file rule): a network of spyx"
                    " with a cycle is not run here"
                ),
            )
    places: list[NodePlace] = []
    for place in network.places:
        sources = tuple(
            name + _BEHIND if name in spiking else name for name in place.sources
        )
        places.append(replace(place, sources=sources))
        if place.name in spiking:
            shape = place.shape_out
            delay = nir.Delay(np.full(shape, dt_s))
            places.append(
                NodePlace(
                    name=place.name + _BEHIND,
                    node=delay,
                    sources=(place.name,),
                    late_sources=(),
                    shape_in=shape,
                    shape_out=shape,
                )
            )
    return replace(network, places=tuple(places))


def _is_reached(network: Network, name: str, spiking: set[str]) -> bool:
    """Check whether spikes lead to a node over others without a state of their own."""
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        at = waiting.pop()
        if at in spiking:
            return True
        if at not in seen:
            seen.add(at)
            waiting += network.place(at).sources
    return False
