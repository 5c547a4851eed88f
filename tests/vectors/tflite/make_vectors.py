# SPDX-License-Identifier: Apache-2.0
"""Make the vectors beside this file with tflite-micro, which is no dependency.

    pip install tflite-micro tflite && python tests/vectors/tflite/make_vectors.py

Each .tflite file is a network of tests/rig/network/tflite_models.py, the .npz file of
the same name holds inputs and the answers of tflite-micro's interpreter. With --compare
it answers the stored files again and writes no file: `make peers`.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from tflite_micro.python.tflite_micro import runtime

HERE = Path(__file__).parent
SAMPLES = 24
ARENA_B = 1 << 20


def drawn(shape: tuple[int, ...], count: int) -> Any:
    """Return inputs of several kinds: noise, one value, extremes, a ramp."""
    rng = np.random.default_rng(7)
    made = []
    for number in range(count):
        match number % 6:
            case 0 | 1 | 2:
                each = rng.integers(-128, 128, shape)
            case 3:
                each = np.full(shape, rng.integers(-128, 128))
            case 4:
                each = rng.choice([-128, 127], shape)
            case _:
                ramp = np.arange(np.prod(shape)) * int(rng.integers(1, 17))
                each = ramp.reshape(shape) % 256 - 128
        made.append(each.astype(np.int8))
    return np.stack(made)


def answers(content: bytes, inputs: Any) -> Any:
    """Return what tflite-micro answers."""
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=ARENA_B)
    result = []
    for each in inputs:
        interpreter.set_input(each, 0)
        interpreter.invoke()
        result.append(interpreter.get_output(0).copy())
    return np.stack(result)


def compare() -> int:
    """Compare the stored answers with those of today; return how many differ."""
    print(f"tflite-micro {version('tflite-micro')}")
    different = 0
    for path in sorted(HERE.glob("*.tflite")):
        with np.load(path.with_suffix(".npz")) as stored:
            inputs, outputs = stored["inputs"], stored["outputs"]
        same = np.array_equal(answers(path.read_bytes(), inputs), outputs)
        print(f"{path.stem}: {'equal' if same else 'DIFFERENT'}")
        different += not same
    return different


def make() -> None:
    """Write all networks and answers."""
    sys.path.insert(0, str(HERE.parents[2]))
    from tests.rig.network.tflite_models import MODELS

    for name, model in MODELS.items():
        net = model()
        content = net.content()
        inputs = drawn(net.shape(net.input), SAMPLES)
        (HERE / f"{name}.tflite").write_bytes(content)
        outputs = answers(content, inputs)
        np.savez_compressed(HERE / f"{name}.npz", inputs=inputs, outputs=outputs)
    packages = ("tflite-micro", "tflite", "flatbuffers", "numpy")
    lines = [f"{package} {version(package)}\n" for package in packages]
    (HERE / "VERSIONS").write_text("".join(lines))


if __name__ == "__main__":
    if "--compare" in sys.argv[1:]:
        sys.exit(min(compare(), 1))
    make()
