# SPDX-License-Identifier: Apache-2.0
"""From firmware bytes to a verdict: the chain as a whole, and what happens when parts
of it break.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rig.bench.probe import probe
from rig.errors import DeadlineError, DeviceLost, ProtocolError, RigError, SutError
from rig.model.completion import Completion
from rig.model.steps import Load, Step
from rig.session.session import Bench, SessionResult, open_bench
from rig.store import completion_lines
from tests.checking import check
from tests.commands import pytest_at, started
from tests.conftest import ROOT
from tests.length import length
from tests.programs import captured
from tests.waiting import eventually

pytestmark = pytest.mark.posix
POSIX_ASC = ROOT / "benches" / "posix-asc.toml"
POSIX_NULL = ROOT / "benches" / "posix-null.toml"
SMALL = ["task.null.samples=8", "scenario.single_stream.idle_s=0.1"]


def run(
    bench: Path, root: Path, overrides: Sequence[str] = (), trials: int = 1
) -> SessionResult:
    with open_bench(bench, overrides) as opened:
        return opened.run(trials, root)


def outputs(result: SessionResult) -> dict[tuple[int, ...], bytes]:
    done = completion_lines.read(result.folder / "trial-1")
    return {
        item.step.indices: item.completion.output
        for item in done
        if hasattr(item.step, "indices")
    }  # type: ignore[union-attr]


def test_the_firmware_answers_bit_for_bit_as_the_integer_model(
    firmware: Path, tmp_path: Path
) -> None:
    samples = length(24, 8)
    with open_bench(
        POSIX_ASC, [f"task.asc.samples={samples}", "scenario.single_stream.idle_s=0.1"]
    ) as bench:
        result = bench.run(1, tmp_path)
        assert bench.context.reference is not None
        expected = {
            (index,): bench.context.reference(bench.task.payload(index))
            for index in range(len(bench.task))
        }
    assert outputs(result) == expected
    assert result.content["problems"] == []
    assert check(result.folder).ok


def test_power_and_energy_are_those_of_the_phases(
    firmware: Path, tmp_path: Path
) -> None:
    powers = [
        "sut.posix.power_w.idle=0.010",
        "sut.posix.power_w.preprocess=0.03",
        "sut.posix.power_w.infer=0.05",
    ]
    metrics = run(
        POSIX_NULL,
        tmp_path,
        [*SMALL, "scenario.single_stream.repeat=1_000_000", *powers],
    ).metrics
    assert metrics["power_idle"].value == pytest.approx(0.010, rel=2e-3)
    assert metrics["power_preprocess"].value == pytest.approx(0.03, rel=2e-3)
    assert metrics["power_infer"].value == pytest.approx(0.05, rel=2e-3)
    assert metrics["energy_infer"].value == pytest.approx(
        0.05 * metrics["latency_infer"].value, rel=2e-3
    )


@pytest.fixture(scope="module")
def clean(firmware: Path, tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    """Return a session without losses."""
    return run(POSIX_NULL, tmp_path_factory.mktemp("clean"), SMALL)


# without losses there are no retransmissions: no answer may be late
@pytest.mark.paced
@pytest.mark.parametrize("fault", ["drop", "duplicate", "flip"])
def test_a_byte_in_a_thousand_costs_retransmissions_and_no_more(
    clean: SessionResult, tmp_path: Path, fault: str
) -> None:
    faulty = run(
        POSIX_NULL,
        tmp_path,
        [*SMALL, f"sut.posix.faults.{fault}=0.001", "sut.posix.faults.seed=7"],
    )
    assert outputs(faulty) == outputs(clean)
    assert faulty.content["problems"] == []
    assert faulty.trials[0].retransmissions > 0 == clean.trials[0].retransmissions
    assert faulty.metrics["accuracy"].value == 1.0


@pytest.mark.parametrize("fault", ["drop", "duplicate", "flip"])
def test_in_the_text_layer_a_spoilt_byte_ends_the_run_with_its_name(
    firmware: Path, tmp_path: Path, fault: str
) -> None:
    faults = [
        f"sut.posix.faults.{fault}=0.004",
        "sut.posix.faults.seed=3",
        'sut.posix.layer="text"',
    ]
    with pytest.raises(RigError) as caught:
        run(POSIX_NULL, tmp_path, [*SMALL, *faults])
    assert isinstance(caught.value, ProtocolError | DeadlineError | SutError), (
        caught.value
    )
    assert caught.value.evidence


# Time stamps of the text layer are judged by the host's clock: the device has to get a
# processor.
@pytest.mark.paced
def test_the_text_layer_drives_the_same_firmware(
    firmware: Path, tmp_path: Path
) -> None:
    result = run(
        POSIX_ASC,
        tmp_path,
        [
            "task.asc.samples=2",
            'sut.posix.layer="text"',
            "scenario.single_stream.repeat=20",
        ],
    )
    assert result.content["problems"] == []
    assert result.metrics["latency_infer"].value > 0
    assert "latency_preprocess" not in result.metrics


def test_a_device_that_dies_in_the_middle_is_named_and_the_rest_readable(
    firmware: Path, tmp_path: Path
) -> None:
    with (
        pytest.raises(DeviceLost),
        open_bench(POSIX_NULL, [*SMALL, "sut.posix.die_after_queries=5"]) as bench,
    ):
        world = bench.context.world
        bench.run(1, tmp_path)
    assert not world.supply_on
    cut_off = next(
        finding
        for finding in check(next(tmp_path.iterdir())).findings
        if not finding.ok
    )
    assert "3 samples measured" in cut_off.detail, cut_off


def test_a_device_that_falls_silent_is_waited_for_as_long_as_the_query_may_take(
    firmware: Path, tmp_path: Path
) -> None:
    limits = ["sut.posix.mute_after_queries=5", "scenario.single_stream.limit_s=1.0"]
    started_s = time.monotonic()
    with pytest.raises(DeadlineError) as caught:
        run(POSIX_NULL, tmp_path, [*SMALL, *limits])
    assert 1.0 <= caught.value.waited_s < 3.0
    assert time.monotonic() - started_s < 20.0


def test_a_killed_device_is_named(firmware: Path, tmp_path: Path) -> None:
    with pytest.raises(DeviceLost), open_bench(POSIX_NULL, SMALL) as bench:
        kill_during(bench)
        bench.run(1, tmp_path)


def kill_during(bench: Bench) -> None:
    do = bench.sut.do
    left = iter(range(4))

    def deadly(step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        if isinstance(step, Load) and next(left, None) is None:
            subprocess.run(
                ["pkill", "-KILL", "-P", str(os.getpid()), "-x", "null"], check=True
            )
        return do(step, payloads)

    bench.sut.do = deadly  # type: ignore[method-assign]


def test_a_killed_rig_takes_the_device_along(firmware: Path, tmp_path: Path) -> None:
    process = started(
        *("run", POSIX_NULL, "--sessions", tmp_path, "--set", "task.null.samples=500"),
        cwd=ROOT,
    )
    lines = eventually(
        lambda: [
            path
            for path in tmp_path.glob("*/trial-1/completions.jsonl")
            if path.stat().st_size >= 5_000
        ],
        process=process,
    )
    children = captured(
        ["pgrep", "-P", str(process.pid), "-x", "null"], check=True
    ).stdout.split()
    assert len(children) == 1
    process.signal(signal.SIGKILL)
    process.ended()
    # The firmware's process does not outlive the rig's.
    eventually(lambda: not Path(f"/proc/{children[0]}").exists())
    checked = check(lines[0].parent.parent)
    assert checked.status == "killed"
    assert any("samples measured" in finding.detail for finding in checked.findings)


def test_the_monitor_keeps_up_with_a_million_samples_a_second(
    firmware: Path, tmp_path: Path
) -> None:
    result = run(
        POSIX_NULL,
        tmp_path,
        [
            *SMALL,
            "monitor.virtual.sample_hz=1_000_000",
            "scenario.single_stream.idle_s=1.0",
        ],
    )
    assert result.content["problems"] == []
    assert (result.folder / "trial-1" / "gaps.jsonl").read_text() == ""
    assert result.content["trials"][0]["timebase"]["residual_max_s"] < 2e-6


@pytest.mark.long
def test_the_example_suite_passes_on_the_posix_firmware(
    firmware: Path, tmp_path: Path
) -> None:
    bench = [
        "--rig-bench",
        str(POSIX_ASC),
        "--rig-set",
        "task.asc.samples=4",
        "--rig-set",
        "scenario.single_stream.idle_s=0.1",
    ]
    done = pytest_at(
        tmp_path, "-q", "-p", "no:cacheprovider", ROOT / "examples", *bench
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_byte_of_the_uart_log_is_named(
    firmware: Path, tmp_path: Path
) -> None:
    folder = run(POSIX_NULL, tmp_path, SMALL).folder
    log = folder / "trial-1" / "uart.log"
    log.write_text(log.read_text().replace("tx", "rx", 1))
    assert [finding.name for finding in check(folder).findings if not finding.ok] == [
        "trial-1/uart.log"
    ]


def test_a_phase_too_short_for_its_pulse_is_not_taken_for_a_latency(
    firmware: Path, tmp_path: Path
) -> None:
    short = run(
        POSIX_NULL,
        tmp_path,
        [
            *SMALL,
            "monitor.virtual.sample_hz=1_000_000",
            "scenario.single_stream.repeat=1",
        ],
    )
    assert {problem["code"] for problem in short.content["problems"]} == {"short"}


def test_the_probe_compares_the_workload_and_the_edges(firmware: Path) -> None:
    good = {finding.name: finding for finding in probe(POSIX_ASC)}
    assert good["workload"].ok and good["SYNC wire"].ok
    wrong = {
        finding.name: finding
        for finding in probe(POSIX_ASC, [f"sut.posix.program={firmware / 'null'}"])
    }
    assert not wrong["workload"].ok and "flash" in wrong["workload"].try_next


def test_results_name_the_firmware_they_come_from(
    firmware: Path, tmp_path: Path
) -> None:
    content = json.loads(
        (run(POSIX_NULL, tmp_path, SMALL).folder / "results.json").read_text()
    )
    assert "sha256" in content["provenance"]["sut"]["firmware"]
    assert content["simulated"] is True
