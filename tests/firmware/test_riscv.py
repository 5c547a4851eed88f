# SPDX-License-Identifier: Apache-2.0
"""The RISC-V image of the Pico 2: its instructions, its sections, its way from the boot
ROM to main. It is built and linked here, and was never run.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from rig.firmware.elf import read_elf
from tests.builds import built_with
from tests.programs import captured

pytestmark = pytest.mark.skipif(
    shutil.which("riscv64-unknown-elf-gcc") is None or shutil.which("make") is None,
    reason="needs riscv64-unknown-elf-gcc (apt-get install gcc-riscv64-unknown-elf)",
)
PREFIX = "riscv64-unknown-elf-"
WORKLOADS = ("null", "asc")


@pytest.fixture(scope="module")
def folder() -> Path:
    return built_with("riscv-boards", "WORKLOADS=null asc") / "pico2_riscv"


@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_section_lies_outside_of_what_is_copied_and_zeroed(
    folder: Path, workload: str
) -> None:
    image = folder / f"{workload}.elf"
    shown = captured([f"{PREFIX}readelf", "-SW", image], check=True).stdout
    sections = re.findall(r"\] (\.\S+) +\S+ +\S+ \S+ \S+ \S+ +[WXIMSLOGTC]*A", shown)
    assert sections == [".boot", ".stack", ".text", ".data", ".bss"]


def test_the_image_is_for_hazard3_and_its_data_are_stored_in_words(
    folder: Path,
) -> None:
    image = folder / "asc.elf"
    shown = captured([f"{PREFIX}readelf", "-A", image], check=True).stdout
    architecture = re.search(r'Tag_RISCV_arch: "([^"]+)"', shown)
    assert architecture is not None
    parts = {re.sub(r"\d+p\d+$", "", part) for part in architecture[1].split("_")}
    # The RP2350 has these, and zbs, zbkb, zcb, zcmp (RP2350 datasheet, 3.8.1).
    known = {"rv32i", "m", "a", "c", "zicsr", "zifencei", "zmmul", "zba", "zbb"}
    assert parts <= known
    content = read_elf(image)
    assert content.board == "pico2_riscv"
    assert all(segment.address % 4 == 0 for segment in content.segments)


def test_the_boot_block_names_the_entry_and_the_stack(folder: Path) -> None:
    image = folder / "null.elf"
    first = read_elf(image).segments[0]
    assert first.address == 0x10000000
    words = [
        int.from_bytes(first.data[at : at + 4], "little") for at in range(0, 32, 4)
    ]
    shown = captured([f"{PREFIX}nm", image], check=True).stdout
    symbols = {}
    for line in shown.splitlines():
        address, _, name = line.split()
        symbols[name] = int(address, 16)
    entry, stack = symbols["nr_load"], symbols["nr_stack_top"]
    # RP2350 datasheet, 5.9.5: image type, entry point, last item, no further block.
    assert words == [
        *(0xFFFFDED3, 0x11010142, 0x00000344, entry, stack, 0x000004FF),
        *(0, 0xAB123579),
    ]
    assert 0x10000000 < entry < 0x10000200
    assert symbols["nr_code_image"] == 0x10000200
    assert symbols["on_trap"] % 4 == 0
    assert symbols["nr_data_image"] % 4 == 0
