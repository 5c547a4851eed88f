# SPDX-License-Identifier: Apache-2.0
"""Generate a stand-in for a data folder: the same list, sizes and windows, and tensors
that begin with the expected answer.

Such data are for trying the rig, not for learning: a device that answers with the
beginning of its input is right, and its accuracy is known by construction.
"""

from __future__ import annotations

import random
import secrets
import shutil
import struct
from pathlib import Path

from rig.errors import ConfigError, DataError
from scenarios.tasks.mlperf_tiny.benchmarks import BENCHMARKS, Benchmark

GENERATOR_VERSION = 1
LABELS = "y_labels.csv"
#: Without a benchmark's name: as many numbers as the null workload of the firmware
#: gives back of its input.
PLAIN = Benchmark(
    files=(),
    classes=16,
    tensor_b=64,
    values="int8",
    outputs=16,
    quality=("accuracy", 0.0),
    reported_by=(),
)
#: Every eighth file is made to be answered with the class after its own.
WRONG_EVERY = 8
#: Windows of the real ad01: five frames of 128 float32, moved on by one frame. Here a
#: file has ten frames.
STRIDE_B = 512
FRAMES = 10


def shape(name: str) -> Benchmark:
    """Return what generated data of a benchmark look like; the empty name is the plain
    set."""
    return BENCHMARKS[name] if name else PLAIN


def right_answer(name: str, payload: bytes) -> bytes:
    """Encode the expected answer to a generated tensor: int32 thousandths."""
    return payload[: 4 * shape(name).outputs]


def ensure(cache: Path, name: str, files: int, seed: int) -> Path:
    """Return the folder of generated data under `cache`; write it beside its place and
    rename it if it is not there.
    """
    if files < 2:
        raise ConfigError(
            f"{files} files", path="task.mlperf_tiny.files", try_next="2 or more"
        )
    folder = (
        cache
        / f"mlperf-tiny-generated-v{GENERATOR_VERSION}-{files}-{seed}"
        / (name or "plain")
    )
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir(parents=True)
        write(partial, name, files, seed)
        _rename(partial, folder)
    except OSError as error:
        cause = f"generated data cannot be written to {cache}"
        raise DataError(
            cause, evidence=str(error), try_next="another task.mlperf_tiny.cache"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def write(folder: Path, name: str, files: int, seed: int) -> None:
    """Write the list and `files` tensors into an existing empty folder."""
    made = shape(name)
    windowed = made.outputs == 1
    lines = []
    for number in range(files):
        label = number % made.classes
        rng = random.Random(f"{seed}/{name}/{number}")
        content = (
            _windows(label, rng) if windowed else _tensor(made, number, label, rng)
        )
        file = f"generated_{number:06d}_{label}.bin"
        (folder / file).write_bytes(content)
        lines.append(
            f"{file},{made.classes},{label}"
            + (f",{made.tensor_b},{STRIDE_B}" if windowed else "")
        )
    (folder / LABELS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _tensor(made: Benchmark, number: int, label: int, rng: random.Random) -> bytes:
    """Return a tensor whose head are shares of 1000, the largest that of the class to
    answer."""
    wrong = number % WRONG_EVERY == WRONG_EVERY - 1
    answer = (label + 1) % made.classes if wrong else label
    shares = [rng.randint(1, 400 // made.classes) for _ in range(made.classes)]
    shares[answer] = 0
    shares[answer] = 1000 - sum(shares)
    head = struct.pack(f"<{made.outputs}i", *shares)
    return head + rng.randbytes(made.tensor_b - len(head))


def _windows(label: int, rng: random.Random) -> bytes:
    """Return a file of frames, each with the score of the window that begins there;
    those of the two classes overlap.
    """
    level = rng.gauss(12_000 + 2_500 * label, 2_000)
    frames = []
    for _ in range(FRAMES):
        score = max(round(level + rng.gauss(0, 500)), 1)
        frames.append(struct.pack("<i", score) + rng.randbytes(STRIDE_B - 4))
    return b"".join(frames)


def _rename(partial: Path, folder: Path) -> None:
    """Give finished data their name, unless another process was faster: theirs are the
    same."""
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
