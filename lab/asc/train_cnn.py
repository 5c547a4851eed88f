# SPDX-License-Identifier: Apache-2.0
"""Train the convolutional network of the ASC task, by the recipe of the spiking one and
on the same features, and write it as a .tflite file of int8.

    python -m lab.asc.train_cnn --data FOLDER --out FILE

Numpy does all of it. The test split is read only for the figure printed at the end,
never for a choice.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.make_tflite import NONE, RELU, SAME, VALID, Layers
from lab.asc.layers import CnnLayer, Floats
from rig.network.tflite import interpreter, network
from scenarios.tasks.asc.audio import read_clip
from scenarios.tasks.asc.cnn import features, limited
from scenarios.tasks.asc.dataset import CLASSES, Clip, open_dataset
from scenarios.tasks.asc.integer import centred_levels
from scenarios.tasks.asc.model import CHANNELS, SLICE_SAMPLES, STEPS, FilterBank
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL

log = logging.getLogger(__name__)

#: Of the recipe of the spiking network (train.py): variation of a batch in sixteenths
#: of an octave, label smoothing, and the schedule of the rate.
TILT = 6.0
RIPPLE = 3.0
SMOOTHING = 0.05
WARM_UP = 0.15
REPORT_EVERY = 50
#: Values of the network are of order one.
_UNIT = np.float32(1 / 32)
_CALIBRATED = 2000


@dataclass(frozen=True, slots=True)
class CnnTraining:
    """Settings of a training; with the data they determine the weights. All but the
    rate are those of the spiking network.
    """

    updates: int = 1200
    batch: int = 96
    peak_rate: float = 1e-2
    weight_decay: float = 1e-3
    seed: int = 0


def fresh(random: np.random.Generator) -> list[CnnLayer]:
    """Make the untrained layers: 125 steps x 16 channels to four classes."""

    def drawn(*shape: int, inputs: int) -> Floats:
        spread = np.sqrt(2 / inputs)
        return random.normal(0, spread, shape).astype(np.float32)

    def biases(count: int) -> Floats:
        return np.zeros(count, np.float32)

    return [
        CnnLayer("convolution", drawn(5, 4, 1, 16, inputs=20), biases(16), (4, 2)),
        CnnLayer("depthwise", drawn(3, 3, 16, inputs=9), biases(16)),
        CnnLayer("convolution", drawn(1, 1, 16, 24, inputs=16), biases(24)),
        CnnLayer("depthwise", drawn(3, 3, 24, inputs=9), biases(24), (2, 2)),
        CnnLayer("convolution", drawn(1, 1, 24, 32, inputs=24), biases(32)),
        CnnLayer("dense", drawn(128, len(CLASSES), inputs=128), biases(len(CLASSES))),
    ]


def forward(layers: Sequence[CnnLayer], images: Floats) -> tuple[list[Floats], Any]:
    """Return the values after each layer, the pooled ones before the last, and what the
    way back needs.
    """
    values = [images]
    kept = []
    for layer in layers[:-1]:
        found, needed = layer.forward(values[-1])
        values.append(found)
        kept.append(needed)
    # Over time alone: the channels are what tells the classes apart.
    values.append(values[-1].mean(axis=1).reshape(len(images), -1))
    found, needed = layers[-1].forward(values[-1])
    return [*values, found], [*kept, needed]


def slopes(
    layers: Sequence[CnnLayer], images: Floats, labels: NDArray[np.int64]
) -> tuple[float, list[Floats]]:
    """Return the cross entropy of a batch, and its slopes by weights and biases, layer
    by layer.
    """
    values, kept = forward(layers, images)
    logits = values[-1]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    due = np.full(shares.shape, SMOOTHING / len(CLASSES), np.float32)
    due[np.arange(len(labels)), labels] += 1 - SMOOTHING
    loss = float(-(due * np.log(np.maximum(shares, 1e-12))).sum(axis=1).mean())
    slope = ((shares - due) / len(labels)).astype(np.float32)
    found: list[Floats] = []
    by_weight, by_bias, slope = layers[-1].backward(kept[-1], slope)
    found = [by_weight, by_bias]
    last = values[-3]
    pooled = slope.reshape(len(last), 1, *last.shape[2:]) / last.shape[1]
    slope = np.broadcast_to(pooled, last.shape)
    for layer, needed in zip(layers[-2::-1], kept[-2::-1], strict=True):
        by_weight, by_bias, slope = layer.backward(needed, slope)
        found = [by_weight, by_bias, *found]
    return loss, found


def varied(levels: NDArray[np.int16], random: np.random.Generator) -> Floats:
    """Vary a batch as train.py does: a tilt, a ripple over the channels, a shift in
    time.
    """
    tilt = (
        TILT
        * random.standard_normal((len(levels), 1, 1))
        * np.linspace(-1, 1, CHANNELS)
    )
    ripple = RIPPLE * random.standard_normal((len(levels), 1, CHANNELS))
    shift = int(random.integers(STEPS))
    return (np.roll(levels, shift, axis=1) + np.rint(tilt + ripple)).astype(np.float32)


def images_of(levels: Any) -> Floats:
    """Return centred levels (slices, 125, 16) as the trained network takes them: those
    of the features.
    """
    found: Floats = (limited(levels).astype(np.float32) * _UNIT)[..., None]
    return found


def rate(update: int, settings: CnnTraining) -> float:
    """Return the rate of an update: up along a cosine, then down (one cycle)."""
    peak = settings.peak_rate
    warm = WARM_UP * settings.updates - 1
    if update <= warm:
        share, low, high = update / max(warm, 1), peak / 25, peak
    else:
        share = (update - warm) / (settings.updates - 1 - warm)
        low, high = peak, peak / 250_000
    return float(high + (low - high) * (1 + np.cos(np.pi * share)) / 2)


def trained(
    levels: NDArray[np.int16], labels: NDArray[np.int64], settings: CnnTraining
) -> list[CnnLayer]:
    """Train on centred levels (slices, 125, 16) by AdamW."""
    random = np.random.default_rng(settings.seed)
    layers = fresh(random)
    numbers = list(chain.from_iterable(layer.numbers for layer in layers))
    means = [np.zeros_like(part) for part in numbers]
    squares = [np.zeros_like(part) for part in numbers]
    recent = 0.0
    for update in range(settings.updates):
        chosen = random.integers(len(levels), size=settings.batch)
        images = images_of(varied(levels[chosen], random))
        loss, found = slopes(layers, images, labels[chosen])
        norm = np.sqrt(sum(float((slope**2).sum()) for slope in found))
        step = rate(update, settings)
        for part, slope, mean, square in zip(
            numbers, found, means, squares, strict=True
        ):
            clipped = slope * min(1.0, 1.0 / (norm + 1e-6))
            mean += 0.1 * (clipped - mean)
            square += 0.001 * (clipped**2 - square)
            grown = mean / (1 - 0.9 ** (update + 1))
            spread = np.sqrt(square / (1 - 0.999 ** (update + 1))) + 1e-8
            part -= step * (grown / spread + settings.weight_decay * part)
        recent += loss / REPORT_EVERY
        if update % REPORT_EVERY == REPORT_EVERY - 1:
            log.info("update %d of %d: loss %.3f", update + 1, settings.updates, recent)
            recent = 0.0
    return layers


def content(layers: Sequence[CnnLayer], calibration: Floats) -> bytes:
    """Return the network as a .tflite file: weights with a scale for each channel,
    values by their range over the calibration.
    """
    values, _ = forward(layers, calibration)
    net = Layers((1, STEPS, CHANNELS, 1), 0, float(_UNIT), 0)
    for layer, found in zip(layers[:-1], values[1:], strict=False):
        scale = float(found.max()) / 255
        shape = (1, *found.shape[1:])
        _add(net, layer, net.tensor(shape, scale, -128))
    _, rows, columns, channels = net.shape()
    net.pool("AVERAGE_POOL_2D", (rows, 1), (rows, 1), VALID)
    net.reshape(1, columns * channels)
    scale = float(np.abs(values[-1]).max()) / 127
    _add(net, layers[-1], net.tensor((1, len(CLASSES)), scale, 0))
    net.softmax()
    return net.content()


def _add(net: Layers, layer: CnnLayer, output: int) -> None:
    if layer.kind == "depthwise":
        arranged, axis = layer.weight[None], 3
    elif layer.kind == "convolution":
        arranged, axis = layer.weight.transpose(3, 0, 1, 2), 0
    else:
        arranged, axis = layer.weight.T, 0
    others = tuple(each for each in range(arranged.ndim) if each != axis)
    scales = np.maximum(np.abs(arranged).max(axis=others), 1e-6) / 127
    places = [1] * arranged.ndim
    places[axis] = -1
    whole = np.rint(arranged / scales.reshape(places)).astype(np.int8)
    weights = net.tensor(whole.shape, scales, 0, whole, axis)
    units = net.unit()[0] * scales
    biases = np.rint(layer.bias / units).astype(np.int32)
    inputs = [net.last, weights, net.tensor(biases.shape, units, 0, biases)]
    if layer.kind == "dense":
        net.add("FULLY_CONNECTED", inputs, output, FusedActivationFunction=NONE)
        return
    options = {
        "Padding": SAME,
        "StrideH": layer.strides[0],
        "StrideW": layer.strides[1],
        "FusedActivationFunction": RELU,
        "DilationHFactor": 1,
        "DilationWFactor": 1,
    }
    if layer.kind == "depthwise":
        net.add("DEPTHWISE_CONV_2D", inputs, output, DepthMultiplier=1, **options)
    else:
        net.add("CONV_2D", inputs, output, **options)


def read_levels(
    bank: FilterBank, clips: Sequence[Clip], *, halfway: bool
) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return centred levels and labels of clips, as train.py reads them."""
    levels = []
    labels = []
    for clip in clips:
        audio = read_clip(clip.path)
        if halfway:
            between = audio.reshape(-1)[SLICE_SAMPLES // 2 : -SLICE_SAMPLES // 2]
            added = between.reshape(len(audio) - 1, SLICE_SAMPLES)
            audio = np.concatenate([audio, added])
        levels.append(centred_levels(bank, audio).astype(np.int16))
        labels.append(np.full(len(audio), clip.label))
    return np.concatenate(levels), np.concatenate(labels)


def correct(path: Path, levels: NDArray[np.int16], labels: NDArray[np.int64]) -> int:
    """Return how many slices the int8 network answers right."""
    read = network.read(path)
    answers = interpreter.run(read, features(levels)).reshape(len(levels), -1)
    return int((answers.argmax(axis=1) == labels).sum())


def main(arguments: Sequence[str] | None = None) -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description="Train the CNN of the ASC task.")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the data set"
    )
    parser.add_argument("--out", type=Path, required=True, help=".tflite file to write")
    parser.add_argument("--updates", type=int, default=CnnTraining().updates)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    dataset = open_dataset(chosen.data)
    bank = read_model(SHIPPED_MODEL).bank
    levels, labels = read_levels(bank, dataset.train, halfway=True)
    log.info("%d slices of %d recordings", len(levels), len(dataset.train))
    settings = CnnTraining(updates=chosen.updates, seed=chosen.seed)
    layers = trained(levels, labels, settings)
    every = np.random.default_rng(1).permutation(len(levels))[:_CALIBRATED]
    chosen.out.write_bytes(content(layers, images_of(levels[every])))
    for split, clips in (("train", dataset.train), ("test", dataset.test)):
        levels, labels = read_levels(bank, clips, halfway=False)
        right = correct(chosen.out, levels, labels)
        share = 100 * right / len(levels)
        log.info("%s: %d of %d correct, %.2f %%", split, right, len(levels), share)


if __name__ == "__main__":
    main()
