# SPDX-License-Identifier: Apache-2.0
"""Write the network of the task `sww`: two kernels with weights set by hand, which
answer to a low tone that a high one follows. Nothing has been trained.

python examples/make_sww.py FILE.tflite
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from examples.make_tflite import NONE, RELU, VALID, Layers
from rig.network.sound.mel import BANDS, SAMPLE_HZ, mel_weights
from rig.network.wake.features import HOP
from scenarios.tasks.sww.generate import TONES_HZ

#: Rows over which a tone is averaged; so many rows after the first tone the second one
#: is looked at.
AVERAGED, APART = 6, 8
#: A tone's band is compared with those so far to each side.
ASIDE = 5
#: A tone's height above the bands beside it, in features, that counts fully.
FULL = 0.2
FEATURE = 1 / 255
LOGIT = 0.15


def network() -> Layers:
    """Return the network: shares of wake word, silence and anything else."""
    net = Layers((1, AVERAGED + APART, 1, BANDS), 0, FEATURE, -128)
    tones = np.zeros((3, AVERAGED, 1, BANDS))
    for channel, tone_hz in enumerate(TONES_HZ):
        band = _band_of(tone_hz)
        tones[channel, :, 0, band] = 1 / AVERAGED
        tones[channel, :, 0, [band - ASIDE, band + ASIDE]] = -0.5 / AVERAGED
    tones[2] = 1 / AVERAGED / BANDS
    _add(net, tones, np.zeros(3), FULL / 255, -128, RELU)
    logits = np.zeros((3, APART + 1, 1, 3))
    logits[0, 0, 0, 0] = logits[0, -1, 0, 1] = 80.0
    logits[1, -1, 0, 2] = -60.0
    _add(net, logits, np.array([-24.0, 10.0, 0.0]), LOGIT, 0, NONE)
    net.reshape(1, 3)
    net.softmax()
    return net


def _band_of(tone_hz: float) -> int:
    line = round(tone_hz / (SAMPLE_HZ / 1024))
    return int(np.argmax(mel_weights(HOP, 0.0, SAMPLE_HZ / 2)[line]))


def _add(
    net: Layers,
    weights: Any,
    biases: Any,
    scale: float,
    zero_point: int,
    activation: int,
) -> None:
    """Add a CONV_2D inside the rows with these real weights and biases."""
    channels, rows = weights.shape[:2]
    scale_in = net.unit()[0]
    largest = np.abs(weights).reshape(channels, -1).max(axis=1)
    units = np.where(largest, largest, 1.0) / 127
    whole = np.rint(weights / units[:, None, None, None]).astype(np.int8)
    steps = np.rint(biases / (units * scale_in)).astype(np.int32)
    inputs = [net.last, net.tensor(whole.shape, units, 0, whole)]
    inputs.append(net.tensor((channels,), units * scale_in, 0, steps))
    places = (1, net.shape()[1] - rows + 1, 1, channels)
    output = net.tensor(places, scale, zero_point)
    net.add(
        "CONV_2D",
        inputs,
        output,
        Padding=VALID,
        StrideH=1,
        StrideW=1,
        FusedActivationFunction=activation,
        DilationHFactor=1,
        DilationWFactor=1,
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(network().content())
