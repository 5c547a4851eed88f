# SPDX-License-Identifier: Apache-2.0
"""`rig firmware flash`: each tool's command line, the board that an image is for, the
drive of a board, and each failure.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.firmware import flasher, flashing, uf2_drive
from rig.firmware import project as firmware
from rig.firmware.elf import read_elf
from rig.firmware.flasher import FlashOrder
from rig.firmware.flashing import FlashChoice
from tests.builds import built_with
from tests.images import elf, fake_tool
from tests.programs import captured
from tests.rig.cli.boards.conftest import Rig

RP2040_START = 0x10000000


def image(folder: Path, board: str, *, address: int = 0x08000000) -> Path:
    """Write an image of a board as a build leaves it, 20 kB long."""
    path = folder / "build" / board / "null.elf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(elf(board, address, bytes(range(250)) * 80))
    return path


def drive(folder: Path, board_id: str, model: str = "Raspberry Pi RP2") -> Path:
    """Make a folder that looks like the drive of a board that waits."""
    folder.mkdir(parents=True)
    text = f"UF2 Bootloader v3.0\r\nModel: {model}\r\nBoard-ID: {board_id}\r\n"
    (folder / "INFO_UF2.TXT").write_text(text, encoding="ascii", newline="")
    return folder


# ---- the board of an image ----


def test_an_image_names_its_board_and_the_boards_tools_are_tried_in_their_order(
    rig: Rig, tmp_path: Path
) -> None:
    path = image(tmp_path, "nucleo_l4r5zi")
    tools = tmp_path / "bin"
    fake_tool(tools, "pyocd")
    arguments = fake_tool(tools, "st-flash", says="\x1b[31mwritten\x07")
    code, output = rig("firmware", "flash", path, path=str(tools))
    assert code == 0, output
    assert arguments.exists() and not (tools / "pyocd.args").exists()
    assert "nucleo_l4r5zi: by st-flash, the first that is installed" in output
    assert "--tool has openocd, pyocd, probe-rs" in output
    assert "next: rig probe BENCH --set sut.uart.port=PORT" in output
    assert "\x1b" not in output and "\x07" not in output and "[31mwritten" in output


def test_the_next_step_of_a_project_names_its_bench(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "my board"
    firmware.create(folder, "nrf52840dk", firmware.sources())
    image(folder, "nrf52840dk")
    fake_tool(tmp_path / "bin", "pyocd")
    code, output = rig("firmware", "flash", folder, path=str(tmp_path / "bin"))
    assert code == 0, output
    bench = folder / "null.toml"
    assert bench.exists() and f"rig probe '{bench}' --set" in " ".join(output.split())


@pytest.mark.parametrize(
    ("board", "words", "message"),
    [
        ("pico", ["--board", "pico2"], "is an image for pico, and the board is pico2"),
        ("", ["--board", "picos"], "did you mean pico"),
        ("pico", ["--tool", "st-flash"], "st-flash does not write pico"),
        ("mps2", [], "mps2 is only emulated"),
        ("stm32f405-emulated", [], "built for the emulator"),
        ("", ["--tool", "uf2", "--target", "rp2040s"], "did you mean rp2040"),
        ("", ["--tool", "uf2"], "uf2 wants to know the family"),
        ("pico", ["--tool", "picotool", "--interface", "x.cfg"], "--interface"),
        ("pico", ["--tool", "picotool", "--target", "x"], "--target"),
    ],
)
def test_an_image_of_another_board_and_an_idle_option_are_refused(
    rig: Rig, tmp_path: Path, board: str, words: list[str], message: str
) -> None:
    path = image(tmp_path, board)
    for tool in flasher.PROGRAMS:
        fake_tool(tmp_path / "bin", tool)
    code, output = rig("firmware", "flash", path, *words, path=str(tmp_path / "bin"))
    assert code == 2 and message in output
    assert not list((tmp_path / "bin").glob("*.args"))


def test_an_image_of_another_board_in_a_project_is_refused_with_both_names(
    rig: Rig, tmp_path: Path
) -> None:
    folder = tmp_path / "board"
    firmware.create(folder, "pico", firmware.sources())
    image(folder, "pico2").rename(folder / "null.elf")
    place = folder / "build" / "pico"
    place.mkdir(parents=True)
    (folder / "null.elf").rename(place / "null.elf")
    code, output = rig("firmware", "flash", folder)
    assert code == 2 and "an image for pico2, and the board is pico\n" in output
    code, output = rig("firmware", "flash", folder, "--board", "pico2")
    assert code == 2 and "--board has no effect beside a project" in output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + b"\x02\0" + bytes(46), "computer"),
        (elf("pico")[:0x100], "is damaged"),
        (elf("pico")[:-3], "is damaged"),
        (elf("pic\xf6")[:-8] + bytes(8), "is damaged"),
        (b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + b"\x02\0", "is damaged"),
    ],
)
def test_a_file_that_is_no_whole_image_of_a_board_is_refused(
    rig: Rig, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "null.elf").write_bytes(content)
    code, output = rig("firmware", "flash", "null.elf", "--tool", "picotool")
    assert code == 2 and message in output


def test_an_emulated_image_is_known_by_what_it_states_wherever_it_lies(
    rig: Rig, tmp_path: Path
) -> None:
    (tmp_path / "copy.elf").write_bytes(elf("stm32f405-emulated"))
    code, output = rig("firmware", "flash", "copy.elf", "--tool", "st-flash")
    assert code == 2 and "built for the emulator" in output


needs_arm = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None or shutil.which("make") is None,
    reason="needs arm-none-eabi-gcc (apt-get install gcc-arm-none-eabi make)",
)


@needs_arm
@pytest.mark.parametrize("board", ["nucleo_l4r5zi", "nano33ble", "pico", "pico2"])
def test_a_built_image_names_its_board_and_is_flat_as_binutils_make_it(
    tmp_path: Path, board: str
) -> None:
    path = built_with("boards", "WORKLOADS=null asc") / board / "null.elf"
    content = read_elf(path)
    assert content.board == board
    flat = content.flat()
    hexadecimal = tmp_path / "null.hex"
    captured(["arm-none-eabi-objcopy", "-O", "ihex", path, hexadecimal], check=True)
    stored = dict(stored_by(hexadecimal.read_text(encoding="ascii")))
    assert min(stored) == flat.address and max(stored) < flat.address + len(flat.data)
    assert len(stored) > 10_000
    assert all(flat.data[at - flat.address] == byte for at, byte in stored.items())


def stored_by(text: str) -> Iterator[tuple[int, int]]:
    """Yield each address and its byte of a file in Intel's hexadecimal form."""
    base = 0
    for line in text.splitlines():
        record = bytes.fromhex(line[1:])
        data = record[4:-1]
        if record[3] == 4:
            base = int.from_bytes(data, "big") << 16
        elif record[3] == 2:
            base = int.from_bytes(data, "big") << 4
        elif record[3] == 0:
            yield from enumerate(data, base + int.from_bytes(record[1:3], "big"))


# ---- tools: their arguments ----

ORDER = FlashOrder(image=Path("IMAGE.elf"))


@dataclass(frozen=True)
class Asked:
    """A board, a tool, the device of several, and the tool's arguments."""

    board: str
    tool: str
    device: str
    arguments: tuple[str, ...]


ASKED = (
    Asked(
        "nucleo_l4r5zi",
        "openocd",
        "",
        (
            *("-f", "interface/stlink.cfg", "-f", "target/stm32l4x.cfg"),
            *("-c", "program {IMAGE.elf} verify reset exit"),
        ),
    ),
    Asked(
        "nrf52840dk",
        "openocd",
        "683",
        (
            *("-f", "interface/jlink.cfg", "-c", "transport select swd"),
            *("-c", "adapter serial 683", "-f", "target/nrf52.cfg"),
            *("-c", "program {IMAGE.elf} verify reset exit"),
        ),
    ),
    Asked(
        "pico",
        "openocd",
        "",
        (
            *("-f", "interface/cmsis-dap.cfg", "-f", "target/rp2040.cfg"),
            *("-c", "program {IMAGE.elf} verify reset exit"),
        ),
    ),
    Asked(
        "nucleo_g071rb",
        "st-flash",
        "066F",
        ("--reset", "--serial", "066F", "write", "IMAGE.bin", "0x08000000"),
    ),
    Asked(
        "pico2",
        "pyocd",
        "E66",
        ("flash", "--no-wait", "--target", "rp2350", "--uid", "E66", "IMAGE.elf"),
    ),
    Asked(
        "nano33ble",
        "probe-rs",
        "0d28:0204:12",
        (
            *("download", "--non-interactive", "--chip", "nRF52840_xxAA"),
            *("--probe", "0d28:0204:12", "--verify", "IMAGE.elf"),
            *("reset", "--non-interactive", "--chip", "nRF52840_xxAA"),
            *("--probe", "0d28:0204:12"),
        ),
    ),
    Asked(
        "pico",
        "picotool",
        "E0",
        ("load", "--verify", "--execute", "IMAGE.elf", "--ser", "E0"),
    ),
    Asked(
        "nano33ble",
        "bossac",
        "/dev/ttyACM3",
        ("--port=ttyACM3", "-U", "-i", "-e", "-w", "IMAGE.bin", "-R"),
    ),
)


@pytest.mark.parametrize(
    "asked", ASKED, ids=lambda asked: f"{asked.tool}-{asked.board}"
)
def test_each_tool_is_asked_as_it_wants_and_only_when_it_shall(
    rig: Rig, tmp_path: Path, asked: Asked
) -> None:
    path = image(tmp_path, asked.board)
    arguments = fake_tool(tmp_path / "bin", asked.tool)
    device = ["--device", asked.device] if asked.device else []
    words = ["firmware", "flash", path, "--tool", asked.tool, *device]
    code, output = rig(*words, "--dry-run", path=str(tmp_path / "bin"))
    assert code == 0 and not arguments.exists()
    assert not path.with_suffix(".bin").exists()
    code, output = rig(*words, path=str(tmp_path / "bin"))
    assert code == 0, output
    expected = [
        word.replace("IMAGE", str(path.with_suffix(""))) for word in asked.arguments
    ]
    assert arguments.read_text(encoding="utf-8").splitlines() == expected
    if asked.tool in ("st-flash", "bossac"):
        assert path.with_suffix(".bin").read_bytes() == bytes(range(250)) * 80


def test_esptool_makes_its_own_image_and_writes_that(rig: Rig, tmp_path: Path) -> None:
    path = image(tmp_path, "")
    arguments = fake_tool(tmp_path / "bin", "esptool")
    words = ["--tool", "esptool", "--target", "esp32c6", "--device", "/dev/ttyUSB0"]
    code, output = rig("firmware", "flash", path, *words, path=str(tmp_path / "bin"))
    assert code == 0, output
    binary = str(path.with_suffix(".bin"))
    assert arguments.read_text(encoding="utf-8").splitlines() == [
        *("--chip", "esp32c6", "elf2image", "--flash-mode", "dio"),
        *("--output", binary, str(path)),
        *("--chip", "esp32c6", "--port", "/dev/ttyUSB0", "write-flash", "0x0", binary),
    ]


# ---- tools: how they fail ----

NO_DEVICE = "no board or debug probe is attached"
DENIED = "this account may not open the board or its debug probe"
OTHER_CHIP = "the chip is another one than the image is for"
SEVERAL = "several boards or debug probes are attached"
GONE = "the board or its debug probe went away in the middle"
UNKNOWN = "the tool does not know this part"
#: Texts of the real tools, run without a board, or read in their sources.
SAID = [
    ("openocd", "Error: open failed\n** OpenOCD init failed **", NO_DEVICE),
    ("openocd", "Error: unable to find a matching CMSIS-DAP device", NO_DEVICE),
    ("openocd", "Error: No J-Link device found", NO_DEVICE),
    ("openocd", "Error: libusb_open() failed with LIBUSB_ERROR_ACCESS", DENIED),
    ("openocd", "Warn : JTAG tap: stm32.cpu       UNEXPECTED: 0x06431041", OTHER_CHIP),
    ("openocd", "Error: auto_probe failed", OTHER_CHIP),
    ("openocd", "Error: error reading data: LIBUSB_ERROR_NO_DEVICE", GONE),
    (
        "openocd",
        "Error: Error connecting DP: cannot read IDR",
        "the debug probe does not reach the chip",
    ),
    ("st-flash", "WARN usb.c: Couldn't find any ST-Link devices", NO_DEVICE),
    (
        "st-flash",
        "WARN usb.c: Could not open USB device 0x0483:0x374b, access error.",
        DENIED,
    ),
    ("st-flash", "WARN common.c: unknown chip id! 0x5000000", OTHER_CHIP),
    ("pyocd", "No connected debug probes", NO_DEVICE),
    ("pyocd", "0000490 E No target device available [load_cmd]", NO_DEVICE),
    ("pyocd", "Target type stm32l4r5zitx not recognized. Use 'pyocd list", UNKNOWN),
    ("pyocd", "[Errno 13] Access denied (insufficient permissions)", DENIED),
    ("probe-rs", "Error: No connected probes were found.", NO_DEVICE),
    ("probe-rs", "Error: 2 probes were found: ", SEVERAL),
    (
        "picotool",
        "No accessible RP-series devices in BOOTSEL mode were found.",
        NO_DEVICE,
    ),
    (
        "picotool",
        "No accessible RP-series devices in BOOTSEL mode were found.\n"
        "but:\nRP2040 device at bus 1, address 5 appears to be in BOOTSEL mode, but"
        " picotool was unable to connect. Maybe try 'sudo' or check your permissions.",
        DENIED,
    ),
    (
        "picotool",
        "ERROR: Command requires a single RP-series device to be targeted.",
        SEVERAL,
    ),
    (
        "picotool",
        "Family ID rp2350-arm-s cannot be downloaded anywhere",
        OTHER_CHIP,
    ),
    (
        "esptool",
        "A fatal error occurred: Could not open /dev/ttyUSB0, the port is busy or"
        " doesn't exist.",
        NO_DEVICE,
    ),
    (
        "esptool",
        "A fatal error occurred: This chip is ESP32-C3, not ESP32-C6. Wrong chip"
        " argument?",
        OTHER_CHIP,
    ),
    ("esptool", "Could not open port: [Errno 13] Permission denied", DENIED),
    ("bossac", "No device found on ttyACM0", NO_DEVICE),
    ("bossac", "SAM-BA operation failed", GONE),
]


@pytest.mark.parametrize(("tool", "said", "cause"), SAID)
def test_a_tools_failure_has_its_cause_its_last_lines_and_a_next_step(
    rig: Rig, tmp_path: Path, tool: str, said: str, cause: str
) -> None:
    path = image(tmp_path, "")
    words = ["--tool", tool]
    words += ["--device", "/dev/x"] if tool == "bossac" else []
    if example := flasher.PROGRAMS[tool].example:
        words += ["--target", example]
    fake_tool(tmp_path / "bin", tool, code=1, says=f"beginning\n\x1b[1m{said}")
    code, output = rig("firmware", "flash", path, *words, path=str(tmp_path / "bin"))
    assert code == 3
    assert f"{tool} did not write the image: {cause}" in output
    error = output.partition("evidence: ")[2]
    assert said.splitlines()[-1].strip() in error and "exit code 1" in error
    assert "\x1b" not in output and "try: " in error
    assert "written. next" not in output


def test_the_errors_of_tools_name_rows_of_the_page_of_symptoms(rig: Rig) -> None:
    for tool, said, _ in SAID:
        error = flasher.failure(tool, 1, [said])
        code, output = rig("docs", error.see)
        assert code == 0 and "Try:" in output.replace("try:", "Try:"), error.see


def test_a_tool_that_does_not_end_is_ended(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flasher, "_LIMIT_S", 0.3)
    path = image(tmp_path, "")
    tool = tmp_path / "bin" / "pyocd"
    fake_tool(tmp_path / "bin", "pyocd")
    tool.write_text("#!/bin/sh\necho erasing\nexec /bin/sleep 600\n", encoding="ascii")
    words = ["--tool", "pyocd", "--target", "rp2040"]
    code, output = rig("firmware", "flash", path, *words, path=str(tmp_path / "bin"))
    assert code == 3 and "no end of pyocd within 0.3 s" in output
    assert "evidence: erasing" in output


def test_a_tool_that_cannot_be_run_is_named(rig: Rig, tmp_path: Path) -> None:
    path = image(tmp_path, "")
    fake_tool(tmp_path / "bin", "picotool")
    (tmp_path / "bin" / "picotool").write_bytes(b"\x7fELF no program")
    words = ["--tool", "picotool"]
    code, output = rig("firmware", "flash", path, *words, path=str(tmp_path / "bin"))
    assert code == 3 and "picotool cannot be run" in output


@pytest.mark.parametrize("tool", ["st-flash", "uf2"])
def test_a_folder_that_cannot_be_written_is_named(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    pico_drive(tmp_path, monkeypatch)
    board = "stm32f405" if tool == "st-flash" else "pico"
    path = image(tmp_path, board)
    for ending in (".bin", ".uf2"):
        path.with_suffix(ending).mkdir()
    arguments = fake_tool(tmp_path / "bin", "st-flash")
    words = ["--tool", tool]
    code, output = rig("firmware", "flash", path, *words, path=str(tmp_path / "bin"))
    assert code == 3 and "cannot be written or read" in output
    assert not arguments.exists()


# ---- several boards, and none: by serial ports ----


@dataclass(frozen=True)
class Comport:
    """A serial port as pyserial lists it."""

    device: str
    vid: int | None
    pid: int | None
    serial_number: str | None


def planned(
    tmp_path: Path, board: str, tool: str, device: str = ""
) -> flashing.FlashPlan:
    choice = FlashChoice(tool=tool, device=device)
    return flashing.plan(image(tmp_path, board), choice)


def test_two_debug_probes_are_refused_as_tools_would_take_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = fake_tool(tmp_path / "bin", "openocd")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ports = [
        Comport("/dev/ttyACM0", 0x0483, 0x374B, "066A"),
        Comport("/dev/ttyACM1", 0x0483, 0x374E, "066B"),
        Comport("/dev/ttyUSB0", 0x10C4, 0xEA60, "1"),
    ]
    plan = planned(tmp_path, "nucleo_l4r5zi", "openocd")
    with pytest.raises(BenchError, match=r"2 boards or debug probes.*066A.*066B"):
        flashing.carry_out(plan, print, lambda: ports)
    assert not arguments.exists()
    flashing.carry_out(plan, print, lambda: ports[1:])
    assert arguments.exists()
    one = planned(tmp_path, "nucleo_l4r5zi", "openocd", "066B")
    flashing.carry_out(one, print, lambda: ports)
    assert "adapter serial 066B" in arguments.read_text(encoding="utf-8")


def test_a_probe_with_two_ports_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = fake_tool(tmp_path / "bin", "pyocd")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ports = [Comport(f"/dev/ttyACM{n}", 0x1366, 0x1051, "683") for n in range(2)]
    flashing.carry_out(planned(tmp_path, "nrf52840dk", "pyocd"), print, lambda: ports)
    assert arguments.exists()


def test_bossac_gets_the_port_of_the_board_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = fake_tool(tmp_path / "bin", "bossac")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    waiting = Comport("/dev/ttyACM4", 0x2341, 0x005A, "7")
    sketch = Comport("/dev/ttyACM5", 0x2341, 0x805A, "8")
    plan = planned(tmp_path, "nano33ble", "bossac")
    flashing.carry_out(plan, print, lambda: [sketch, waiting])
    assert "--port=ttyACM4\n" in arguments.read_text(encoding="utf-8")
    with pytest.raises(DeviceNotFound, match="no board waits for bossac"):
        flashing.carry_out(plan, print, lambda: [sketch])
    with pytest.raises(BenchError, match="2 boards"):
        other = Comport("/dev/ttyACM6", 0x2341, 0x005A, "9")
        flashing.carry_out(plan, print, lambda: [other, waiting])


# ---- the drive of a board ----


class Restarting:
    """A board's drive that goes once the last block of a file is on it."""

    def __init__(self, folder: Path, fails_at: int = 0, gone: bool = True) -> None:
        self.folder = folder
        self.fails_at = fails_at
        self.gone = gone
        self.syncs = 0

    def fsync(self, descriptor: int) -> None:
        self.syncs += 1
        if self.syncs == self.fails_at:
            if self.gone:
                (self.folder / "INFO_UF2.TXT").unlink()
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        size_b = os.fstat(descriptor).st_size
        blocks = (self.folder / "null.uf2").read_bytes()
        if size_b == 512 * int.from_bytes(blocks[24:28], "little"):
            (self.folder / "INFO_UF2.TXT").unlink()


def pico_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int = 0
) -> Restarting:
    board = Restarting(drive(tmp_path / "media" / "RPI-RP2", "RPI-RP2"), fails_at)
    folders = lambda: sorted((tmp_path / "media").glob("*"))  # noqa: E731
    monkeypatch.setattr(uf2_drive, "mount_points", folders)
    monkeypatch.setattr(uf2_drive.os, "fsync", board.fsync)
    return board


def test_an_image_is_copied_to_the_drive_of_the_board_until_it_restarts(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = pico_drive(tmp_path, monkeypatch)
    (tmp_path / "media" / "thesis").mkdir()
    drive(tmp_path / "media" / "RP2350", "RP2350")
    path = image(tmp_path, "pico", address=RP2040_START)
    code, output = rig("firmware", "flash", path, path="")
    assert code == 0, output
    assert "pico: by uf2, the first that is installed" in output
    assert f"to {board.folder} (RPI-RP2, Raspberry Pi RP2)" in " ".join(output.split())
    copied = (board.folder / "null.uf2").read_bytes()
    assert copied == path.with_suffix(".uf2").read_bytes()
    assert len(copied) == 512 * -(-20000 // 256) and board.syncs > 3
    assert "written. next: rig probe" in output


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no board waits for an image on a USB drive"),
        (
            ["RP2350"],
            "the image is for pico (RPI-RP2), and the board that waits is RP2350",
        ),
        (["RPI-RP2", "RPI-RP2"], "2 boards wait for an image"),
    ],
)
def test_no_board_another_board_and_two_boards_are_refused_by_name(
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    message: str,
) -> None:
    media = tmp_path / "media"
    for number, name in enumerate(names):
        drive(media / f"{name}-{number}", name)
    monkeypatch.setattr(uf2_drive, "mount_points", lambda: sorted(media.glob("*")))
    path = image(tmp_path, "pico", address=RP2040_START)
    code, output = rig("firmware", "flash", path, "--tool", "uf2")
    assert code == 3 and message in output and "try: " in output
    assert not list(media.glob("*/*.uf2")) and not path.with_suffix(".uf2").exists()


def test_one_of_two_drives_can_be_chosen(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = pico_drive(tmp_path, monkeypatch)
    drive(tmp_path / "media" / "RPI-RP2-1", "RPI-RP2")
    path = image(tmp_path, "pico", address=RP2040_START)
    words = ["--tool", "uf2", "--device", board.folder]
    code, output = rig("firmware", "flash", path, *words)
    assert code == 0, output
    assert (board.folder / "null.uf2").exists()


def test_a_board_that_is_unplugged_in_the_middle_is_named_with_how_far_it_got(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pico_drive(tmp_path, monkeypatch, fails_at=3)
    path = image(tmp_path, "pico", address=RP2040_START)
    code, output = rig("firmware", "flash", path, "--tool", "uf2")
    assert code == 3
    text = " ".join(output.split())
    assert "the board went away after 32 of 79 blocks of the image" in text
    assert "hold BOOTSEL" in text and "written. next" not in text


def test_a_board_that_restarts_before_its_file_is_closed_has_the_image(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = pico_drive(tmp_path, monkeypatch, fails_at=5)
    path = image(tmp_path, "pico", address=RP2040_START)
    code, output = rig("firmware", "flash", path, "--tool", "uf2")
    assert code == 0, output
    assert board.syncs == 5 and "written. next" in output


def test_a_drive_that_stays_and_one_that_is_not_writable_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uf2_drive, "_RESTART_S", 0.2)
    folder = drive(tmp_path / "RPI-RP2", "RPI-RP2")
    (found,) = uf2_drive.drives([folder])
    with pytest.raises(BenchError, match="and did not restart"):
        uf2_drive.write(found, "null.uf2", bytes(512))

    def refuse(descriptor: int) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(uf2_drive.os, "fsync", refuse)
    with pytest.raises(ConfigError, match="may not be written by this account"):
        uf2_drive.write(found, "null.uf2", bytes(512))
    gone = uf2_drive.Uf2Drive(tmp_path / "gone", "RPI-RP2", "")
    with pytest.raises(DeviceLost, match="after 0 of 1 blocks"):
        uf2_drive.write(gone, "null.uf2", bytes(512))


def test_the_text_of_a_drive_commands_no_terminal(tmp_path: Path) -> None:
    folder = drive(tmp_path / "x", "RPI-RP2", model="\x1b[2Jdark")
    (found,) = uf2_drive.drives([folder, tmp_path / "none"])
    assert "\x1b" not in str(found) and "dark" in str(found)


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("win32", "D:\\"), ("darwin", "Volumes"), ("linux", "media")],
)
def test_drives_are_looked_for_where_each_system_mounts_them(
    monkeypatch: pytest.MonkeyPatch, platform: str, expected: str
) -> None:
    looked = []

    def glob(self: Path, pattern: str) -> list[Path]:
        looked.append(f"{self}/{pattern}")
        return []

    monkeypatch.setattr(uf2_drive.sys, "platform", platform)
    monkeypatch.setattr(Path, "glob", glob)
    looked += map(str, uf2_drive.mount_points())
    assert any(expected in place for place in looked)


# ---- the real tools, where they are installed, without a board ----

REAL = [
    ("openocd", "nucleo_l4r5zi", NO_DEVICE),
    ("openocd", "nucleo_h7a3zi_q", NO_DEVICE),
    ("openocd", "nucleo_g071rb", NO_DEVICE),
    ("openocd", "stm32f405", NO_DEVICE),
    ("openocd", "nrf52840dk", NO_DEVICE),
    ("openocd", "nano33ble", NO_DEVICE),
    ("openocd", "pico", NO_DEVICE),
    ("st-flash", "nucleo_l4r5zi", NO_DEVICE),
    ("pyocd", "pico", NO_DEVICE),
    ("pyocd", "pico2", NO_DEVICE),
    ("bossac", "nano33ble", NO_DEVICE),
    ("picotool", "pico", NO_DEVICE),
    ("picotool", "pico2", NO_DEVICE),
]


def real(tool: str) -> str:
    """Return the folder of a real tool: on PATH, or named by the variable TOOL, in
    capitals; skip the test where there is none.
    """
    named = os.environ.get(tool.upper().replace("-", "_"), "")
    path = named or shutil.which(tool)
    if not path:
        pytest.skip(f"needs {tool}, on PATH or named by {tool.upper()}")
    return str(Path(path).parent)


@pytest.mark.parametrize(("tool", "board", "cause"), REAL)
def test_a_real_tool_takes_its_command_line_and_finds_no_board(
    rig: Rig, tmp_path: Path, tool: str, board: str, cause: str
) -> None:
    folder = real(tool)
    path = image(tmp_path, board, address=RP2040_START)
    words = ["--tool", tool]
    words += ["--device", "/dev/ttyACM99"] if tool == "bossac" else []
    path_of = f"{folder}{os.pathsep}{os.environ['PATH']}"
    code, output = rig("firmware", "flash", path, *words, path=path_of)
    assert code == 3
    assert f"{tool} did not write the image: {cause}" in output, output


def test_the_real_esptool_makes_an_image_and_finds_no_board(
    rig: Rig, tmp_path: Path
) -> None:
    folder = real("esptool")
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("needs riscv64-unknown-elf-gcc (gcc-riscv64-unknown-elf)")
    built = built_with("riscv-boards", "WORKLOADS=null asc") / "esp32c6" / "asc.elf"
    path = shutil.copyfile(built, tmp_path / "asc.elf")
    words = ["--device", "/dev/ttyUSB99"]
    path_of = f"{folder}{os.pathsep}{os.environ['PATH']}"
    code, output = rig("firmware", "flash", path, *words, path=path_of)
    assert code == 3 and f"esptool did not write the image: {NO_DEVICE}" in output
    shown = subprocess.run(
        [f"{folder}/esptool", "image-info", path.with_suffix(".bin")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    content = read_elf(built)
    (stored,) = (segment for segment in content.segments if segment.data)
    assert "Detected image type: ESP32-C6" in shown
    assert "Flash mode: DIO" in shown and "(valid)" in shown
    assert f"0x{len(stored.data):05x}  {stored.address:#x}" in shown
