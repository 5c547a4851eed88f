# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of recordings: windows of samples whose noise does not occur twice.

The bits of two neighbouring samples of current decide where a window begins, so that a
copy has the same windows however it was shifted, cut or packed. Windows that hardly
change from sample to sample are left out: without noise, every trial may have the same.

Run as a program, it reads traces that may come from an untrusted source: their reader
is C, and may crash or never end on a forged file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rig.arrays import Bools, Float32s, Int64s
from rig.errors import BenchError
from rig.files import typed
from rig.host import processor_limit
from rig.host.stop import LOOK_S, Stop, look
from rig.trace import limited_child
from rig.trace.reduced_check import currents
from rig.trace.repeats import Repeat, Repeats
from rig.trace.trace import CURRENT, VOLTAGE, Trace, about_of, blocks_of, reading
from rig.units import bytes_text

#: Samples of a window, and how many of them must differ from the one before.
_WINDOW = 32
_CHANGES = 12
#: Of a window that no signal without noise repeats: so many of its values are different
#: ones.
_DISTINCT = 24
#: One pair of samples in so many begins a window; so many of the windows are kept, by
#: their hashes, at any length.
_EVERY = 64
_KEPT = 512
#: Two recordings with as many windows in common are copies: by chance, not even one is.
COMMON = 8
_BLOCK = 1 << 18
#: Memory of a reader, and its processor time beside the needs of a long trace.
_MEMORY_B = 8 << 30
#: First line of a reader that has loaded its libraries: what ends it later lies in a
#: trace.
_READY = "ready"
_LIMIT_S = 120.0
_SLOW_B_PER_S = 5e6
#: Each reader takes a quarter of a second to begin.
_PARALLEL_B = 100_000_000
_READERS = 4
_FIRST = np.uint32(2654435761)
_SECOND = np.uint32(2246822519)
_BEGINS_BELOW = np.uint32((1 << 32) // _EVERY)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes of some windows of a recording, and whether it says of itself that it is
    simulated; `fault`: why it cannot be read; `reduced`: spans of it are kept as means
    alone; `repeat`: a stretch that it holds twice.
    """

    windows: tuple[int, ...] = ()
    simulated: bool | None = None
    fault: str = ""
    reduced: bool = False
    repeat: Repeat | None = None

    def copies(self, other: Fingerprint) -> bool:
        """Check whether two recordings hold the same samples, or one a part of the
        other."""
        return len(set(self.windows).intersection(other.windows)) >= COMMON


def windows(
    blocks: Iterable[Float32s],
) -> tuple[tuple[int, ...], Repeat | None]:
    """Return the hashes of windows of a signal that comes in blocks, the smallest ones,
    which are a fair choice; and the longest stretch that is there twice.
    """
    kept: NDArray[np.uint64] = np.zeros(0, np.uint64)
    carried: NDArray[np.uint32] = np.zeros(0, np.uint32)
    repeats = Repeats()
    at = 0
    for block in blocks:
        bits = np.concatenate(
            [carried, np.ascontiguousarray(block, np.float32).view(np.uint32)]
        )
        hashes, begins, distinct = _hashes(bits)
        repeats.add(hashes[distinct], begins[distinct] + at)
        carried = bits[max(len(bits) - _WINDOW + 1, 0) :]
        at += len(bits) - len(carried)
        if len(kept) == _KEPT:
            hashes = hashes[hashes < kept[-1]]
        kept = np.unique(np.concatenate([kept, hashes]))[:_KEPT]
    return tuple(kept.tolist()), repeats.longest


def _hashes(
    bits: NDArray[np.uint32],
) -> tuple[NDArray[np.uint64], Int64s, Bools]:
    """Return the windows that begin in these samples and end in them: their hashes,
    where they begin, and whether almost all of their values are different ones.
    """
    if len(bits) < _WINDOW:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    starts = len(bits) - _WINDOW + 1
    mixed = bits[:starts] * _FIRST
    mixed += bits[1 : starts + 1] * _SECOND
    begins = np.flatnonzero(mixed < _BEGINS_BELOW)
    rows = sliding_window_view(bits, _WINDOW)[begins]
    lively = np.count_nonzero(rows[:, 1:] != rows[:, :-1], axis=1) >= _CHANGES
    rows = rows[lively]
    mixed_64 = rows.astype(np.uint64) @ _factors()
    mixed_64 ^= mixed_64 >> np.uint64(31)
    hashes: NDArray[np.uint64] = mixed_64 * np.uint64(0x9E3779B97F4A7C15)
    ordered = np.sort(rows, axis=1)
    values = np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1) + 1
    return hashes, begins[lively].astype(np.int64), values >= _DISTINCT


@cache
def _factors() -> NDArray[np.uint64]:
    """Return an odd factor for each sample of a window."""
    drawn = np.random.default_rng(1).integers(1, 2**63, _WINDOW, np.uint64)
    factors: NDArray[np.uint64] = drawn * np.uint64(2) + np.uint64(1)
    return factors


def of_trace(path: Path) -> Fingerprint:
    """Read a trace to its end, all that is ever read of it; raises DataError where that
    cannot be.
    """
    trace = Trace.open(path)
    with reading(path) as reader:
        simulated = about_of(reader).get("simulated")
        if trace.layout.reduced is not None:
            hashes, repeat = windows(currents(trace, reader, trace.layout.reduced))
        else:
            hashes, repeat = windows(blocks_of(reader, CURRENT, trace.length, _BLOCK))
            for _ in blocks_of(reader, VOLTAGE, trace.length, _BLOCK):
                pass
    return Fingerprint(
        hashes,
        simulated if isinstance(simulated, bool) else None,
        reduced=bool(trace.reduced),
        repeat=repeat,
    )


def read(paths: Sequence[Path]) -> Mapping[Path, Fingerprint]:
    """Return the fingerprint of each trace; of one on which its reader crashes or does
    not end, the fault. Long traces have a reader for each processor, of some.
    """
    total_b = sum(path.stat().st_size for path in paths)
    readers = min(len(paths), total_b // _PARALLEL_B, _READERS, os.cpu_count() or 1)
    if readers < 2:
        return _read(paths)
    fingerprints: dict[Path, Fingerprint] = {}
    stop = Stop()

    def part(place: int) -> Mapping[Path, Fingerprint]:
        with stop.heard():
            return _read(paths[place::readers])

    with ThreadPoolExecutor(readers) as pool:
        parts = [pool.submit(part, place) for place in range(readers)]
        try:
            while wait(parts, timeout=LOOK_S).not_done:
                look()
        except BaseException:
            # The readers are processes that would go on to their ends.
            stop.request()
            raise
    for done in parts:
        fingerprints.update(done.result())
    return fingerprints


def _read(paths: Sequence[Path]) -> Mapping[Path, Fingerprint]:
    fingerprints: dict[Path, Fingerprint] = {}
    while left := [path for path in paths if path not in fingerprints]:
        for path, text in zip(left, _told(left), strict=False):
            fingerprints[path] = text
    return fingerprints


def _told(paths: Sequence[Path]) -> list[Fingerprint]:
    """Return a separate process's report of the traces; the last is a fault where it
    did not come to its end. Raises BenchError where it cannot start.
    """
    limit_s = _limit_s(paths)
    asked = json.dumps([str(path.absolute()) for path in paths])
    try:
        done = limited_child.run(
            ["-m", "rig.trace.fingerprint"], asked.encode(), limit_s
        )
        stdout = done.stdout
        if not stdout.startswith(_READY.encode()):
            raise _unable(f"exit code {done.returncode}: {_last_line(done.stderr)}")
        why = f"its reader ended with exit code {done.returncode}"
        if processor_limit.is_used_up(done.returncode):
            why = f"its reader {processor_limit.used_up(limit_s)}"
    except OSError as error:
        raise _unable(str(error)) from error
    except subprocess.TimeoutExpired as error:
        stdout = error.stdout or b""
        why = f"its reader {processor_limit.late(limit_s)}: check it again"
    lines = stdout.decode(errors="replace").split("\n")[1:-1]
    fingerprints = [_parsed(line) for line in lines]
    return (
        fingerprints
        if len(fingerprints) >= len(paths)
        else [*fingerprints, Fingerprint(fault=why)]
    )


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    return " ".join(lines[-1:])[:300]


def _unable(evidence: str) -> BenchError:
    allowed_b = _allowed_b()
    limit = (
        ""
        if allowed_b is None
        else f"; a process may take {bytes_text(allowed_b)} (ulimit -v)"
    )
    return BenchError(
        "the process that reads traces does not start, so the session was not checked",
        evidence=evidence + limit,
        try_next="more memory or more processes for this account: ulimit -v, ulimit -u",
    )


def _limit_s(paths: Sequence[Path]) -> float:
    """Return how much processor time reading these files may take."""
    return _LIMIT_S + sum(path.stat().st_size for path in paths) / _SLOW_B_PER_S


def _parsed(line: str) -> Fingerprint:
    return typed.from_json(Fingerprint, json.loads(line), "the reader's answer")


def main() -> None:
    """Print a line for each trace that standard input names."""
    _limit()
    sys.stdout.write(_READY + "\n")
    sys.stdout.flush()
    names = json.load(sys.stdin)
    processor_limit.apply(_limit_s([Path(name) for name in names]))
    for name in names:
        try:
            fingerprint = of_trace(Path(name))
        # A forged file that crashes its reader is a finding.
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"[:300]
            if (
                isinstance(error, MemoryError)
                and (allowed_b := _allowed_b()) is not None
            ):
                fault += (
                    f" ({bytes_text(allowed_b)} is what a process may take: ulimit -v)"
                )
            fingerprint = Fingerprint(fault=fault)
        sys.stdout.write(json.dumps(typed.to_json(fingerprint)) + "\n")
        sys.stdout.flush()


def _limit() -> None:
    """Let a forged length end this process, not the computer's memory; the account's
    own limit stays where it is lower.
    """
    if sys.platform != "win32" and _allowed_b() is None:
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_B, most))


def _allowed_b() -> int | None:
    """Return how much memory the account lets a process take, None where that is
    enough."""
    if sys.platform == "win32":
        return None
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    low = [
        limit
        for limit in limits
        if limit != resource.RLIM_INFINITY and limit < _MEMORY_B
    ]
    return min(low, default=None)


if __name__ == "__main__":
    main()
