# SPDX-License-Identifier: Apache-2.0
"""What a neuron does in a step, in numpy: by a file's conventions, or in whole numbers as
docs/ASC.md states them. It runs in the worker, inside Lava's process models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sut_backends.workers.inside.plain_network import PlainNode

#: Limits of a state of the integer rule.
STATE_MIN = -32768
STATE_MAX = 32767

Arrays = dict[str, Any]


def rule_of(node: PlainNode, conventions: dict[str, Any], dt_s: float) -> Arrays:
    """Return the rule of a neuron's node; a node with shifts of its own (`dash_mem`) has the
    integer one, where the conventions are those it was made for.
    """
    parameters = node.parameters
    metadata = node.metadata or {}
    subtracts = conventions["reset"] == "subtract"
    unit = conventions["gains"] == "unit"
    several = subtracts and conventions["spikes_max"] > 1
    spikes_max = (metadata.get("spikes_max") or conventions["spikes_max"]) if several else 1
    threshold = np.asarray(parameters["v_threshold"], np.float64)
    if "dash_mem" in metadata and unit and subtracts and not conventions["above"]:
        return {
            "whole": True,
            "threshold": threshold.astype(np.int64),
            "spikes_max": int(spikes_max),
            "dash_syn": np.asarray(metadata["dash_syn"], np.int64),
            "dash_mem": np.asarray(metadata["dash_mem"], np.int64),
        }
    synaptic = node.type == "CubaLIF"
    leaky = node.type != "IF"
    tau_mem = parameters.get("tau_mem", parameters.get("tau"))
    leak = np.asarray(parameters.get("v_leak", 0.0), np.float64)
    return {
        "whole": False,
        "threshold": threshold,
        "spikes_max": int(spikes_max),
        "above": bool(conventions["above"]),
        "subtract": subtracts,
        "unit": unit,
        "last": conventions["current"] == "last",
        "leaky": leaky,
        "leak": leak,
        "reset": np.asarray(parameters.get("v_reset", 0.0), np.float64),
        "gain": 1.0 if unit else np.asarray(parameters["r"], np.float64),
        "weight_in": 1.0 if unit or not synaptic else np.asarray(parameters["w_in"], np.float64),
        "share_mem": share(tau_mem, dt_s, conventions["scheme"]) if leaky else dt_s,
        "share_syn": share(parameters["tau_syn"], dt_s, conventions["scheme"])
        if synaptic
        else None,
        "start": leak if conventions["start"] == "leak" and leaky else np.zeros(()),
    }


def share(tau: Any, dt_s: float, scheme: str) -> Any:
    """Return what share of its distance to the end a state goes in a step."""
    steps = dt_s / np.asarray(tau, np.float64)
    return steps if scheme == "euler" else -np.expm1(-steps)


def step(rule: Arrays, current: Any, membrane: Any, values: Any) -> Any:
    """Go on by one step: `current` and `membrane` are changed in place, the spikes returned."""
    if rule["whole"]:
        return _whole_step(rule, current, membrane, values)
    drive = values
    if rule["share_syn"] is not None:
        before = current.copy()
        if rule["unit"]:
            current[:] = (before + values) * (1.0 - rule["share_syn"])
        else:
            current += rule["share_syn"] * (rule["weight_in"] * values - before)
        drive = before if rule["last"] else current
    if not rule["leaky"]:
        membrane += drive if rule["unit"] else rule["share_mem"] * rule["gain"] * drive
    elif rule["unit"]:
        membrane *= 1.0 - rule["share_mem"]
        membrane += rule["share_mem"] * rule["leak"] + drive
    else:
        membrane += rule["share_mem"] * (rule["leak"] + rule["gain"] * drive - membrane)
    return _fired(rule, membrane)


def _fired(rule: Arrays, membrane: Any) -> Any:
    threshold = rule["threshold"]
    if not rule["subtract"]:
        fires = membrane > threshold if rule["above"] else membrane >= threshold
        membrane[:] = np.where(fires, rule["reset"], membrane)
        return fires.astype(np.float64)
    times = np.floor(np.maximum(membrane, 0.0) / threshold)
    # A quotient that was rounded up to a whole number is one too many.
    times -= times * threshold > membrane
    if rule["above"]:
        times -= (times > 0) & (times * threshold == membrane)
    times = np.clip(times, 0, rule["spikes_max"])
    membrane -= times * threshold
    return times


def _whole_step(rule: Arrays, current: Any, membrane: Any, values: Any) -> Any:
    new = _limited(current.astype(np.int64) + np.rint(values).astype(np.int64))
    new = new - _decay(new, rule["dash_syn"])
    old = membrane.astype(np.int64)
    kept = _limited(new - _decay(old, rule["dash_mem"]))
    raised = _limited(old + kept)
    spikes = np.clip(raised // rule["threshold"], 0, rule["spikes_max"])
    current[:] = new
    membrane[:] = raised - spikes * rule["threshold"]
    return spikes.astype(np.float64)


def _decay(value: Any, dash: Any) -> Any:
    loss = value >> dash
    return np.where((loss == 0) & (value > 0), 1, loss)


def _limited(value: Any) -> Any:
    return np.clip(value, STATE_MIN, STATE_MAX)
