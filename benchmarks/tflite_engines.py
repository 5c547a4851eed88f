# SPDX-License-Identifier: Apache-2.0
"""An int8 network on this processor: the rig's interpreter, the firmware's code and
the program on torch against the interpreter of tflite-micro, in the same run.

Run it: `python -m benchmarks.tflite_engines [--quick] [MODEL.tflite ...]`; ten seconds
a model, by default that of `scenarios/tasks/tflite`. tflite-micro is wanted (`pip
install tflite-micro`), torch takes turns where it is installed. All outputs must be
equal, byte for byte. Times are processor times of one thread, the smallest of some
turns that all take one after the other. Memory is what tensors take: of tflite-micro
the smallest arena with which it begins, of the firmware its tensors, patch and input.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.network_batch import THREADS
from rig.network.tflite import interpreter, network
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.plain import write_plain
from rig.network.tflite.sizes import sizes
from rig.network.tflite.tables import tables
from scenarios.tasks import tflite as example
from sut_backends.workers.inside.job import Job
from tests.firmware.tflite_library import DeviceNetwork, opened

ROOT = Path(__file__).resolve().parents[1]
BATCH = 20
_ARENA_B = 1 << 22


def compiled(folder: Path) -> Path:
    """Compile the firmware's network as a library of this computer, at -O2 as an image
    is; return its path."""
    path = folder / "library.so"
    sources = (ROOT / "firmware" / "workloads" / "tflite").glob("*.c")
    files = [str(each) for each in sources if "workload" not in each.name]
    flags = ("-std=c99", "-O2", "-fPIC", "-shared", "-o", str(path))
    subprocess.run(["cc", *flags, *files], check=True)
    return path


def micro_of(content: bytes, arena_b: int = _ARENA_B) -> Any:
    """Return tflite-micro's interpreter; raises RuntimeError for too small an arena."""
    runtime = importlib.import_module("tflite_micro.python.tflite_micro.runtime")
    return runtime.Interpreter.from_bytes(content, arena_size=arena_b)


def by_micro(micro: Any, inputs: Any) -> Any:
    """Run each input by tflite-micro; return the outputs, flat."""
    outputs = []
    for sample in inputs:
        micro.set_input(sample[None], 0)
        micro.invoke()
        outputs.append(micro.get_output(0).reshape(-1).copy())
    return np.array(outputs)


def torch_program(read: IntegerNetwork, folder: Path) -> Callable[[Any], Any]:
    """Return the program of `[sut.gpu]` on the processor."""
    from sut_backends.gpu.integer_runner import open_network

    plain = folder / "network.npz"
    write_plain(read, plain)
    runner = open_network(Job(plain=str(plain), settings={"device": "cpu"}))

    def run(inputs: Any) -> Any:
        outputs = [values for values, _ in runner.run_many(list(inputs))]
        return np.array(outputs).reshape(len(inputs), -1)

    return run


def spent_s(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of this thread in which work is done, and its
    result."""
    start_s = time.thread_time()
    found = work()
    return time.thread_time() - start_s, found


def smallest_arena_b(content: bytes) -> int:
    """Return the smallest arena of tflite-micro, to 64 bytes."""
    low, high = 0, _ARENA_B // 64
    with silent():
        while high - low > 1:
            middle = (low + high) // 2
            try:
                micro_of(content, 64 * middle)
            except RuntimeError:
                low = middle
            else:
                high = middle
    return 64 * high


@contextmanager
def silent() -> Iterator[None]:
    """Drop what a library in C++ prints on stderr."""
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as sink:
        os.dup2(sink.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def report(path: Path, folder: Path, library: Any, turns: int) -> bool:
    """Print the table of a model; return whether all outputs are equal."""
    read = network.read(path)
    content = path.read_bytes()
    shape = read.tensors[read.input].shape[1:]
    rng = np.random.default_rng(3)
    inputs = rng.integers(-128, 128, (BATCH, *shape)).astype(np.int8)
    micro = micro_of(content)
    device = DeviceNetwork(library, tables(read))
    engines: dict[str, Callable[[], Any]] = {
        "tflite-micro": lambda: by_micro(micro, inputs),
        "the firmware": lambda: np.array([device.answer(each) for each in inputs]),
        "interpreter": lambda: interpreter.run(read, inputs).reshape(BATCH, -1),
    }
    if find_spec("torch") is not None:
        program = torch_program(read, folder)
        engines["torch"] = lambda: program(inputs)
    best: dict[str, float] = dict.fromkeys(engines, float("inf"))
    due = by_micro(micro, inputs)
    equal = True
    for _ in range(turns):
        for name, work in engines.items():
            took_s, found = spent_s(work)
            best[name] = min(best[name], took_s / BATCH)
            equal = equal and bool(np.array_equal(found, due))
    theirs_s = best["tflite-micro"]
    print(f"{path.name}: {sizes(read).macs:,} products, {BATCH} inputs together")
    for name, took_s in best.items():
        print(f"  {name:<14}{took_s * 1e3:>9.3f} ms{took_s / theirs_s:>8.2f} times")
    needed = sizes(read)
    ours_b = needed.memory_b + needed.input_b
    print(f"  memory: tflite-micro {smallest_arena_b(content):,} B, ours {ours_b:,} B")
    print(f"  outputs: {'all equal' if equal else 'DIFFERENT'}")
    return equal


def main() -> int:
    """Print the tables; return 1 where an output differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("models", metavar="MODEL", nargs="*", type=Path)
    parser.add_argument("--quick", action="store_true", help="two turns")
    chosen = parser.parse_args()
    models = chosen.models or [Path(next(iter(example.__path__))) / "example.tflite"]
    turns = 2 if chosen.quick else 7
    if find_spec("tflite_micro") is None:
        print("tflite-micro is not installed: pip install tflite-micro")
        return 1
    if any(os.environ.get(name) != "1" for name in THREADS):
        words = [sys.executable, "-m", "benchmarks.tflite_engines", *sys.argv[1:]]
        return subprocess.call(words, env={**os.environ, **dict.fromkeys(THREADS, "1")})
    with TemporaryDirectory() as name:
        folder = Path(name)
        library = opened(compiled(folder))
        results = [report(path, folder, library, turns) for path in models]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
