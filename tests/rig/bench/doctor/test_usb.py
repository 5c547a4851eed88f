# SPDX-License-Identifier: Apache-2.0
"""USB devices in a copy of Linux's folders: access, suspend, ModemManager, and the
rules that help.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drivers.st_lpm01a import driver as lpm01a
from rig.bench.doctor import usb
from rig.bench.doctor.ports import linux_rows
from rig.bench.doctor.row import DoctorRow, LinuxRoot, RowState
from rig.model.need import Need, NeedKind

#: The syntax of a rule: keys with an operator and a quoted value, between commas.
_KEY = re.compile(
    r"(?:ACTION|SUBSYSTEM|ATTRS?\{\w+(?:/\w+)?\}|ENV\{\w+\}|TEST|MODE|GROUP|TAG|GOTO|LABEL)"
    r'(?:==|!=|\+=|=)"[^"]*"'
)


def attach(
    root: Path, number: int, ids: str, name: str, *, power: str = "on", tty: str = ""
) -> None:
    """Put a device into the copy, as Linux shows it."""
    folder = root / f"sys/bus/usb/devices/1-{number}"
    folder.mkdir(parents=True)
    vendor, product = ids.split(":")
    texts = {
        "idVendor": vendor,
        "idProduct": product,
        "product": name,
        "busnum": "1",
        "devnum": str(number),
        "bDeviceClass": "00",
        "power/control": power,
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(f"{text}\n")
    if tty.startswith("ttyUSB"):
        (folder / f"1-{number}:1.0/{tty}/tty/{tty}").mkdir(parents=True)
    elif tty:
        (folder / f"1-{number}:1.0/tty/{tty}").mkdir(parents=True)
    node = root / f"dev/bus/usb/001/{number:03}"
    node.parent.mkdir(parents=True, exist_ok=True)
    node.touch()


def run_modem_manager(root: Path) -> None:
    for process, name in ((1, "systemd"), (812, "ModemManager")):
        (root / f"proc/{process}").mkdir(parents=True)
        (root / f"proc/{process}/comm").write_text(f"{name}\n")


def install(root: Path, text: bytes) -> None:
    folder = root / "etc/udev/rules.d"
    folder.mkdir(parents=True)
    (folder / usb.RULES.name).write_bytes(text)


def rows(root: Path, needs: list[Need] | None = None) -> dict[str, DoctorRow]:
    return {row.name: row for row in linux_rows(LinuxRoot(root), needs)}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Return a copy with an instrument that is suspended, a board, a mouse and a
    hub."""
    attach(tmp_path, 2, "16d0:10ba", "JS220\x1b[31m", power="auto")
    attach(tmp_path, 3, "0483:374b", "ST-Link", tty="ttyACM0")
    attach(tmp_path, 4, "0403:6001", "adapter", tty="ttyUSB0")
    attach(tmp_path, 5, "046d:c077", "mouse", power="auto")
    attach(tmp_path, 1, "1d6b:0002", "hub", power="auto")
    (tmp_path / "sys/bus/usb/devices/1-1/bDeviceClass").write_text("09\n")
    run_modem_manager(tmp_path)
    return tmp_path


def test_devices_are_listed_with_their_ports_and_without_hubs(desk: Path) -> None:
    found = {device.name: device for device in usb.attached(LinuxRoot(desk))}
    assert sorted(found) == ["JS220�[31m", "ST-Link", "adapter", "mouse"]
    assert found["ST-Link"].ports == ("ttyACM0",)
    assert found["adapter"].ports == ("ttyUSB0",)
    assert found["ST-Link"].node == desk / "dev/bus/usb/001/003"


def test_without_rules_each_fault_names_the_command_that_installs_them(
    desk: Path,
) -> None:
    found = rows(desk)
    assert found["udev rules"].state is RowState.MISSING
    suspended = found["USB suspend"]
    assert suspended.state is RowState.WRONG
    assert "JS220" in suspended.detail and "mouse" not in suspended.detail
    modems = found["ModemManager"]
    assert modems.state is RowState.WRONG and "ttyACM0, ttyUSB0" in modems.detail
    for row in (found["udev rules"], suspended, modems):
        assert str(usb.RULES) in row.try_next and "udevadm control" in row.try_next
    assert not any(row.needed for row in found.values())


def test_with_our_rules_modem_manager_is_kept_off(desk: Path) -> None:
    install(desk, usb.RULES.read_bytes())
    found = rows(desk)
    assert found["udev rules"].state is RowState.OK
    assert found["ModemManager"].state is RowState.OK


def test_rules_of_another_version_are_wrong(desk: Path) -> None:
    install(desk, b"# older\n")
    found = rows(desk)
    assert found["udev rules"].state is RowState.WRONG
    assert "another version" in found["udev rules"].detail
    assert found["ModemManager"].state is RowState.WRONG


def test_an_instrument_that_may_not_be_opened_is_named(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        usb.os, "access", lambda path, mode: not str(path).endswith("001/002")
    )
    found = [
        row for row in linux_rows(LinuxRoot(desk), None) if row.name == "USB device"
    ]
    states = {row.detail.partition(" (")[0]: row.state for row in found}
    assert states == {"JS220�[31m": RowState.WRONG, "ST-Link": RowState.OK}
    (wrong,) = (row for row in found if row.state is RowState.WRONG)
    assert "001/002" in wrong.detail and str(usb.RULES) in wrong.try_next


def test_a_bench_has_the_rows_of_its_own_devices(desk: Path) -> None:
    port = [Need(NeedKind.PORT, "/dev/ttyUSB0")]
    found = rows(desk, port)
    modems = found["ModemManager"]
    assert modems.state is RowState.WRONG and "ttyACM0" not in modems.detail
    assert found["USB suspend"].state is RowState.OK
    instrument = [Need(NeedKind.USB, "Joulescope")]
    found = rows(desk, instrument)
    assert (
        found["USB suspend"].state is RowState.WRONG
        and "JS220" in found["USB suspend"].detail
    )
    assert not rows(desk, [Need(NeedKind.PROGRAM, "make")])


def test_a_system_without_usb_has_no_wrong_row(tmp_path: Path) -> None:
    found = rows(tmp_path)
    assert set(found) == {"udev rules", "ModemManager"}
    assert found["ModemManager"].state is RowState.OK


def test_the_rules_are_rules(tmp_path: Path) -> None:
    lines = usb.RULES.read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert len(rules) <= 15
    for rule in rules:
        assert re.sub(rf"{_KEY.pattern}(, |$)", "", rule) == "", rule
    # uaccess takes effect in rules before 73-seat-late.rules.
    assert int(usb.RULES.name.partition("-")[0]) < 73


@pytest.mark.parametrize(
    "ids",
    [
        *(
            [
                "16d0:0e88",
                "16d0:10ba",
                "16d0:135a",
                "1915:c00a",
                "0483:374b",
                "0483:374e",
            ]
        ),
        *(["2e8a:0003", "2e8a:000f", "0957:0f07"]),
        f"{lpm01a.VENDOR:04x}:{lpm01a.PRODUCT:04x}",
    ],
)
def test_the_rules_know_our_instruments_and_boards(tmp_path: Path, ids: str) -> None:
    attach(tmp_path, 2, ids, "device")
    (device,) = usb.attached(LinuxRoot(tmp_path))
    assert any(known.matches(device) for known in usb.known_devices())
