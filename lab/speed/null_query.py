# SPDX-License-Identifier: Apache-2.0
"""Time of this computer's processor for a null query and a load: the rig's own cost.

Run it: `python -m lab.speed.null_query [--against PATH] [--rounds N] [--queries N]`; a
minute. It needs the POSIX firmware (`make firmware`). Two devices: the null firmware as
a process of this computer on a pseudo-terminal, and the virtual device, without a
process. Each round starts every candidate once, one after the other, so that other load
falls on all of them; the median of the rounds is printed.

Candidates: this checkout; with `--against`, another one, by its own interpreter in
PATH/.venv, with its own firmware; and, for the POSIX device, the peer: pyserial alone,
which writes the bytes of one query of this checkout to a pseudo-terminal and reads the
answer's, from a process that plays them back as late as the device did: a processor
that slept is slower than one that did not. Ratios are those to this checkout. Times are
processor time of the host's process with all its threads: the device's own work and
waiting are in none of them.

`session` is one trial of the bench whole, monitor and reduction included, divided by
its queries. Beside the times: calls of Python functions for one load and for one query,
in how many files of the checkout, and how often the next function that runs is in
another of its files; of many, the one with the fewest calls, as answers come in one
piece or in more.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAYLOAD = bytes(number & 0xFF for number in range(1024))
WARM_UP = 20
SESSION_QUERIES = 50
PATHS = 40
PACKAGES = ("rig", "sut_backends")


# ---- in each checkout's own interpreter: no feature that only one of them has ----


def worker(root: Path, device: str, queries: int) -> dict[str, Any]:
    """Return processor time per load and per query, in seconds, and the path of one of
    each."""
    from rig.model.steps import Load, Query

    exchanged: list[tuple[str, bytes, float]] = []

    def wire(way: str, block: bytes) -> None:
        exchanged.append((way, block, time.monotonic()))

    with opened(root, device, wire) as sut:

        def load() -> None:
            sut.do(Load(0), [PAYLOAD])

        def query() -> None:
            sut.do(Query((0,)))

        for _ in range(WARM_UP):
            load()
            query()
        times = {
            "load": processor_s(load, queries),
            "query": processor_s(query, queries),
        }
        path = {}
        for name, action in (("load", load), ("query", query)):
            paths = (path_of(action, root) for _ in range(PATHS))
            path[name] = min(paths, key=lambda path: path["calls"])
        exchanged.clear()
        query()
    times["session"] = session_s(root, device)
    return {"times": times, "path": path, "turns": turns_of(exchanged)}


def turns_of(exchanged: list[tuple[str, bytes, float]]) -> list[tuple[str, str, float]]:
    """Return each request, its answer, and the seconds between them."""
    turns: list[tuple[bytes, bytes, float, float]] = []
    for way, block, at_s in exchanged:
        if way == "tx" and (not turns or turns[-1][1]):
            turns.append((b"", b"", at_s, at_s))
        out, back, sent_s, _ = turns[-1]
        turns[-1] = (
            (out + block, back, at_s, at_s)
            if way == "tx"
            else (out, back + block, sent_s, at_s)
        )
    return [
        (out.hex(), back.hex(), heard_s - sent_s)
        for out, back, sent_s, heard_s in turns
    ]


@contextlib.contextmanager
def opened(
    root: Path, device: str, wire: Callable[[str, bytes], None]
) -> Iterator[Any]:
    """Give a device that has its supply."""
    from rig.interfaces.context import BenchContext

    context = BenchContext(folder=root, reference=lambda payload: payload[:64])
    context.listen(wire)
    context.world.supply_on = True
    sut: Any
    if device == "posix":
        from sut_backends.hosted.posix import PosixSut

        program = str(root / "firmware" / "build" / "posix" / "null")
        sut = PosixSut.open(PosixSut.Settings(program=program), context)
    else:
        from sut_backends.virtual.backend import VirtualSut

        sut = VirtualSut.open(VirtualSut.Settings(), context)
    with contextlib.closing(sut):
        yield sut


def processor_s(action: Callable[[], object], count: int) -> float:
    """Return the processor time of this process for one of `count` times."""
    before_ns = time.process_time_ns()
    for _ in range(count):
        action()
    return (time.process_time_ns() - before_ns) / count / 1e9


def session_s(root: Path, device: str) -> float:
    """Return the processor time of a session of one trial, for each of its queries."""
    from rig.session.session import open_bench

    overrides = [
        f"task.null.samples={SESSION_QUERIES}",
        "scenario.single_stream.warmup=0",
    ]
    if device == "posix":
        # long enough for the monitor
        overrides.append("scenario.single_stream.repeat=2000")
    bench = root / "benches" / f"{device}-null.toml"
    with (
        tempfile.TemporaryDirectory() as folder,
        open_bench(bench, overrides) as opened_bench,
    ):
        # a late import is no cost of a query
        opened_bench.run(1, Path(folder) / "first")
        before_ns = time.process_time_ns()
        opened_bench.run(1, Path(folder) / "second")
        return (time.process_time_ns() - before_ns) / SESSION_QUERIES / 1e9


def path_of(action: Callable[[], object], root: Path) -> dict[str, int]:
    """Return the calls of functions of a checkout in one action, their files, and the
    changes of file between one that runs and the next.
    """
    sources = chain.from_iterable((root / part).rglob("*.py") for part in PACKAGES)
    own = set(map(str, sources))
    files: list[str] = []
    calls = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event not in ("call", "return"):
            return
        calls += event == "call"
        running: FrameType | None = frame if event == "call" else frame.f_back
        if running is not None and running.f_code.co_filename in own:
            files.append(running.f_code.co_filename)

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    changes = sum(item != other for item, other in pairwise(files))
    return {"calls": calls, "files": len(set(files)), "changes of file": changes}


# ---- the peer: pyserial and the same bytes ----


def peer_s(turns: list[tuple[bytes, bytes, float]], queries: int) -> float:
    """Return the processor time of pyserial alone for one exchange of these bytes."""
    import serial

    device, host = pty.openpty()
    child = os.fork()
    if child == 0:
        played_back(device, turns)
    os.close(device)
    try:
        with serial.Serial(os.ttyname(host), 115_200, timeout=5.0) as port:

            def exchange() -> None:
                for out, back, _ in turns:
                    port.write(out)
                    if len(port.read(len(back))) < len(back):
                        raise TimeoutError("the peer's other end did not answer")

            for _ in range(WARM_UP):
                exchange()
            return processor_s(exchange, queries)
    finally:
        os.close(host)
        os.kill(child, 9)
        os.waitpid(child, 0)


def played_back(device: int, turns: list[tuple[bytes, bytes, float]]) -> None:
    """Answer each turn's bytes with those that were recorded, for ever."""
    try:
        while True:
            for out, back, later_s in turns:
                heard = 0
                while heard < len(out):
                    heard += len(os.read(device, len(out) - heard))
                time.sleep(later_s)
                os.write(device, back)
    finally:
        os._exit(0)


# ---- all candidates, one after the other, in rounds ----


def ask(checkout: Path, device: str, queries: int) -> dict[str, Any]:
    """Run the worker with a checkout's own interpreter."""
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python if python.exists() else sys.executable), __file__]
    command += ["--worker", device, "--root", str(checkout), "--queries", str(queries)]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        command, cwd=checkout, env=environment, stdout=subprocess.PIPE, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def compare(device: str, checkouts: dict[str, Path], rounds: int, queries: int) -> None:
    """Print the medians of all rounds, and their ratios."""
    result: dict[str, list[dict[str, Any]]] = {name: [] for name in checkouts}
    peer: list[float] = []
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            result[name].append(ask(checkout, device, queries))
        if device == "posix":
            turns = [
                (bytes.fromhex(out), bytes.fromhex(back), later_s)
                for out, back, later_s in result["here"][-1]["turns"]
            ]
            peer.append(peer_s(turns, queries))
    print(f"{device}: processor time in us, medians of {rounds} rounds of {queries}")
    for what in ("query", "load", "session"):
        times = {}
        for name, rows in result.items():
            times[name] = median(row["times"][what] for row in rows) * 1e6
        if what == "query" and peer:
            times["pyserial alone"] = median(peer) * 1e6
        ratios = [
            f"{name} {us:.1f} ({us / times['here']:.2f})" for name, us in times.items()
        ]
        print(f"  {what:8} {', '.join(ratios)}")
    for what in ("query", "load"):
        paths = []
        for name, rows in result.items():
            path = min(
                (row["path"][what] for row in rows), key=lambda path: path["calls"]
            )
            paths.append(
                f"{name} " + ", ".join(f"{count} {of}" for of, count in path.items())
            )
        print(f"  path of a {what}: {'; '.join(paths)}")


def main() -> int:
    """Compare, or be one round of one candidate; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", type=Path, help="another checkout, with its .venv")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--worker", choices=("posix", "virtual"), help=argparse.SUPPRESS
    )
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(worker(given.root, given.worker, given.queries)))
        return 0
    checkouts = {"here": ROOT}
    if given.against:
        checkouts["there"] = given.against.resolve()
    for device in ("posix", "virtual"):
        compare(device, checkouts, given.rounds, given.queries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
