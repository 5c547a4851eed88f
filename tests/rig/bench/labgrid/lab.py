# SPDX-License-Identifier: Apache-2.0
"""A lab on this computer: labgrid's own coordinator and exporter, with two boards.

`board-1` is the POSIX firmware at a port of RFC 2217, `board-2` at a plain TCP port;
each has a power switch, which notes each request.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sut_backends.hosted.posix import DutProcess
from tests.builds import built
from tests.programs import captured
from tests.stand_ins.rfc2217_bridge import Bridge
from tests.uncounted import uncounted
from tests.waiting import eventually

LIMIT_S = 60.0
HOST = "bench-host"
USER = "ann"
_BENCH = """
[bench]
name = "lent"
trials = 1
[labgrid]
place = "{place}"
coordinator = "{coordinator}"
{more}
[sut.uart]
port = "labgrid"
simulated = true
[monitor.none]
[scenario.single_stream]
idle_s = 0.1
warmup = 1
repeat = 10_000
[task.null]
samples = {samples}
"""
_EXPORTED = """
board-1:
  NetworkSerialPort: {{host: 127.0.0.1, port: {rfc2217}, protocol: rfc2217}}
  NetworkPowerPort:
    model: rest
    host: "http://127.0.0.1:{switch}/{{index}}"
    index: 1
board-2:
  NetworkSerialPort: {{host: 127.0.0.1, port: {raw}, protocol: raw}}
  NetworkPowerPort:
    model: rest
    host: "http://127.0.0.1:{switch}/{{index}}"
    index: 2
"""


@dataclass
class Switches:
    """Power switches that HTTP sets: all requests, as "1 on"."""

    said: list[str] = field(default_factory=list)

    def asked(self, board: int) -> list[str]:
        """Return the requests to the switch of a board."""
        return [one.split()[1] for one in self.said if one.startswith(f"{board} ")]

    @contextmanager
    def served(self) -> Iterator[int]:
        """Serve; give the port."""
        said = self.said

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                value = self.rfile.read(int(self.headers["Content-Length"]))
                word = "on" if value == b"1" else "off"
                said.append(f"{self.path.strip('/')} {word}")
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@dataclass
class Lab:
    """A running lab; `coordinator` is its address."""

    coordinator: str
    switches: Switches
    bridge: Bridge
    folder: Path

    def environment(self, user: str = USER) -> dict[str, str]:
        """Return the environment of a user's program."""
        names = {"LG_HOSTNAME": HOST, "LG_USERNAME": user}
        return uncounted() | names | {"LG_COORDINATOR": self.coordinator}

    def client(self, *words: str, user: str = USER) -> str:
        """Run labgrid-client; return its output."""
        done = captured(
            [labgrid("client"), *words], env=self.environment(user), timeout=LIMIT_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def holder(self, place: str) -> str:
        """Return who holds a place; empty: it is free."""
        shown = self.client("-p", place, "show")
        (line,) = [one for one in shown.splitlines() if "acquired:" in one]
        name = line.partition(":")[2].strip()
        return "" if name == "None" else name

    def bench(self, folder: Path, place: str, samples: int = 3, more: str = "") -> Path:
        """Write a bench file of a place."""
        path = folder / f"{place or 'environment'}.toml"
        text = _BENCH.format(
            place=place, coordinator=self.coordinator, samples=samples, more=more
        )
        path.write_text(text)
        return path

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start `rig`."""
        return subprocess.Popen(
            [sys.executable, "-m", "rig", *map(str, words)],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def rig(self, *words: str | Path) -> tuple[int, str]:
        """Run `rig` to its end; return its exit code and its output."""
        process = self.start(*words)
        text, _ = process.communicate(timeout=LIMIT_S)
        return process.returncode, text


def labgrid(name: str) -> str:
    """Return a program of labgrid, of this Python's environment."""
    beside = Path(sys.executable).parent / f"labgrid-{name}"
    return str(beside) if beside.exists() else str(shutil.which(f"labgrid-{name}"))


@contextmanager
def running(folder: Path) -> Iterator[Lab]:
    """Run a lab."""
    with ExitStack() as stack:
        switches = Switches()
        switch = stack.enter_context(switches.served())
        rfc2217 = Bridge(stack.enter_context(_firmware()))
        stack.enter_context(_served(rfc2217))
        raw = stack.enter_context(_tcp(stack.enter_context(_firmware())))
        coordinator = f"127.0.0.1:{_free_port()}"
        stack.enter_context(
            _process(folder, [labgrid("coordinator"), "-l", coordinator])
        )
        exported = folder / "exported.yaml"
        exported.write_text(
            _EXPORTED.format(rfc2217=rfc2217.port, raw=raw, switch=switch)
        )
        lab = Lab(coordinator, switches, rfc2217, folder)
        eventually(lambda: _answers(lab), LIMIT_S)
        exporter = [labgrid("exporter"), "-c", coordinator, "-n", "lab", str(exported)]
        stack.enter_context(_process(folder, exporter))
        eventually(lambda: "board-2" in lab.client("resources"), LIMIT_S)
        for place in ("board-1", "board-2"):
            lab.client("-p", place, "create")
            lab.client("-p", place, "add-match", f"lab/{place}/*")
        yield lab


def _answers(lab: Lab) -> bool:
    with suppress(AssertionError):
        lab.client("places")
        return True
    return False


@contextmanager
def _firmware() -> Iterator[str]:
    """Run the POSIX firmware; give its pseudo-terminal."""
    program = built("posix") / "posix" / "null"
    edges = os.open(os.devnull, os.O_WRONLY)
    process = DutProcess(program, (), edges)
    try:
        yield process.port
    finally:
        process.close()
        os.close(edges)


@contextmanager
def _served(bridge: Bridge) -> Iterator[None]:
    thread = threading.Thread(target=bridge.serve)
    thread.start()
    try:
        yield
    finally:
        bridge.close()
        thread.join()


@contextmanager
def _tcp(device: str) -> Iterator[int]:
    """Offer a serial port as plain TCP by pyserial's own example of it, shortened."""
    listener = socket.create_server(("127.0.0.1", 0))
    fd = os.open(device, os.O_RDWR | os.O_NOCTTY)

    def serve() -> None:
        with suppress(OSError):
            while True:
                host, _ = listener.accept()
                _join(host, fd)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        os.close(fd)


def _join(host: socket.socket, fd: int) -> None:
    import select
    import tty

    tty.setraw(fd)
    with host, suppress(OSError):
        while True:
            ready, _, _ = select.select([host, fd], [], [])
            if host in ready:
                block = host.recv(4096)
                if not block:
                    return
                os.write(fd, block)
            if fd in ready:
                host.sendall(os.read(fd, 4096))


@contextmanager
def _process(folder: Path, command: list[str]) -> Iterator[None]:
    with (folder / f"{Path(command[0]).name}.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=uncounted(), stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
