# SPDX-License-Identifier: Apache-2.0
"""`rig doctor` by its command line: rows, JSON and exit codes."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rig.bench import packages
from rig.bench.doctor.row import RowState
from tests.conftest import ROOT

BENCH = """
[bench]
name = "mine"
[sut.uart]
port = "{port}"
[monitor.none]
[scenario.single_stream]
[task.null]
"""


def doctor(*words: str | Path) -> Result:
    command = import_module("rig.cli.doctor").doctor
    return CliRunner().invoke(
        command, [str(word) for word in words], standalone_mode=False
    )


def of_port(folder: Path, port: str) -> Path:
    path = folder / "bench.toml"
    path.write_text(BENCH.format(port=port))
    return path


def test_everything_is_looked_at_and_the_rig_works_here(tmp_path: Path) -> None:
    done = doctor("--json", "--sessions", tmp_path)
    assert done.exception is None and done.return_value == 0
    found = json.loads(done.stdout)
    assert found["ok"] is True and found["bench"] is None
    names = {row["name"] for row in found["rows"]}
    assert {"Python", "disk speed", "[keysight]", "cc", "node", "display"} <= names
    groups = [row["group"] for row in found["rows"]]
    assert list(dict.fromkeys(groups)) == sorted(set(groups), key=groups.index)
    for row in found["rows"]:
        assert row["state"] in set(RowState)
        assert bool(row["try_next"]) is (row["state"] != "ok"), row
        assert row["needed"] is False or row["state"] == "ok", row


def test_a_bench_that_lacks_its_port_is_3_and_names_it(tmp_path: Path) -> None:
    done = doctor(of_port(tmp_path, "/dev/ttyNOSUCH"), "--sessions", tmp_path)
    assert done.return_value == 3
    assert "there is no port /dev/ttyNOSUCH" in done.stdout
    assert "this bench needs, missing or wrong: serial port" in done.stdout
    assert "qemu" not in done.stdout


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_bench_whose_port_is_there_is_0_and_the_port_stays_closed(
    tmp_path: Path,
) -> None:
    device, host = os.openpty()
    name = os.ttyname(host)
    os.close(host)
    try:
        done = doctor(of_port(tmp_path, name), "--sessions", tmp_path)
    finally:
        os.close(device)
    assert done.return_value == 0, done.stdout
    assert "this bench has what it needs" in done.stdout
    assert "next: rig probe" in done.stdout


@pytest.mark.parametrize(
    ("bench", "override", "missing"),
    [
        ("posix-asc", 'sut.posix.program="nosuch"', "there is no"),
        ("mps2-asc", 'sut.qemu.emulator="qemu-nosuch"', "not on PATH"),
        ("cpu-asc-virtual", 'sut.cpu.interpreter="nosuch"', "there is no interpreter"),
        ("virtual-sww", 'task.sww.model="nosuch.tflite"', "nosuch.tflite"),
        ("cpu-network-virtual", 'task.network.model="nosuch.nir"', "nosuch.nir"),
    ],
)
def test_what_a_bench_lacks_is_named_and_the_exit_code_is_3(
    tmp_path: Path, bench: str, override: str, missing: str
) -> None:
    path = ROOT / "benches" / f"{bench}.toml"
    done = doctor(path, "--set", override, "--sessions", tmp_path)
    assert done.return_value == 3, done.stdout
    assert missing in done.stdout


def test_a_bench_whose_package_is_absent_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["pyjoulescope_nosuch>=2; extra == 'joulescope'"]
    monkeypatch.setattr(packages, "requires", lambda name: lines)
    text = of_port(tmp_path, "socket://host:1").read_text()
    path = tmp_path / "measured.toml"
    path.write_text(text.replace("[monitor.none]", "[monitor.joulescope]"))
    done = doctor(path, "--sessions", tmp_path)
    assert done.return_value == 3
    assert "pip install 'neurorig[joulescope]'" in done.stdout
    simulated = doctor(
        path, "--set", 'monitor.joulescope.device="simulator"', "--sessions", tmp_path
    )
    assert simulated.return_value == 0, simulated.stdout


@pytest.mark.parametrize(
    "bench", sorted(path.stem for path in (ROOT / "benches").glob("*.toml"))
)
def test_every_example_bench_can_be_examined(tmp_path: Path, bench: str) -> None:
    path = ROOT / "benches" / f"{bench}.toml"
    done = doctor(path, "--json", "--sessions", tmp_path)
    assert done.exception is None
    found = json.loads(done.stdout)
    blocked = [row for row in found["rows"] if row["needed"] and row["state"] != "ok"]
    assert found["ok"] is (not blocked)
    assert done.return_value == (3 if blocked else 0)


def test_set_without_a_bench_is_refused() -> None:
    done = doctor("--set", "bench.trials=1")
    assert "none is given" in str(done.exception)
