# SPDX-License-Identifier: Apache-2.0
"""The command line, as a person or a script meets it: output, errors, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import rig, started
from tests.conftest import ROOT, VIRTUAL_NULL
from tests.programs import captured
from tests.waiting import eventually

QUICK = ["--set", "task.null.samples=4", "--set", "scenario.single_stream.idle_s=0.05"]
#: A quarter of the bench's sampling rate.
QUARTER = "monitor.virtual.sample_hz=50_000"


def test_a_run_prints_table_verdict_and_report_and_exits_0(tmp_path: Path) -> None:
    done = rig("run", VIRTUAL_NULL, *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for word in ("SIMULATED", "energy_infer", "PASS", "report.html"):
        assert word in done.stdout
    folder = next((tmp_path / "sessions").iterdir())
    assert (folder / "report.html").exists()

    checked = rig("check", folder, cwd=tmp_path)
    assert checked.returncode == 0 and "byte for byte" in checked.stdout

    trace = folder / "trial-2" / "trace.jls"
    content = bytearray(trace.read_bytes())
    content[len(content) // 2] ^= 1
    trace.write_bytes(content)
    checked = rig("check", folder, cwd=tmp_path)
    assert checked.returncode == 1 and "trial-2/trace.jls" in checked.stdout
    # Refused before anything is computed, and so before it is found that the trace was
    # changed.
    (tmp_path / "claim.toml").write_text("energy_infre = 1\n")
    refused = rig("check", folder, "--claim", "claim.toml", cwd=tmp_path)
    assert refused.returncode == 2 and refused.stdout == ""
    assert "claim.energy_infre: the session has no such metric" in refused.stderr
    assert "did you mean energy_infer" in refused.stderr

    listed = rig("list", cwd=tmp_path)
    assert (
        folder.name in listed.stdout
        and ", SIMULATED" in listed.stdout
        and " PASS, " in listed.stdout
    )
    for word in ("virtual", "posix", "uart", "single_stream", "asc", "null"):
        assert word in listed.stdout


def test_json_is_alone_on_standard_output_and_wide_has_every_trial(
    tmp_path: Path,
) -> None:
    words = ("run", VIRTUAL_NULL, *QUICK, "--trials", "2")
    done = rig(*words, "--json", cwd=tmp_path)
    reported = json.loads(done.stdout)
    assert reported["outcome"] == "not tested" and done.returncode == 4
    [folder] = (tmp_path / "sessions").iterdir()
    assert Path(reported["session"]).name == folder.name
    assert reported["results"] == json.loads((folder / "results.json").read_text())
    assert "NOT TESTED" in done.stderr
    wide = rig(*words, "--wide", cwd=tmp_path).stdout
    assert "deviation of each trial" in wide and "same samples" in wide


def test_too_few_trials_are_not_tested_and_exit_4(tmp_path: Path) -> None:
    done = rig("run", VIRTUAL_NULL, *QUICK, "--trials", "2", cwd=tmp_path)
    assert done.returncode == 4
    assert "NOT TESTED" in done.stdout and "2 trials of the 5" in done.stdout


def test_a_false_verdict_exits_1(tmp_path: Path) -> None:
    claimed = ("--set", "claim.latency_total=1")
    done = rig("run", VIRTUAL_NULL, *QUICK, *claimed, cwd=tmp_path)
    assert done.returncode == 1
    assert "FAIL" in done.stdout and "latency_total deviates by" in done.stdout


def test_the_plan_is_printed_without_a_device(tmp_path: Path) -> None:
    done = rig(
        "plan",
        ROOT / "benches" / "posix-null.toml",
        "--set",
        "sut.posix.program=/nonexistent",
        "--all",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    listed = [line for line in done.stdout.splitlines() if "query sample" in line]
    assert len(listed) == 22 and sum("warm-up" in line for line in listed) == 2
    assert (
        "20 loads" not in done.stdout
        and "22 loads, 22 queries, 2 idle times" in done.stdout
    )


def test_the_probe_of_the_virtual_bench_finds_no_fault(tmp_path: Path) -> None:
    done = rig("probe", VIRTUAL_NULL, cwd=tmp_path)
    assert done.returncode == 0 and "8 edges at the monitor" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", "nosuch.toml"], 2, "cannot be read"),
        (
            ["run", str(VIRTUAL_NULL), "--set", "sut.virtual.clok_ppm=1"],
            2,
            "did you mean clock_ppm",
        ),
        (
            ["run", str(VIRTUAL_NULL), "--set", "sut.uart.port=/dev/ttyNOSUCH"],
            3,
            "/dev/ttyNOSUCH",
        ),
        (
            ["run", str(VIRTUAL_NULL), "--set", "sut.posix.program=/nosuch"],
            3,
            "/nosuch",
        ),
        (["run", str(VIRTUAL_NULL), "--trials", "0"], 2, "trials"),
        (
            ["run", str(VIRTUAL_NULL), "--sessions", "/proc/nosuch"],
            3,
            "cannot be written",
        ),
        (
            ["run", str(VIRTUAL_NULL), "--sessions", str(VIRTUAL_NULL)],
            3,
            "cannot be written",
        ),
        (["check", "nosuch"], 2, "nosuch"),
        (["check", "."], 2, "no session folder"),
        (["report", "."], 2, "try:"),
        (["bogus"], 2, "rig has no command bogus"),
    ],
)
def test_bad_input_is_an_error_with_a_cause_and_an_exit_code(
    tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    done = rig(*words, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_changes_neither_the_run_nor_its_exit_code(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "rig", "run", str(VIRTUAL_NULL), *QUICK]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read().decode()
    assert process.wait(timeout=60) == 0, errors
    process.stderr.close()
    assert next((tmp_path / "sessions").iterdir()).joinpath("report.html").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_keeps_what_was_measured(
    tmp_path: Path, how: signal.Signals
) -> None:
    if signal.getsignal(how) is signal.SIG_IGN:
        pytest.skip("what this process ignores, as under nohup, its children ignore")
    process = started(
        "run", VIRTUAL_NULL, "--set", "task.null.samples=3000", cwd=tmp_path
    )
    lines = eventually(
        lambda: [
            path
            for path in tmp_path.glob("sessions/*/trial-1/completions.jsonl")
            if path.stat().st_size >= 5_000
        ],
        process=process,
    )
    process.signal(how)
    done = process.ended(60.0)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    folder = lines[0].parent.parent.relative_to(tmp_path)
    assert done.stderr.strip().splitlines() == [
        "stopped",
        "  the supply is off",
        f"  {folder} is kept",
        f"  try: rig resume {folder}",
    ]
    checked = rig("check", folder, cwd=tmp_path)
    assert checked.returncode == 1
    assert "status abort" in checked.stdout and "samples measured" in checked.stdout


@pytest.mark.skipif(
    os.geteuid() != 0 or sys.platform != "linux",
    reason="mounting a small disk needs root",
)
def test_a_full_disk_ends_the_run_with_a_message_and_loses_no_data(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = captured(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(disk)])
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        words = (
            "run",
            VIRTUAL_NULL,
            "--sessions",
            disk,
            "--set",
            "task.null.samples=3000",
        )
        refused = rig(*words, cwd=tmp_path)
        assert (
            refused.returncode == 3 and "has no room for this session" in refused.stderr
        )
        assert list(disk.iterdir()) == []
        # Another program fills the disk while the session runs.
        process = started(*words, "--trials", "1", "--set", QUARTER, cwd=tmp_path)
        eventually(
            lambda: list(disk.glob("*/trial-1/trace.jls.partial")), 60.0, process
        )
        with (disk / "other").open("wb") as other:
            os.posix_fallocate(other.fileno(), 0, 150 << 20)
        done = process.ended(120.0)
        (disk / "other").unlink()
        assert done.returncode == 3, done.stderr
        assert "full" in done.stderr and "Traceback" not in done.stderr
        checked = rig("check", next(disk.iterdir()), cwd=tmp_path)
        assert "status fail" in checked.stdout and "samples measured" in checked.stdout
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_task_brings_commands_of_its_own(tmp_path: Path) -> None:
    assert "qubo" in rig("--help", cwd=tmp_path).stdout
    verified = rig("qubo", "targets", "--verify", "--nodes", "10", cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
    assert "20 of 20 vectors cost what the table says" in verified.stdout
