# SPDX-License-Identifier: Apache-2.0
"""Programs, packages, ports, clocks and the disk, as `rig doctor` looks at them."""

from __future__ import annotations

import os
import re
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from rig.bench import packages, scan
from rig.bench.doctor import installed, ports, programs, row, storage, system
from rig.bench.doctor.row import LinuxRoot, RowState
from rig.bench.doctor.storage import Written
from rig.errors import DeadlineError
from rig.host.serial_port import SerialPort
from rig.model.need import Need, NeedKind
from tests import unprivileged
from tests.conftest import ROOT

HANGS = "exec sleep 600"


def program(folder: Path, name: str, body: str) -> Need:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Need(NeedKind.PROGRAM, name)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_a_program_prints_its_version_or_is_wrong_or_missing(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row, "_LIMIT_S", 0.3)
    needs = [
        program(tools, "good", "printf 'good 1.2 \\033[31mred\\n(c) 2026\\n'"),
        program(tools, "breaks", "echo first >&2; echo 'no libfoo.so.1' >&2; exit 127"),
        program(tools, "hangs", HANGS),
        Need(NeedKind.PROGRAM, "arm-none-eabi-nosuch"),
        Need(NeedKind.PORT, "/dev/nosuch"),
    ]
    began_s = time.monotonic()
    good, breaks, hangs, absent = programs.program_rows(needs)
    assert time.monotonic() - began_s < 5
    assert (good.state, good.detail) == (RowState.OK, "good 1.2 �[31mred")
    assert breaks.state is RowState.WRONG and "no libfoo.so.1" in breaks.detail
    assert hangs.state is RowState.WRONG and "no answer within" in hangs.detail
    assert absent.state is RowState.MISSING and "PATH" in absent.try_next
    assert all(each.needed for each in (good, breaks, hangs, absent))


def test_a_program_is_asked_for_its_version_in_its_own_words(tools: Path) -> None:
    answers = 'test "$*" = version && echo picotool v2.3.0 || exit 255'
    needs = [
        program(tools, "picotool", answers),
        program(tools, "bossac", "echo unrecognized option; exit 1"),
    ]
    picotool, bossac = programs.program_rows(needs)
    assert (picotool.state, picotool.detail) == (RowState.OK, "picotool v2.3.0")
    assert (bossac.state, bossac.detail) == (RowState.OK, str(tools / "bossac"))


def test_a_script_of_an_interpreter_is_asked_itself(tools: Path) -> None:
    program(
        tools,
        "node",
        'test "$1" = /there.cjs && echo lib 1.4 || { echo none; exit 1; }',
    )
    needs = [
        Need(NeedKind.PROGRAM, "node", "npm install lib", (script,))
        for script in ("/there.cjs", "/absent.cjs")
    ]
    there, absent = programs.program_rows(needs)
    assert (there.name, there.state, there.detail) == ("there", RowState.OK, "lib 1.4")
    assert (absent.name, absent.state) == ("absent", RowState.MISSING)
    assert (absent.detail, absent.try_next) == ("none", "npm install lib")


def test_all_programs_of_the_toolchain_are_looked_for_and_none_is_needed() -> None:
    found = {each.name: each for each in programs.program_rows(None)}
    tools = {"cc", "arm-none-eabi-gcc", "avr-gcc", "qemu-system-arm", "node"}
    assert tools | {"rp2040js"} <= set(found)
    assert not any(each.needed for each in found.values())
    for each in found.values():
        assert bool(each.try_next) is (each.state is not RowState.OK)


def requiring(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    monkeypatch.setattr(packages, "requires", lambda name: lines)


def test_packages_are_compared_with_the_accepted_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requiring(monkeypatch, ["numpy>=99", "nosuch>=1; python_version >= '3'", "rich>=1"])
    numpy, nosuch = installed.core_rows()
    assert numpy.state is RowState.WRONG and ">=99 is needed" in numpy.detail
    assert numpy.try_next == "pip install 'numpy>=99'" and numpy.blocks
    assert nosuch.state is RowState.MISSING and nosuch.blocks


def test_an_extra_without_its_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requiring(monkeypatch, ["nosuch>=1; extra == 'keysight'", "numpy>=2"])
    (found,) = installed.extra_rows([Need(NeedKind.EXTRA, "keysight")])
    assert found.state is RowState.MISSING and "nosuch" in found.detail
    assert found.try_next == "pip install 'neurorig[keysight]'" and found.blocks


def test_a_library_that_does_not_load_is_wrong_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requiring(monkeypatch, ["numpy>=2; extra == 'keysight'"])
    broken = (
        "VISA library",
        "import ctypes; ctypes.CDLL('libnosuch.so')",
        "a hint",
        "visa",
    )
    monkeypatch.setitem(installed._LIBRARIES, "keysight", broken)
    extra, library = installed.extra_rows([Need(NeedKind.EXTRA, "keysight")])
    assert extra.state is RowState.OK
    assert library.state is RowState.WRONG and "libnosuch.so" in library.detail
    assert library.try_next == "a hint"


def test_the_packages_that_scan_misses_are_those_of_the_extra() -> None:
    assert packages.missing("joulescope") == []
    assert packages.missing("posix") == []
    assert {"gui", "joulescope", "keysight"} <= set(packages.extras())
    assert "dev" not in packages.extras()
    named = {package.name for package in packages.of_extra("keysight")}
    assert named == {"pyvisa", "pyvisa-py"}


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


def test_a_call_that_hangs_ends_with_its_limit_and_errors_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row, "_LIMIT_S", 0.05)
    with pytest.raises(DeadlineError, match=r"no answer of it within 0\.05 s"):
        row.limited("answer of it", partial(_hang, Path()))
    monkeypatch.setattr(row, "_LIMIT_S", 5.0)
    assert row.limited("x", lambda: 7) == 7
    with pytest.raises(OSError, match="broken"):
        row.limited("x", _broken)


def _hang(folder: Path) -> None:
    time.sleep(3)  # longer than the limit, and the thread ends by itself


def _broken() -> None:
    raise OSError("broken")


@pytest.mark.parametrize(
    ("rate", "state", "words"),
    [
        (33e6, RowState.OK, "over twice the 16 MB/s of a Joulescope"),
        (31e6, RowState.WRONG, "0.8 MB/s of a monitor at 100 kHz, not the 16 MB/s"),
        (5e5, RowState.WRONG, "under twice the 0.8 MB/s of a monitor"),
    ],
)
def test_the_disk_is_judged_by_its_rate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rate: float,
    state: RowState,
    words: str,
) -> None:
    monkeypatch.setattr(storage, "written", lambda folder: Written(rate, 0.1))
    found = {each.name: each for each in storage.storage_rows(tmp_path / "new")}
    assert found["disk speed"].state is state and words in found["disk speed"].detail
    assert found["folder"].state is RowState.OK
    assert not (tmp_path / "new").exists()


def test_blocks_are_really_synchronised_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synchronised = []
    fsync = os.fsync
    monkeypatch.setattr(
        storage.os, "fsync", lambda fd: (synchronised.append(fd), fsync(fd))
    )
    found = storage.written(tmp_path)
    assert synchronised and found.rate > 0 and found.longest_s > 0
    assert not list(tmp_path.iterdir())


def test_a_file_system_that_cannot_synchronise_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(storage.os, "fsync", refuse)
    found = {each.name: each for each in storage.storage_rows(tmp_path)}
    assert (
        found["disk speed"].blocks and "Invalid argument" in found["disk speed"].detail
    )


def test_a_disk_that_does_not_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row, "_LIMIT_S", 0.3)
    monkeypatch.setattr(storage, "written", _hang)
    found = {each.name: each for each in storage.storage_rows(tmp_path)}
    assert found["disk speed"].blocks and "within 0.3 s" in found["disk speed"].detail


@unprivileged.needed
def test_a_folder_that_may_not_be_written_to_is_wrong(tmp_path: Path) -> None:
    import subprocess

    folder = tmp_path / "others"
    folder.mkdir()
    unprivileged.given_away(folder)
    done = subprocess.run(
        [*unprivileged.RIG, "doctor", "--sessions", folder / "new"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "cannot be written" in done.stdout and "wrong" in done.stdout


@pytest.mark.parametrize(("source", "state"), [("tsc", "ok"), ("hpet", "wrong")])
def test_a_slow_clock_source_is_wrong(tmp_path: Path, source: str, state: str) -> None:
    path = tmp_path / "sys/devices/system/clocksource/clocksource0/current_clocksource"
    path.parent.mkdir(parents=True)
    path.write_text(f"{source}\n")
    found = {each.name: each for each in system.system_rows(LinuxRoot(tmp_path))}
    assert found["clock"].state == state and source in found["clock"].detail
    assert not found["clock"].blocks
    assert found["Python"].detail.startswith(".".join(map(str, sys.version_info[:3])))


@pytest.mark.parametrize("version", [(3, 15), (3, 11)])
def test_for_another_python_the_versions_of_the_classifiers_are_named(
    tmp_path: Path, version: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = re.findall(
        r"Python :: (3\.\d+)", " ".join(project["project"]["classifiers"])
    )
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    found = {each.name: each for each in system.system_rows(LinuxRoot(tmp_path))}
    is_new = f"3.{version[1]}" not in named
    said = f"; the rig was run with {named[0]} to {named[-1]}"
    assert found["Python"].detail.endswith(said) == is_new


@pytest.mark.parametrize(
    ("answer", "state"), [("yes", "ok"), ("no", "wrong"), ("exit 1", "")]
)
def test_a_time_of_day_that_is_not_set_is_wrong_where_it_is_known(
    tools: Path, answer: str, state: str
) -> None:
    body = answer if answer.startswith("exit") else f"echo {answer}"
    program(tools, "timedatectl", body)
    found = {each.name: each for each in system.system_rows(LinuxRoot(tools))}
    assert ("time of day" in found) is bool(state)
    assert not state or found["time of day"].state == state


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({}, "missing"),
        ({"DISPLAY": ":0"}, "ok"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "ok"),
        ({"QT_QPA_PLATFORM": "offscreen"}, "ok"),
    ],
)
def test_a_display_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], state: str
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert system.display_row().state == state
