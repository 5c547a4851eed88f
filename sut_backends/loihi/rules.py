# SPDX-License-Identifier: Apache-2.0
"""One step of a neuron, in numpy: by a file's conventions, or in whole numbers as
docs/reference/ASC.md states them. It runs in the worker, inside Lava's process
models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sut_backends.workers.inside.plain_network import PlainConventions, PlainNode

#: Limits of a state of the integer rule.
STATE_MIN = -32768
STATE_MAX = 32767


@dataclass(frozen=True)
class WholeRule:
    """A rule in whole numbers: states lose themselves shifted right, each spike takes a
    threshold off.
    """

    threshold: Any
    spikes_max: int
    dash_syn: Any
    dash_mem: Any
    start: Any = 0.0


@dataclass(frozen=True)
class FloatRule:
    """A rule in floating point. `subtract`: a spike takes `taken` off, else the
    membrane goes to `reset`; `unit`: gains are 1; `whole`: and an input decays from the
    next step on; `last`: the current of the step before drives. `share_mem` and
    `share_syn` are what share of its distance to the end a state goes in a step;
    `share_syn` is None where there is no synaptic current.
    """

    threshold: Any
    spikes_max: int
    above: bool
    subtract: bool
    unit: bool
    last: bool
    leaky: bool
    leak: Any
    reset: Any
    gain: Any
    weight_in: Any
    share_mem: Any
    share_syn: Any
    start: Any
    taken: Any
    whole: bool


Rule = WholeRule | FloatRule


def rule_of(node: PlainNode, how: PlainConventions, dt_s: float) -> Rule:
    """Derive the rule of a neuron's node; a node with shifts of its own (`dash_mem`)
    has the integer one, where the conventions are those it was made for."""
    parameters = node.parameters
    metadata = node.metadata
    subtracts = how.reset == "subtract"
    unit = how.gains != "file"
    several = subtracts and how.spikes_max > 1
    spikes_max = int((metadata.spikes_max or how.spikes_max) if several else 1)
    threshold = np.asarray(parameters.v_threshold, np.float64)
    if (
        metadata.dash_mem is not None
        and how.gains == "unit"
        and subtracts
        and not how.above
    ):
        dash_syn = np.asarray(metadata.dash_syn, np.int64)
        return WholeRule(
            threshold.astype(np.int64),
            spikes_max,
            dash_syn,
            np.asarray(metadata.dash_mem, np.int64),
        )
    synaptic = node.type == "CubaLIF"
    leaky = node.type != "IF"
    tau_mem = parameters.tau if parameters.tau_mem is None else parameters.tau_mem
    leak = _numbers(parameters.v_leak)
    share_mem = share(tau_mem, dt_s, how.scheme) if leaky else dt_s
    kept = 1.0 - share_mem if leaky else 1.0
    gain: Any = 1.0 if unit else np.asarray(parameters.r, np.float64)
    weight_in: Any = 1.0
    if synaptic and not unit:
        weight_in = np.asarray(parameters.w_in, np.float64)
    share_syn = share(parameters.tau_syn, dt_s, how.scheme) if synaptic else None
    starts_at_leak = how.start == "leak" and leaky
    taken = {"none": threshold * 0.0, "subtract-next": threshold / kept}
    return FloatRule(
        threshold=threshold,
        spikes_max=spikes_max,
        above=how.above,
        subtract=how.reset != "value",
        unit=unit,
        last=how.current == "last",
        leaky=leaky,
        leak=leak,
        reset=_numbers(parameters.v_reset),
        gain=gain,
        weight_in=weight_in,
        share_mem=share_mem,
        share_syn=share_syn,
        start=leak if starts_at_leak else np.zeros(()),
        taken=taken.get(how.reset, threshold),
        whole=how.gains == "whole",
    )


def _numbers(stated: Any) -> Any:
    """Return a parameter, 0 where there is none."""
    return np.asarray(0.0 if stated is None else stated, np.float64)


def share(tau: Any, dt_s: float, scheme: str) -> Any:
    """Compute the share of its distance to the end that a state goes in a step."""
    steps = dt_s / np.asarray(tau, np.float64)
    return steps if scheme == "euler" else -np.expm1(-steps)


def step(rule: Rule, current: Any, membrane: Any, values: Any) -> Any:
    """Go on by one step: `current` and `membrane` are changed in place, the spikes
    returned."""
    if isinstance(rule, WholeRule):
        return _whole_step(rule, current, membrane, values)
    drive = values
    if rule.share_syn is not None:
        before = current.copy()
        if rule.whole:
            current[:] = before * (1.0 - rule.share_syn) + values
        elif rule.unit:
            current[:] = (before + values) * (1.0 - rule.share_syn)
        else:
            current += rule.share_syn * (rule.weight_in * values - before)
        drive = before if rule.last else current
    if not rule.leaky:
        membrane += drive if rule.unit else rule.share_mem * rule.gain * drive
    elif rule.unit:
        membrane *= 1.0 - rule.share_mem
        membrane += rule.share_mem * rule.leak + drive
    else:
        membrane += rule.share_mem * (rule.leak + rule.gain * drive - membrane)
    return _fired(rule, membrane)


def _fired(rule: FloatRule, membrane: Any) -> Any:
    threshold = rule.threshold
    if not rule.subtract:
        fires = membrane > threshold if rule.above else membrane >= threshold
        membrane[:] = np.where(fires, rule.reset, membrane)
        return fires.astype(np.float64)
    times = np.floor(np.maximum(membrane, 0.0) / threshold)
    # A quotient that was rounded up to a whole number is one too many.
    times -= times * threshold > membrane
    if rule.above:
        times -= (times > 0) & (times * threshold == membrane)
    times = np.clip(times, 0, rule.spikes_max)
    membrane -= times * rule.taken
    return times


def _whole_step(rule: WholeRule, current: Any, membrane: Any, values: Any) -> Any:
    new = _limited(current.astype(np.int64) + np.rint(values).astype(np.int64))
    new = new - _decay(new, rule.dash_syn)
    old = membrane.astype(np.int64)
    kept = _limited(new - _decay(old, rule.dash_mem))
    raised = _limited(old + kept)
    spikes = np.clip(raised // rule.threshold, 0, rule.spikes_max)
    current[:] = new
    membrane[:] = raised - spikes * rule.threshold
    return spikes.astype(np.float64)


def _decay(value: Any, dash: Any) -> Any:
    loss = value >> dash
    return np.where((loss == 0) & (value > 0), 1, loss)


def _limited(value: Any) -> Any:
    return np.clip(value, STATE_MIN, STATE_MAX)
