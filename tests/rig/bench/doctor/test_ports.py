# SPDX-License-Identifier: Apache-2.0
"""Serial ports, as `rig doctor` looks at them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from rig.bench import scan
from rig.bench.doctor import ports, row
from rig.bench.doctor.row import RowState
from rig.host.serial_port import SerialPort
from rig.model.need import Need, NeedKind


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the path of a pseudo-terminal that the system lists as a USB port."""
    device, host = os.openpty()
    name = os.ttyname(host)
    port = SimpleNamespace(
        device=name, vid=1, pid=2, description="a \x1b[31mboard", serial_number="7"
    )
    monkeypatch.setattr(scan, "_comports", lambda: [port])
    yield name
    os.close(device)
    os.close(host)


def test_a_port_that_is_there_is_ok_with_its_owner_and_a_missing_one_is_named(
    terminal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "users_of", lambda path: [])
    link = tmp_path / "board"
    link.symlink_to(terminal)
    needs = [
        Need(NeedKind.PORT, name)
        for name in (terminal, str(link), "/dev/nosuch", "socket://host:1")
    ]
    direct, linked, absent, far = ports.port_rows(needs)
    assert direct.state is RowState.OK and linked.detail == direct.detail
    path = Path(terminal)
    assert f"{path.owner()}:{path.group()}" in direct.detail
    assert (
        absent.state is RowState.MISSING and terminal in absent.detail and absent.blocks
    )
    assert far.state is RowState.OK and "rig probe" in far.detail


def test_a_port_that_another_program_holds_is_named_with_the_program(
    terminal: str,
) -> None:
    with closing(SerialPort.open(terminal, 115_200)):
        (found,) = ports.port_rows([Need(NeedKind.PORT, terminal)])
    assert found.state is RowState.WRONG and f"process {os.getpid()}" in found.detail


def test_a_system_that_does_not_list_its_ports_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row, "_LIMIT_S", 0.05)

    def hang() -> list[object]:
        time.sleep(2)  # longer than the limit, and the thread ends by itself
        return []

    monkeypatch.setattr(scan, "_comports", hang)
    (found,) = ports.port_rows(None)
    assert found.state is RowState.WRONG and "no list of serial ports" in found.detail


def test_a_member_of_the_group_who_has_not_logged_in_again_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import grp
    import pwd

    account = pwd.getpwuid(os.geteuid()).pw_name
    group = SimpleNamespace(gr_name="dialout", gr_mem=[account], gr_gid=424242)
    monkeypatch.setattr(grp, "getgrgid", lambda number: group)
    (tmp_path / "tty").touch()
    problem, hint = scan._refused(tmp_path / "tty")
    assert "next login" in problem and "log out and in again" in hint
    group.gr_mem.clear()
    problem, hint = scan._refused(tmp_path / "tty")
    assert "not in the group dialout" in problem and "usermod" in hint
