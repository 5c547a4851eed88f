# SPDX-License-Identifier: Apache-2.0
"""Facts that a worker reports of a network on a Xylo chip: its mapping, its rule there,
and the packages in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sut_backends.workers.inside import imports, plain_network
from sut_backends.workers.inside.job import Job

WEIGHT_MAX = 127
THRESHOLD_MAX = 32_767
#: How the chips step a network, in the words of docs/reference/MODELS.md; an output
#: fires once a step.
_RULE = {
    "reset": "subtract",
    "above": False,
    "gains": "unit",
    "start": "zero",
    "spikes_max": 31,
    "late": False,
}
_PACKAGES = ("rockpool", "xylosim", "nir", "nirtorch", "torch", "numpy", "bitstruct")


@dataclass(frozen=True)
class ChipNumbers:
    """Parts of Rockpool's specification that are read, under its names."""

    weights_in: Any
    weights_rec: Any
    weights_out: Any
    threshold: Any
    threshold_out: Any

    @classmethod
    def of(cls, specification: Mapping[str, Any]) -> ChipNumbers:
        """Return them."""
        return cls(**{one.name: specification.get(one.name) for one in fields(cls)})


def rule_differs(job: Job) -> str:
    """List the differences of the chips' rule from the file's; empty if there are
    none."""
    if not job.plain:
        return ""
    stated = vars(plain_network.read(job.plain).conventions)
    names = {"above": "a spike above the threshold and not at it"}
    return "; ".join(
        f"{names.get(name, name)}: {stated[name]} in the file, {held} on the chip"
        for name, held in _RULE.items()
        if stated[name] != held
    )


def mapping(
    before: dict[str, Any], after: dict[str, Any], method: str
) -> dict[str, Any]:
    """Return the network's numbers on the chip, and the losses of the mapping: weights
    were scaled together, or for each neuron ("channel")."""
    import numpy as np

    def groups(spec: ChipNumbers) -> Any:
        """Return the weights of hidden neurons and of outputs, a column a neuron."""
        hidden = np.asarray(spec.weights_rec, float)
        into = np.zeros((np.shape(spec.weights_in)[0], *hidden.shape[1:]))
        given = np.asarray(spec.weights_in, float)
        given = given.reshape(len(into), -1, *hidden.shape[2:])
        into[:, : given.shape[1]] = given
        both = np.moveaxis(np.concatenate([into, hidden]), 1, -1)
        return both.reshape(-1, both.shape[-1]), np.asarray(spec.weights_out, float)

    lost = zeroed = clipped = synapses = moved = 0.0
    stated, held = ChipNumbers.of(before), ChipNumbers.of(after)
    limits_before = (stated.threshold, stated.threshold_out)
    limits_after = (held.threshold, held.threshold_out)
    scales = []
    for number, (expected, got) in enumerate(
        zip(groups(stated), groups(held), strict=True)
    ):
        axis = 0 if method == "channel" else None
        most = np.abs(expected).max(axis=axis, initial=0.0)
        divisor = np.where(most > 0, most, 1.0)
        scale = np.abs(got).max(axis=axis, initial=0.0) / divisor
        error = np.abs(got - expected * scale)
        synapses += np.count_nonzero(got)
        clipped += np.count_nonzero(error > 1.0)
        zeroed += np.count_nonzero((expected != 0) & (got == 0))
        lost = max(lost, float(error.max(initial=0.0)) / WEIGHT_MAX)
        exact = np.ravel(limits_before[number]).astype(float) * scale
        off = np.abs(np.ravel(limits_after[number]) - exact)
        used = exact != 0
        relative = off[used] / np.abs(exact[used])
        moved = max(moved, float(relative.max(initial=0.0)))
        scales += np.ravel(scale)[np.ravel(most) > 0].tolist()
    taus = 0.0
    for name in ("dash_mem", "dash_syn", "dash_mem_out", "dash_syn_out"):
        exact = np.ravel(before[name]).astype(float)
        got = np.ravel(after[name]).astype(float)
        change = np.abs(2.0 ** (got - exact) - 1)[exact > 0]
        taus = max(taus, float(change.max(initial=0.0)))
    limits = np.concatenate([np.ravel(held.threshold), np.ravel(held.threshold_out)])
    return {
        "hidden_neurons": int(np.shape(held.weights_rec)[0]),
        "output_neurons": int(np.shape(held.weights_out)[1]),
        "synapses": int(synapses),
        "weights_clipped": int(clipped),
        "weights_lost_to_zero": int(zeroed),
        "weights_and_thresholds_multiplied_by": [
            min(scales, default=0.0),
            max(scales, default=0.0),
        ],
        "largest_change_of_a_weight": f"{lost:.3%} of the largest",
        "largest_change_of_a_threshold": f"{moved:.3%} of itself",
        "quantisation_error_of_largest_weight": lost,
        "time_constants_off_by_at_most": taus,
        "thresholds_at_limit": int(np.count_nonzero(limits >= THRESHOLD_MAX)),
    }


def versions() -> dict[str, str]:
    """Look up the version of each package that decides the result."""
    known = dict.fromkeys(_PACKAGES, "not installed") | imports.versions(_PACKAGES)
    return known | {"samna": "stand-in"}


def not_as_tried() -> list[str]:
    """List the packages of another version than the pinned one, with which this was
    tried."""
    installed = versions()
    differ = []
    for line in Path(__file__).with_name("requirements.txt").read_text().splitlines():
        name, _, pinned = line.partition("==")
        there = installed.get(name, pinned).partition("+")[0]
        if pinned and there != pinned:
            differ.append(f"{name} {there}, tried with {pinned}")
    return differ
