# SPDX-License-Identifier: Apache-2.0
"""Facts that a published number needs beside a GPU's energy: the board's state, who
else uses it, which reading was taken. On the simulated binding; faults one at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.host_counters.nvml import Nvml
from drivers.host_counters.nvml_state import BoardProcess, _is_ours, read_state, reasons
from drivers.host_counters.sim.nvml import STATES, NvmlSimulator
from rig.errors import BenchError, ConfigError
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.trace.trace import Trace
from tests.drivers.host_counters.test_rapl import draw

SIMULATED = Nvml.Settings(uuid="simulator")


def library(
    fault: str = "", context: BenchContext | None = None, **settings: Any
) -> NvmlSimulator:
    made = NvmlSimulator(
        NvmlSimulator.Settings(**settings), (context or BenchContext()).world
    )
    made.nvmlInit()
    made.fault = fault
    return made


def opened(fault: str = "", **settings: Any) -> Nvml:
    return Nvml(replace(SIMULATED, **settings), simulator := library(fault), simulator)


def recorded(
    folder: Path, fault: str, *powers_w: float, **settings: Any
) -> dict[str, Any]:
    """Record the powers, a second each, with a fault from the second on; return
    board.json."""
    context = BenchContext()
    monitor = Nvml.open(replace(SIMULATED, **settings), context)
    assert monitor.simulator is not None
    try:
        with monitor.record(folder):
            for number, power_w in enumerate(powers_w):
                if number == 1:
                    monitor.simulator.fault = fault
                draw(context, power_w, 1000)
    finally:
        monitor.close()
    return dict(json.loads((folder / "board.json").read_text()))


def test_the_state_is_in_the_details_and_the_board_tells_all_of_it() -> None:
    details = opened().info.details
    assert details["cuda"] == "13.0"
    assert details["shortest_window_s"] == 0.4
    assert details["others"] == "nobody else computed on the board"
    assert details["board"] == {
        "sm_mhz": 210,
        "memory_mhz": 2619,
        "limit_enforced_w": 700.0,
        "limit_default_w": 700.0,
        "temperature_c": 41,
        "held_down_by": ("idle",),
        "mig": False,
        "persistence": True,
        "processes": (),
    }
    json.dumps(details)


def test_a_board_that_tells_nothing_is_measured_and_what_it_does_not_say_is_none():
    details = opened("dumb").info.details
    assert set(details["board"].values()) == {None}
    assert details["others"] == "the board does not tell who uses it"


def test_clocks_that_change_and_what_holds_them_down_are_in_the_record(
    tmp_path: Path,
) -> None:
    calm = recorded(tmp_path, "", 5.0, 5.0, 5.0)
    assert calm["simulated"] is True
    assert calm["clocks_changed"] is False
    assert calm["held_down_by"] == ["idle"]
    busy = tmp_path / "busy"
    busy.mkdir()
    about = recorded(busy, "", 5.0, 200.0, 200.0)
    assert (about["clocks_changed"], about["sm_mhz"]) == (True, [210, 1980])
    assert about["start"]["sm_mhz"] == 210
    assert about["looks"] >= 4
    hot = tmp_path / "hot"
    hot.mkdir()
    about = recorded(hot, "hot", 5.0, 200.0, 200.0)
    assert about["held_down_by"] == ["hardware thermal slowdown", "idle"]
    assert (about["temperature_c"], about["sm_mhz"]) == ([41, 92], [210, 990])
    capped = tmp_path / "capped"
    capped.mkdir()
    about = recorded(capped, "capped", 5.0, 200.0)
    assert about["end"]["limit_enforced_w"] == 300.0
    assert about["end"]["limit_default_w"] == 700.0
    assert "software power cap" in about["held_down_by"]


def test_another_process_on_the_board_is_named_and_refused_or_stated() -> None:
    with pytest.raises(BenchError, match="in use by another program") as caught:
        opened("process")
    assert "1 (" in caught.value.evidence
    assert 'others = "state"' in caught.value.try_next
    details = opened("process", others="state").info.details
    assert details["others"].startswith("1 (")
    assert details["board"]["processes"][0]["own"] is False
    # A display draws on it, and does not compute.
    assert (
        opened("display")
        .info.details["others"]
        .startswith("nobody else computed on the board;")
    )


def test_a_process_that_comes_while_it_is_measured_ends_the_recording(
    tmp_path: Path,
) -> None:
    with pytest.raises(BenchError, match="in use by another program"):
        recorded(tmp_path, "process", 5.0, 5.0, 5.0)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.duration_s >= 0.9
    stated = tmp_path / "stated"
    stated.mkdir()
    about = recorded(stated, "process", 5.0, 5.0, 5.0, others="state")
    assert about["processes"][0]["pid"] == 1


def test_a_board_that_is_shared_out_is_refused_or_stated() -> None:
    with pytest.raises(BenchError, match="shared out by MIG") as caught:
        opened("mig")
    assert "-mig 0" in caught.value.try_next
    assert opened("mig", others="state").info.details["others"].endswith("MIG is on")


def test_the_momentary_power_is_read_where_the_board_tells_it(tmp_path: Path) -> None:
    context = BenchContext()
    monitor = Nvml.open(replace(SIMULATED, source="instant"), context)
    assert "POWER_INSTANT" in monitor.info.details["source"]
    with monitor.record(tmp_path):
        draw(context, 80.0, 1000)
    monitor.close()
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.5, 1.2) == pytest.approx(
        100.0, rel=1e-3
    )
    with pytest.raises(
        BenchError, match="momentary power of simulated GPU cannot"
    ) as caught:
        opened("no instant", source="instant")
    assert 'source = "power"' in caught.value.try_next


def test_a_reading_that_is_a_mean_of_a_second_is_not_taken_for_shorter_windows():
    with pytest.raises(BenchError, match="the mean of a second") as caught:
        opened(source="power")
    assert "0.4 s" in caught.value.evidence
    monitor = opened(source="power", poll_hz=10)
    assert monitor.info.details["shortest_window_s"] == 2.0
    with pytest.raises(ConfigError):
        checked(replace(SIMULATED, poll_hz=51), "monitor.nvml")


def test_reasons_have_names_and_one_of_tomorrow_its_bits() -> None:
    assert reasons(0) == ()
    assert reasons(0x4 | 0x80 | 0x8000) == (
        "software power cap",
        "hardware power brake",
        "bits 0x8000",
    )


def test_a_process_of_ours_is_known_by_its_parents() -> None:
    assert _is_ours(os.getpid()) is True
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert _is_ours(child.pid) is True
    finally:
        child.communicate(timeout=20)
    assert _is_ours(1) is False
    assert _is_ours(2**22 + 1) is None
    theirs = BoardProcess(7, "", "computes", None)
    assert str(theirs) == "7 (name not readable, computes)"


def test_an_old_driver_is_asked_by_the_old_name() -> None:
    simulator = library()

    def missing(handle: int) -> int:
        raise simulator.NVMLError(13)

    simulator.nvmlDeviceGetCurrentClocksEventReasons = missing  # type: ignore[method-assign]
    assert read_state(simulator, 1).held_down_by is None
    old = SimpleNamespace(
        NVMLError=simulator.NVMLError,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0x20,
    )
    assert read_state(old, 1).held_down_by == ("software thermal slowdown",)


def test_every_state_of_the_simulator_is_tried_here() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{state}"' in here for state in STATES)


def test_a_process_that_has_just_ended_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulator = library("process")
    asked = []

    def passed(duration_s: float) -> None:
        asked.append(duration_s)
        simulator.fault = "" if len(asked) == 2 else "process"

    monkeypatch.setattr("drivers.host_counters.nvml_watch.pause", passed)
    monitor = Nvml(SIMULATED, simulator, simulator)
    assert len(asked) == 2
    assert monitor.info.details["others"] == "nobody else computed on the board"
