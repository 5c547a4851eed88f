# SPDX-License-Identifier: Apache-2.0
"""The table of images in docs/reference/QUBO.md: memory of the builds, and the largest
problem by the solver and the encoder.
"""

from __future__ import annotations

import ctypes
import re
import shutil
from pathlib import Path

import pytest

from scenarios.tasks.qubo import reference
from scenarios.tasks.qubo.edges import encode
from scenarios.tasks.qubo.graph import Workload, generate

ROOT = Path(__file__).resolve().parents[4]
NODES = (10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
DENSITIES = (0.01, 0.05, 0.1, 0.25)
#: Where each image's sizes are written down, the macro's name in front.
SIZES = {
    "posix": ("Makefile", r"-D{}=(\d+)"),
    "mps2": ("boards/mps2/board.mk", r"defines_mps2 (?:.|\\\n)*?-D{}=(\d+)"),
    "stm32f405": ("boards/stm32f405/board.mk", r"-D{}=(\d+)"),
    "microbit": ("workloads/qubo/nr_qubo_workload.h", r"#define {} (\d+)"),
}


def rows() -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """Return image -> memory, slot, most nodes at each density."""
    page = (ROOT / "docs/reference/QUBO.md").read_text(encoding="utf-8")
    result = re.findall(
        r"^\| (\w+)[^|]* \| (\d+) \| (\d+) \| (\d+, \d+, \d+, \d+) \|$",
        page,
        re.MULTILINE,
    )
    return {
        image: (int(memory), int(slot), tuple(map(int, most.split(", "))))
        for image, memory, slot, most in result
    }


@pytest.mark.parametrize("image", SIZES)
def test_the_memory_of_an_image_is_what_its_build_gives_it(image: str) -> None:
    file, pattern = SIZES[image]
    text = (ROOT / "firmware" / file).read_text(encoding="utf-8")
    sizes = [
        re.findall(pattern.format(f"NR_QUBO_{name}_B"), text)
        for name in ("MEMORY", "SLOT")
    ]
    assert sizes == [[str(size)] for size in rows()[image][:2]]


@pytest.mark.parametrize("image", SIZES)
@pytest.mark.parametrize("column", range(len(DENSITIES)))
def test_the_largest_workload_of_an_image_fits_and_the_next_one_does_not(
    image: str, column: int
) -> None:
    if not any(shutil.which(compiler) for compiler in ("cc", "gcc", "clang")):
        pytest.skip("no C compiler (Debian: gcc libc6-dev)")
    memory_b, slot_b, most = rows()[image]
    c = ctypes.CDLL(str(reference.library().compiled(None)))
    c.nr_qubo_memory_b.restype = ctypes.c_uint64
    c.nr_qubo_memory_b.argtypes = (ctypes.c_uint32,) * 3

    def fits(nodes: int) -> bool:
        workload = Workload(nodes, DENSITIES[column], 0)
        needed_b = c.nr_qubo_memory_b(0, nodes, workload.edges)
        return needed_b <= memory_b and len(encode(generate(workload))) <= slot_b

    larger = NODES[NODES.index(most[column]) + 1 :]
    assert fits(most[column])
    assert not larger or not fits(larger[0])
