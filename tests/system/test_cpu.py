# SPDX-License-Identifier: Apache-2.0
"""This computer as the system under test: the firmware's answers, valid trials, and the
energy that its counter was fed.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from drivers.virtual import VirtualMonitor
from rig.bench.probe import probe
from rig.errors import ConfigError
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SystemUnderTest
from rig.model.completion import DECIDED, END, STREAM
from rig.model.steps import Load, Query, Stream
from rig.report.report import write_report
from rig.session.session import open_bench
from rig.store import completion_lines
from sut_backends.hosted.posix import PosixSut
from tests.checking import check
from tests.conftest import ROOT

RAPL = ["monitor.rapl.root=simulator", "monitor.rapl.poll_hz=500", "task.asc.samples=1"]
SHORT = ["scenario.single_stream.idle_s=0.3", "scenario.single_stream.warmup=0"]


def answers(sut: SystemUnderTest, payloads: list[bytes]) -> list[bytes]:
    """Return a system's answer to each payload."""
    result = []
    for index, payload in enumerate(payloads):
        sut.do(Load(index), [payload])
        result.append(sut.do(Query((index,))).output)
    return result


@pytest.mark.posix
def test_its_integer_program_gives_the_bytes_of_the_firmware(firmware: Path) -> None:
    with open_bench(ROOT / "benches" / "cpu-asc-virtual.toml") as bench:
        payloads = [bench.task.payload(index) for index in range(len(bench.task))]
        of_cpu = answers(bench.sut, payloads)
        device = PosixSut.open(
            PosixSut.Settings(program=str(firmware / "asc")), bench.context
        )
        try:
            assert of_cpu == answers(device, payloads)
        finally:
            device.close()


@pytest.mark.paced  # on a busy computer a counter is read too late
def test_five_trials_by_its_energy_counter_are_valid_and_have_the_energy_that_the_counter_was_fed(
    tmp_path: Path,
) -> None:
    with open_bench(ROOT / "benches" / "cpu-asc.toml", [*RAPL, *SHORT]) as bench:
        result = bench.run(5, tmp_path)
    content = result.content
    assert content["problems"] == []
    assert (content["simulated"], content["provenance"]["sut"]["simulated"]) == (
        True,
        False,
    ), "only the counter is"
    # Input of the simulated counter: 5 W of the host, and the stated power of each
    # phase.
    for name, expected_w in (
        ("power_idle", 5.010),
        ("power_preprocess", 5.030),
        ("power_infer", 5.050),
    ):
        assert content["metrics"][name]["value"] == pytest.approx(
            expected_w, abs=0.003
        ), name
    for phase in ("preprocess", "infer"):
        energy_j, latency_s = (
            content["metrics"][f"{what}_{phase}"]["value"]
            for what in ("energy", "latency")
        )
        power_w = content["metrics"][f"power_{phase}"]["value"]
        assert energy_j == pytest.approx(power_w * latency_s, rel=0.01)
    assert "latency_total_p90_early_stopping" not in content["metrics"]
    assert "repeat" in content["absent"]["latency_total_p90_early_stopping"]
    assert check(result.folder).ok
    write_report(result.folder)


def test_the_nir_program_on_a_virtual_monitor_has_its_stated_power(
    tmp_path: Path,
) -> None:
    overrides = [
        "sut.cpu.program=nir",
        "task.asc.samples=4",
        "scenario.single_stream.repeat=1",
        *SHORT,
    ]
    with open_bench(ROOT / "benches" / "cpu-asc-virtual.toml", overrides) as bench:
        result = bench.run(1, tmp_path)
    assert result.content["problems"] == []
    for name, expected_w in (
        ("power_idle", 2.0),
        ("power_preprocess", 9.0),
        ("power_infer", 8.0),
    ):
        metric = result.content["metrics"][name]
        assert abs(metric["value"] - expected_w) <= max(
            metric["same_samples"]["expanded_uncertainty"], 0.003 * expected_w
        ), name
    assert result.content["provenance"]["sut"]["details"]["program"] == "nir"


@pytest.mark.parametrize("program", ["integer", "nir"])
def test_a_stream_on_this_computer_is_a_session_whose_windows_are_answered_in_real_time(
    tmp_path: Path, program: str
) -> None:
    few = [
        f"sut.cpu.program={program}",
        "sut.cpu.slots=3",
        "scenario.real_time.duration_s=2.5",
    ]
    # A machine that many share may take long for a window: that is no subject here.
    few += [
        "scenario.real_time.scene_s=[1.0, 2.0]",
        "scenario.real_time.deadline_s=60.0",
    ]
    with open_bench(ROOT / "benches" / "cpu-real-time-virtual.toml", few) as bench:
        result = bench.run(1, tmp_path)
        (done,) = [
            item
            for item in completion_lines.read(result.folder / "trial-1")
            if isinstance(item.step, Stream)
        ]
        assert [mark.phase for mark in done.completion.marks] == [
            STREAM,
            *[1, 2, DECIDED] * done.step.windows,
            END,
        ]
        # The first scene begins with a recording, whose first second is the first
        # window.
        bench.sut.do(Load(0), [bench.task.payload(done.step.scenes[0].indices[0])])
        alone = bench.sut.do(Query((0,))).output
    assert done.step.windows > bench.sut.info.slots == 3, "some come while it plays"
    assert done.completion.output[: len(alone)] == alone
    assert result.content["problems"] == []
    assert result.content["provenance"]["sut"]["simulated"] is False
    assert result.metrics["power_idle"].value == pytest.approx(2.0, rel=0.005)
    seconds = (done.completion.marks[-1].tick - done.completion.marks[0].tick) / 1e9
    assert 2.0 * seconds < result.metrics["energy_stream"].value < 9.0 * seconds
    assert check(result.folder).ok
    write_report(result.folder)


@pytest.mark.posix
def test_a_search_on_this_computer_is_a_session_whose_costs_are_evaluated_and_checked(
    tmp_path: Path,
) -> None:
    if not shutil.which("cc"):
        pytest.skip(
            "the reference search needs a C compiler: apt-get install gcc libc6-dev"
        )
    few = [
        "scenario.optimization.timeouts_s=[0.01]",
        "task.qubo.nodes=[250]",
        "task.qubo.densities=[0.05]",
        "task.qubo.seeds=[0]",
    ]
    few += ["scenario.optimization.idle_s=0.2"]
    with open_bench(ROOT / "benches" / "cpu-qubo-virtual.toml", few) as bench:
        result = bench.run(1, tmp_path)
    assert result.content["problems"] == []
    searches = [
        sample
        for sample in result.trials[0].measured.samples
        if sample.solve is not None
    ]
    assert [sample.solve.target for sample in searches if sample.solve] == [None, -69]
    assert all(
        sample.costs is not None and sample.costs.claimed == sample.costs.cost < 0
        for sample in searches
    )
    assert result.metrics["power_active"].value == pytest.approx(9.0, rel=0.01)
    assert check(result.folder).ok
    write_report(result.folder)


def test_a_probe_says_that_marks_and_monitor_share_a_clock() -> None:
    findings = {
        finding.name: finding
        for finding in probe(ROOT / "benches" / "cpu-asc.toml", RAPL)
    }
    assert all(finding.ok for finding in findings.values())
    assert "there is no wire" in findings["SYNC wire"].detail


def test_a_real_monitor_that_wants_edges_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = VirtualMonitor.info.fget  # type: ignore[attr-defined]

    def real(monitor: VirtualMonitor) -> MonitorInfo:
        return dataclasses.replace(original(monitor), simulated=False)

    with open_bench(
        ROOT / "benches" / "cpu-asc-virtual.toml", ["task.asc.samples=2"]
    ) as bench:
        monkeypatch.setattr(VirtualMonitor, "info", property(real))
        with pytest.raises(
            ConfigError, match="no SYNC line for virtual monitor to see"
        ) as caught:
            bench.run(1, tmp_path)
    assert "rapl" in caught.value.try_next
    assert not list(tmp_path.iterdir())
