# SPDX-License-Identifier: Apache-2.0
"""Limits of Xylo chips, checked for a network before any start.

The vendor's mapper warns of some of these limits and is silent about others. Every
finding names a node, the limit, and a value that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import nir
import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError
from rig.network.graph import Network, NodePlace

CHANNELS: Final = 16
DASH_MIN: Final = 1
DASH_MAX: Final = 15
WEIGHT_MAX: Final = 127
THRESHOLD_MAX: Final = 32_767
_WEIGHTS = (nir.Linear, nir.Affine)
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Chip:
    """One of the chips: how many neurons it has, and how many of the hidden ones can
    hear the inputs, or be heard by the outputs.
    """

    title: str
    hidden: int
    outputs: int
    expansion: int


CHIPS: Final = {
    "audio2": Chip("Xylo Audio 2", 1000, 8, 1000),
    "audio3": Chip("Xylo Audio 3", 992, 32, 128),
}


@dataclass(frozen=True, slots=True)
class Unmappable:
    """A node that a chip cannot hold: the limit it breaks, and what would fit."""

    node: str
    limit: str
    fits: str

    def __str__(self) -> str:
        return f"{self.node}: {self.limit}; fits: {self.fits}"


def require_mappable(
    network: Network, chip: str, dt_s: float | None = None, *, file_gains: bool = True
) -> None:
    """Raise DataError where a chip cannot hold a network; `dt_s` is the time step where
    the file states none; without `file_gains` the conventions have gains of 1, as the
    chip.
    """
    faults = list(
        findings(replace(network, dt_s=dt_s or network.dt_s), chip, file_gains)
    )
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        evidence = "; ".join(str(one) for one in faults[:_SHOWN]) + more
        raise DataError(
            f"the network does not fit on {CHIPS[chip].title}",
            evidence=evidence,
            try_next=(
                "change the named nodes, or run the network on another backend "
                "([sut.cpu], [sut.posix])"
            ),
        )


def findings(
    network: Network, chip: str, file_gains: bool = True
) -> Iterator[Unmappable]:
    """List the parts of a network that a chip cannot hold."""
    places = {place.name: place for place in network.places}
    yield from _of_ends(network, places)
    for place in network.places:
        yield from _of_kind(place)
        yield from _of_sources(place, places)
        if isinstance(place.node, _WEIGHTS):
            yield from _of_weights(place)
        if isinstance(place.node, nir.CubaLIF):
            yield from _of_neurons(place, network.dt_s)
    yield from _of_layers(network, places, CHIPS[chip])
    yield from _of_thresholds(network, places, file_gains)


def _of_ends(network: Network, places: dict[str, NodePlace]) -> Iterator[Unmappable]:
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        yield Unmappable(
            "graph",
            f"{len(network.inputs)} inputs and {len(network.outputs)} outputs",
            "one of each",
        )
    for name in network.inputs:
        if name in places and (count := math.prod(places[name].shape_out)) > CHANNELS:
            yield Unmappable(name, f"{count} input channels", f"up to {CHANNELS}")
    if network.dt_s is None:
        yield Unmappable(
            "graph", "no time step is stated", "dt_s in the graph's metadata, in s"
        )


def _of_kind(place: NodePlace) -> Iterator[Unmappable]:
    if isinstance(
        place.node, nir.Input | nir.Output | nir.CubaLIF | nir.Linear | nir.Affine
    ):
        return
    hint = "Linear, Affine without a bias, CubaLIF"
    if isinstance(place.node, nir.LIF):
        hint = (
            "a CubaLIF; Rockpool's importer fails on a LIF, which has no synaptic"
            " current"
        )
    yield Unmappable(
        place.name, f"a {type(place.node).__name__}, of which the chip has none", hint
    )


def _of_sources(place: NodePlace, places: dict[str, NodePlace]) -> Iterator[Unmappable]:
    for name in (*place.sources, *place.late_sources):
        source = places[name].node
        if isinstance(place.node, _WEIGHTS) and isinstance(source, _WEIGHTS):
            yield Unmappable(
                place.name,
                f"weights behind the weights of {name}",
                "one matrix, their product, between two layers of neurons",
            )
        if isinstance(place.node, nir.CubaLIF) and not isinstance(source, _WEIGHTS):
            yield Unmappable(
                place.name,
                f"neurons fed by {name}, a {type(source).__name__}, without weights",
                "a Linear between them, the identity if need be",
            )
        if isinstance(place.node, nir.Output) and not isinstance(source, nir.CubaLIF):
            yield Unmappable(
                place.name,
                f"an output from {name}, a {type(source).__name__}",
                "from a CubaLIF",
            )


def _of_weights(place: NodePlace) -> Iterator[Unmappable]:
    weight = np.asarray(place.node.weight)
    if not np.all(np.isfinite(weight)):
        yield Unmappable(place.name, "weights that are NaN or infinite", "numbers")
    if isinstance(place.node, nir.Affine) and np.any(np.asarray(place.node.bias) != 0):
        yield Unmappable(
            place.name,
            "a bias on weights, of which the chip has none",
            "a bias of 0, or a Linear",
        )


def _of_neurons(place: NodePlace, dt_s: float | None) -> Iterator[Unmappable]:
    node = place.node
    count = math.prod(place.shape_out)
    if np.asarray(node.tau_syn).size not in (1, count):
        yield Unmappable(
            place.name,
            f"{np.asarray(node.tau_syn).size} synaptic time constants for {count}"
            " neurons",
            "one a neuron: the chip has two synapses a neuron, a NIR file can name one",
        )
    for name in ("v_leak", "v_reset"):
        if np.any(np.asarray(getattr(node, name, 0.0)) != 0):
            yield Unmappable(
                place.name, f"a {name} that is not 0", "0; the chip has no such level"
            )
    for name in ("r", "w_in"):
        if not np.all(np.asarray(getattr(node, name)) > 0):
            yield Unmappable(
                place.name, f"{name} that is not above 0", "a gain above 0"
            )
    if dt_s is not None:
        for name in ("tau_syn", "tau_mem"):
            yield from _of_times(
                place.name, name, np.float64(getattr(node, name)), dt_s
            )


def _of_times(node: str, name: str, tau_s: Any, dt_s: float) -> Iterator[Unmappable]:
    """A state loses itself shifted right by `dash` in a step: only so many times can be
    had."""
    least_s, most_s = tau_of(DASH_MIN - 0.5, dt_s), tau_of(DASH_MAX + 0.5, dt_s)
    bad = ~(np.isfinite(tau_s) & (tau_s >= least_s) & (tau_s < most_s))
    if np.any(bad):
        worst = float(np.ravel(tau_s)[np.ravel(bad)][0])
        yield Unmappable(
            node,
            f"{name} of {worst:g} s at a time step of {dt_s:g} s "
            f"({int(np.count_nonzero(bad))} of {np.size(bad)})",
            f"{tau_of(DASH_MIN, dt_s):.3g} to {tau_of(DASH_MAX, dt_s):.3g} s, shifts of"
            f" {DASH_MIN} to {DASH_MAX}",
        )


def tau_of(dash: float, dt_s: float) -> float:
    """Convert a shift to its time constant, as Rockpool counts: dash is -log2(1 -
    exp(-dt / tau))."""
    return -dt_s / math.log1p(-(2.0**-dash))


def _output_sources(network: Network, places: dict[str, NodePlace]) -> set[str]:
    """Return the names of the nodes that feed the outputs."""
    names: set[str] = set()
    for end in network.outputs:
        if end in places:
            names |= set(places[end].sources)
    return names


def _of_layers(
    network: Network, places: dict[str, NodePlace], chip: Chip
) -> Iterator[Unmappable]:
    layers = [place for place in network.places if isinstance(place.node, nir.CubaLIF)]
    last = _output_sources(network, places)
    outputs = [place for place in layers if place.name in last]
    hidden = [place for place in layers if place.name not in last]
    if len(layers) < 2 or not hidden or len(outputs) != 1:
        yield Unmappable(
            "graph",
            f"{len(hidden)} hidden and {len(outputs)} output layers of neurons",
            "one hidden layer or more, and one of outputs",
        )
    if (count := sum(math.prod(place.shape_out) for place in hidden)) > chip.hidden:
        largest = max(hidden, key=lambda place: math.prod(place.shape_out))
        yield Unmappable(
            largest.name,
            f"{math.prod(largest.shape_out)} of {count} hidden neurons",
            f"up to {chip.hidden} in all hidden layers",
        )
    if chip.expansion < chip.hidden:
        yield from _of_expansion(network, places, hidden, outputs, chip)
    for place in outputs:
        if (count := math.prod(place.shape_out)) > chip.outputs:
            yield Unmappable(
                place.name, f"{count} output neurons", f"up to {chip.outputs}"
            )
        behind = [
            one.name
            for one in network.places
            if place.name in (*one.sources, *one.late_sources)
        ]
        if set(behind) - set(network.outputs):
            yield Unmappable(
                place.name,
                "output neurons that feed"
                f" {', '.join(sorted(set(behind) - set(network.outputs)))}",
                "outputs that feed no weights; another hidden layer in their place",
            )


def _of_expansion(
    network: Network,
    places: dict[str, NodePlace],
    hidden: list[NodePlace],
    outputs: list[NodePlace],
    chip: Chip,
) -> Iterator[Unmappable]:
    """Check the limit at which Rockpool truncates, with a warning, on a board only."""

    def fed_by(place: NodePlace, sources: set[str]) -> bool:
        return any(sources & set(places[name].sources) for name in place.sources)

    hearing = [place for place in hidden if fed_by(place, set(network.inputs))]

    def feeds_output(place: NodePlace) -> bool:
        return any(fed_by(output, {place.name}) for output in outputs)

    heard = [place for place in hidden if feeds_output(place)]
    for found, what in (
        (hearing, "that hear the inputs"),
        (heard, "that the outputs hear"),
    ):
        if (
            count := sum(math.prod(place.shape_out) for place in found)
        ) > chip.expansion:
            yield Unmappable(
                found[-1].name,
                f"{count} neurons {what}",
                f"up to {chip.expansion}; another hidden layer between takes more",
            )


def _of_thresholds(
    network: Network, places: dict[str, NodePlace], file_gains: bool
) -> Iterator[Unmappable]:
    """Weights are scaled so that the largest of a group is 127, and thresholds with
    them."""
    last = _output_sources(network, places)
    largest = {True: 0.0, False: 0.0}
    for place in network.places:
        if isinstance(place.node, nir.CubaLIF):
            for name in (*place.sources, *place.late_sources):
                if isinstance(places[name].node, _WEIGHTS):
                    weight = np.abs(np.asarray(places[name].node.weight, np.float64))
                    group = place.name in last
                    largest[group] = max(largest[group], float(weight.max(initial=0.0)))
    for place in network.places:
        if not isinstance(place.node, nir.CubaLIF) or network.dt_s is None:
            continue
        scale = WEIGHT_MAX / (largest[place.name in last] or WEIGHT_MAX)
        stated = np.atleast_1d(np.float64(place.node.v_threshold))
        held = (threshold(place.node, network.dt_s) if file_gains else stated) * scale
        bad = ~((held >= 0.5) & (held < THRESHOLD_MAX + 0.5))
        if np.any(bad):
            yield Unmappable(
                place.name,
                f"a threshold of {float(np.ravel(held)[np.ravel(bad)][0]):.4g} once the"
                f" largest weight is scaled to {WEIGHT_MAX}",
                f"1 to {THRESHOLD_MAX}: thresholds nearer to the weights' size",
            )


def threshold(node: Any, dt_s: float) -> NDArray[np.float64]:
    """Compute the thresholds of neurons whose input is added whole, as the chip does:
    the gains of the file are in them."""
    with np.errstate(all="ignore"):
        gain = np.float64(node.w_in) * np.float64(node.r) * dt_s * dt_s
        gain = gain / np.float64(node.tau_syn) / np.float64(node.tau_mem)
        found: NDArray[np.float64] = np.atleast_1d(np.float64(node.v_threshold) / gain)
    return found
