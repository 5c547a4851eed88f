# SPDX-License-Identifier: Apache-2.0
"""The model in numpy: the integer arithmetic of docs/reference/ASC.md, many slices at
once.

Written from the definition, not from the C code: the two are compared byte by byte in
the tests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scenarios.tasks.asc.model import (
    AUDIO_FRACTION_BITS,
    CHANNELS,
    COEFFICIENT_FRACTION_BITS,
    ENVELOPE_SHIFT_BITS,
    HOP_SAMPLES,
    INPUT_SPIKES_MAX,
    LOG_FRACTION_BITS,
    SLICE_SAMPLES,
    SPIKE_SHIFT_BITS,
    STATE_MAX,
    STEPS,
    AscModel,
    FilterBank,
    NetworkLayer,
)

Ints = NDArray[np.int64]
FILTER_MAX = 2**31 - 1


def envelopes(bank: FilterBank, audio: NDArray[np.int16]) -> Ints:
    """Filter, rectify and sum over each step; audio (slices, 8000) -> (slices, 125,
    16), in 1/4 of an int16 unit.
    """
    slices = audio.shape[0]
    if audio.shape != (slices, SLICE_SAMPLES):
        raise ValueError(
            f"audio has shape {audio.shape}, wanted (slices, {SLICE_SAMPLES})"
        )
    padded = np.zeros((slices, SLICE_SAMPLES + 2), np.int64)
    padded[:, 2:] = audio.astype(np.int64) << AUDIO_FRACTION_BITS
    difference = padded[:, 2:] - padded[:, :-2]
    b0 = bank.b0.astype(np.int64)
    a1 = bank.a1.astype(np.int64)
    a2 = bank.a2.astype(np.int64)
    half = np.int64(1 << (COEFFICIENT_FRACTION_BITS - 1))
    total = np.zeros((slices, STEPS, CHANNELS), np.int64)
    driven = np.empty((HOP_SAMPLES, slices, CHANNELS), np.int64)
    # The filter's state at each sample of a hop, after the two before it.
    states = np.zeros((HOP_SAMPLES + 2, slices, CHANNELS), np.int64)
    feedback = np.stack([a2, a1])[:, None]
    for step in range(STEPS):
        hop = difference[:, step * HOP_SAMPLES : (step + 1) * HOP_SAMPLES].T[:, :, None]
        np.multiply(hop, b0, out=driven)
        driven += half
        _filter(driven, feedback, states, limited=False)
        if np.abs(states).max() > FILTER_MAX:
            _filter(driven, feedback, states, limited=True)
        total[:, step] = (np.abs(states[2:]) >> ENVELOPE_SHIFT_BITS).sum(axis=0)
        states[:2] = states[-2:]
    return total


def _filter(driven: Ints, feedback: Ints, states: Ints, *, limited: bool) -> None:
    """Filter a hop and append its states to the two before it. Limiting each state
    takes half as long again, and changes none in a hop that stays below the limit."""
    terms = np.empty_like(states[:2])
    later, earlier = terms
    before = [states[sample : sample + 2] for sample in range(HOP_SAMPLES)]
    bits = np.array(COEFFICIENT_FRACTION_BITS)
    for two, drive, state in zip(before, driven, states[2:], strict=True):
        np.multiply(two, feedback, out=terms)
        np.subtract(drive, later, out=state)
        np.subtract(state, earlier, out=state)
        np.right_shift(state, bits, out=state)
        if limited:
            np.minimum(state, FILTER_MAX, out=state)
            np.maximum(state, -FILTER_MAX, out=state)


def logarithms(envelope: Ints) -> Ints:
    """Take the base-2 logarithm in sixteenths, linear between powers of two; 0 of 0."""
    mantissa, exponent = np.frexp(envelope.astype(np.float64))
    sixteenths = np.floor((2 * mantissa - 1) * 2**LOG_FRACTION_BITS).astype(np.int64)
    octaves = exponent.astype(np.int64) - 1
    return np.where(envelope > 0, octaves * 2**LOG_FRACTION_BITS + sixteenths, 0)


def centred_levels(bank: FilterBank, audio: NDArray[np.int16]) -> Ints:
    """Return the log envelopes of audio (slices, 8000), the mean of each slice taken
    off; (slices, 125, 16).
    """
    level = logarithms(envelopes(bank, audio))
    mean: Ints = level.sum(axis=(1, 2), keepdims=True) // (STEPS * CHANNELS)
    return level - mean


def spike_counts(bank: FilterBank, audio: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Turn audio (slices, 8000) into spike counts (slices, 125, 16) of 0..15."""
    current = np.maximum(centred_levels(bank, audio) + bank.offset.astype(np.int64), 0)
    # Integrate and fire without a leak: what stays below the threshold is carried to
    # the next step.
    fired: Ints = np.cumsum(current, axis=1) // 2**SPIKE_SHIFT_BITS
    fired_in_step = np.diff(fired, axis=1, prepend=0)
    counts: NDArray[np.uint8] = np.minimum(fired_in_step, INPUT_SPIKES_MAX).astype(
        np.uint8
    )
    return counts


def decay(value: Ints, dash: Ints) -> Ints:
    """Compute the loss of a state in a step: value >> dash, but at least 1 towards
    zero."""
    loss = value >> dash
    return np.where((loss == 0) & (value > 0), 1, loss)


def saturated(value: Ints) -> Ints:
    """Limit a state to -32768..32767."""
    return np.minimum(np.maximum(value, -STATE_MAX - 1), STATE_MAX)


def run_layer(
    layer: NetworkLayer, spikes: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], Ints]:
    """Run a layer over spikes (slices, steps, inputs) -> spikes (slices, steps,
    neurons), last membrane (slices, neurons).
    """
    weight = layer.weight.astype(np.float64)
    drive = (spikes.astype(np.float64) @ weight.T).astype(np.int64)
    dash_syn = layer.dash_syn.astype(np.int64)
    dash_mem = layer.dash_mem.astype(np.int64)
    threshold = layer.threshold.astype(np.int64)
    current = np.zeros((spikes.shape[0], layer.neurons), np.int64)
    membrane = np.zeros_like(current)
    out = np.zeros(drive.shape, np.uint8)
    for step in range(drive.shape[1]):
        current = saturated(current + drive[:, step])
        current = current - decay(current, dash_syn)
        membrane = saturated(membrane + saturated(current - decay(membrane, dash_mem)))
        fired = np.clip(membrane // threshold, 0, layer.spikes_max)
        membrane = membrane - fired * threshold
        out[:, step] = fired
    return out, membrane


def infer(model: AscModel, counts: NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """Run the network from rest over counts (slices, 125, 16) -> output spikes and last
    membranes, both (slices, 4).
    """
    spikes, membrane = trains(model, counts)
    return spikes.sum(axis=1, dtype=np.int64), membrane


def trains(
    model: AscModel, counts: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], Ints]:
    """Run the network from rest over counts (slices, 125, 16) -> output spikes of each
    step (slices, 125, 4) and last membranes (slices, 4).
    """
    spikes = counts
    membrane = np.zeros((counts.shape[0], 0), np.int64)
    for layer in model.layers:
        spikes, membrane = run_layer(layer, spikes)
    return spikes, membrane


def outputs(model: AscModel, audio: NDArray[np.int16]) -> NDArray[np.int32]:
    """Run front end and network on audio (slices, 8000) -> (slices, 4): count * 65536 +
    membrane + 32768.
    """
    fired, membrane = infer(model, spike_counts(model.bank, audio))
    return (fired * 65_536 + membrane + STATE_MAX + 1).astype(np.int32)
