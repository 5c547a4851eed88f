# SPDX-License-Identifier: Apache-2.0
"""sPyNNaker's energy model as a monitor: through a session with a stand-in for
sPyNNaker, and through the worker's file in real time.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drivers.spinnaker_model.driver import SpinnakerModel
from rig.cli.main import rig as command
from rig.errors import BenchError, ConfigError, DeviceLost
from rig.host.stop import pause
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace
from sut_backends.spinnaker.energy_lines import EnergyLines
from tests.conftest import ROOT

#: An interpreter whose sPyNNaker modules are the stand-in's.
STAND_IN = """
import sys
sys.path.insert(0, {root!r})
from tests.stand_ins import spynnaker
assert sys.argv[1] == "-c"
code, sys.argv = sys.argv[2], ["-c", *sys.argv[3:]]
with spynnaker.installed():
    exec(code, {{"__name__": "__main__"}})
"""
BENCH = """
[bench]
name = "spinnaker"
trials = 2
seed = 1
[sut.spinnaker]
machine = "192.168.240.1"
input_spikes_max = 15
interpreter = "{python}"
energy_reports = "{reports}"
[monitor.spinnaker_model]
reports = "{reports}"
gain_limit = 0.3
[scenario.single_stream]
idle_s = 0.2
repeat = 2
[task.asc]
samples = 3
[metadata]
components_included = "cores and boards, as the model has them"
components_omitted = "the host"
architecture = "SpiNNaker"
algorithm = "spiking network"
workflow = "each sample mapped and loaded anew"
"""


def interpreter(folder: Path) -> Path:
    start = folder / "start.py"
    start.write_text(STAND_IN.format(root=str(ROOT)))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {start} "$@"\n')
    python.chmod(0o755)
    return python


def monitor_of(path: Path, **settings: Any) -> SpinnakerModel:
    stated = SpinnakerModel.Settings(
        **{"reports": str(path), "gain_limit": 0.3} | settings
    )
    return SpinnakerModel.open(stated, BenchContext())


def rig(*words: str | Path) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


def test_a_session_has_the_energies_that_the_model_states_and_calls_them_modelled(
    tmp_path: Path,
) -> None:
    reports = tmp_path / "reports.jsonl"
    path = tmp_path / "bench.toml"
    path.write_text(BENCH.format(python=interpreter(tmp_path), reports=reports))
    done = rig("run", path, "--sessions", tmp_path / "sessions")
    assert done.exit_code == 0, done.output
    assert "not tested" in done.output.lower()  # two trials are too few for a verdict
    [session] = (tmp_path / "sessions").iterdir()
    stated = [json.loads(line) for line in reports.read_text().splitlines()]
    runs = [line for line in stated if "ended_ns" in line]
    assert len(runs) >= 2 * 3 * 2
    # By the model's constants: 48 chips, and 4 cores while they execute.
    idle_w, cores_w = 48 * 0.35, 4 * 0.034
    [exec_s] = {run["exec_time_s"] for run in runs}
    results = json.loads((session / "results.json").read_text())
    result = {name: metric["value"] for name, metric in results["metrics"].items()}
    assert result["power_idle"] == pytest.approx(idle_w, rel=1e-5)
    # The stand-in executes faster than a machine, which takes `exec_s`: no idle time is
    # left.
    assert result["latency_infer"] < exec_s
    assert result["energy_infer"] == pytest.approx(
        (idle_w + cores_w) * exec_s, rel=5e-3
    )
    assert results["origins"]["energy"] == "modelled"
    assert " ENERGY: MODELLED " in done.output
    checked = rig("check", session)
    assert checked.exit_code == 0, checked.output


def test_each_run_s_energy_lies_between_its_beginning_and_its_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "reports.jsonl"
    monitor = monitor_of(path)
    worker = EnergyLines(str(path), "7.4.1", 3.0)
    ends_ns = []
    with monitor.record(tmp_path):
        for energy_j in (2.0, None, 0.5):
            worker.began()
            begun_ns = time.monotonic_ns()
            pause(0.25)
            if energy_j is None:
                worker.failed()
            else:
                worker.ended({"exec_energy_j": energy_j, "exec_time_s": 0.1})
            ends_ns.append((begun_ns, time.monotonic_ns()))
            pause(0.1)
    worker.close()
    trace = Trace.open(tmp_path / "trace.jls")
    start_ns = trace.start_monotonic_ns
    assert not trace.gaps
    above_j = []
    for begin_ns, end_ns in ends_ns:
        # The file's own times lie up to a few samples from those of this thread.
        begin_s, end_s = ((at - start_ns) / 1e9 for at in (begin_ns, end_ns))
        span_s = (begin_s - 0.02, end_s + 0.02)
        above_j.append((trace.mean_w(*span_s) - 3.0) * (span_s[1] - span_s[0]))
    # For 0.1 s each, a run that did not fail has its energy in place of that of an idle
    # machine.
    assert above_j == pytest.approx([2.0 - 0.3, 0.0, 0.5 - 0.3], abs=2e-3)
    for (_, end_ns), (begin_ns, _) in pairwise(ends_ns):
        between_s = (
            (end_ns - start_ns) / 1e9 + 0.02,
            (begin_ns - start_ns) / 1e9 - 0.02,
        )
        assert trace.mean_w(*between_s) == pytest.approx(3.0, rel=1e-6)


def test_without_a_worker_of_this_session_there_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    killed = EnergyLines(str(path), "7.4.1", 0.0)
    monitor = monitor_of(path)
    no_worker = pytest.raises(DeviceLost, match="no worker writes energy reports")
    with no_worker, monitor.record(tmp_path):
        pause(0.1)
    killed.close()


@pytest.mark.parametrize(
    "line",
    ['{"spinnaker_model": 2, "opened_ns": 1}', '{"ended_ns": 5}', '{"volts": 3}'],
)
def test_a_line_of_another_form_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text(line + "\n")
    unread = pytest.raises(BenchError, match="an energy report cannot be read")
    with unread as result, monitor_of(path).record(tmp_path):
        pause(0.1)
    assert "different versions" in result.value.try_next


def test_how_far_the_model_may_be_off_is_to_be_claimed() -> None:
    with pytest.raises(ConfigError, match="how far this model may be off is not known"):
        SpinnakerModel.open(SpinnakerModel.Settings(), BenchContext())
