# SPDX-License-Identifier: Apache-2.0
"""`rig firmware`, as a stranger with a board meets it: a project that builds alone,
runs in QEMU, and is flashed.
"""

from __future__ import annotations

import itertools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import serial

from rig.errors import DeviceLost
from rig.firmware import project as firmware
from rig.firmware.emulator import Emulator
from rig.firmware.flasher import PROGRAMS, TOOLS
from rig.firmware.part import part
from rig.firmware.toolchain import PACKAGES, image_size
from sut_backends.shim.frame import Frame, FrameDecoder, encode
from sut_backends.shim.messages import (
    BaudMessage,
    CapsMessage,
    CommitMessage,
    DataMessage,
    DoneMessage,
    HelloMessage,
    IdleMessage,
    LoadMessage,
    MessageKind,
    RefusalMessage,
    RunMessage,
    SyncMessage,
)
from tests import boards, commands
from tests.builds import built as built_images
from tests.builds import built_with
from tests.conftest import ROOT
from tests.images import elf, fake_tool
from tests.programs import captured
from tests.rig.cli.boards.conftest import Rig
from tests.waiting import eventually

FIRMWARE = ROOT / "firmware"
PORTING = (ROOT / "docs/tutorials/PORTING.md").read_text(encoding="utf-8")
BOARDS = (
    "esp32c6",
    "microbit",
    "mps2",
    "nano33ble",
    "nrf52840dk",
    "nucleo_g071rb",
    "nucleo_h7a3zi_q",
    "nucleo_l4r5zi",
    "pico",
    "pico2",
    "pico2_riscv",
    "stm32f405",
)
PORTS = tuple(sorted((*BOARDS, "posix", "template")))
FIXED_PACE = (
    "-icount",
    "shift=5",
)  # the device's measurements do not depend on this machine's load
PATIENT_S = 20.0  # no host is so busy that a device in QEMU is given up on


needs_make = pytest.mark.skipif(
    shutil.which("make") is None, reason="needs make (apt-get install make)"
)
needs_arm = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None or shutil.which("make") is None,
    reason="needs arm-none-eabi-gcc (apt-get install gcc-arm-none-eabi make)",
)
needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-system-arm") is None,
    reason="needs qemu-system-arm (apt-get install qemu-system-arm)",
)


def project(folder: Path, port: str = "stm32f405") -> Path:
    firmware.create(folder, port, firmware.sources())
    return folder


def built(folder: Path, *names: str) -> Path:
    """Write images as a build leaves them."""
    for name in names:
        image = folder / "build" / name
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(elf())
    return folder


# ---- projects ----


@dataclass(frozen=True, slots=True)
class Ported:
    """Where the commands of docs/tutorials/PORTING.md were given, and their outputs."""

    folder: Path
    said: dict[str, str]


@pytest.fixture(scope="module")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Ported:
    """Give the commands of docs/tutorials/PORTING.md, but for the emulator, which runs
    until Ctrl-C."""
    folder = tmp_path_factory.mktemp("porting")
    blocks = re.findall(r"```sh\n(.*?)```", PORTING, re.DOTALL)
    reported = "".join(blocks).splitlines()
    assert len(reported) == 7
    output = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", "-O0")  # the quickest, where the port takes it
        for command in reported:
            if "emulate" not in command:
                done = commands.rig(*command.removeprefix("rig ").split(), cwd=folder)
                assert done.returncode == 0, done.stdout + done.stderr
                output[command] = done.stdout
    return Ported(folder, output)


def test_every_folder_that_is_a_port_can_be_a_project() -> None:
    assert tuple(firmware.ports(FIRMWARE)) == PORTS
    assert tuple(firmware.boards(FIRMWARE)) == BOARDS
    folders = [*(FIRMWARE / "ports").iterdir(), *(FIRMWARE / "boards").iterdir()]
    others = {path.name for path in folders if path.is_dir()} - set(PORTS)
    ports = firmware.ports(FIRMWARE).values()
    needs = itertools.chain.from_iterable(port.needs for port in ports)
    shared = {need.split("/")[1] for need in needs if need.startswith("ports/")}
    assert others == shared


@needs_make
@pytest.mark.parametrize(
    "port",
    [
        "template",
        # Other tests build these, with the rig.
        *(
            pytest.param(port, marks=pytest.mark.repeats)
            for port in ("microbit", "posix", "nucleo_l4r5zi")
        ),
    ],
)
def test_a_new_project_builds_without_the_rig_and_without_a_warning(
    rig: Rig, tmp_path: Path, port: str
) -> None:
    about = firmware.ports(FIRMWARE)[port]
    if shutil.which(about.compiler) is None:
        pytest.skip(f"needs {about.compiler} ({PACKAGES[about.compiler]})")
    kind = "--port" if about.board is None else "--board"
    code, output = rig("firmware", "new", "board", kind, port)
    assert code == 0, output
    done = captured(["make"], cwd=tmp_path / "board")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "-Werror" in done.stdout and "-Wconversion" in done.stdout
    assert (
        str(FIRMWARE) not in done.stdout and "warning:" not in done.stdout + done.stderr
    )
    assert {image.stem for image in firmware.images(tmp_path / "board")} == {
        "null",
        "asc",
        "qubo",
    }


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a project of each board."""
    folder = tmp_path_factory.mktemp("projects")
    for name in BOARDS:
        project(folder / name, name)
    return folder


#: Names of the cores in the attributes of an image: Arm IHI 0045, Tag_CPU_arch.
ARCHITECTURES = {
    "Cortex-M0": "v6S-M",
    "Cortex-M0+": "v6S-M",
    "Cortex-M3": "v7",
    "Cortex-M4": "v7E-M",
    "Cortex-M7": "v7E-M",
    "Cortex-M33": "v8-M.mainline",
}
#: Their images have a compiler and tests of their own: tests/firmware/test_riscv.py.
OF_RISCV = ("esp32c6", "pico2_riscv")
OF_ARM = tuple(name for name in BOARDS if name not in OF_RISCV)


@needs_arm
@pytest.mark.parametrize("name", OF_ARM)
def test_an_image_of_each_board_is_for_its_core_and_lies_in_its_memory(
    projects: Path, name: str
) -> None:
    board = firmware.boards(FIRMWARE)[name]
    folder = built_with("boards", "WORKLOADS=null asc")
    if not board.flash:
        folder = built_images("emulated")
    for workload in ("null", "asc"):
        image = folder / name / f"{workload}.elf"
        attributes = captured(["arm-none-eabi-readelf", "-A", image], check=True).stdout
        core = board.core.partition(",")[0]
        assert f"Tag_CPU_arch: {ARCHITECTURES[core]}\n" in attributes
        size_b = image_size(Path("arm-none-eabi-size"), folder, image)
        memory = part(projects / name)
        assert memory is not None
        assert size_b.flash_b < memory.flash_b
        assert size_b.ram_b + memory.is_copied * size_b.text_b < memory.ram_b


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_is_a_short_folder_and_tells_what_a_user_needs(name: str) -> None:
    folder = FIRMWARE / "boards" / name
    lines = [
        len(path.read_text(encoding="utf-8").splitlines())
        for path in folder.glob("*.[ch]")
    ]
    assert sum(lines) <= 120
    port = firmware.ports(FIRMWARE)[name]
    board = port.board
    assert board is not None
    assert set(board.flash) <= set(TOOLS)
    header = (folder / "nr_board_numbers.h").read_text(encoding="utf-8")
    pin = re.search(r'#define NR_SYNC_NAME "([^"]+)"', header)
    assert pin is not None
    if board.flash:
        assert board.adapter
        # The firmware and the table state the same pin.
        silicon = re.findall(r'#define NR_SYNC_NAME "([^"]+)"', header)[-1]
        assert board.sync.startswith(silicon)
        raised = "interrupt" if "NR_SYNC_INTERRUPT" in code_of(header) else "timer"
        assert board.raised_by == raised


def code_of(header: str) -> str:
    """Return C without its comments."""
    return re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)


def test_the_boards_are_listed_and_the_table_says_what_was_tried(rig: Rig) -> None:
    code, output = rig("firmware", "boards")
    assert code == 0
    for name, port in firmware.ports(FIRMWARE).items():
        line = next(
            (line for line in output.splitlines() if line.startswith(f"{name} ")), ""
        )
        assert bool(line) == (port.board is not None), name
    said = {line.split()[0]: line for line in output.splitlines() if line.strip()}
    assert "built, never run" in said["nucleo_l4r5zi"]
    assert "GP2 (pin 4) by interrupt" in said["pico"]
    assert "emulated by rp2040js, never run" in said["pico"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of --board and --port is wanted"),
        (["--board", "pico", "--port", "posix"], "one of --board and --port"),
        (["--board", "picos"], "did you mean pico"),
        (["--board", "posix"], "--port posix"),
        (["--port", "pico"], "--board pico"),
    ],
)
def test_a_project_is_of_a_board_or_of_a_port(
    rig: Rig, tmp_path: Path, words: list[str], said: str
) -> None:
    code, output = rig("firmware", "new", "board", *words)
    assert code == 2 and said in output
    assert not (tmp_path / "board").exists()


def test_a_project_has_the_wires_and_a_bench_of_each_monitor(
    rig: Rig, tmp_path: Path
) -> None:
    code, output = rig("firmware", "new", "board", "--board", "pico")
    assert code == 0 and "wires and benches" in output
    folder = tmp_path / "board"
    names = {"js220", "js320", "ppk2", "lpm01a", "n6705"}
    assert {path.stem for path in folder.glob("pico-*.toml")} == {
        f"pico-{name}" for name in names
    }
    page = (folder / "WIRING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((wiring-\w+\.svg)\)", page)) == {
        path.name for path in folder.glob("*.svg")
    }
    assert "WIRING.md" in (folder / "README.md").read_text(encoding="utf-8")
    code, output = rig("firmware", "new", "other", "--board", "pico2", *ONE_MONITOR)
    assert code == 0
    assert [path.name for path in (tmp_path / "other").glob("pico2-*.toml")] == [
        "pico2-ppk2.toml"
    ]
    assert not list((tmp_path / "other").glob("wiring-[!p]*"))


ONE_MONITOR = ("--monitor", "ppk2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--board", "pico", "--monitor", "ppk"], "did you mean ppk2"),
        (["--board", "mps2", *ONE_MONITOR], "no monitor is wired to mps2"),
        (["--port", "posix", *ONE_MONITOR], "no monitor is wired to posix"),
        (["--board", "picos", *ONE_MONITOR], "there is no board or port picos"),
    ],
)
def test_a_monitor_that_cannot_be_wired_is_refused_and_no_project_is_made(
    rig: Rig, tmp_path: Path, words: list[str], said: str
) -> None:
    code, output = rig("firmware", "new", "board", *words)
    assert code == 2 and said in output
    assert not (tmp_path / "board").exists()


def test_the_wires_of_a_board_are_printed_for_a_monitor(rig: Rig) -> None:
    code, output = rig("firmware", "boards", "pico", *ONE_MONITOR)
    lines = [line.strip() for line in output.splitlines()]
    assert code == 0
    assert "Device under test SYNC GP2 (pin 4) to Energy monitor logic port D0" in lines
    code, output = rig("firmware", "boards", "microbit", *ONE_MONITOR)
    assert code == 2 and "no monitor is wired to microbit" in output
    code, output = rig("firmware", "boards", "posix", *ONE_MONITOR)
    assert code == 2 and "there is no board posix" in output
    code, output = rig("firmware", "boards", *ONE_MONITOR)
    assert code == 2 and "--monitor" in output


@needs_arm
def test_an_image_is_named_by_its_sources_and_its_settings(tmp_path: Path) -> None:
    folder = project(tmp_path / "board")

    def make(*words: str) -> str:
        done = captured(["make", "build/stm32f405/null.elf", *words], cwd=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def build_id(*settings: str) -> str:
        """Return what make would give a new image."""
        result = re.search(r"""-DNR_BUILD='"([0-9a-f]{12})"'""", make("-nB", *settings))
        assert result
        return result[1]

    make()
    first = build_id()
    image = folder / "build" / "stm32f405" / "null.elf"
    assert b"\0" + first.encode() + b"\0" in image.read_bytes()
    assert build_id("LEAVE_OUT=CLASSIC") != first
    assert build_id("CLOCKS=-DNR_CPU_HZ=8000000U") != first
    port = folder / "ports" / "cortex_m" / "port.c"
    text = port.read_text(encoding="utf-8")
    port.write_text(text + "/* mine */\n", encoding="utf-8")
    assert build_id() != first


MAKE = """#!/bin/sh
echo "cc -Wall -c board.c"
echo "board.c:7: error: no such register" >&2
exit 2
"""


def test_a_build_shows_what_the_compiler_says_and_its_commands_where_they_are_wanted(
    rig: Rig, tmp_path: Path
) -> None:
    project(tmp_path / "board", "posix")
    tools = tmp_path / "tools"
    fake_tool(tools, "cc")
    fake_tool(tools, "make")
    (tools / "make").write_text(MAKE, encoding="ascii")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    code, output = rig("firmware", "build", "board", path=path)
    assert code == 3 and "board.c:7: error: no such register" in output
    assert "the firmware does not build" in output and "cc -Wall" not in output
    code, output = rig("firmware", "build", "board", "-v", path=path)
    assert (
        code == 3
        and "error: no such register" in output
        and "cc -Wall -c board.c" in output
    )


def test_a_program_that_does_not_say_how_large_an_image_is_is_named(
    rig: Rig, tmp_path: Path
) -> None:
    built(project(tmp_path / "board", "posix"), "posix/null")
    tools = tmp_path / "tools"
    for name in ("cc", "make", "size"):
        fake_tool(tools, name)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    code, output = rig("firmware", "build", "board", path=path)
    assert code == 3 and "size does not say how large" in output
    (tools / "size").write_text(
        "#!/bin/sh\necho text data bss\necho 1000 200 30 x\n", "ascii"
    )
    code, output = rig("firmware", "build", "board", path=path)
    assert code == 0
    assert " ".join(output.split()) == "build/posix/null 1,200 B of flash 230 B of RAM"


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(
    rig: Rig, tmp_path: Path
) -> None:
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "thesis.tex").write_text("years of work", encoding="utf-8")
    code, output = rig("firmware", "new", "board", "--port", "template")
    assert code == 2 and "not empty" in output
    assert [path.name for path in (tmp_path / "board").iterdir()] == ["thesis.tex"]


def test_a_port_that_does_not_exist_is_answered_with_those_that_do(
    rig: Rig, tmp_path: Path
) -> None:
    code, output = rig("firmware", "new", "board", "--port", "stm32")
    assert code == 2 and "no board or port stm32" in output
    assert all(port in output for port in PORTS)
    assert not (tmp_path / "board").exists()


def test_the_project_tells_its_next_steps_in_ten_lines_and_brings_benches_that_load(
    rig: Rig, tmp_path: Path
) -> None:
    folder = project(tmp_path / "board")
    readme = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(readme) <= 12
    for task in ("null", "asc", "qubo", "null-emulated"):
        code, output = rig("plan", folder / f"{task}.toml")
        assert code == 0, output


@pytest.mark.timeout(900)
@pytest.mark.parametrize("board", ["pico", "stm32f405"])
def test_a_board_that_an_emulator_has_is_probed_and_run_in_it(
    rig: Rig, tmp_path: Path, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if board == "pico":
        boards.need_rp2040js(monkeypatch)
    elif shutil.which("qemu-system-arm") is None:
        pytest.skip(
            "qemu-system-arm is missing (Debian: apt-get install qemu-system-arm)"
        )
    folder = tmp_path / "board"
    assert rig("firmware", "new", folder, "--board", board)[0] == 0
    code, output = rig("firmware", "build", folder)
    assert code == 0, output
    bench = folder / "null-emulated.toml"
    code, output = rig("probe", bench)
    assert code == 0 and "FAIL" not in output, output
    words = ["--sessions", tmp_path / "sessions"]
    short = "scenario.single_stream.idle_s=0.2"
    code, output = rig("run", bench, *words, "--set", short)
    assert code == 0 and "SIMULATED" in output, output
    for task, short in (
        ("asc", "task.asc.samples=1"),
        ("qubo", "scenario.optimization.timeouts_s=[0.01]"),
    ):
        bench = folder / f"{task}-emulated.toml"
        code, output = rig("run", bench, *words, "--trials", "1", "--set", short)
        assert code == 4 and "1 trial of the 5" in output, output


@pytest.mark.parametrize("board", ["mps2", "stm32f405"])
def test_the_steps_of_a_project_wire_no_board_that_is_only_emulated(
    tmp_path: Path, board: str
) -> None:
    folder = project(tmp_path / "board", board)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    is_board = board != "mps2"
    assert ("Wire Tx, Rx and ground" in readme) is is_board
    assert ("rig firmware emulate" in readme) and ("null-emulated.toml" in readme)


# ---- missing tools, and errors ----


@pytest.mark.parametrize(
    ("there", "command", "missing", "package"),
    [
        ([], ["build"], "make is not installed", "apt-get install make"),
        (
            ["make"],
            ["build"],
            "arm-none-eabi-gcc is not installed",
            "gcc-arm-none-eabi",
        ),
        (
            [],
            ["emulate"],
            "qemu-system-arm is not installed",
            "apt-get install qemu-system-arm",
        ),
        (
            [],
            ["flash"],
            "none of openocd, st-flash, pyocd, probe-rs is installed",
            "stlink-tools",
        ),
        (
            [],
            ["flash", "--tool", "pyocd", "--target", "stm32f405rg"],
            "pyocd is not installed",
            "pip install pyocd",
        ),
        (
            [],
            ["flash", "--tool", "openocd", "--target", "target/stm32f4x.cfg"],
            "openocd is not installed",
            "openocd",
        ),
        (
            [],
            ["flash", "--tool", "st-flash"],
            "st-flash is not installed",
            "stlink-tools",
        ),
    ],
)
def test_a_tool_that_is_missing_is_named_with_its_package(
    rig: Rig,
    tmp_path: Path,
    there: list[str],
    command: list[str],
    missing: str,
    package: str,
) -> None:
    folder = built(project(tmp_path / "board"), "stm32f405/null.elf")
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in there:
        fake_tool(tools, tool)
    code, output = rig("firmware", command[0], folder, *command[1:], path=str(tools))
    assert code == 3
    assert missing in output and package in output
    assert not list(tools.glob("*.args"))


@needs_make
def test_sources_that_do_not_compile_are_an_error_after_the_compilers_own(
    rig: Rig, tmp_path: Path
) -> None:
    if shutil.which("cc") is None:
        pytest.skip(f"needs cc ({PACKAGES['cc']})")
    folder = project(tmp_path / "board", "template")
    first = min((folder / "core").glob("*.c"))  # the others are not compiled then
    with first.open("a", encoding="utf-8") as file:
        file.write("int unused = \n")
    code, output = rig("firmware", "build", folder)
    assert code == 3
    assert first.name in output and "does not build" in output


def test_a_folder_without_a_project_and_a_wrong_port_file_are_named(
    rig: Rig, tmp_path: Path
) -> None:
    code, output = rig("firmware", "build")
    assert (
        code == 2
        and "is no firmware project" in output
        and "rig firmware new" in output
    )
    folder = project(tmp_path / "board")
    (folder / "port.toml").write_text('compilr = "gcc"\n', encoding="utf-8")
    code, output = rig("firmware", "build", folder)
    assert code == 2 and "port.toml is wrong" in output and "compiler" in output


def test_what_qemu_cannot_run_is_refused_before_it_is_started(
    rig: Rig, tmp_path: Path
) -> None:
    posix = project(tmp_path / "posix", "posix")
    code, output = rig("firmware", "emulate", posix)
    assert code == 2 and "no emulator has a machine" in output
    text = tmp_path / "image.elf"
    text.write_text("no program", encoding="utf-8")
    code, output = rig("firmware", "emulate", text, "--machine", "netduinoplus2")
    assert code == 2 and "no linked program" in output
    image = built(tmp_path, "stm32f405/null.elf") / "build/stm32f405/null.elf"
    code, output = rig("firmware", "emulate", image)
    assert code == 2 and "--machine" in output


# ---- refused before it is flashed ----


@pytest.mark.parametrize(
    ("images", "words", "message"),
    [
        ((), [], "no image of null"),
        (("a/null.elf", "b/null.elf"), [], "several images of null"),
        (("a-emulated/null.elf",), [], "no image of null"),
        (
            ("a-emulated/null.elf",),
            ["build/a-emulated/null.elf"],
            "built for the emulator",
        ),
        (("a/null.elf",), ["--tool", "openocd"], "target/stm32f4x.cfg"),
        (("a/null.elf",), ["build/a/null.hex"], "does not exist"),
    ],
)
def test_what_must_not_be_flashed_is_refused_with_a_reason(
    rig: Rig, tmp_path: Path, images: tuple[str, ...], words: list[str], message: str
) -> None:
    built(tmp_path, *images)
    for tool in PROGRAMS:
        fake_tool(tmp_path / "bin", tool)
    code, output = rig("firmware", "flash", *words, path=str(tmp_path / "bin"))
    assert code == 2 and message in output
    assert not list((tmp_path / "bin").glob("*.args"))


# ---- an STM32F405 with SYNC at a plain pin, in QEMU ----


@pytest.fixture(scope="module")
def plain_pin() -> Path:
    """Build what runs on boards whose timer has no pin, for the clocks of QEMU, in
    which that timer's interrupt does not come.
    """
    clocks = (
        "CLOCKS=-DNR_SYNC_INTERRUPT=28 -DNR_CPU_HZ=168000000U"
        " -DNR_TIM_HZ=1000000000U -DNR_UART_HZ=16000000U"
    )
    build = built_with("boards", "BOARDS=stm32f405", "WORKLOADS=null", clocks)
    return build / "stm32f405" / "null.elf"


class Conversation:
    """Every frame is sent once, with a long limit: QEMU's line loses no byte, and a
    host may be busy.
    """

    def __init__(self, url: str, device: str = "stm32f405") -> None:
        self.port: serial.Serial = serial.serial_for_url(url, timeout=1.0)
        self._decoder = FrameDecoder()
        self._seq = -1
        # Bytes before the USART is switched on are lost, as on a board.
        name = f"m-name-dut-[{device}]\r\nm-ready\r\n".encode()
        for _ in range(int(PATIENT_S)):
            self.port.write(b"name%")
            if self.port.read_until(name).endswith(name):
                break
        else:
            raise AssertionError(f"{device} does not answer at {url}")
        self.port.timeout = PATIENT_S

    def say(self, command: bytes, answer: bytes) -> None:
        """Give a command of the text layer that is answered by `answer` and m-ready,
        after what may be on its way yet.
        """
        self.port.write(command)
        assert self.port.read_until(answer + b"\r\nm-ready\r\n").endswith(
            b"m-ready\r\n"
        )

    def ask(
        self,
        kind: MessageKind,
        payload: bytes,
        expected: MessageKind,
        attempts: int = 1,
    ) -> bytes:
        """Send a request; return the payload of the answer of the `expected` kind. Of
        several attempts each waits for its share of the time.
        """
        self._seq += 1
        self.port.timeout = PATIENT_S / attempts
        for _ in range(attempts):
            self.port.write(encode(Frame(kind, self._seq, payload)))
            while block := self.port.read(1):
                for frame in self._decoder.feed(block):
                    assert frame.kind in (expected, MessageKind.ACK), frame
                    if frame.kind == expected:
                        return frame.payload
        raise AssertionError(f"no {expected.name} within {PATIENT_S} s")

    def enter(self) -> CapsMessage:
        """Go to the framed layer."""
        self.say(b"frame 1%", b"m-frame-[1]")
        return CapsMessage.unpack(
            self.ask(MessageKind.HELLO, HelloMessage(1).pack(), MessageKind.CAPS)
        )

    def load(self, content: bytes) -> None:
        """Bring `content` into slot 0."""
        self.ask(
            MessageKind.LOAD,
            LoadMessage(0, len(content), zlib.crc32(content)).pack(),
            MessageKind.STATUS,
        )
        for offset_b in range(0, len(content), 200):
            self.ask(
                MessageKind.DATA,
                DataMessage(offset_b, content[offset_b : offset_b + 200]).pack(),
                MessageKind.ACK,
            )
        self.ask(MessageKind.COMMIT, CommitMessage(0).pack(), MessageKind.STATUS)

    def run(self, repeat: int) -> DoneMessage:
        """Run slot 0."""
        return DoneMessage.unpack(
            self.ask(
                MessageKind.RUN,
                RunMessage(0, repeat, 10_000, 50).pack(),
                MessageKind.DONE,
            )
        )


@pytest.fixture
def dut(plain_pin: Path, tmp_path: Path) -> Iterator[tuple[Conversation, Path]]:
    """Start the image in QEMU; the file tells every access to a pin, in order."""
    log = tmp_path / "accesses"
    with Emulator(
        plain_pin,
        "netduinoplus2",
        ["-d", "unimp", "-D", str(log), *FIXED_PACE],
    ) as emulator:
        conversation = Conversation(emulator.url)
        with conversation.port:
            yield conversation, log


def pin_changes(log: Path) -> list[str]:
    """Return the writes to BSRR of port A for PA5, in order: the upper half lowers a
    pin, the lower half raises it.
    """
    written = re.findall(
        r"GPIOA: unimplemented device write.*offset 0x018, value 0x(\w+)",
        log.read_text(encoding="ascii"),
    )
    return [{0x20: "rise", 0x20_0000: "fall"}[int(value, 16)] for value in written]


@needs_arm
@needs_qemu
def test_waits_end_by_themselves_and_never_early(
    dut: tuple[Conversation, Path],
) -> None:
    # A wait that only the next byte of the host ended would never end here.
    device, _ = dut
    device.enter()
    for _ in range(3):
        (_, first), (_, last) = DoneMessage.unpack(
            device.ask(
                MessageKind.IDLE,
                IdleMessage(30_000, 10_000, 50).pack(),
                MessageKind.DONE,
            )
        ).marks
        assert last - first >= 30_000
    marks = DoneMessage.unpack(
        device.ask(
            MessageKind.SYNC, SyncMessage(8, 5_000, 10_000, 50).pack(), MessageKind.DONE
        )
    ).marks
    due_us = [
        0,
        *itertools.accumulate(5_000 * (1, 2, 1, 4)[index % 4] for index in range(7)),
    ]  # docs/reference/PROTOCOL.md, SYNC
    assert (
        min(
            tick - marks[0][1] - due
            for (_, tick), due in zip(marks, due_us, strict=True)
        )
        >= 0
    )


@needs_arm
@needs_qemu
def test_sync_is_high_before_it_is_an_output_and_each_mark_is_one_fall(
    dut: tuple[Conversation, Path],
) -> None:
    device, log = dut
    accesses = log.read_text(encoding="ascii")
    at_rest = accesses.index(
        "GPIOA: unimplemented device write (size 4, offset 0x018, value 0x00000020)"
    )
    output = accesses.index(
        "GPIOA: unimplemented device write (size 4, offset 0x000, value 0x00000400)"
    )  # MODER: PA5 is an output
    assert at_rest < output
    assert pin_changes(log) == ["rise"]
    device.enter()
    device.ask(
        MessageKind.SYNC, SyncMessage(8, 500, 10_000, 2).pack(), MessageKind.DONE
    )
    device.load(b"four")
    device.run(1)
    device.ask(
        MessageKind.IDLE, IdleMessage(2_000, 10_000, 50).pack(), MessageKind.DONE
    )
    marks = 8 + 3 + 2
    assert pin_changes(log)[1:] == ["fall"] * marks


@needs_arm
@needs_qemu
def test_a_rate_that_the_divider_cannot_make_is_refused_and_another_kept(
    dut: tuple[Conversation, Path],
) -> None:
    device, _ = dut
    device.enter()
    refused = RefusalMessage.unpack(
        device.ask(MessageKind.BAUD, BaudMessage(921_600).pack(), MessageKind.ERROR)
    )  # 16 MHz / 17 is 2.1 % off
    assert refused.code == 8
    device.ask(
        MessageKind.BAUD, BaudMessage(1_000_000).pack(), MessageKind.STATUS
    )  # 16 MHz / 16; QEMU's line takes any rate
    # A byte that comes while the device switches is lost: docs/reference/PROTOCOL.md,
    # section 6.
    payload = device.ask(MessageKind.PING, b"still there", MessageKind.PONG, attempts=6)
    assert payload == b"still there"


@needs_arm
@needs_qemu
@pytest.mark.parametrize(
    ("port", "device"),
    [
        ("stm32f405", "stm32f405 (netduinoplus2)"),
        ("microbit", "microbit"),
        ("pico", "pico"),
    ],
)
def test_the_emulated_project_is_reached_as_it_says_and_ends_with_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str, device: str
) -> None:
    folder = project(tmp_path / "board", port)
    if port == "pico":
        boards.need_rp2040js(monkeypatch)
    process = commands.started("firmware", "emulate", cwd=folder)
    try:
        eventually(lambda: "Ctrl-C" in process.said(), process=process)
        assert "simulated" in process.said()
        reported = re.search(
            r"rig probe null\.toml --set sut\.uart\.port=(\S+) --set"
            r" sut\.uart\.simulated=true",
            process.said(),
        )
        assert reported
        Conversation(reported[1], device).port.close()
    finally:
        process.signal(signal.SIGINT)
        done = process.ended(60.0)
    assert done.returncode == 0 and "ended" in done.stdout
    # It builds only the parts that it runs.
    assert {image.stem for image in firmware.images(folder)} == {"null"}
    with pytest.raises(serial.SerialException):
        Conversation(reported[1], device)


@needs_arm
@needs_qemu
def test_a_killed_rig_leaves_no_emulator() -> None:
    code = (
        "from pathlib import Path; from rig.firmware.emulator import Emulator; e = "
        f"Emulator(Path({str(boards.image('microbit', 'null'))!r}), 'microbit')"
    )
    code += "; print(e._process.pid, flush=True); e.wait()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    emulator = os.pidfd_open(int(holder.stdout.readline()))
    try:
        assert not select.select([emulator], [], [], 1.0)[0], "it runs"
        holder.kill()
        holder.communicate()
        assert select.select([emulator], [], [], PATIENT_S)[0], "it ended"
    finally:
        os.close(emulator)


@needs_qemu
def test_an_emulator_that_ends_says_why(tmp_path: Path) -> None:
    image = built(tmp_path, "a/null.elf") / "build/a/null.elf"
    with (
        Emulator(image, "no-such-machine") as emulator,
        pytest.raises(DeviceLost, match="unsupported machine type"),
    ):
        emulator.wait(PATIENT_S)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# ---- the way that docs/tutorials/PORTING.md tells ----


@needs_arm
def test_the_commands_of_porting_md_do_what_it_says(ported: Ported) -> None:
    [output] = [
        output for command, output in ported.said.items() if " probe " in command
    ]
    assert re.search(
        r"^PASS +SYNC wire: (\d+) marks of the device, \1 edges", output, re.M
    )
    reported = ", ".join(
        re.findall(r"^\| ([^|]+?) \|", PORTING, re.MULTILINE)[1:]
    ).split(", ")
    rows = re.findall(r"^(?:PASS|NOT TESTED) +([\w ]+):", output, re.MULTILINE)
    assert reported == rows[rows.index("port") : rows.index("device")]


def test_every_name_in_porting_md_exists() -> None:
    folders = [FIRMWARE / "ports" / "cortex_m", FIRMWARE / "boards"]
    paths = itertools.chain.from_iterable(folder.rglob("*") for folder in folders)
    sources = "".join(
        path.read_text(encoding="utf-8") for path in paths if path.is_file()
    )
    names = re.findall(r"`([A-Z]+_[A-Z_]*)`", PORTING)
    assert "NR_GATES" in names
    for name in names:
        assert name == "_HZ" or name in sources, name
