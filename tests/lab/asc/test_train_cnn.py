# SPDX-License-Identifier: Apache-2.0
"""The training of the convolutional network of ASC: slopes against differences, layers
against a plain sum, and the file that comes out against what was trained.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from lab.asc import train_cnn
from lab.asc.layers import CnnLayer
from rig.network.tflite import interpreter, network
from scenarios.tasks.asc.cnn import features


def made_up(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return centred levels whose class is the quarter of the channels that is loud."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, count)
    levels = random.normal(0, 12, (count, 125, 16))
    for sample, label in zip(levels, labels, strict=True):
        sample[:, 4 * label : 4 * label + 4] += 20
    return np.rint(levels).astype(np.int16), labels


def test_slopes_are_those_of_small_differences() -> None:
    random = np.random.default_rng(3)
    layers = train_cnn.fresh(random)
    for layer in layers:
        # Double precision, so that a small difference is more than rounding.
        layer.weight = layer.weight.astype(np.float64)
        layer.bias = layer.bias.astype(np.float64) + 0.01
    images = random.normal(0, 1, (3, 125, 16, 1))
    labels = np.array([0, 2, 3])
    _, found = train_cnn.slopes(layers, images, labels)
    parts = list(chain.from_iterable(layer.numbers for layer in layers))
    for part, slope in zip(parts, found, strict=True):
        for _ in range(3):
            place = tuple(random.integers(size) for size in part.shape)
            before = part[place]
            losses = []
            for moved in (before + 1e-5, before - 1e-5):
                part[place] = moved
                losses.append(train_cnn.slopes(layers, images, labels)[0])
            part[place] = before
            assert slope[place] == pytest.approx(
                (losses[0] - losses[1]) / 2e-5, rel=1e-3, abs=1e-7
            )


def test_a_layer_is_the_sum_under_its_kernel() -> None:
    random = np.random.default_rng(1)
    values = random.normal(0, 1, (1, 7, 6, 2)).astype(np.float32)
    weight = random.normal(0, 1, (3, 2, 2, 3)).astype(np.float32)
    layer = CnnLayer(
        "convolution", weight, np.zeros(3, np.float32), (2, 2), rectified=False
    )
    found, _ = layer.forward(values)
    assert found.shape == (1, 4, 3, 3)
    # SAME: 7 rows by 2 need one row before and one after; 6 columns need none.
    corner = sum(
        values[0, row, :2].reshape(-1) @ weight[row + 1].reshape(-1, 3)
        for row in (0, 1)
    )
    inside = sum(
        values[0, row, 4:].reshape(-1) @ weight[row - 1].reshape(-1, 3)
        for row in (1, 2, 3)
    )
    assert np.allclose(found[0, 0, 0], corner, atol=1e-5)
    assert np.allclose(found[0, 1, 2], inside, atol=1e-5)


def test_training_learns_and_the_file_answers_as_what_was_trained(
    tmp_path: Path,
) -> None:
    levels, labels = made_up(240, 1)
    settings = train_cnn.CnnTraining(updates=30, batch=24)
    layers = train_cnn.trained(levels, labels, settings)
    again = train_cnn.trained(levels, labels, settings)
    assert np.array_equal(layers[0].weight, again[0].weight)
    path = tmp_path / "cnn.tflite"
    path.write_bytes(train_cnn.content(layers, train_cnn.images_of(levels)))
    others, due = made_up(60, 2)
    assert train_cnn.correct(path, others, due) > 50
    logits = train_cnn.forward(layers, train_cnn.images_of(others))[0][-1]
    read = network.read(path)
    answers = interpreter.run(read, features(others)).reshape(60, -1)
    assert np.mean(answers.argmax(axis=1) == logits.argmax(axis=1)) > 0.95


def test_the_rate_is_one_cycle() -> None:
    settings = train_cnn.CnnTraining()
    rates = [train_cnn.rate(update, settings) for update in range(settings.updates)]
    assert rates[0] == pytest.approx(settings.peak_rate / 25)
    assert max(rates) == pytest.approx(settings.peak_rate, rel=1e-4)
    assert 170 <= int(np.argmax(rates)) <= 185
    assert rates[-1] < 1e-3 * settings.peak_rate
