# SPDX-License-Identifier: Apache-2.0
"""Folders laid out as clones of mlcommons/tiny and eembc/energyrunner, with small
models of random weights and tensors of ours.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.make_tflite import NONE, Layers
from rig.network.tflite import interpreter, network
from scenarios.tasks.mlperf_tiny.references import REFERENCES


def images(shape: tuple[int, ...], classes: int, seed: int) -> Layers:
    """Return a network that tells classes of images apart, in shares."""
    net = Layers(shape, seed, scale=0.02, zero_point=-128)
    net.convolution(4, (5, 5), strides=(4, 4), zero_point=-128)
    net.depthwise((3, 3), strides=(2, 2), zero_point=-128)
    net.reshape(1, int(np.prod(net.shape())))
    net.dense(classes, gain=3.0, zero_point=0)
    net.softmax()
    return net


def autoencoder() -> Layers:
    """Return a network that gives back 640 values, badly."""
    net = Layers((1, 640), 5, scale=0.39, zero_point=89)
    net.dense(8, zero_point=-128)
    net.dense(640, NONE, zero_point=96)
    return net


MODELS = {
    "kws": images((1, 49, 10, 1), 12, 1),
    "ic": images((1, 32, 32, 3), 10, 2),
    "vww": images((1, 96, 96, 3), 2, 3),
    "ad": autoencoder(),
}


def clone(folder: Path) -> Path:
    """Write a clone with the four models, and without tensors."""
    for name, net in MODELS.items():
        path = folder / REFERENCES[name].model
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(net.content())
    return folder


def keywords(folder: Path, clone_folder: Path, right: int, files: int = 1000) -> Path:
    """Write a folder with a data set of kws01, of which the model answers `right` as
    its list says.
    """
    read = network.read(clone_folder / REFERENCES["kws"].model)
    data = folder / "datasets" / "kws01"
    data.mkdir(parents=True)
    inputs = np.random.default_rng(4).integers(-128, 128, (files, 49, 10, 1))
    tensors = inputs.astype(np.int8)
    answers = interpreter.run(read, tensors).reshape(files, -1).argmax(axis=1)
    lines = []
    for number, (tensor, answer) in enumerate(zip(tensors, answers, strict=True)):
        name = f"tst_{number:06d}.bin"
        (data / name).write_bytes(tensor.tobytes())
        label = answer if number < right else (answer + 1) % 12
        lines.append(f"{name},12,{label}\n")
    (data / "y_labels.csv").write_text("".join(lines), encoding="utf-8")
    return folder
