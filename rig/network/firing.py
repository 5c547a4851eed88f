# SPDX-License-Identifier: Apache-2.0
"""Whether the neurons of a network can fire at all: what their sources can give at
most, against their thresholds.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace

import nir
import numpy as np
from numpy.typing import NDArray

from rig.network.checks import ModelFinding
from rig.network.conventions import Conventions, Gains, Scheme
from rig.network.graph import Network, NodePlace
from rig.network.shapes import SPIKING
from rig.network.stages import stage

Floats = NDArray[np.float64]
#: An integrator that needs more steps of its largest input than this hardly fires in a
#: sample.
_STEPS = 100


def of_firing(
    network: Network, how: Conventions, dt_s: float | None
) -> list[ModelFinding]:
    """Return the nodes whose neurons all stay below their threshold while each
    input channel brings up to 1 in every step, and integrators that need more than a
    hundred such steps.

    Only sums of positive weights are examined: a node in the list cannot fire, one that
    is not in it may be unable to as well.
    """
    step_s = network.dt_s if dt_s is None else dt_s
    if step_s is None or network.late_edges:
        return []
    most: dict[str, Floats] = {}
    findings: list[ModelFinding] = []
    for place in network.places:
        entering = _entering(place, most)
        if isinstance(place.node, SPIKING):
            findings += _of_neurons(place, entering, how, step_s)
            most[place.name] = np.full(place.shape_out, float(how.spikes_max))
        else:
            most[place.name] = _leaving(place, entering, step_s)
    return findings


def _entering(place: NodePlace, most: Mapping[str, Floats]) -> Floats:
    if not place.sources:
        return np.ones(place.shape_in)
    return np.asarray(np.sum([most[name] for name in place.sources], axis=0))


def _leaving(place: NodePlace, entering: Floats, dt_s: float) -> Floats:
    """Return the largest values that leave a node without spikes."""
    node = place.node
    if isinstance(node, nir.I | nir.LI | nir.CubaLI):
        return np.full(place.shape_out, np.inf)
    if isinstance(node, nir.Threshold):
        return np.ones(place.shape_out)
    if isinstance(node, nir.Delay):
        return entering
    if not bool(np.all(np.isfinite(entering))):
        return np.full(place.shape_out, np.inf)
    if hasattr(node, "weight"):
        node = _positive(node)
    alone = replace(place, node=node, sources=(), late_sources=())
    leaving: Floats = stage(alone, dt_s, 1)(entering[None])[0]
    return leaving


def _positive(node: nir.NIRNode) -> nir.NIRNode:
    """Return a weighted node without its weights below 0, as inputs are none."""
    changed = copy.copy(node)
    changed.weight = np.maximum(np.asarray(node.weight, np.float64), 0.0)
    return changed


def _of_neurons(
    place: NodePlace, entering: Floats, how: Conventions, dt_s: float
) -> Iterator[ModelFinding]:
    node = place.node
    threshold = np.asarray(node.v_threshold, np.float64)
    file_gains = how.gains is Gains.FILE
    gain = np.asarray(node.r if file_gains else 1.0, np.float64)
    if isinstance(node, nir.IF):
        a_step = entering * gain * (dt_s if file_gains else 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(a_step > 0, threshold / a_step, np.inf)
        least = float(np.min(steps))
        if least > _STEPS:
            yield ModelFinding(
                False,
                place.name,
                f"no neuron fires within {_STEPS} steps: a step of {dt_s:.6g} s moves a"
                f" membrane by {float(np.max(a_step)):.3g} at most, thresholds begin at"
                f" {float(np.min(threshold)):.3g}",
                "--dt 1 (in a bench file dt_s), if the file counts time in steps, as"
                " sinabs does; --as PROGRAM (in a bench file rule)",
            )
        return
    reached = _reached(place, entering, gain, how, dt_s)
    if bool(np.all(reached <= threshold)):
        yield ModelFinding(
            False,
            place.name,
            "its input cannot reach its threshold: membranes rise to"
            f" {float(np.max(reached)):.3g} at most while every channel brings 1 in"
            f" each step, thresholds begin at {float(np.min(threshold)):.3g}",
            "--dt and --as of the program that wrote the file, in a bench file dt_s and"
            " rule",
        )


def _reached(
    place: NodePlace, entering: Floats, gain: Floats, how: Conventions, dt_s: float
) -> Floats:
    """Return where membranes come to rest under a constant input."""
    node = place.node
    leak = np.asarray(0.0 if node.v_leak is None else node.v_leak, np.float64)
    tau = node.tau_mem if isinstance(node, nir.CubaLIF) else node.tau
    share = _share(tau, dt_s, how)
    if how.gains is Gains.FILE:
        weight = (
            np.asarray(node.w_in, np.float64) if isinstance(node, nir.CubaLIF) else 1.0
        )
        return np.asarray(np.maximum(leak, 0.0) + gain * weight * entering)
    drive = entering
    if isinstance(node, nir.CubaLIF):
        share_syn = _share(node.tau_syn, dt_s, how)
        kept = 1.0 - share_syn if how.gains is Gains.UNIT else 1.0
        drive = entering * kept / share_syn
    return np.asarray(np.maximum(leak, 0.0) + drive / share)


def _share(tau: object, dt_s: float, how: Conventions) -> Floats:
    steps = dt_s / np.asarray(tau, np.float64)
    return np.asarray(steps if how.scheme is Scheme.EULER else -np.expm1(-steps))
