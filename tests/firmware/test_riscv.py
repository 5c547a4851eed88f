# SPDX-License-Identifier: Apache-2.0
"""The images for RISC-V, of the Pico 2 and the ESP32-C6: their instructions, their
sections, their way from the boot ROM to main. They are built and linked here; that of
the ESP32-C6 is run in test_esp32c6.py.
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
def build() -> Path:
    return built_with("riscv-boards", "WORKLOADS=null asc")


@pytest.fixture(scope="module")
def folder(build: Path) -> Path:
    return build / "pico2_riscv"


#: Sections that memory holds: those that are copied or zeroed, and the first one of all.
SECTIONS = {
    "pico2_riscv": [".boot", ".stack", ".text", ".data", ".bss"],
    "esp32c6": [".stack", ".text", ".data", ".bss"],
}
#: Extensions of each processor that its image may use: RP2350 datasheet, 3.8.1;
#: ESP32-C6 technical reference manual, high-performance CPU (rv32imac).
COMMON = {"rv32i", "m", "a", "c", "zicsr", "zifencei", "zmmul"}
EXTENSIONS = {"pico2_riscv": COMMON | {"zba", "zbb"}, "esp32c6": COMMON}


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("board", SECTIONS)
def test_no_section_lies_outside_of_what_is_copied_and_zeroed(
    build: Path, board: str, workload: str
) -> None:
    image = build / board / f"{workload}.elf"
    shown = captured([f"{PREFIX}readelf", "-SW", image], check=True).stdout
    sections = re.findall(r"\] (\.\S+) +\S+ +\S+ \S+ \S+ \S+ +[WXIMSLOGTC]*A", shown)
    assert sections == SECTIONS[board]


@pytest.mark.parametrize("board", EXTENSIONS)
def test_an_image_is_for_its_processor_and_its_data_are_stored_in_words(
    build: Path, board: str
) -> None:
    image = build / board / "asc.elf"
    shown = captured([f"{PREFIX}readelf", "-A", image], check=True).stdout
    architecture = re.search(r'Tag_RISCV_arch: "([^"]+)"', shown)
    assert architecture is not None
    parts = {re.sub(r"\d+p\d+$", "", part) for part in architecture[1].split("_")}
    assert parts <= EXTENSIONS[board]
    content = read_elf(image)
    assert content.board == board
    assert all(segment.address % 4 == 0 for segment in content.segments)


def symbols_of(image: Path) -> dict[str, int]:
    shown = captured([f"{PREFIX}nm", image], check=True).stdout
    symbols = {}
    for line in shown.splitlines():
        address, _, name = line.split()
        symbols[name] = int(address, 16)
    return symbols


def test_the_boot_rom_of_an_esp32c6_finds_all_in_its_ram(build: Path) -> None:
    image = build / "esp32c6" / "asc.elf"
    content = read_elf(image)
    # espressif/esp-idf, bootloader.memory.ld.in: the ROM needs the RAM above.
    first, last = 0x40800000, 0x4087C610
    symbols = symbols_of(image)
    assert all(
        first <= segment.address and segment.address + len(segment.data) <= last
        for segment in content.segments
    )
    assert symbols["nr_bss_start"] < last
    # All is used where the ROM stored it: no copy is made.
    assert symbols["nr_data_image"] == symbols["nr_data_start"]
    assert symbols["nr_code_image"] == symbols["nr_code_start"]
    # riscv/vectors_intc.S: the processor takes 24 bits of the address of the table.
    assert symbols["nr_vectors"] % 256 == 0
    header = captured([f"{PREFIX}readelf", "-h", image], check=True).stdout
    assert f"Entry point address:               {symbols['nr_entry']:#x}" in header


def test_the_boot_block_names_the_entry_and_the_stack(folder: Path) -> None:
    image = folder / "null.elf"
    first = read_elf(image).segments[0]
    assert first.address == 0x10000000
    words = [
        int.from_bytes(first.data[at : at + 4], "little") for at in range(0, 32, 4)
    ]
    symbols = symbols_of(image)
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
