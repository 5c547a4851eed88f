# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import serial

from rig.errors import ConfigError, DeviceBusy, DeviceLost, DeviceNotFound, RigError
from rig.host import serial_port as port_module
from rig.host.serial_port import SerialPort


@pytest.fixture
def pty() -> Iterator[tuple[int, str]]:
    """Give the file of a pseudo-terminal's other end, and its path."""
    master, slave = os.openpty()
    yield master, os.ttyname(slave)
    for fd in (master, slave):
        try:
            os.close(fd)
        except OSError as error:
            assert error.errno == errno.EBADF


def test_blocks_are_read_whole_written_whole_and_reported_to_the_table(
    pty: tuple[int, str],
) -> None:
    master, path = pty
    reported: list[tuple[str, bytes]] = []
    port = SerialPort.open(
        path, 115_200, lambda direction, block: reported.append((direction, block))
    )
    os.write(master, b"x" * 3000)
    blocks = []
    while sum(map(len, blocks)) < 3000:
        blocks.append(port.read(1.0))
    assert len(blocks) < 10
    assert b"".join(blocks) == b"x" * 3000
    port.write(b"name%")
    assert os.read(master, 100) == b"name%"
    assert reported == [*(("rx", block) for block in blocks), ("tx", b"name%")]
    started_s = time.monotonic()
    assert port.read(0.05) == b""
    assert 0.04 < time.monotonic() - started_s < 1.0
    port.set_baud(921_600)
    assert port.baud == 921_600
    port.close()
    port.close()


def test_two_threads_may_wait_for_one_port(pty: tuple[int, str]) -> None:
    """As when Ctrl-C interrupts the end of a recording: its thread still reads while
    the supply is switched off.
    """
    port = SerialPort.open(pty[1], 115_200)
    with ThreadPoolExecutor(2) as threads:
        reads = [threads.submit(port.read, 0.2) for _ in range(2)]
    assert [read.result() for read in reads] == [b"", b""]
    port.close()


def test_a_second_open_is_busy(pty: tuple[int, str]) -> None:
    port = SerialPort.open(pty[1], 115_200)
    with pytest.raises(DeviceBusy, match="in use") as caught:
        SerialPort.open(pty[1], 115_200)
    assert caught.value.try_next
    port.close()
    SerialPort.open(pty[1], 115_200).close()


@pytest.mark.paced
def test_a_port_that_another_host_holds_is_busy_and_the_other_is_named(
    pty: tuple[int, str], tmp_path: Path
) -> None:
    script = (
        "import sys; from rig.host.serial_port import SerialPort; p ="
        " SerialPort.open(sys.argv[1], 9600); print(1, flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, pty[1]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other:
        assert other.stdout is not None and other.stdout.readline() == b"1\n"
        link = tmp_path / "ttyBoard"
        link.symlink_to(pty[1])
        with pytest.raises(DeviceBusy, match="in use") as caught:
            SerialPort.open(str(link), 115_200)
        if Path("/proc/self/fd").exists():
            assert f"process {other.pid} (" in caught.value.evidence
    SerialPort.open(pty[1], 115_200).close()


def test_a_missing_port_is_not_found_and_the_others_are_listed(tmp_path: Path) -> None:
    with pytest.raises(DeviceNotFound, match="no port") as caught:
        SerialPort.open(str(tmp_path / "ttyACM7"), 115_200)
    assert "ports here:" in caught.value.evidence
    assert caught.value.evidence.count("Errno") == 1


def test_a_file_is_no_port(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceNotFound):
        SerialPort.open(str(tmp_path / "file"), 115_200)


def test_no_listener_at_a_socket_is_not_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    with pytest.raises(DeviceNotFound, match="no device answers"):
        SerialPort.open(f"socket://127.0.0.1:{number}", 115_200)


@pytest.mark.parametrize(("url", "baud"), [("nonsense://x", 115_200), ("loop://", 0)])
def test_a_wrong_url_or_rate_is_a_config_error(url: str, baud: int) -> None:
    with pytest.raises(ConfigError, match=r"sut\.(port|baud)"):
        SerialPort.open(url, baud)


@pytest.mark.parametrize(
    ("number", "kind", "hint"),
    [
        (errno.EACCES, DeviceNotFound, "dialout"),
        (errno.EBUSY, DeviceBusy, "holds it"),
        (errno.ENODEV, DeviceNotFound, "plug it in"),
    ],
)
def test_what_the_system_says_at_opening_is_translated(
    monkeypatch: pytest.MonkeyPatch, number: int, kind: type[RigError], hint: str
) -> None:
    def refuse(*arguments: object, **options: object) -> serial.Serial:
        raise serial.SerialException(number, os.strerror(number))

    monkeypatch.setattr(port_module.serial, "serial_for_url", refuse)
    with pytest.raises(kind) as caught:
        SerialPort.open("/dev/ttyACM0", 115_200)
    assert hint in caught.value.try_next


def test_a_port_without_a_descriptor_is_polled() -> None:
    port = SerialPort.open("loop://", 115_200)
    port.write(b"hello")
    assert port.read(0.5) == b"hello"
    assert port.read(0.02) == b""
    port.close()


@pytest.mark.parametrize("what", ["read", "write"])
def test_the_end_of_the_line_is_a_lost_device(pty: tuple[int, str], what: str) -> None:
    master, path = pty
    port = SerialPort.open(path, 115_200)
    os.close(master)
    with pytest.raises(DeviceLost, match="gone") as caught:
        for _ in range(3):
            port.read(0.1) if what == "read" else port.write(b"x")
    assert what in caught.value.evidence
    port.close()


def test_a_closed_port_is_a_lost_device(pty: tuple[int, str]) -> None:
    port = SerialPort.open(pty[1], 115_200)
    port.close()
    for use in (
        lambda: port.read(0.0),
        lambda: port.write(b"x"),
        lambda: port.set_baud(9600),
    ):
        with pytest.raises(DeviceLost):
            use()


def test_what_is_sent_is_heard_before_it_can_be_answered() -> None:
    heard: list[tuple[str, bytes]] = []

    def wire(direction: str, block: bytes) -> None:
        heard.append((direction, block))
        if direction == "tx":
            assert port.read(0.0) == b""  # no byte of the answer has arrived

    port = SerialPort.open("loop://", 9600, wire)
    port.write(b"a")
    assert port.read(1.0) == b"a"
    port.close()
    assert heard == [("tx", b"a"), ("rx", b"a")]


@pytest.mark.parametrize("kind", ["a file", "a device that is no port", "a folder"])
def test_an_input_that_is_no_serial_port_is_reported_as_none(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "plain").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    path = {
        "a file": tmp_path / "plain",
        "a device that is no port": Path("/dev/null"),
        "a folder": tmp_path / "folder",
    }[kind]
    with pytest.raises(DeviceNotFound, match=f"{path} is no serial port") as caught:
        SerialPort.open(str(path), 115_200)
    assert "ports here" in caught.value.evidence and caught.value.try_next
