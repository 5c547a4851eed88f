# SPDX-License-Identifier: Apache-2.0
"""A GPU board's own sensors: on a simulated binding, and with NVIDIA's real binding on
a library built from nvml_stub.c.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drivers.host_counters.nvml import Nvml
from drivers.host_counters.sim.nvml import FAULTS, NvmlSimulator
from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.simulation.world import World
from rig.trace.trace import Trace
from tests.commands import program
from tests.conftest import ROOT
from tests.drivers.host_counters.test_rapl import about, draw
from tests.programs import captured
from tests.waiting import own_threads

SIMULATED = Nvml.Settings(uuid="simulator")


@pytest.mark.parametrize("update_s", [0.02, 0.1])
@pytest.mark.parametrize("poll_hz", [20, 30, 50])
def test_the_energy_of_a_known_load_is_found_for_any_updates(
    tmp_path: Path, poll_hz: int, update_s: float
) -> None:
    context = BenchContext()
    settings = replace(
        SIMULATED, poll_hz=poll_hz, simulator=NvmlSimulator.Settings(update_s=update_s)
    )
    monitor = Nvml.open(settings, context)
    with monitor.record(tmp_path):
        draw(context, 10.0, 1000)
        draw(context, 110.0, 1000)
        draw(context, 10.0, 1000)
        end_ns = context.world.now_ns()
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    start_ns = int(str(about(tmp_path)["start_monotonic_ns"])) - World().monotonic_ns
    stop_s = trace.duration_s
    expected_j = (
        context.world.true_energy_j(start_ns, start_ns + round(stop_s * 1e9))
        + 20.0 * stop_s
    )
    # Late by up to an update and a poll at either end, at 30 W.
    assert trace.energy_j(0.0, stop_s) == pytest.approx(
        expected_j, abs=30.0 * (update_s + 1 / poll_hz)
    )
    assert start_ns + stop_s * 1e9 >= end_ns and trace.gaps == ()
    # An update is seen up to one poll late, so single samples are uneven; but none is
    # empty, and none has the energy of two updates.
    power_w = trace.power_w(0.5, 1.2)[1]
    assert (
        np.mean(power_w) == pytest.approx(30.0, rel=0.1)
        and 10.0 < power_w.min() <= power_w.max() < 61.0
    )


def test_the_power_reading_is_held_since_the_one_before(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = Nvml.open(
        replace(
            SIMULATED,
            source="power",
            simulator=NvmlSimulator.Settings(counts_energy=False),
        ),
        context,
    )
    assert "momentary" in monitor.info.details["source"]
    with monitor.record(tmp_path):
        draw(context, 80.0, 1000)
    monitor.close()
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.5, 1.2) == pytest.approx(100.0, rel=1e-3)


def test_a_board_that_counts_no_energy_is_not_read_in_another_way_by_itself() -> None:
    with pytest.raises(BenchError, match="cannot be read") as caught:
        Nvml.open(
            replace(SIMULATED, simulator=NvmlSimulator.Settings(counts_energy=False)),
            BenchContext(),
        )
    assert 'source = "power"' in caught.value.try_next


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("lost", DeviceLost, "is gone"),
        ("permission", BenchError, "cannot be read"),
        ("timeout", BenchError, "cannot be read"),
        ("backwards", BenchError, "ran backwards"),
        ("stuck", BenchError, "stands still"),
    ],
)
def test_each_fault_is_its_own_error_and_what_was_before_is_kept(
    tmp_path: Path, fault: str, kind: type[BenchError], message: str
) -> None:
    assert fault in (*FAULTS, "backwards", "stuck")
    context = BenchContext()
    threads = own_threads()
    monitor = Nvml.open(SIMULATED, context)
    assert monitor.simulator is not None
    with pytest.raises(kind, match=message) as caught, monitor.record(tmp_path):
        draw(context, 5.0, 500)
        monitor.simulator.fault = fault
        draw(context, 5.0, 3000)
    monitor.close()
    monitor.close()
    assert (
        type(caught.value) is kind and caught.value.evidence and caught.value.try_next
    )
    assert monitor.simulator.initialized == 0 and own_threads() == threads
    trace = Trace.open(tmp_path / "trace.jls")
    assert (
        trace.duration_s >= 0.8
        and trace.mean_w(0.5, 0.8) == pytest.approx(25.0, rel=0.01)
        and trace.gaps == ()
    )


def test_the_claims_of_the_maker_are_named_with_the_boards_they_are_made_for() -> None:
    context = BenchContext()
    simulated = Nvml.open(SIMULATED, context)
    assert (
        simulated.info.simulated
        and simulated.info.accuracy.current[0].gain == 0.0
        and simulated.info.sync == "clock"
    )
    simulated.close()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"index": -1}, "index"),
        ({"source": "both"}, "source"),
        ({"poll_hz": 500}, "poll_hz"),
        ({"longest_s": 0.01}, "longest_s"),
    ],
)
def test_a_setting_outside_its_limits_is_named(
    change: dict[str, object], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        settings = replace(SIMULATED, **change)  # type: ignore[arg-type]
        Nvml.open(checked(settings, "monitor.nvml"), BenchContext())
    assert caught.value.path == f"monitor.nvml.{key}"


def test_a_scan_names_the_board_by_its_unique_name_and_says_how_it_can_be_read():
    for counts, setting in (
        (True, 'uuid = "GPU-simulated-0"'),
        (False, 'uuid = "GPU-simulated-0"\nsource = "power"'),
    ):
        library = NvmlSimulator(
            NvmlSimulator.Settings(counts_energy=counts), BenchContext().world
        )
        result = Nvml.scan(library)
        assert [(row.name, row.setting, row.problem) for row in result] == [
            ("simulated GPU", setting, "")
        ]
        assert library.initialized == 0
        library.fault = "permission"
        assert "NVML code 4" in Nvml.scan(library)[0].problem


# -- the real binding
# --------------------------------------------------------------------------------------------------

NVIDIAS = "libnvidia-ml.so.1"
PROGRAM = """
import json, time
from pathlib import Path
from drivers.host_counters.nvml import Nvml
from rig.errors import RigError
from rig.interfaces.context import BenchContext
said = {}
try:
    said["scan"] = [[row.name, row.serial, row.setting, row.problem] for row in Nvml.scan()]
    monitor = Nvml.open(Nvml.Settings(**settings), BenchContext())
    info = monitor.info
    said |= {"name": info.name, "serial": info.serial, "simulated": info.simulated}
    said |= {"uuid": info.details["uuid"], "driver": info.details["driver"]}
    said |= {"cuda": info.details["cuda"], "board": info.details["board"]}
    said |= {"others": info.details["others"]}
    said |= {"source": info.accuracy.source, "verified": info.accuracy.verified}
    with monitor.record(Path()) as recording:
        time.sleep(0.5)  # the length of the recording
        recording.check()
    monitor.close()
except RigError as error:
    said |= {"error": type(error).__name__, "text": str(error)}
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("pynvml") is None:
        pytest.skip("nvidia-ml-py is not installed")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler: the simulated NVML library cannot be built")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml_stub.c")
    options = [
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-Wl,-soname,{NVIDIAS}",
    ]
    subprocess.run(
        [compiler, *options, "-o", folder / NVIDIAS, source], check=True, timeout=60
    )
    return folder / NVIDIAS


def said(
    library: Path,
    folder: Path,
    environment: dict[str, str] | None = None,
    **settings: object,
) -> dict[str, object]:
    """Run the driver in a process of its own, with the built library loaded already
    under the name of NVIDIA's: the binding gets this library.
    """
    loaded = f"import ctypes; ctypes.CDLL({str(library)!r}); settings = {settings!r}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        done = program(loaded + PROGRAM, folder)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_the_real_binding_reads_the_energy_of_a_board_of_100_w(
    library: Path, tmp_path: Path
) -> None:
    answer = said(library, tmp_path, uuid="GPU-stub-1")
    assert (answer["name"], answer["serial"], answer["uuid"]) == (
        "NVIDIA Stub 100",
        "0123456789",
        "GPU-stub-1",
    )
    assert answer["driver"] == "999.stub" and answer["simulated"] is False
    assert "Fermi and Kepler" in str(answer["source"]) and answer["verified"] is False
    assert answer["scan"] == [
        ["NVIDIA Stub 100", "", 'uuid = "GPU-stub-0"', ""],
        ["NVIDIA Stub 100", "0123456789", 'uuid = "GPU-stub-1"', ""],
    ]
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.duration_s > 0.5
    assert trace.mean_w(0.0, trace.duration_s) == pytest.approx(100.0, rel=0.05)


def test_the_real_binding_reads_the_power_of_an_older_board(
    library: Path, tmp_path: Path
) -> None:
    answer = said(library, tmp_path, {"NVML_STUB_OLD": "1"}, source="power")
    assert answer["scan"][0] == [
        "NVIDIA Stub 100",
        "",
        'uuid = "GPU-stub-0"\nsource = "power"',
        "",
    ]
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.0, trace.duration_s) == pytest.approx(100.0, rel=1e-6)


def test_the_real_binding_tells_the_state_of_a_board(
    library: Path, tmp_path: Path
) -> None:
    environment = {"NVML_STUB_PID": "1"}
    answer = said(library, tmp_path, environment, source="instant", others="state")
    board = answer["board"]
    assert isinstance(board, dict)
    assert [process["pid"] for process in board.pop("processes")] == [1]
    assert board == {
        "sm_mhz": 1980,
        "memory_mhz": 2619,
        "limit_enforced_w": 350.0,
        "limit_default_w": 700.0,
        "temperature_c": 41,
        "held_down_by": ["software power cap", "hardware thermal slowdown"],
        "mig": False,
        "persistence": True,
    }
    assert answer["cuda"] == "13.2"
    assert str(answer["others"]).startswith("1 (")
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.0, trace.duration_s) == pytest.approx(123.0, rel=1e-6)
    assert json.loads((tmp_path / "board.json").read_text())["simulated"] is False


@pytest.mark.parametrize(
    ("environment", "settings", "kind", "text"),
    [
        ({"NVML_STUB_PID": "1"}, {}, "BenchError", "in use by another program"),
        (
            {"NVML_STUB_OLD": "1"},
            {"source": "instant"},
            "BenchError",
            "momentary power",
        ),
        ({"NVML_STUB_FAULT": "15"}, {}, "DeviceLost", "is gone"),
        ({"NVML_STUB_FAULT": "998"}, {}, "BenchError", "a code of tomorrow"),
        ({"NVML_STUB_FAULT": "4"}, {}, "BenchError", "/dev/nvidia"),
        ({"NVML_STUB_OLD": "1"}, {}, "BenchError", 'source = "power"'),
        ({}, {"index": 5}, "DeviceNotFound", "the driver knows 2"),
        ({}, {"uuid": "GPU-none"}, "DeviceNotFound", "nvidia-smi -L"),
        ({"NVML_STUB_INIT": "9"}, {}, "BenchError", "modprobe nvidia"),
        ({"NVML_STUB_INIT": "18"}, {}, "BenchError", "restart the machine"),
    ],
)
def test_each_code_of_the_real_binding_is_translated(
    library: Path,
    tmp_path: Path,
    environment: dict[str, str],
    settings: dict[str, object],
    kind: str,
    text: str,
) -> None:
    answer = said(library, tmp_path, environment, **settings)
    assert answer["error"] == kind and text in str(answer["text"]), answer


def test_a_machine_without_nvidias_driver_is_reported_so_and_scans_as_empty(
    tmp_path: Path,
) -> None:
    if importlib.util.find_spec("pynvml") is None:
        pytest.skip("nvidia-ml-py is not installed")
    (tmp_path / NVIDIAS).write_text("no library")
    done = captured(
        [sys.executable, "-W", "error", "-c", "settings = {}" + PROGRAM],
        timeout=60,
        env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer == {"scan": [], "error": "DeviceNotFound", "text": answer["text"]}
    assert "no NVIDIA driver" in str(answer["text"])


def test_without_the_binding_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    for act in (Nvml.scan, lambda: Nvml.open(Nvml.Settings(), BenchContext())):
        with pytest.raises(ConfigError) as caught:
            act()
        assert "neurorig[nvml]" in caught.value.try_next


def test_no_such_board_in_the_simulation_either() -> None:
    simulator = NvmlSimulator(NvmlSimulator.Settings(), BenchContext().world)
    simulator.nvmlInit()
    with pytest.raises(DeviceNotFound):
        Nvml(Nvml.Settings(index=3), simulator, simulator)
