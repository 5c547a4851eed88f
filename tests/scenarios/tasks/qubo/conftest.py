# SPDX-License-Identifier: Apache-2.0
"""The solver as a program under sanitizers, that answers cases on its standard
input."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from scenarios.tasks.qubo.reference import SEARCH

ROOT = Path(__file__).parents[4]
FIRMWARE = ROOT / "firmware"
WARNINGS = (
    "all",
    "extra",
    "pedantic",
    "conversion",
    "shadow",
    "strict-prototypes",
    "missing-prototypes",
    "cast-qual",
    "error",
)
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COST_MIN = -(2**31)


@dataclass(frozen=True, slots=True)
class Answer:
    """The firmware's answer to one graph: a refusal other than 0 and the memory needed,
    or the result of a search.
    """

    refusal: int
    needed_b: int
    target_met: bool = False
    cost: int = 0
    bits: bytes = b""
    crossings: tuple[tuple[int, int], ...] = ()

    def vector(self, nodes: int) -> np.ndarray:
        """Return the best vector (nodes)."""
        return np.unpackbits(
            np.frombuffer(self.bits, np.uint8), count=nodes, bitorder="little"
        )


class Firmware:
    """A running process of qubo_cases.c; its clock counts polls of 500 neighbours."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(
        self,
        graph: bytes,
        *,
        memory_b: int = 1 << 20,
        seed: int = 1,
        polls: int = 20,
        target: int = COST_MIN,
        thresholds: Sequence[int] = (),
    ) -> Answer:
        """Hand a graph in and return the answer."""
        assert self.process.stdin
        assert self.process.stdout
        head = (memory_b, len(graph), seed, polls)
        numbers = struct.pack("<4IiI", *head, target, len(thresholds))
        self.process.stdin.write(
            numbers + struct.pack(f"<{len(thresholds)}i", *thresholds) + graph
        )
        self.process.stdin.flush()
        refusal, needed_b, *result = self.process.stdout.readline().decode().split()
        if not result:
            return Answer(int(refusal), int(needed_b))
        end, cost, bits, *reported = result
        pairs = (pair.split(":") for pair in reported)
        crossings = tuple((int(number), int(at)) for number, at in pairs)
        return Answer(
            int(refusal),
            int(needed_b),
            end == "1",
            int(cost),
            bits=bytes.fromhex(bits[1:]),
            crossings=crossings,
        )


@pytest.fixture(scope="session")
def compiler() -> str:
    """Find a C compiler, or skip: apt-get install gcc libc6-dev."""
    result = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if result is None:
        pytest.skip("no C compiler: apt-get install gcc libc6-dev")
    return result


@pytest.fixture(scope="session")
def firmware_program(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the solver with all warnings and sanitizers."""
    program = tmp_path_factory.mktemp("qubo") / "cases"
    sources = [
        Path(__file__).with_name("qubo_cases.c"),
        *(FIRMWARE / "workloads" / "qubo" / name for name in SEARCH),
    ]
    sources.append(FIRMWARE / "core" / "nr_frame.c")
    include = [f"-I{FIRMWARE / 'core'}", f"-I{FIRMWARE / 'workloads' / 'qubo'}"]
    flags = [
        "-std=c99",
        "-O1",
        "-g",
        *(f"-W{warning}" for warning in WARNINGS),
        *SANITIZE,
    ]
    subprocess.run([compiler, *flags, *include, "-o", program, *sources], check=True)
    return program


@pytest.fixture(scope="module")
def firmware(firmware_program: Path) -> Iterator[Firmware]:
    """Run the program; at the end it must not have found anything."""
    running = Firmware(firmware_program)
    yield running
    assert running.process.stdin
    running.process.stdin.close()
    assert running.process.wait(20) == 0
    assert running.process.stdout
    running.process.stdout.close()
