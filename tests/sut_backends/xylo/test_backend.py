# SPDX-License-Identifier: Apache-2.0
"""Xylo as a backend: refusals before any process starts, and, where an environment for
it is there, the simulator's bytes and a simulated board.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from drivers.xylo_board.driver import XyloBoard
from rig.errors import BenchError, ConfigError, DataError
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin, Origins
from rig.model.steps import Load, Query
from rig.trace.trace import Trace
from rig.uncertainty.window_effects import of_energy, ranges_a
from scenarios.tasks.asc.task import AscTask
from sut_backends.workers.environments import installed
from sut_backends.xylo import board_runner
from sut_backends.xylo.backend import SimulatedBoard, XyloSut
from tests.conftest import ROOT

#: An interpreter with sut_backends/xylo/requirements.txt.
PYTHON = os.environ.get("RIG_XYLO_PYTHON", "") or str(installed("xylo"))
needs_xylosim = pytest.mark.skipif(
    not Path(PYTHON).exists(),
    reason="no environment with XyloSim: rig sdk install xylo",
)
SETTINGS = XyloSut.Settings(interpreter=PYTHON)
VECTORS = ROOT / "tests" / "vectors" / "xylo"


@pytest.fixture(scope="module")
def task() -> AscTask:
    """Return the default task: 120 generated samples."""
    return AscTask.open(AscTask.Settings(), BenchContext())


def test_a_network_that_does_not_fit_is_refused_before_anything_is_started(
    task: AscTask, tmp_path: Path
) -> None:
    graph = nir.read(task.network.path)
    graph.nodes["neurons_1"].v_leak = np.full(32, 1.0)
    path = tmp_path / "leaky.nir"
    nir.write(path, graph)
    context = BenchContext(network=replace(task.network, path=path))
    settings = XyloSut.Settings(interpreter=sys.executable)
    with pytest.raises(DataError, match="does not fit on Xylo Audio 2") as result:
        XyloSut.open(settings, context)
    assert "neurons_1: a v_leak that is not 0" in result.value.evidence


def test_an_sdk_that_is_not_there_is_named_with_what_installs_it(
    task: AscTask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = BenchContext(network=task.network)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="not installed") as result:
        XyloSut.open(XyloSut.Settings(), context)
    assert "rig sdk install xylo" in result.value.try_next
    with pytest.raises(BenchError, match="does not start") as bare:
        XyloSut.open(XyloSut.Settings(interpreter=sys.executable), context)
    assert (
        "rockpool is missing" in bare.value.try_next and "doctor" in bare.value.try_next
    )


def test_what_times_and_energies_are_is_stated_before_anything_is_opened() -> None:
    simulated = Origins(Origin.SIMULATED, Origin.SIMULATED)
    for board, wanted in (
        ("none", simulated),
        ("simulated", simulated),
        ("attached", Origins(Origin.MEASURED, Origin.OWN_SENSOR)),
    ):
        settings = XyloSut.Settings(board=board)  # type: ignore[arg-type]
        assert XyloSut.origins(settings) == wanted
        assert XyloSut.simulates(settings) == (board != "attached")


def test_the_package_of_pypi_is_refused_without_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="the board needs samna"):
        board_runner.refuse_stub()
    stub = tmp_path / "samna"
    stub.mkdir()
    (stub / "__init__.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip',"
        " 'x'])\nraise 1\n"
    )
    (tmp_path / "samna-0.48.6.dist-info").mkdir()
    (tmp_path / "samna-0.48.6.dist-info" / "METADATA").write_text(
        "Name: samna\nVersion: 0.48.6\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match=r"samna 0\.48\.6 is the package from PyPI"):
        board_runner.refuse_stub()
    assert "samna" not in sys.modules


@needs_xylosim
@pytest.mark.parametrize("chip", ["audio2", "audio3"])
def test_the_simulator_s_answers_are_those_of_the_integer_model(
    task: AscTask, chip: Any
) -> None:
    context = BenchContext(network=task.network)
    with closing(XyloSut.open(replace(SETTINGS, chip=chip), context)) as sut:
        assert sut.info.simulated and sut.info.task == "asc"
        assert sut.info.details["mapping"]["hidden_neurons"] == 96
        assert sut.info.details["mapping"]["quantisation_error_of_largest_weight"] == 0
        assert sut.info.details["versions"]["samna"] == "stand-in"
        for index in (0, 50, 100):
            sut.do(Load(index), [task.payload(index)])
            done = sut.do(Query((index,)))
            assert done.output == task.reference(task.payload(index))


@needs_xylosim
def test_energies_of_a_simulated_board_are_those_that_its_truth_has(
    task: AscTask, tmp_path: Path
) -> None:
    events, truth = tmp_path / "events.jsonl", tmp_path / "truth.json"
    simulator = SimulatedBoard(truth=str(truth), step_s=1e-3)
    settings = replace(
        SETTINGS,
        chip="audio3",
        board="simulated",
        power_events=str(events),
        simulator=simulator,
    )
    rails = {
        channel: XyloBoard.open(
            XyloBoard.Settings(
                channel=channel,
                events=str(events),
                gain_limit=0.001,
                shift_limit_s=0.05,
                simulated=True,
            ),
            BenchContext(),
        )
        for channel in ("digital", "io")
    }
    context = BenchContext(network=task.network)
    with closing(XyloSut.open(settings, context)) as sut, ExitStack() as recordings:
        for channel, rail in rails.items():
            (tmp_path / channel).mkdir()
            recordings.enter_context(rail.record(tmp_path / channel))
        sut.do(Load(0), [task.payload(0)])
        marks = sut.do(Query((0,), repeat=5)).marks
    reported = json.loads(truth.read_text())
    # The network's phase, by the marks that the worker stamped.
    start_ns, stop_ns = (mark.tick for mark in marks[1:3])
    busy_ns = sum(
        max(min(stop_ns, stop) - max(start_ns, start), 0)
        for start, stop in reported["busy_ns"]
    )
    assert 0.1 < busy_ns / (stop_ns - start_ns) < 1
    for channel, theirs in (("digital", "DigitalLogic"), ("io", "Io")):
        rest_w, more_w = reported["power_w"][theirs]
        true_j = (rest_w * (stop_ns - start_ns) + more_w * busy_ns) / 1e9
        trace = Trace.open(tmp_path / channel / "trace.jls")
        limits = rails[channel].info.accuracy
        from_s, to_s = (
            (tick - trace.start_monotonic_ns) / 1e9 for tick in (start_ns, stop_ns)
        )
        (result,) = trace.integrals([(from_s, to_s)], ranges_a(limits))
        u_j = of_energy(result, limits, 100.0, (0.0, 0.0)).energy_u_j
        assert abs(result.energy_j - true_j) < 2 * u_j < 0.3 * true_j


BOARDS = """
import json, sys
import numpy as np
from sut_backends.workers.inside.job import Job
from sut_backends.xylo import board_runner
told = []
for job in json.loads(sys.stdin.read()):
    settings = {"board": "simulated", "power_hz": 100.0, **job["settings"]}
    try:
        opened = board_runner.open_network(Job(job["nir"], settings=settings))
        with np.load(job["vectors"]) as kept:
            spikes, wanted = kept["spikes"][0], kept[job["trains"]][0]
        differ = [int((opened.run(spikes)[0] != wanted).sum()) for _ in range(2)]
        opened.close()
        told.append({"differ": differ, "about": opened.about})
    except ValueError as error:
        told.append({"refused": str(error)})
print("told " + json.dumps(told))
"""


def job(name: str, chip: str, **settings: Any) -> dict[str, Any]:
    return {
        "nir": str(VECTORS / f"{name}.nir"),
        "vectors": str(VECTORS / f"{name}.npz"),
        "trains": f"{chip}/{name}/trains",
        "settings": {"chip": chip, **settings},
    }


@needs_xylosim
def test_rockpool_configures_a_simulated_board_to_fire_as_the_simulator_does() -> None:
    jobs = [
        job("recurrent", "audio2"),
        job("recurrent", "audio3"),
        job("two", "audio3", simulator={"boards": 0}),
        job("two", "audio2", simulator={"boards": 2}),
        job("two", "audio3", board_number=1),
    ]
    ran = subprocess.run(
        [PYTHON, "-c", BOARDS],
        input=json.dumps(jobs).encode(),
        capture_output=True,
        timeout=120,
        cwd=ROOT,
    )
    lines = [
        line for line in ran.stdout.decode().splitlines() if line.startswith("told ")
    ]
    assert lines, ran.stderr.decode()[-2000:]
    second, third, none, two, beyond = json.loads(lines[0].removeprefix("told "))
    for reported in (second, third):
        # Twice the same: states are at rest again before each run.
        assert reported["differ"] == [0, 0]
        assert reported["about"]["board"]["simulated"]
        assert "never on hardware" in reported["about"]["tested"]
        assert reported["about"]["modelled"]["cycles_a_step_at_most"] > 1000
    assert "no Xylo Audio 3 board is attached: is it plugged in" in none["refused"]
    assert "2 Xylo Audio 2 boards are attached" in two["refused"]
    assert "board_number = 1, and 1 boards are attached" in beyond["refused"]
