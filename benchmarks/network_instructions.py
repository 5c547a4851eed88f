# SPDX-License-Identifier: Apache-2.0
"""Instructions of the firmware's network on an emulated Cortex-M4: of a layer in a
step, by the share of its inputs that are active, against the limits below.

Run it: `python -m benchmarks.network_instructions [--core CORE]`; half a minute.
The firmware's own code at -O2, with gcc for ARM, in a bare program for QEMU's
mps2-an386 (firmware/tests/count_network.c). QEMU counts instructions, which are no
cycles. Every answer is compared with the integer model.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import nir
import numpy as np

from rig.network.c_arrays import numbers
from rig.network.fixed.c_header import header
from rig.network.fixed.form import FixedNetwork, Ints
from rig.network.fixed.interpreter import run
from rig.network.fixed.make import quantised
from rig.network.fixed.report import to_inputs
from rig.network.fixed.tables import KINDS, tables

FIRMWARE = Path(__file__).resolve().parents[1] / "firmware"
FOLDER = FIRMWARE / "workloads" / "network"
DT_S = 1e-3
STEPS = 5
CORE = "cortex-m4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A layer: the shape of its input, the rows of its weights and, of a convolution,
    the side of its kernel; the share of its inputs that are active, or values of all;
    at most so many instructions in a step.
    """

    name: str
    shape: tuple[int, ...]
    rows: int
    kernel: int = 0
    active: float = 1.0
    spikes: bool = True
    limit: float = 0.0

    @property
    def text(self) -> str:
        """The layer in words."""
        size = " x ".join(map(str, self.shape))
        inputs = f"{self.active:.0%} active" if self.spikes else "values"
        return f"{self.name} {size} -> {self.rows}, {inputs}"


@dataclass(frozen=True, slots=True)
class Count:
    """Instructions of a layer in a step, and its products with inputs that are not
    0."""

    layer: float
    effective: float


def made(case: Case) -> tuple[FixedNetwork, Ints]:
    """Return a network of one layer, and an input of some steps."""
    rng = np.random.default_rng(7)
    if case.kernel:
        size = (case.rows, case.shape[0], case.kernel, case.kernel)
        weight = rng.normal(0, 1, size)
        layer = nir.Conv2d(
            case.shape[1:], weight, 1, 0, 1, groups=1, bias=np.zeros(case.rows)
        )
        height, width = (side - case.kernel + 1 for side in case.shape[1:])
        shape: tuple[int, ...] = (case.rows, height, width)
    else:
        layer = nir.Linear(rng.normal(0, 1, (case.rows, *case.shape)))
        shape = (case.rows,)
    nodes = {
        "input": nir.Input(np.array(case.shape)),
        "layer": layer,
        "output": nir.Output(np.array(shape)),
    }
    edges = [("input", "layer"), ("layer", "output")]
    graph = nir.NIRGraph(nodes, edges, metadata={"dt_s": DT_S}, type_check=False)
    values = inputs(case, rng)
    fixed = quantised(graph, values, DT_S).fixed
    return fixed, to_inputs(fixed, values.reshape(1, STEPS, -1))[0][0]


def inputs(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Return the same number of active inputs in each step."""
    size = int(np.prod(case.shape))
    values = np.zeros((1, STEPS, size))
    for step in range(STEPS):
        chosen = rng.permutation(size)[: round(case.active * size)]
        values[0, step, chosen] = 1.0 if case.spikes else rng.normal(0, 1, len(chosen))
    return values.reshape(1, STEPS, *case.shape)


def counted(fixed: FixedNetwork, sample: Ints, core: str = CORE) -> tuple[float, float]:
    """Return the instructions of the first layer with weights, and of the network, in a
    step of a sample (steps, channels); raises ValueError where the answer is not that
    of the integer model.
    """
    weighted = [
        number
        for number, row in enumerate(tables(fixed).nodes)
        if KINDS[row[0]].startswith(("DENSE", "CONVOLUTION"))
    ]
    kind = KINDS[tables(fixed).nodes[weighted[0]][0]]
    payload = sample.astype("<u1" if fixed.input_b == 1 else "<i2").tobytes()
    steps = f"enum {{ STEPS = {len(sample)}, LAYER_NODE = {weighted[0]} }};"
    data = "\n".join(numbers("uint8_t", "inputs", list(payload)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        text = header(fixed, len(sample))
        (folder / "nr_network_model.h").write_text(text, "utf-8")
        (folder / "nr_network_inputs.h").write_text(f"{data}\n{steps}\n", "utf-8")
        program = _built(folder, f"nr_network_{kind.lower()}", core)
        output = _emulated(program)
    in_layer, in_steps, result = map(int, output.split())
    both = np.concatenate(run(fixed, sample[None]).answers(fixed), axis=1)
    wanted = 0
    for byte in both.astype("<i4").tobytes():
        wanted = (31 * wanted + byte) % 2**32
    if result != wanted:
        raise ValueError("the emulated answer is not that of the integer model")
    return in_layer / len(sample), in_steps / len(sample)


def _built(folder: Path, layer: str, core: str) -> Path:
    program = folder / "program.elf"
    script = folder / "image.ld"
    script.write_text(
        "ENTRY(reset)\nMEMORY { CODE (rx) : ORIGIN = 0, LENGTH = 4M\n"
        " RAM (rw) : ORIGIN = 0x20000000, LENGTH = 4M }\n"
        "SECTIONS { .text : { KEEP(*(.vectors)) KEEP(*(.vectors.reset))\n"
        " *(.text* .rodata*) } >CODE\n"
        " .data : { *(.data*) *(.bss* COMMON) } >RAM }\n",
        "utf-8",
    )
    sources = sorted(
        path for path in FOLDER.glob("*.c") if path.stem != "nr_network_workload"
    )
    words = ["arm-none-eabi-gcc", "-std=c99", "-O2", "-mthumb", f"-mcpu={core}"]
    words += ["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib"]
    words += [f"-DLAYER={layer}", f"-I{folder}", f"-I{FOLDER}"]
    words += [f"-I{FIRMWARE}/ports/cortex_m/include", "-T", str(script)]
    words += [str(path) for path in sources]
    words += [str(FIRMWARE / "ports" / "cortex_m" / "memory.c")]
    words += [str(FIRMWARE / "tests" / "count_network.c"), "-lgcc", "-o", str(program)]
    subprocess.run(words, check=True, timeout=120)
    return program


def _emulated(program: Path) -> str:
    words = ["qemu-system-arm", "-machine", "mps2-an386", "-nographic"]
    words += ["-icount", "shift=0", "-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [*words, "-kernel", str(program)],
        check=True,
        timeout=120,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout + done.stderr


def count(case: Case, core: str = CORE) -> Count:
    """Count a case."""
    fixed, sample = made(case)
    layer, _ = counted(fixed, sample, core)
    active = sample.reshape(STEPS, *case.shape) != 0
    return Count(layer, case.rows * _uses(active, case.kernel) / STEPS)


def _uses(active: np.ndarray, kernel: int) -> int:
    """Return how often active inputs lie under a kernel, all its places together."""
    if not kernel:
        return int(active.sum())
    windows = np.lib.stride_tricks.sliding_window_view(
        active, (kernel, kernel), axis=(2, 3)
    )
    return int(windows.sum())


_LINE = (128,)
_LONG_LINE = (512,)
_IMAGE = (16, 16, 16)
CASES = [
    Case(name="dense", shape=_LINE, rows=128, active=0.05, limit=3_150),
    Case(name="dense", shape=_LINE, rows=128, active=0.2, limit=6_700),
    Case(name="dense", shape=_LINE, rows=128, active=0.5, limit=12_900),
    Case(name="dense", shape=_LINE, rows=128, active=1.0, limit=22_700),
    Case(name="dense", shape=_LONG_LINE, rows=128, active=0.05, limit=8_350),
    Case(name="dense", shape=_LINE, rows=128, spikes=False, limit=29_200),
    Case(name="3x3", shape=_IMAGE, rows=32, kernel=3, active=0.01, limit=200_000),
    Case(name="3x3", shape=_IMAGE, rows=32, kernel=3, active=0.05, limit=270_000),
    Case(name="3x3", shape=_IMAGE, rows=32, kernel=3, active=0.2, limit=505_000),
    Case(name="3x3", shape=_IMAGE, rows=32, kernel=3, active=1.0, limit=1_730_000),
    Case(name="3x3", shape=_IMAGE, rows=32, kernel=3, spikes=False, limit=2_270_000),
]


def main() -> int:
    """Print the table; return 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--core", default=CORE, help="of the emulated processor")
    parser.add_argument("--quick", action="store_true", help="the first layer alone")
    arguments = parser.parse_args()
    core = arguments.core
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            print(f"{tool} is missing")
            return 1
    missed = 0
    print(f"{'layer':<36}{'instructions':>13}{'limit':>11}{'per effective':>15}")
    for case in CASES[: 1 if arguments.quick else None]:
        result = count(case, core)
        each = result.layer / result.effective
        print(f"{case.text:<36}{result.layer:>13,.0f}{case.limit:>11,.0f}{each:>15.2f}")
        missed += core == CORE and result.layer > case.limit
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
