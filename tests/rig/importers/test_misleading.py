# SPDX-License-Identifier: Apache-2.0
"""An error names the actual fault: the file that is missing, not its calibration; a
file that is no port, not a missing one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rig.bench.scan import FOUND, MISSING, ONBOARD, PROBLEM, ScanRow
from rig.cli.printed.terminal import Terminal
from rig.cli.scan import show
from rig.errors import DataError, DeviceNotFound
from rig.host.serial_port import SerialPort
from rig.importers.open import open_any
from tests.traces import jls_writer


@pytest.mark.parametrize(
    "damage", ["noise", "noise, not closed", "zeros, not closed", "a little noise"]
)
def test_a_damaged_jls_file_is_reported_as_one_in_a_sentence(
    tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "a.jls"
    writer = jls_writer(path, 1000, "current")
    writer.fsr(1, 0, np.ones(100_000, np.float32))
    writer.close()
    content = path.read_bytes()
    # Magic, then the length of the file, which is not there before it is closed.
    magic = content[:16]
    length = content[16:24]
    size_b = len(content) - 24
    noise = np.random.default_rng(1).bytes(size_b)
    kinds = {
        "noise": length + noise,
        "noise, not closed": bytes(8) + noise,
        "zeros, not closed": bytes(8 + size_b),
    }
    path.write_bytes(magic + (kinds | {"a little noise": noise[:400]})[damage])
    with pytest.raises(DataError) as caught:
        open_any(path, tmp_path / "scratch")
    output = str(caught.value)
    assert "Traceback" not in output and "File " not in output and "\n  " not in output
    assert (
        path.name in caught.value.cause
        and caught.value.evidence
        and caught.value.try_next
    )


@pytest.mark.parametrize(
    "rows_before", [2, 20_000], ids=["in the first rows", "far below"]
)
def test_zero_bytes_in_a_table_are_named_and_not_all_shown(
    tmp_path: Path, rows_before: int
) -> None:
    rows = [f"{number / 1000},0.01\n" for number in range(rows_before + 2)]
    path = tmp_path / "a.csv"
    head = "".join(rows[:rows_before])
    path.write_text(
        f"time (s),power (W)\n{head}{chr(0) * 3000}{''.join(rows[rows_before:])}"
    )
    with pytest.raises(DataError) as caught:
        open_any(path, tmp_path / "scratch")
    assert f"line {rows_before + 2}" in str(caught.value)
    assert "zero bytes" in caught.value.try_next and len(str(caught.value)) < 500


def test_an_error_quotes_no_more_than_the_beginning_and_the_end_of_what_is_very_long():
    error = DataError("a file is damaged", evidence="begins" + "x" * 100_000 + "ends")
    assert (
        error.evidence.startswith("begins")
        and "ends (100010 characters)" in error.evidence
    )
    assert len(str(error)) < 5000
    assert DataError("a file is damaged", evidence="x" * 3000).evidence == "x" * 3000


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
