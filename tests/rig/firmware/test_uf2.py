# SPDX-License-Identifier: Apache-2.0
"""UF2 files, byte for byte as picotool 2.3.0 makes them; and images of the RP2040 and
the RP2350 as picotool sees them, where PICOTOOL names it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from rig.firmware.elf import Segment, read_elf
from rig.firmware.uf2 import FAMILIES, uf2
from tests.builds import built_with
from tests.images import elf
from tests.programs import captured

START = 0x10000000
CONTENT = bytes(range(250)) * 80
#: SHA-256 of the files that `picotool uf2 convert` makes of tests/images.py's programs.
BY_PICOTOOL = [
    (
        ("rp2040", "pico", START),
        "56f322784e3713023c4fe4a428a66b2a91f241da5aa10192092015b6b90c13f5",
    ),
    (
        ("rp2040", "pico", START + 0x310),
        "53e6087a01296ba4cf5bd4eacd0d1885064dc2b66985b5fac0ffb620864c951c",
    ),
    (
        ("rp2350-arm-s", "pico2", START),
        "0856114ab89de0a3257bdf7afc14318c99582a34f97659cadad9449833992274",
    ),
    (
        ("rp2350-arm-s", "pico2", START + 0x310),
        "c5f8058e10bd56cdc2b40be5488666baa10c7ce926c04d5373fc6b243617166b",
    ),
]


@pytest.mark.parametrize(("made", "expected"), BY_PICOTOOL)
def test_a_file_is_the_one_that_picotool_makes(
    tmp_path: Path, made: tuple[str, str, int], expected: str
) -> None:
    family, board, address = made
    path = tmp_path / "null.elf"
    path.write_bytes(elf(board, address, CONTENT))
    content = uf2(read_elf(path).segments, FAMILIES[family])
    assert hashlib.sha256(content).hexdigest() == expected


def test_a_page_that_two_segments_share_has_both() -> None:
    parts = [Segment(START, b"ab"), Segment(START + 254, b"cdef")]
    content = uf2(parts, FAMILIES["rp2040"])
    assert len(content) == 2 * 512
    assert content[32 : 32 + 256] == b"ab" + bytes(252) + b"cd"
    assert content[512 + 32 : 512 + 32 + 3] == b"ef\0"


needs_arm = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None or shutil.which("make") is None,
    reason="needs arm-none-eabi-gcc (apt-get install gcc-arm-none-eabi make)",
)
needs_riscv = pytest.mark.skipif(
    shutil.which("riscv64-unknown-elf-gcc") is None or shutil.which("make") is None,
    reason="needs riscv64-unknown-elf-gcc (apt-get install gcc-riscv64-unknown-elf)",
)


@pytest.fixture
def picotool() -> str:
    path = os.environ.get("PICOTOOL") or shutil.which("picotool")
    if not path:
        pytest.skip("needs picotool, on PATH or named by PICOTOOL")
    return path


@pytest.mark.parametrize(
    ("goal", "board", "family", "seen"),
    [
        pytest.param("boards", "pico", "rp2040", [], marks=needs_arm),
        pytest.param(
            "boards",
            "pico2",
            "rp2350-arm-s",
            ["target chip: RP2350", "image type: ARM Secure"],
            marks=needs_arm,
        ),
        pytest.param(
            "riscv-boards",
            "pico2_riscv",
            "rp2350-riscv",
            ["target chip: RP2350", "image type: RISC-V", "SP 0x20001000"],
            marks=needs_riscv,
        ),
    ],
)
def test_picotool_recognises_each_image_and_converts_it_alike(
    tmp_path: Path, picotool: str, goal: str, board: str, family: str, seen: list[str]
) -> None:
    path = built_with(goal, "WORKLOADS=null asc") / board / "null.elf"
    ours = tmp_path / "ours.uf2"
    ours.write_bytes(uf2(read_elf(path).segments, FAMILIES[family]))
    theirs = tmp_path / "theirs.uf2"
    captured([picotool, "uf2", "convert", path, theirs], check=True)
    assert ours.read_bytes() == theirs.read_bytes()
    for image in (path, ours):
        told = captured([picotool, "info", "-a", image], check=True).stdout
        facts = " ".join(told.split())
        assert all(fact in facts for fact in seen), told
    assert f"family ID '{family}'" in captured([picotool, "info", "-a", ours]).stdout
