# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from rig.errors import ConfigError
from rig.settings.check import checked
from sut_backends.lines.faults import FaultyLink, LineFaults


class Memory:
    """A line that keeps written bytes and returns them in blocks of one size."""

    name = "memory"
    baud = 115_200

    def __init__(self, block_b: int = 1000) -> None:
        self.written = b""
        self._block_b = block_b

    def write(self, block: bytes) -> None:
        self.written += block

    def read(self, timeout_s: float) -> bytes:
        block = self.written[: self._block_b]
        self.written = self.written[self._block_b :]
        return block

    def set_baud(self, baud: int) -> None:
        self.baud = baud

    def close(self) -> None:
        self.written = b"closed"


CONTENT = bytes(range(256)) * 100


def through(faults: LineFaults, block_b: int) -> bytes:
    memory = Memory(block_b)
    memory.written, out, link = CONTENT, b"", FaultyLink(memory, faults)
    while block := link._line.read(0.0):
        out += link.spoil("rx", block)
    return out


def test_the_same_seed_gives_the_same_faults_for_any_block_size() -> None:
    faults = LineFaults(0.01, 0.01, 0.01, seed=5)
    assert through(faults, 7) == through(faults, 4096) != CONTENT
    assert through(faults, 7) != through(LineFaults(0.01, 0.01, 0.01, seed=6), 7)


@pytest.mark.parametrize(
    ("faults", "change_b"),
    [
        (LineFaults(drop=0.02), -1),
        (LineFaults(duplicate=0.02), 1),
        (LineFaults(flip=0.02), 0),
    ],
)
def test_faults_are_as_frequent_as_asked_for_and_counted(
    faults: LineFaults, change_b: int
) -> None:
    memory = Memory()
    link = FaultyLink(memory, faults)
    link.write(CONTENT)
    injected = link.injected["tx"]
    count = injected.dropped_b + injected.duplicated_b + injected.flipped_b
    assert 0.015 < count / len(CONTENT) < 0.025
    assert len(memory.written) - len(CONTENT) == change_b * count
    assert link.injected["rx"].dropped_b == 0


def test_no_faults_have_no_effect_and_the_rest_is_passed_on() -> None:
    memory = Memory()
    link = FaultyLink(memory, LineFaults())
    link.write(b"abc")
    link.set_baud(9600)
    assert (link.read(0.0), link.baud, link.name, LineFaults().any) == (
        b"abc",
        9600,
        "memory",
        False,
    )
    link.close()
    assert memory.written == b"closed"


def test_a_probability_beyond_1_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"sut\.faults\.drop"):
        checked(LineFaults(drop=1.5), "sut.faults")
