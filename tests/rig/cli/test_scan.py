# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from rig.bench.scan import FOUND, MISSING, ONBOARD, PROBLEM, ScanRow
from rig.cli.printed.terminal import Terminal
from rig.cli.scan import show


def shown(capsys: pytest.CaptureFixture[str], *rows: ScanRow) -> str:
    show(Terminal(width=200), rows)
    return capsys.readouterr().out


def test_a_scan_that_found_on_board_ports_alone_does_not_say_that_there_is_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    port = ScanRow(
        ONBOARD, "/dev/ttyS0", FOUND, setting='[sut.uart]\nport = "/dev/ttyS0"'
    )
    output = shown(
        capsys, port, ScanRow("nvml", "pynvml", MISSING, try_next="pip install x")
    )
    assert "nothing is attached" not in output
    assert (
        "on-board ports are there whether or not anything is connected" in output
        and "no instrument and no USB port" in output
    )
    assert "dialout" in output and "rig demo" in output


def test_a_scan_that_found_none_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing is attached that can be seen" in shown(capsys)


def test_a_scan_that_found_something_does_not_say_either(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for state in (FOUND, PROBLEM):
        output = shown(
            capsys,
            ScanRow("joulescope", "JS220", state, "000415"),
            ScanRow(ONBOARD, "/dev/ttyS0", FOUND),
        )
        assert "nothing is attached" not in output and "no instrument" not in output
