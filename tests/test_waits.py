# SPDX-License-Identifier: Apache-2.0
"""Every wait for something outside ends within the limit that docs/reference/WAITS.md
states."""

from __future__ import annotations

import ast
import os
import pty
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from drivers.host_counters.recording import CounterRecording, Polling
from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from rig.bench.supply_watchdog import SupplyWatchdog
from rig.check import signature, witness
from rig.errors import BenchError, ConfigError, DataError, DeadlineError, DeviceNotFound
from rig.host.kill_with_parent import KillWithParent
from rig.host.python_child import PythonChild
from rig.host.serial_port import SerialPort
from rig.interfaces.context import BenchContext
from rig.live.observers import Observers
from rig.store import provenance
from rig.submission import mlperf_tiny
from rig.trace import fingerprint, recovery
from scenarios.tasks.qubo.library import Library
from sut_backends.hosted.posix import DutProcess
from sut_backends.hosted.qemu import EmulatorProcess
from sut_backends.lines.socket import SocketLine
from sut_backends.processes.child_process import ChildProcess
from sut_backends.sdk import installer
from sut_backends.served.endpoints import PtyEndpoint, TcpEndpoint
from tests.conftest import ROOT
from tests.drivers.host_counters.test_rapl import Scripted
from tests.sources import parsed
from tests.traces import trace_writer
from tests.waiting import eventually

#: The limit set for these tests, and the machine's extra time.
SHORT_S = 0.1
SLACK_S = 9.0
HZ = 1000
HANGS = "#!/bin/sh\nexec sleep 600\n"


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    program = tmp_path / "hangs"
    program.write_text(HANGS)
    program.chmod(0o755)
    return program


@pytest.fixture
def short(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Set a limit, and require that the wait ends."""
    monkeypatch.setattr(request.param, SHORT_S)
    began_s = time.monotonic()
    yield
    assert time.monotonic() - began_s < SLACK_S


def limit(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("short", [name], indirect=True)


@limit("rig.host.serial_port._WRITE_TIMEOUT_S")
@pytest.mark.usefixtures("short")
def test_a_port_that_takes_no_byte() -> None:
    host, device = pty.openpty()
    port = SerialPort.open(os.ttyname(device), 115_200)
    try:
        with pytest.raises(DeadlineError, match="room to write"):
            port.write(bytes(1_000_000))
    finally:
        # Unread bytes are dropped with the other end; else closing waits for it.
        os.close(host)
        port.close()
        os.close(device)


@limit("sut_backends.lines.socket._WRITE_TIMEOUT_S")
@pytest.mark.usefixtures("short")
def test_an_emulated_line_that_takes_no_byte() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = SocketLine(ours, "line", 115_200, lambda direction, block: None)
        with pytest.raises(DeadlineError, match="room to write"):
            line.write(bytes(10_000_000))


@limit("sut_backends.hosted.posix._START_S")
@pytest.mark.usefixtures("short")
def test_a_firmware_process_that_does_not_say_its_port(hanging: Path) -> None:
    with pytest.raises(DeviceNotFound, match="does not start") as caught:
        DutProcess(hanging, (), 1)
    assert "it still runs" in caught.value.evidence


@limit("sut_backends.hosted.qemu._VERSION_S")
@pytest.mark.usefixtures("short")
def test_an_emulator_that_does_not_say_its_version(
    hanging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(hanging.parent), prepend=os.pathsep)
    image = tmp_path / "image.elf"
    image.write_bytes(b"\x7fELF")
    with pytest.raises(BenchError, match="does not say its version"):
        EmulatorProcess(hanging.name, "mps2-an385", image, 5)


@limit("sut_backends.processes.child_process._END_S")
@pytest.mark.usefixtures("short")
def test_a_process_that_does_not_end_when_it_is_asked_to() -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('in', flush=True); time.sleep(600)"  # until it is killed
    )
    child = ChildProcess([sys.executable, "-c", code], (), what="it", try_next="")
    assert child._process.stdout is not None
    child._process.stdout.readline()
    child.close()
    assert child._process.returncode == -9


@pytest.mark.parametrize("what", ["watchdog", "holder"])
def test_a_process_of_our_own_that_does_not_end_when_it_is_released(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("rig.bench.supply_watchdog._LEAVE_S", SHORT_S)
    monkeypatch.setattr("rig.host.kill_with_parent._LEAVE_S", SHORT_S)
    if what == "watchdog":
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        sleeps = (
            "import time; print('ready', flush=True); time.sleep(600)  # until it is"
            " killed"
        )
        (tmp_path / "deaf_child.py").write_text(sleeps)
        with SupplyWatchdog() as watchdog:
            watchdog._child = PythonChild("deaf_child", (), "a deaf child")
        assert watchdog._child.process.returncode == -9
    else:
        deaf = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
        holder = KillWithParent(os.getpid())
        real, holder._holder = holder._holder, deaf
        holder.close()
        holder._holder = real
        holder.close()
        assert deaf.returncode == -9


@limit("rig.live.observers._END_S")
@pytest.mark.usefixtures("short")
def test_an_observer_that_does_not_return() -> None:
    go_on = threading.Event()
    observers = Observers((lambda block: bool(go_on.wait(SLACK_S)),))  # type: ignore[list-item]
    observers._put(None)  # type: ignore[arg-type]
    observers.close()
    go_on.set()


@limit("rig.trace.recovery._LIMIT_S")
@pytest.mark.usefixtures("short")
def test_a_recovery_of_a_trace_that_does_not_end(
    hanging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(hanging))
    with trace_writer(tmp_path, HZ, sync_kind="none") as writer:
        writer.analog(np.ones(HZ), np.ones(HZ))
    partial = (tmp_path / "trace.jls").rename(tmp_path / "partial.jls")
    with pytest.raises(DataError, match="was not recovered in time") as caught:
        recovery.recover(partial, tmp_path / "trace.jls")
    assert "not done after 0.3 s" in caught.value.evidence
    left = {path.name for path in tmp_path.iterdir()} - {hanging.name}
    assert left == {"gaps.jsonl", "partial.jls"}


@limit("rig.trace.fingerprint._LIMIT_S")
@pytest.mark.usefixtures("short")
def test_a_trace_whose_reader_does_not_end(
    hanging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(hanging))
    trace = tmp_path / "trace.jls"
    trace.write_bytes(b"")
    (result,) = fingerprint.read([trace]).values()
    assert "was not done after" in result.fault


@limit("rig.check.signature._LIMIT_S")
@pytest.mark.usefixtures("short")
def test_a_signature_that_is_never_judged(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signature, "_PROGRAM", str(hanging))
    with pytest.raises(ConfigError, match="was not done after"):
        signature._run(["verify"], b"")


@limit("rig.check.signature._SIGN_S")
@pytest.mark.usefixtures("short")
def test_a_signature_that_is_never_made(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signature, "_PROGRAM", str(hanging))
    with pytest.raises(ConfigError, match="was not done after"):
        signature.made(b"", hanging)


@limit("rig.check.witness._LIMIT_S")
@pytest.mark.usefixtures("short")
def test_a_time_stamp_that_is_never_judged(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "_PROGRAM", str(hanging))
    with pytest.raises(ConfigError, match="was not done after"):
        witness._run(["ts"])


@limit("rig.submission.mlperf_tiny._CHECKER_S")
@pytest.mark.usefixtures("short")
def test_a_submission_checker_that_hangs(
    hanging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(hanging))
    program = tmp_path / "tools" / "submission" / "submission_checker.py"
    program.parent.mkdir(parents=True)
    program.touch()
    with pytest.raises(DeadlineError):
        mlperf_tiny.checked(tmp_path, tmp_path)


@limit("rig.store.provenance._GIT_S")
@pytest.mark.usefixtures("short")
def test_a_git_that_hangs_leaves_the_revision_unknown(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging.rename(hanging.with_name("git"))
    monkeypatch.setenv("PATH", str(hanging.parent), prepend=os.pathsep)
    (hanging.parent / ".git").mkdir()
    found = provenance.revision(hanging.parent)
    assert str(found) == f"not known: git did not answer within {SHORT_S:g} s"


@limit("scenarios.tasks.qubo.library._LIMIT_S")
@pytest.mark.usefixtures("short")
def test_a_compiler_that_hangs(hanging: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging.rename(hanging.with_name("cc"))
    monkeypatch.setenv("PATH", str(hanging.parent), prepend=os.pathsep)
    with pytest.raises(BenchError, match="was not compiled within"):
        Library("solver", ()).compiled(hanging.parent)


@limit("sut_backends.served.endpoints._WRITE_S")
@pytest.mark.usefixtures("short")
def test_a_host_of_rig_serve_that_reads_no_byte() -> None:
    endpoint = TcpEndpoint("127.0.0.1", 0)
    with closing(endpoint), socket.create_connection(address_of(endpoint.url)) as host:
        host.sendall(b"x")
        assert eventually(lambda: endpoint.read(0.1)) == b"x"
        endpoint.write(bytes(50_000_000))
        assert endpoint.read(0.0) == b""


@limit("sut_backends.served.endpoints._AGAIN_S")
@pytest.mark.usefixtures("short")
def test_a_pseudo_terminal_of_rig_serve_without_a_reader() -> None:
    with closing(PtyEndpoint()) as endpoint:
        endpoint.write(bytes(1_000_000))


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("socket://").partition(":")
    return host, int(port)


@limit("drivers.keysight_n6705.log._FIRST_RECORD_S")
@pytest.mark.usefixtures("short")
def test_an_n6705_that_never_logs(tmp_path: Path) -> None:
    faults = SimulatorFaults(no_effect_of="TRIG:ELOG")
    settings = KeysightN6705.Settings(
        resource="simulator", simulator=N6705SimulatorSettings(faults=faults)
    )
    with closing(KeysightN6705.open(settings, BenchContext())) as monitor:
        monitor.power(True)
        with (
            pytest.raises(DeadlineError, match="first record"),
            monitor.record(tmp_path),
        ):
            pytest.fail("it recorded")


@limit("drivers.host_counters.recording._FLOW_LIMIT_S")
@pytest.mark.usefixtures("short")
def test_a_counter_that_never_moves(tmp_path: Path) -> None:
    still = Still(set())
    polling = Polling(100, 0.05, 0.005, 0.0, 0.0, stuck_s=1e9)
    with (
        pytest.raises(DeadlineError, match="reading of a scripted counter"),
        CounterRecording(
            still, still, polling, tmp_path, source="scripted", serial="", about={}
        ),
    ):
        pytest.fail("it recorded")


class Still(Scripted):
    """A counter whose readings never differ."""

    always_moves = True

    def count(self) -> int:
        super().count()
        return 1


def test_an_installer_that_hangs() -> None:
    with pytest.raises(BenchError, match=r"took longer than 0\.1 s"):
        installer.run(["sleep", "600"], "the packages cannot be installed", SHORT_S)


# The page

PAGE = (ROOT / "docs/reference/WAITS.md").read_text(encoding="utf-8")
ROWS = [
    list(map(str.strip, line.strip("|").split("|")))
    for line in PAGE.splitlines()
    if line.startswith("|") and "::" in line
]
SETTINGS = (ROOT / "docs/reference/SETTINGS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_row_names_a_test_and_what_sets_its_limit(row: list[str]) -> None:
    _, at_most, set_by, test = row
    path, _, name = test.strip("`").partition("::")
    assert re.search(
        rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
    )
    for named in re.findall(r"`([^`]+)`", set_by):
        module, _, constant = named.rpartition(".")
        if constant.isupper():
            source = (ROOT / f"{module.replace('.', '/')}.py").read_text(
                encoding="utf-8"
            )
            (value,) = re.findall(rf"^{constant} = ([\d.]+)\b", source, re.MULTILINE)
            assert f"{float(value):g} s" in at_most, named
        else:
            section, _, key = named.rpartition(".")
            of = SETTINGS.partition(f"[{section}]")[2].partition("\n## ")[0]
            assert f"`{key}`" in of, named


#: The beginning of a call that `endless` looks for: a file without one need not be
#: parsed.
CALLS = re.compile(
    r"\.(?:(?:wait|join|communicate|acquire)\(\)|(?:run|check_\w+|select)\()"
)


def endless(path: Path) -> bool:
    """Return whether a module waits for something without a limit."""
    if not CALLS.search(path.read_text(encoding="utf-8")):
        return False
    for call in (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Attribute):
            continue
        of = call.func.value
        named = {keyword.arg for keyword in call.keywords}
        match call.func.attr:
            case "wait" | "join" | "communicate" | "acquire":
                result = not call.args and not named
            case "run" | "check_output" | "check_call":
                result = ast.unparse(of) == "subprocess" and "timeout" not in named
            case "select":
                result = len(call.args) == 3
            case _:
                result = False
        if result:
            return True
    return False


def test_what_waits_without_a_limit_is_on_the_page_with_its_reason() -> None:
    result = set()
    for folder in ("rig", "drivers", "sut_backends", "scenarios", "gui"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent.name != "sim" and endless(path):
                result.add(str(path.relative_to(ROOT)))
    output = set(re.findall(r"^\* `(\S+\.py)`", PAGE, re.MULTILINE))
    assert result == output, (
        "give the wait a limit, or docs/reference/WAITS.md its reason"
    )
