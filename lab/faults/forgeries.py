# SPDX-License-Identifier: Apache-2.0
"""What `rig check` must refuse: random mutations of every kind of session file, and
forgeries whose hashes were all made again.

Run it: `python -m lab.faults.forgeries [MUTATIONS [SEED]]`; 300 mutations of
each kind of file by default.

It runs small simulated sessions, changes one thing at a time, checks, and puts
everything back. It prints a table of the refusals, with the right file named, and exits
with 1 where anything was accepted, or the wrong file blamed.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lab.faults.forger import FORGERIES, Forgery
from rig.check.check import Check, Read, check
from rig.errors import RigError
from rig.report.report import write_report
from rig.session.session import open_bench, resume
from rig.trace import fingerprint
from rig.trace.fingerprint import Fingerprint
from rig.trace.trace import EDGES, GAPS, REDUCED

BENCHES = Path(__file__).resolve().parents[2] / "benches"
#: Small sessions that have, all together, every kind of file.
SESSIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    "single_stream": (
        "virtual-null.toml",
        ("task.null.samples=6", "scenario.single_stream.idle_s=0.1"),
    ),
    "offline": (
        "virtual-offline.toml",
        ("scenario.offline.min_duration_s=0.2", "task.asc.samples=12"),
    ),
    "tiny": ("virtual-tiny.toml", ()),
    "optimization": (
        "virtual-qubo.toml",
        (
            "scenario.optimization.timeouts_s=[0.001,0.01]",
            "scenario.optimization.target_limit_s=0.1",
            "task.qubo.nodes=[50]",
        ),
    ),
    "real_time": ("virtual-real-time.toml", ("scenario.real_time.duration_s=12.0",)),
    "joulescope": (
        "virtual-null.toml",
        (
            "task.null.samples=2",
            "scenario.single_stream.idle_s=0.1",
            'monitor.joulescope.device="simulator"',
        ),
    ),
    "lpm01a": (
        "virtual-null.toml",
        (
            "task.null.samples=2",
            "scenario.single_stream.idle_s=0.1",
            "sut.virtual.sync_hold_us=1000",
            'monitor.st_lpm01a.port="simulator"',
            "monitor.st_lpm01a.events=true",
        ),
    ),
    "rails": (
        "virtual-null.toml",
        ("task.null.samples=4", "scenario.single_stream.idle_s=0.1"),
    ),
}
_RAILS = "[rail.core.virtual]\nshare = 0.6\n[rail.io.virtual]\nshare = 0.4\n"


@dataclass(frozen=True, slots=True)
class Row:
    """So many attempts on one kind of file, how many were refused, and how many of
    these with the right file named.
    """

    what: str
    attempts: int
    refused: int
    named: int

    @property
    def ok(self) -> bool:
        """Say whether all were refused for the right reason."""
        return self.attempts == self.refused == self.named


class Memory:
    """Fingerprints of traces by their bytes and those of the files beside them: a
    process for each of thousands of checks would take hours.
    """

    def __init__(self, read: Read = fingerprint.read) -> None:
        self._read = read
        self._known: dict[str, Fingerprint] = {}

    def read(self, paths: Sequence[Path]) -> Mapping[Path, Fingerprint]:
        """Return the fingerprints of traces, as `rig.trace.fingerprint.read` does."""
        digests = {path: _digest(path) for path in paths}
        new = [path for path, digest in digests.items() if digest not in self._known]
        for path, result in self._read(new).items():
            self._known[digests[path]] = result
        return {path: self._known[digest] for path, digest in digests.items()}


def _digest(trace: Path) -> str:
    # Gaps, edges and spans of means are read with a trace, and may be what cannot be
    # read.
    beside = [trace.with_name(name) for name in (GAPS, EDGES, REDUCED)]
    read = [path.read_bytes() if path.exists() else b"" for path in (trace, *beside)]
    return sha256(b"".join(sha256(content).digest() for content in read)).hexdigest()


def session(kind: str, root: Path, report: bool = True, trials: int = 2) -> Path:
    """Measure a small session, and make its report."""
    name, overrides = SESSIONS[kind]
    root.mkdir(parents=True, exist_ok=True)
    bench = BENCHES / name
    if kind == "rails":
        text = bench.read_text()
        bench = root / "rails.toml"
        before, _, after = text.partition("[monitor.virtual]")
        bench.write_text(before + _RAILS + after[after.index("\n[") :])
    with open_bench(bench, overrides) as opened:
        folder = opened.run(trials, root).folder
    if report:
        write_report(folder)
    return folder


def cut_off_and_resumed(root: Path) -> Path:
    """Measure a session that was stopped in its second trial and went on: it has
    segments."""
    left = [10]

    def stop(event: object) -> None:
        left[0] -= type(event).__name__ == "StepDone"
        if not left[0]:
            raise KeyboardInterrupt

    name, overrides = SESSIONS["single_stream"]
    with open_bench(BENCHES / name, overrides) as opened, suppress(KeyboardInterrupt):
        opened.run(2, root, [stop])
    (folder,) = (path for path in root.iterdir() if path.is_dir())
    resume(folder)
    write_report(folder)
    return folder


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Return a file's bytes with one thing changed, never the same bytes."""
    while True:
        changed = draw.choice(_MUTATIONS)(bytearray(content), draw)
        if changed != content:
            return bytes(changed)


def _flip(content: bytearray, draw: random.Random) -> bytearray:
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return content


def _delete(content: bytearray, draw: random.Random) -> bytearray:
    at = draw.randrange(len(content) + 1)
    del content[at : at + draw.choice((1, 1, 2, 100))]
    return content


def _insert(content: bytearray, draw: random.Random) -> bytearray:
    at = draw.randrange(len(content) + 1)
    content[at:at] = draw.choice(
        (b" ", b"\n", b"0", b'"', b"\x00", b"{}", draw.randbytes(4))
    )
    return content


def _truncate(content: bytearray, draw: random.Random) -> bytearray:
    return content[: draw.randrange(len(content) + 1)]


def _swap_lines(content: bytearray, draw: random.Random) -> bytearray:
    lines = content.split(b"\n")
    item = draw.randrange(len(lines))
    other = draw.randrange(len(lines))
    lines[item], lines[other] = lines[other], lines[item]
    return bytearray(b"\n".join(lines))


def _edit_number(content: bytearray, draw: random.Random) -> bytearray:
    digits = [at for at, byte in enumerate(content[: 1 << 16]) if 48 <= byte <= 57]
    if digits:
        at = draw.choice(digits)
        content[at] = draw.choice(
            [digit for digit in range(48, 58) if digit != content[at]]
        )
    return content


_MUTATIONS = (_flip, _flip, _delete, _insert, _truncate, _swap_lines, _edit_number)


def refused(folder: Path, blamed: str, read: Memory) -> tuple[bool, bool]:
    """Say whether the check refuses a folder, and whether it names the file that is to
    blame."""
    try:
        result: Check = check(folder, read.read)
    except RigError as error:
        return True, blamed in f"{error} {error.evidence}"
    bad = [finding for finding in result.findings if not finding.ok]
    return not result.ok, any(
        blamed in f"{finding.name} {finding.detail}" for finding in bad
    )


def mutations(
    folder: Path, path: Path, count: int, draw: random.Random, memory: Memory
) -> Row:
    """Change one file of a session in so many ways, and put it back each time."""
    good = path.read_bytes()
    name = str(path.relative_to(folder))
    reported = []
    try:
        for _ in range(count):
            path.write_bytes(mutated(good, draw))
            reported.append(refused(folder, name, memory))
    finally:
        path.write_bytes(good)
    return Row(
        name,
        count,
        sum(item for item, _ in reported),
        sum(item and named for item, named in reported),
    )


def files_of(folder: Path, known: set[str]) -> Iterator[Path]:
    """Yield a file of each kind that was not met before: trials and segments have the
    same kinds.
    """
    for path in sorted(folder.rglob("*")):
        kind = (
            path.parent.name.partition("-")[0] * (path.parent.name in ("core", "io"))
            + path.name
        )
        kind = "segment " * path.parent.name.startswith("segment") + kind
        if path.is_file() and kind not in known:
            known.add(kind)
            yield path


def forged(folder: Path, forgery: Forgery, memory: Memory) -> Row:
    """Apply one forgery to a copy of a session."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy)
        forgery.apply(copy)
        refusal, named = refused(copy, forgery.blamed, memory)
    return Row(forgery.name, 1, int(refusal), int(refusal and named))


def of_session(
    kind: str, make: Callable[[], Path], count: int, seed: int, known: set[str]
) -> Iterator[Row]:
    """Yield a row for each file of a session that is of a new kind, and for each
    forgery that can be tried on it.
    """
    memory = Memory()
    draw = random.Random(f"{seed}/{kind}")
    folder = make()
    untouched = check(folder, memory.read)
    yield Row("untouched, accepted", 1, int(untouched.ok), int(untouched.ok))
    for path in files_of(folder, known):
        yield mutations(folder, path, count, draw, memory)
    for forgery in FORGERIES:
        if kind in forgery.sessions:
            yield forged(folder, forgery, memory)


def main() -> int:
    """Print a table; return 1 where anything was accepted."""
    count, seed = (
        int(text) for text in (*sys.argv[1:], *("300", "1")[len(sys.argv) - 1 :])
    )
    known: set[str] = set()
    good = True
    print(
        f"{'session':<14} {'what':<62} {'tried':>6} {'refused':>8} {'file named':>11}"
    )
    for kind in (*SESSIONS, "resumed"):
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            make = (lambda at: lambda: cut_off_and_resumed(at))(root)
            if kind != "resumed":
                make = (lambda which, at: lambda: session(which, at))(kind, root)
            for row in of_session(kind, make, count, seed, known):
                good = good and row.ok
                mark = "" if row.ok else "  <-- accepted, or another file blamed"
                print(
                    f"{kind:<14} {row.what:<62} {row.attempts:>6} {row.refused:>8} "
                    f"{row.named:>11}{mark}",
                    flush=True,
                )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
