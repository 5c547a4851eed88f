# SPDX-License-Identifier: Apache-2.0
"""`rig serve` on one side and `rig run` on the other: the outputs are those of a direct
run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rig.session.session import open_bench
from tests.checking import check
from tests.commands import rig
from tests.uncounted import uncounted
from tests.waiting import eventually

BENCH = """
[bench]
name = "served"
trials = 3
[sut.{kind}]
{settings}
[monitor.none]
[scenario.single_stream]
idle_s = 0.05
warmup = 1
[task.{task}]
samples = 6
"""


@contextmanager
def served(bench: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a bench; give the process and the port that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rig", "serve", str(bench), *words],
        env=uncounted(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stderr
    try:
        port = ""
        for line in process.stdout:
            if line.startswith("port = "):
                port = json.loads(line.partition("=")[2])
                break
        assert port, process.stderr.read()
        yield process, port
    finally:
        process.kill()
        process.communicate()


def outputs(session: Path) -> list[tuple[object, ...]]:
    """Return the answers and their requests, trial by trial."""
    rows = []
    for trial in sorted(session.glob("trial-*/completions.jsonl")):
        for text in trial.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            facts = (line["kind"], line.get("indices"), line["output"])
            rows.append((trial.parent.name, *facts, line["iterations"]))
    return rows


def session(folder: Path, *words: str | Path) -> Path:
    """Run a bench file; return the folder of its session."""
    done = rig("run", *words, "--sessions", folder)
    (result,) = folder.iterdir() if folder.exists() else [None]
    assert result is not None and done.returncode in (0, 1, 4), (
        done.stdout + done.stderr
    )
    return result


def write(folder: Path, kind: str, task: str, settings: str = "") -> Path:
    path = folder / f"{kind}.toml"
    path.write_text(
        BENCH.format(kind=kind, task=task, settings=settings), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize(
    ("kind", "task", "words"),
    [("virtual", "null", ("--pty",)), ("cpu", "asc", ("--tcp", "0"))],
    ids=["virtual over pty", "cpu over tcp"],
)
def test_a_session_over_a_served_device_has_the_outputs_of_a_direct_one(
    tmp_path: Path, kind: str, task: str, words: tuple[str, ...]
) -> None:
    bench = write(tmp_path, kind, task)
    with open_bench(bench) as opened:
        direct = opened.run(3, tmp_path / "direct").folder
    with served(bench, *words) as (process, port):
        simulated = "simulated = true" if kind == "virtual" else ""
        remote = write(tmp_path, "uart", task, f'port = "{port}"\n{simulated}')
        over = session(tmp_path / "over", remote)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert outputs(over) == outputs(direct) and len(outputs(over)) > 30
    assert (process.returncode, errors) == (0, "")
    assert "the device and the port are closed" in output
    assert check(over).ok
    facts = json.loads((over / "provenance.json").read_text(encoding="utf-8"))
    assert "served by neurorig" in json.dumps(facts)


def test_a_server_that_is_killed_is_named_by_the_host_and_can_be_begun_again(
    tmp_path: Path,
) -> None:
    bench = write(tmp_path, "virtual", "null")
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    url = f"socket://127.0.0.1:{number}"
    remote = write(tmp_path, "uart", "null", f'port = "{url}"\nsimulated = true')
    remote.write_text(
        remote.read_text().replace("idle_s = 0.05", "idle_s = 60"), encoding="utf-8"
    )
    with served(bench, "--tcp", str(number)) as (process, _):
        run = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "rig",
                "run",
                str(remote),
                "--sessions",
                str(tmp_path / "s"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        log = lambda: next((tmp_path / "s").glob("*/trial-1/uart.log"), None)  # noqa: E731
        eventually(
            lambda: (result := log()) and result.stat().st_size > 500, process=run
        )
        os.kill(process.pid, signal.SIGKILL)
        output, _ = run.communicate(timeout=120)
    assert run.returncode in (1, 3) and "is gone" in output
    with served(bench, "--tcp", str(number)) as (_, port):
        assert port == url
        probed = rig("probe", remote)
        assert "answer: virtual device" in probed.stdout, probed.stdout


def test_another_address_is_warned_of_and_a_place_to_serve_at_must_be_named(
    tmp_path: Path,
) -> None:
    bench = write(tmp_path, "virtual", "null")
    unsaid = rig("serve", bench)
    assert unsaid.returncode == 2 and "--pty" in unsaid.stderr
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rig",
            "serve",
            str(bench),
            "--tcp",
            "0",
            "--listen",
            "0.0.0.0",
        ],
        env=uncounted(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    first = process.stdout.readline()
    process.terminate()
    process.communicate(timeout=30)
    assert first.startswith("warning: whoever reaches 0.0.0.0")
