# SPDX-License-Identifier: Apache-2.0
"""`rig scan`: every kind looks for itself, none hides another, and its results can be
pasted into a bench file.
"""

from __future__ import annotations

import importlib
import json
import os
import tomllib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from rig.bench import plugins
from rig.bench.scan import (
    FOUND,
    MISSING,
    ONBOARD,
    PROBLEM,
    SERIAL,
    ScanRow,
    is_empty,
    is_well,
    scan,
)
from rig.cli.printed.terminal import Terminal
from rig.cli.scan import show
from rig.errors import BenchError, ConfigError
from rig.interfaces.monitor import FoundInstrument
from rig.interfaces.plugin_classes import Driver

NOBODY = 65534


def kind(
    *found: FoundInstrument, error: BaseException | None = None
) -> Callable[[], Any]:
    class Monitor:
        @classmethod
        def scan(cls) -> list[FoundInstrument]:
            if error is not None:
                raise error
            return list(found)

    return lambda: Monitor


def port(
    device: object,
    description: str = "STLink",
    serial: str | None = "0667",
    vid: int | None = 0x0483,
) -> SimpleNamespace:
    return SimpleNamespace(
        device=str(device), description=description, serial_number=serial, vid=vid
    )


def looked(
    monitors: dict[str, Callable[[], Any]] | None = None,
    ports: tuple[SimpleNamespace, ...] = (),
    missing: tuple[str, ...] = (),
) -> list[ScanRow]:
    return scan(
        monitors or {},
        lambda: ports,
        lambda name: ["some-package"] if name in missing else [],
    )


def shown(rows: list[ScanRow], width: int = 80) -> str:
    out = StringIO()
    show(Terminal(file=out, width=width), rows)
    return out.getvalue()


JS220 = FoundInstrument("Joulescope JS220", "000415", 'device = "JS220-000415"')


def test_an_instrument_comes_with_its_serial_number_and_the_table_of_a_bench_file():
    rows = looked({"joulescope": kind(JS220)})
    assert rows == [
        ScanRow(
            "joulescope",
            "Joulescope JS220",
            FOUND,
            "000415",
            '[monitor.joulescope]\ndevice = "JS220-000415"',
            addresses=("JS220-000415",),
        )
    ]
    assert tomllib.loads(rows[0].setting) == {
        "monitor": {"joulescope": {"device": "JS220-000415"}}
    }
    assert is_well(rows) and not is_empty(rows)


def test_an_instrument_with_a_problem_says_what_to_try() -> None:
    result = FoundInstrument(
        "LPM01A",
        "",
        'port = "/dev/ttyACM7"',
        "another program holds it",
        "close the other program",
    )
    rows = looked({"st_lpm01a": kind(result), "joulescope": kind(JS220)})
    assert [row.state for row in rows] == [FOUND, PROBLEM] and not is_well(rows)
    text = shown(rows)
    assert "another program holds it" in text and "try: close the other program" in text


@pytest.mark.parametrize(
    "error",
    [
        BenchError("the bus hangs", evidence="code 5", try_next="unplug it"),
        RuntimeError("[Errno 5] in libusb"),
        ValueError(),
    ],
    ids=["ours", "foreign", "mute"],
)
def test_a_driver_that_fails_hides_no_other(error: Exception) -> None:
    rows = looked({"a_broken": kind(error=error), "b_good": kind(JS220)})
    assert [(row.kind, row.state) for row in rows] == [
        ("a_broken", PROBLEM),
        ("b_good", FOUND),
    ]
    assert rows[0].problem and rows[0].try_next
    assert str(error).split("\n")[0] in rows[0].problem


def test_a_driver_that_cannot_be_loaded_is_a_row_too() -> None:
    def unloadable() -> Any:
        raise SyntaxError("in a vendor's file")

    rows = looked({"a_broken": unloadable, "b_good": kind(JS220)})
    assert [row.state for row in rows] == [PROBLEM, FOUND] and "vendor's file" in rows[
        0
    ].problem


def test_ctrl_c_is_not_taken_for_a_fault_of_a_driver() -> None:
    with pytest.raises(KeyboardInterrupt):
        looked({"joulescope": kind(error=KeyboardInterrupt())})


def test_a_kind_without_its_package_says_how_to_install_it_and_is_nothing_wrong():
    hint = ConfigError(
        "needs a package that is not installed: pynvml",
        try_next="pip install 'neurorig[nvml]'",
    )
    hint.__cause__ = ImportError("No module named 'pynvml'")
    rows = looked(
        {"nvml": kind(error=hint), "joulescope": kind(JS220)}, missing=("joulescope",)
    )
    assert [(row.kind, row.state, row.try_next) for row in rows] == [
        ("joulescope", MISSING, "pip install 'neurorig[joulescope]'"),
        ("nvml", MISSING, "pip install 'neurorig[nvml]'"),
    ]
    assert is_well(rows) and is_empty(rows)
    assert "nvml        pip install 'neurorig[nvml]'" in shown(rows)


def test_a_kind_that_cannot_look_is_left_out() -> None:
    assert looked({"virtual": lambda: Driver}) == []


def test_a_serial_port_that_no_instrument_claimed_may_be_a_device(
    tmp_path: Path,
) -> None:
    claimed = tmp_path / "ttyACM0"
    alias = tmp_path / "by-id"
    free = tmp_path / "ttyACM1"
    claimed.touch()
    free.touch()
    alias.symlink_to(claimed)
    rows = looked(
        {"st_lpm01a": kind(FoundInstrument("LPM01A", "7", f'port = "{alias}"'))},
        (port(claimed), port(free)),
    )
    assert [(row.kind, row.name, row.serial) for row in rows[1:]] == [
        (SERIAL, f"{free}: STLink", "0667")
    ]
    assert tomllib.loads(rows[1].setting) == {"sut": {"uart": {"port": str(free)}}}


def test_a_port_that_may_not_be_used_names_the_group(tmp_path: Path) -> None:
    device = tmp_path / "ttyACM0"
    device.touch(0o600)
    mine = os.geteuid()
    if mine == 0:
        # Imported before: the account may not read an interpreter below /root.
        importlib.import_module("grp")
        os.seteuid(NOBODY)  # root may use any port
    else:
        device.chmod(0o000)
    try:
        rows = looked(ports=(port(device),))
    finally:
        os.seteuid(mine)
    assert [row.state for row in rows] == [PROBLEM] and not is_well(rows)
    assert "permission" in rows[0].problem and rows[0].try_next


def test_an_on_board_port_is_listed_but_is_no_sign_of_a_device(tmp_path: Path) -> None:
    (tmp_path / "ttyS0").touch()
    rows = looked(ports=(port(tmp_path / "ttyS0", "n/a", None, None),))
    assert [(row.kind, row.name, row.state) for row in rows] == [
        (ONBOARD, str(tmp_path / "ttyS0"), FOUND)
    ]
    assert is_empty(rows) and "no instrument and no USB port can be seen" in shown(rows)


def test_a_list_of_ports_that_fails_is_a_row() -> None:
    def broken() -> Any:
        raise OSError("no sysfs")

    rows = scan({"joulescope": kind(JS220)}, broken, lambda name: [])
    assert [row.state for row in rows] == [FOUND, PROBLEM] and "no sysfs" in rows[
        1
    ].problem


def test_an_empty_desk_says_what_to_look_at() -> None:
    text = shown([])
    for word in ("charge", "dialout", "udev", "containers", "rig demo"):
        assert word in text


@pytest.mark.parametrize(("state", "code"), [(FOUND, 0), (MISSING, 0), (PROBLEM, 3)])
def test_the_command_prints_json_and_its_exit_code_says_whether_all_is_well(
    monkeypatch: pytest.MonkeyPatch, state: str, code: int
) -> None:
    rows = [
        ScanRow(
            "joulescope",
            "JS220 [red]",
            state,
            "000415",
            setting='device = "[x]"',
            problem="a problem" if state == PROBLEM else "",
        )
    ]
    # by name: in rig.cli the command may stand in its place
    module = import_module("rig.cli.scan")
    monkeypatch.setattr(module, "look", lambda: rows)
    answer = CliRunner().invoke(module.scan, ["--json"], standalone_mode=False)
    assert (
        answer.return_value == code
        and json.loads(answer.stdout)[0]["name"] == "JS220 [red]"
    )
    plain = CliRunner().invoke(module.scan, [], standalone_mode=False)
    assert plain.return_value == code
    assert ("JS220 [red]" in plain.stdout) == (state != MISSING)


def test_sensors_and_ports_of_this_machine_are_looked_for_by_their_entry_points():
    own = {
        kind: partial(plugins.find, "monitor", kind)
        for kind in ("rapl", "nvml", "ina3221")
    }
    assert not [row for row in scan(own) if row.name == "not looked for"]
