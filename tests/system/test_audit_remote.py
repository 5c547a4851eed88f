# SPDX-License-Identifier: Apache-2.0
"""An audit of a device on another computer: `rig serve` with TLS and a token in a
network namespace of its own where that is permitted, else in a process of its own.

The truth is the pace of the served device: block_ns of the claimed one is 100.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rig.results.audit_file import AuditOutcome
from rig.session.session import open_bench
from tests.programs import captured
from tests.rig.audit.test_audit import command, read
from tests.sut_backends.served.test_tls import TOKEN, certificate
from tests.uncounted import uncounted

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl"),
]

CLAIMED_NS = 100
DEVICE = """
[sut.posix]
program = "{program}"
block_ns = {block_ns}
[monitor.none]
[scenario.single_stream]
idle_s = 0.05
[task.asc]
samples = 2
"""
AUDITOR = """
[bench]
name = "auditor"
[sut.uart]
port = "{port}"
tls_fingerprint = "{fingerprint}"
token_file = "{token}"
simulated = true
[monitor.none]
"""


@dataclass(frozen=True)
class OtherMachine:
    """Words before a command that run it on the other machine, and its address."""

    words: tuple[str, ...]
    address: str


@contextmanager
def other_machine() -> Iterator[OtherMachine]:
    """Make a network namespace with a line to this one, or fall back to this one."""
    name = f"rig{os.getpid()}"
    number = os.getpid() % 200 + 20
    near, far = f"10.213.{number}.1", f"10.213.{number}.2"
    inside = ("ip", "netns", "exec", name)
    pair = (f"{name}a", "type", "veth", "peer", "name", f"{name}b")
    made = [
        ("ip", "netns", "add", name),
        ("ip", "link", "add", *pair),
        ("ip", "link", "set", f"{name}b", "netns", name),
        ("ip", "addr", "add", f"{near}/24", "dev", f"{name}a"),
        ("ip", "link", "set", f"{name}a", "up"),
        (*inside, "ip", "addr", "add", f"{far}/24", "dev", f"{name}b"),
        (*inside, "ip", "link", "set", f"{name}b", "up"),
    ]
    try:
        is_apart = shutil.which("ip") is not None and all(
            captured(list(words)).returncode == 0 for words in made
        )
        if is_apart:
            yield OtherMachine(inside, far)
        else:
            yield OtherMachine((), "127.0.0.1")
    finally:
        if shutil.which("ip") is not None:
            captured(["ip", "link", "del", f"{name}a"])
            captured(["ip", "netns", "del", name])


@contextmanager
def served(bench: Path, machine: OtherMachine, folder: Path) -> Iterator[Path]:
    """Serve a bench on the other machine; yield the auditor's bench."""
    cert, key = certificate(folder, "board", "-days", "30")
    token = folder / "token"
    token.write_text(TOKEN)
    words = ["serve", bench, "--tcp", "0", "--listen", machine.address]
    words += ["--tls-cert", cert, "--tls-key", key, "--token-file", token]
    rig = [sys.executable, "-m", "rig", *map(str, words)]
    process = subprocess.Popen(
        [*machine.words, *rig],
        env=uncounted(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    stated: dict[str, str] = {}
    try:
        for line in process.stdout:
            name, _, value = line.partition(" = ")
            if name in ("port", "tls_fingerprint"):
                stated[name] = json.loads(value)
            if len(stated) == 2:
                break
        path = folder / "auditor.toml"
        fingerprint = stated["tls_fingerprint"]
        path.write_text(
            AUDITOR.format(port=stated["port"], fingerprint=fingerprint, token=token)
        )
        yield path
    finally:
        process.terminate()
        process.communicate(timeout=30)


def device(folder: Path, program: Path, block_ns: int) -> Path:
    path = folder / f"device-{block_ns}.toml"
    path.write_text(DEVICE.format(program=program, block_ns=block_ns))
    return path


def test_a_device_of_another_machine_is_audited(
    firmware: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = firmware / "asc"
    with open_bench(device(tmp_path, program, CLAIMED_NS)) as bench:
        claim = bench.run(1, tmp_path / "claim").folder
    names = read(claim).stored.metrics
    latencies = [name for name in names if name.startswith("latency_")]
    due = {103: AuditOutcome.CONFIRMED, 108: AuditOutcome.AUDITOR}
    with other_machine() as machine:
        for block_ns, verdict in due.items():
            own = device(tmp_path, program, block_ns)
            with served(own, machine, tmp_path) as path:
                to = tmp_path / f"audit-{block_ns}"
                words = ("--bench", path, "--to", to, "--trials", "2")
                code, said, _ = command("audit", claim, *words)
            assert machine.address in path.read_text()
            assert (code, "SIMULATED" in said) == (block_ns == 108, True), said
            [session] = json.loads((to / "audit.json").read_text())["sessions"]
            assert session["trials"] == 2 and session["unlike"] == []
            for name in latencies:
                metric = session["metrics"].get(name)
                if metric is None:
                    continue
                assert metric["verdict"] == verdict, (name, metric)
                ratio = metric["audited"]["value"] / metric["claimed"]["value"]
                assert ratio == pytest.approx(block_ns / CLAIMED_NS, rel=0.005)
            assert session["metrics"]["latency_total"]["verdict"] == verdict
            files = [each for each in to.rglob("*") if each.is_file()]
            assert not [each for each in files if TOKEN.encode() in each.read_bytes()]
