# SPDX-License-Identifier: Apache-2.0
"""Programs, as `rig doctor` looks at them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rig.bench.doctor import programs, row
from rig.bench.doctor.row import RowState
from rig.model.need import Need, NeedKind

HANGS = "exec sleep 600"


def program(folder: Path, name: str, body: str) -> Need:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Need(NeedKind.PROGRAM, name)


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
