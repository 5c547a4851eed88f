# SPDX-License-Identifier: Apache-2.0
"""Benches without an energy monitor: valid trials by the device's own clock, no energy
and the reason why, for every kind of device and scenario.
"""

from __future__ import annotations

import json
import math
import re
import signal
import tomllib
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path

import pytest

from benchmarks.paced_line import PacedLine
from rig.bench import config
from rig.bench.probe import probe
from rig.errors import ConfigError
from rig.report.report import write_report
from rig.session.session import SessionResult, open_bench, resume
from tests.checking import check
from tests.commands import rig, started
from tests.conftest import ROOT
from tests.scenarios.mlperf_tiny.test_scenario import AUC, ENERGY, THROUGHPUT, TOP_1
from tests.sut_backends.uart.public_device import Build, PublicDevice
from tests.waiting import eventually

BENCHES = ROOT / "benches"
#: An energy, a power or a trace: a session without a monitor has none.
ENERGETIC = re.compile(r"(energy|power)_")


def run(
    bench: str | Path, folder: Path, *overrides: str, trials: int = 1
) -> SessionResult:
    with open_bench(BENCHES / bench, overrides) as opened:
        return opened.run(trials, folder)


def assert_sound(result: SessionResult, simulated: bool) -> None:
    """Say of a session what holds of every one without a monitor."""
    content = result.content
    assert content["problems"] == []
    assert all(
        trial["valid"] and trial["timebase"] is None for trial in content["trials"]
    )
    assert content["simulated"] is simulated
    assert content["monitor"] == "no energy monitor"
    assert content["provenance"]["monitors"] == {}
    assert content["provenance"]["device_clock"]["limit_ppm"] == 100.0
    assert "assumed" in content["provenance"]["device_clock"]["source"]
    assert not [name for name in content["metrics"] if ENERGETIC.match(name)]
    reasons = {
        reason
        for name, reason in content["absent"].items()
        if name.startswith("power_idle")
    }
    assert reasons in ({"there is no energy monitor: [monitor.none]"}, set())
    assert not list(result.folder.rglob("trace*")) and not list(
        result.folder.rglob("gaps*")
    )
    texts = [path.read_text() for path in result.folder.rglob("samples.jsonl")]
    for line in chain.from_iterable(map(str.splitlines, texts)):
        assert all(
            window["energy_j"] is None for window in json.loads(line).get("windows", ())
        )
    checked = check(result.folder)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    page = write_report(result.folder).read_text(encoding="utf-8")
    assert "No energy:" in page and "which nothing checks" in page
    assert ("SIMULATED" in page) is simulated
    lines = list(
        chain.from_iterable(trial.get("lines", ()) for trial in content["trials"])
    )
    assert all(("simulated" in line) is simulated for line in lines)


def test_asc_on_the_firmware_has_accuracy_and_latency_and_says_how_sure_the_clock_is(
    firmware: Path, tmp_path: Path
) -> None:
    result = run(
        "posix-no-monitor.toml",
        tmp_path,
        f"sut.posix.program={firmware / 'asc'}",
        "task.asc.samples=4",
    )
    assert_sound(result, simulated=True)
    latency = result.content["metrics"]["latency_total"]
    clock = next(
        part for part in latency["budget"] if part["component"] == "device clock"
    )
    assert clock["standard_uncertainty"] == pytest.approx(
        latency["value"] * 100e-6 / math.sqrt(3), rel=1e-9
    )
    assert (clock["type"], clock["shape"], clock["counted"]) == (
        "B",
        "rectangular",
        True,
    )
    assert {"energy_total", "power_active", "energy_dynamic"} <= set(
        result.content["absent"]
    )


def test_latency_is_that_of_the_device_and_its_interval_holds_the_truth(
    tmp_path: Path,
) -> None:
    # The virtual device's clock is 60 ppm fast, within the limit that is stated of it.
    exact = [f"sut.virtual.{phase}.variation=0.0" for phase in ("preprocess", "infer")]
    result = run(
        "virtual-null.toml", tmp_path, "monitor.none.clock_ppm=100.0", *exact, trials=5
    )
    assert result.ok
    metric = result.content["metrics"]["latency_infer"]
    low, high = (metric["same_samples"][end] for end in ("low", "high"))
    assert low < 0.042 < high
    assert metric["value"] == pytest.approx(0.042 * (1 + 60e-6), rel=5e-6)
    assert high - low < 0.042 * 200e-6


def test_the_limit_of_the_clock_is_stated_in_the_bench_with_its_source(
    tmp_path: Path,
) -> None:
    result = run(
        "virtual-null.toml",
        tmp_path,
        "monitor.none.clock_ppm=10_000.0",
        "monitor.none.clock_source=HSI16, DS12991 table 47",
    )
    clock = result.content["provenance"]["device_clock"]
    assert clock == {"limit_ppm": 10_000.0, "source": "HSI16, DS12991 table 47"}
    parts = result.content["metrics"]["latency_infer"]["budget"]
    assert parts[0]["component"] == "device clock"
    unsaid = run(
        "virtual-null.toml", tmp_path / "unsaid", "monitor.none.clock_ppm=500.0"
    )
    assert (
        unsaid.content["provenance"]["device_clock"]["source"]
        == "the bench file, which gives no source"
    )
    for wrong in ("-1.0", "nan", "1e9"):
        with pytest.raises(ConfigError, match=r"monitor\.none\.clock_ppm"):
            run("virtual-null.toml", tmp_path, f"monitor.none.clock_ppm={wrong}")


@pytest.mark.parametrize(
    ("bench", "overrides", "named"),
    [
        ("virtual-asc.toml", ["task.asc.samples=10"], "latency_total"),
        ("virtual-offline.toml", [], "throughput"),
        (
            "virtual-real-time.toml",
            ["scenario.real_time.duration_s=20"],
            "latency_response",
        ),
        (
            "virtual-qubo.toml",
            [
                "task.qubo.nodes=[100]",
                "task.qubo.densities=[0.25]",
                "task.qubo.seeds=[0]",
                "scenario.optimization.timeouts_s=[0.01]",
            ],
            "gap_10ms",
        ),
        ("virtual-tiny.toml", [], "throughput"),
        ("virtual-tiny.toml", ["scenario.tiny.mode=accuracy"], "accuracy"),
    ],
)
def test_every_scenario_does_without_a_monitor(
    bench: str, overrides: list[str], named: str, tmp_path: Path
) -> None:
    cache = [f"task.mlperf_tiny.cache={tmp_path / 'cache'}"] if "tiny" in bench else []
    result = run(
        bench, tmp_path / "sessions", "monitor.none.clock_ppm=100.0", *overrides, *cache
    )
    assert_sound(result, simulated=True)
    assert named in result.metrics
    for trial in result.content["trials"]:
        assert not any(
            "nan" in line or ", -" in line for line in trial.get("lines", ())
        )


def test_this_computer_is_no_simulation_and_needs_no_energy_counters(
    tmp_path: Path,
) -> None:
    few = ["task.asc.samples=4", "monitor.none.clock_ppm=100.0"]
    assert_sound(run("cpu-asc-virtual.toml", tmp_path, *few), simulated=False)


@pytest.fixture
def device() -> Iterator[PublicDevice]:
    """Return a device that speaks the text protocol on a port, without a sign that it
    is simulated.
    """
    # At 9600 baud: it waits for each byte that it says, and its messages lie in its
    # windows.
    with PublicDevice(Build(infer_s=0.05, byte_s=10 / 9600)) as device:
        yield device


def tiny(port: str, folder: Path, *overrides: str) -> SessionResult:
    data = [f"task.mlperf_tiny.cache={folder / 'cache'}", "task.mlperf_tiny.files=12"]
    return run(
        "uart-tiny.toml",
        folder / "sessions",
        f"sut.uart.port={port}",
        *data,
        *overrides,
    )


def unmarked(line: str) -> str:
    """Return a line of results without the mark that its data are generated."""
    return line.replace("[generated data] ", "")


@pytest.mark.long
def test_a_performance_run_of_a_text_device_at_9600_baud_is_valid_and_in_the_words_of_the_benchmark(
    device: PublicDevice, tmp_path: Path
) -> None:
    with PacedLine(device.port, 9600, 0.001) as line:
        result = tiny(line.path, tmp_path, "sut.uart.baud=9600")
    assert_sound(result, simulated=False)
    first, throughput = result.content["trials"][0]["lines"]
    assert first.startswith("neurorig, generated data: 5 windows of 10.")
    # An inference takes 50 ms and the excess of the host's sleep.
    assert THROUGHPUT.match(throughput) is None
    assert 18 < float(THROUGHPUT.match(unmarked(throughput))[1]) <= 20.0  # type: ignore[index]
    assert (result.folder / "trial-1" / "results.txt").read_text().splitlines() == [
        first,
        throughput,
    ]
    text = (result.folder / "trial-1" / "samples.jsonl").read_text()
    rows = map(json.loads, text.splitlines())
    windows = chain.from_iterable(row.get("windows", ()) for row in rows)
    lengths_s = [window["stop_s"] - window["start_s"] for window in windows]
    # On a busy computer a window may come out short, and is then asked for again.
    assert sum(length_s >= 10.0 for length_s in lengths_s) == 5
    assert (
        len(lengths_s) == 5 or f"; {len(lengths_s) - 5} repeated, as too short" in first
    )


def test_an_accuracy_run_of_a_text_device_is_valid_and_in_the_words_of_the_benchmark(
    tmp_path: Path,
) -> None:
    with PublicDevice() as device:
        result = tiny(
            device.port,
            tmp_path,
            "scenario.tiny.mode=accuracy",
            "sut.uart.baud=115_200",
        )
    assert_sound(result, simulated=False)
    files, *quality = result.content["trials"][0]["lines"]
    assert files == "neurorig, generated data: 12 files, 12 inferences"
    plain = [unmarked(line) for line in quality]
    pairs = product((TOP_1, AUC), plain)
    assert sum(bool(pattern.match(line)) for pattern, line in pairs) == 2
    pairs = product((TOP_1, AUC), quality)
    assert not any(pattern.match(line) for pattern, line in pairs)
    assert not any(ENERGY.search(line) for line in quality)


def test_energy_cannot_be_asked_for_and_a_device_that_tells_no_time_cannot_be_timed(
    tmp_path: Path,
) -> None:
    with (
        PublicDevice() as device,
        pytest.raises(ConfigError, match="asks for energy, and there is no monitor"),
    ):
        tiny(device.port, tmp_path, "scenario.tiny.mode=energy")
    with (
        PublicDevice(Build(energy=True)) as device,
        pytest.raises(ConfigError, match="reports no time"),
    ):
        tiny(device.port, tmp_path)


def test_a_plan_needs_no_monitor_and_a_run_needs_a_word_about_it(
    tmp_path: Path,
) -> None:
    text = (
        (BENCHES / "virtual-null.toml")
        .read_text()
        .replace("[monitor.virtual]\nsample_hz = 200_000\n", "")
    )
    (tmp_path / "bench.toml").write_text(text)
    assert "monitor" not in text
    assert rig("plan", tmp_path / "bench.toml").returncode == 0
    refused = rig("run", tmp_path / "bench.toml", "--sessions", tmp_path)
    assert refused.returncode == 2
    assert "none" in refused.stderr


def test_the_bench_file_in_the_session_says_that_there_is_none(tmp_path: Path) -> None:
    result = run(
        "virtual-null.toml",
        tmp_path,
        "monitor.none.clock_ppm=50.0",
        "task.null.samples=2",
    )
    stored = tomllib.loads((result.folder / "bench.toml").read_text())["monitor"]
    assert stored == {
        "none": {
            "clock_ppm": 50.0,
            "clock_source": "the bench file, which gives no source",
        }
    }
    assert config.load(result.folder / "bench.toml").monitors == {}


def test_a_rail_that_is_not_measured_is_left_out(tmp_path: Path) -> None:
    text = (
        (BENCHES / "virtual-null.toml")
        .read_text()
        .replace("[monitor.virtual]", "[rail.core.none]\n[rail.io.virtual]")
    )
    (tmp_path / "bench.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"rail\.core\.none"):
        config.load(tmp_path / "bench.toml")


def test_probe_says_that_there_is_none_and_asks_for_no_sync_wire() -> None:
    with PublicDevice() as device:
        findings = list(
            probe(
                BENCHES / "uart-tiny.toml",
                [f"sut.uart.port={device.port}", "task.mlperf_tiny.files=12"],
            )
        )
    assert [finding for finding in findings if not finding.ok] == []
    result = {finding.name: finding.detail for finding in findings}
    assert "the device's own time stamps are the clock" in result["monitor"]
    assert not [name for name in result if name.startswith("SYNC wire")]


def test_a_session_that_was_killed_goes_on_after_the_last_step_that_was_reported(
    firmware: Path, tmp_path: Path
) -> None:
    running = started(
        *(
            "run",
            BENCHES / "posix-no-monitor.toml",
            "--trials",
            "1",
            "--sessions",
            tmp_path,
        ),
        *("--set", f"sut.posix.program={firmware / 'asc'}"),
        cwd=ROOT,
    )
    eventually(
        lambda: [
            path
            for path in tmp_path.glob("*/trial-1/completions.jsonl")
            if len(path.read_text().splitlines()) >= 8
        ],
        process=running,
    )
    running.signal(signal.SIGKILL)
    running.ended()
    (folder,) = tmp_path.iterdir()
    assert [
        f.detail
        for f in check(folder).findings
        if "cut off" in f.detail and "marks" in f.detail
    ]
    resumed = resume(folder)
    assert_sound(resumed, simulated=True)
    assert resumed.content["trials"][0]["segments"] == 2
    assert resumed.content["samples"]["per_trial"] == [40]
