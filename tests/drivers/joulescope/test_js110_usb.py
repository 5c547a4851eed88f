# SPDX-License-Identifier: Apache-2.0
"""Our driver on the maker's C library and its libusb, with a JS110 simulated below them, on USB: so
it is the installed library that tells of losses, and not what we believe of it.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

from drivers.joulescope.sim.simulator import (
    JoulescopeSimulatorSettings,
    SimulatedDriver,
    SimulatedInstrument,
)
from rig.simulation.world import NS_PER_S, World
from tests.drivers.joulescope.js110_usb import said

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RunProcess = Callable[..., str]
OURS = str(HERE / "js110_usb.py")

pytest.importorskip("pyjoulescope_driver")
FILLS = Version(version("pyjoulescope_driver")) >= Version("2.5")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> RunProcess:
    """Return what runs Python with the simulated USB, and returns what it wrote."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("js110")
    stub = folder / "usb.so"
    source = str(HERE / "js110_usb_stub.c")
    command = [compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", str(stub), source, "-lpthread"], check=True, timeout=60)
    describe(folder)

    def run(*words: str, drop: str = "", stuck: str = "") -> str:
        env = {**os.environ, "LD_PRELOAD": str(stub), "JS110_FOLDER": str(folder)}
        env |= {"JS110_DROP": drop, "JS110_STUCK": stuck, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def describe(folder: Path) -> None:
    """Write what sysfs shows of a JS110, and its calibration: 10 uA and 1 mV a count."""
    device = struct.pack(
        "<BBHBBBBHHHBBBB", 18, 1, 0x200, 255, 0, 0, 64, 0x16D0, 0x0E88, 256, 1, 2, 3, 1
    )
    device += struct.pack("<BBHBBBBB", 9, 2, 25, 1, 1, 0, 0x80, 250)
    device += struct.pack("<BBBBBBBBB", 9, 4, 0, 0, 1, 255, 0, 0, 0)
    device += struct.pack("<BBBBHB", 7, 5, 0x82, 2, 512, 0)
    (folder / "descriptors").write_bytes(device)
    attributes = {"serial": "000732", "speed": "480", "busnum": "9", "devnum": "2"}
    for name, value in (attributes | {"bConfigurationValue": "1"}).items():
        (folder / name).write_text(f"{value}\n")
    gains = {"current": ([0.0] * 9, [1e-5] * 9), "voltage": ([0.0] * 2, [1e-3] * 2)}
    text = json.dumps({name: {"offset": row[0], "gain": row[1]} for name, row in gains.items()})
    record = struct.pack("<II", 0x534A41, len(text) + 1) + text.encode() + b"\0" + bytes(4)
    record += bytes(-len(record) % 8)
    head = bytes(16) + struct.pack("<QII", 32 + len(record), 1, 0)
    (folder / "calibration.bin").write_bytes(head + record)


@pytest.mark.paced
@pytest.mark.parametrize("packets", [0, 100, 600])
def test_what_is_lost_on_usb_moves_no_edge(
    process: RunProcess, tmp_path: Path, packets: int
) -> None:
    drop = f"8000 {packets}" if packets else ""
    told = json.loads(process(OURS, "record", str(tmp_path), drop=drop))
    falls_s = np.array(told["falls_s"])
    # SYNC falls every 100 ms; where nothing is trusted, some are missing.
    steps = (falls_s - falls_s[0]) / 0.1
    assert steps == pytest.approx(np.round(steps), abs=1e-5) and len(steps) >= 8
    assert told["mean_w"] == pytest.approx(2001e-5 * 3.3, rel=1e-6)
    lost = [stop - start for start, stop, cause in told["gaps"] if "pkt_index" not in cause]
    filled = FILLS and 0 < packets <= 512
    if not packets:
        assert told["gaps"] == []
    elif filled:
        # Its filter of range switches takes some samples more for such.
        assert packets * 126 <= sum(lost) <= packets * 126 + 20 and len(told["gaps"]) <= 2
    else:
        assert lost == [packets * 126] and len(told["gaps"]) == 2
    assert bool(told["said"]["losses_filled"]) == filled


def test_the_simulated_driver_says_what_the_real_one_says_of_a_js110(
    process: RunProcess, tmp_path: Path
) -> None:
    real = json.loads(process(OURS, "said", str(tmp_path)))
    world = World()
    settings = JoulescopeSimulatorSettings(model="js110", serials=("000732",))
    driver = SimulatedDriver()
    try:
        with driver.attached(SimulatedInstrument(settings, world)):
            simulated = said(driver, lambda time_s: world.advance(round(time_s * NS_PER_S)))
    finally:
        driver.finalize()
    simulated = json.loads(json.dumps(simulated))
    options = real.pop("options")
    assert simulated.pop("options").items() <= options.items()
    assert simulated == real


def test_a_js110_that_does_not_carry_out_a_setting_is_heard_through_its_drivers_log(
    process: RunProcess, tmp_path: Path
) -> None:
    told = json.loads(process(OURS, "refused", str(tmp_path), stuck="128"))
    assert told["cause"] == "the Joulescope u/js110/000732 refuses s/i/range/select"
    assert "acknowledges it, and logs: stream_settings_send did not work" in told["evidence"]


@pytest.mark.paced
def test_the_makers_tools_read_the_simulated_usb(process: RunProcess) -> None:
    tool = ("-m", "pyjoulescope_driver")
    assert process(*tool, "gpi") == "u/js110/000732: 0x00000001\n"
    _, *rows = process(
        *tool, "statistics", "--js110_host", "--frequency", "10", "--duration", "0.5"
    ).splitlines()
    columns = [row.split(",") for row in rows]
    assert len(columns) >= 3
    for row in columns[1:]:
        assert [float(row[2]), float(row[6])] == pytest.approx([2001e-5, 3.3], rel=1e-4)
