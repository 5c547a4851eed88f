# SPDX-License-Identifier: Apache-2.0
"""Folders laid out as clones of mlcommons/tiny and eembc/energyrunner, with small
models and tensors of ours, and a recording of generated words.
"""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np

from examples.make_tflite import NONE, Layers
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.tflite import interpreter, network
from scenarios.tasks.mlperf_tiny.references import REFERENCES, WAKE_WORD
from scenarios.tasks.sww import generate
from scenarios.tasks.sww.task import EXAMPLE


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
    """Write a clone with the five models, and without tensors and recordings."""
    contents = {REFERENCES[name].model: net.content() for name, net in MODELS.items()}
    contents[WAKE_WORD.model] = EXAMPLE.read_bytes()
    for place, content in contents.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def recording(folder: Path, length_s: float, truth: str, audio: str) -> int:
    """Write a recording of two channels and the list of its words, by these names;
    return how many words there are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    samples, words = generate.stream(5, round(length_s * SAMPLE_HZ))
    frames = np.stack([samples, np.zeros_like(samples)], axis=1)
    with wave.open(str(folder / audio), "wb") as file:
        file.setparams((2, 2, SAMPLE_HZ, 0, "NONE", ""))
        file.writeframes(frames.astype("<i2").tobytes())
    windows = [[begin / SAMPLE_HZ, end / SAMPLE_HZ] for begin, end in words]
    entry = {"wav_file": audio, "length_sec": length_s, "detection_windows": windows}
    (folder / truth).write_text(json.dumps([entry]), encoding="utf-8")
    return len(words)


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
