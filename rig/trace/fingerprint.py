# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of recordings: windows of samples whose noise does not occur twice.

Wherever the bits of two neighbouring samples of current say so, a window begins: a copy has the
same windows however it was shifted, cut or packed. Windows that hardly change from sample to sample
are left out: of a signal without noise, every trial may have the same.

Run as a program, it reads traces that may come from an untrusted source: their reader is C, and may
crash or never end on a forged file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig import typed
from rig.trace.reduced_check import currents
from rig.trace.trace import CURRENT, VOLTAGE, Trace, about_of, blocks_of, reading

#: Samples of a window, and how many of them must differ from the one before.
_WINDOW = 32
_CHANGES = 12
#: One pair of samples in so many begins a window; so many of the windows are kept, by their hashes,
#: whatever the length.
_EVERY = 64
_KEPT = 512
#: Two recordings with as many windows in common are copies: by chance, not even one is.
COMMON = 8
_BLOCK = 1 << 18
#: So much memory, and time beside what a slow disk needs, a reader may take.
_MEMORY_B = 8 << 30
_LIMIT_S = 120.0
_SLOW_B_PER_S = 5e6
_FIRST = np.uint32(2654435761)
_SECOND = np.uint32(2246822519)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes of some windows of a recording, and whether it says of itself that it is simulated;
    `fault`: why it cannot be read; `reduced`: spans of it are kept as means alone.
    """

    windows: frozenset[int] = frozenset()
    simulated: bool | None = None
    fault: str = ""
    reduced: bool = False

    def copies(self, other: Fingerprint) -> bool:
        """Return whether two recordings hold the same samples, or one a part of the other."""
        return len(self.windows & other.windows) >= COMMON


@dataclass(frozen=True, slots=True)
class FingerprintLine:
    """A fingerprint as the process that reads a trace tells it."""

    windows: tuple[int, ...]
    simulated: bool | None
    fault: str
    reduced: bool


def windows(blocks: Iterable[NDArray[np.float32]]) -> frozenset[int]:
    """Return the hashes of windows of a signal that comes in blocks; the smallest ones, which are a
    fair choice.
    """
    kept: NDArray[np.uint64] = np.zeros(0, np.uint64)
    carried: NDArray[np.uint32] = np.zeros(0, np.uint32)
    for block in blocks:
        bits = np.concatenate([carried, np.ascontiguousarray(block, np.float32).view(np.uint32)])
        carried = bits[max(len(bits) - _WINDOW + 1, 0) :]
        kept = np.unique(np.concatenate([kept, _hashes(bits)]))[:_KEPT]
    return frozenset(kept.tolist())


def _hashes(bits: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the hashes of the windows that begin in these samples and end in them."""
    if len(bits) < _WINDOW:
        return np.zeros(0, np.uint64)
    starts = len(bits) - _WINDOW + 1
    mixed = bits[:starts] * _FIRST + bits[1 : starts + 1] * _SECOND
    begins = np.flatnonzero(mixed >> np.uint32(16) < (1 << 16) // _EVERY)
    rows = bits[begins[:, None] + np.arange(_WINDOW)]
    lively = np.count_nonzero(np.diff(rows.astype(np.int64), axis=1), axis=1) >= _CHANGES
    factors = np.random.default_rng(1).integers(1, 2**63, _WINDOW, np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    mixed_64 = (rows[lively].astype(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    mixed_64 ^= mixed_64 >> np.uint64(31)
    hashes: NDArray[np.uint64] = mixed_64 * np.uint64(0x9E3779B97F4A7C15)
    return hashes


def of_trace(path: Path) -> Fingerprint:
    """Read a trace to its end, all that is ever read of it; raises DataError where that cannot
    be.
    """
    trace = Trace.open(path)
    with reading(path) as reader:
        simulated = about_of(reader).get("simulated")
        if trace.layout.reduced is not None:
            hashes = windows(currents(trace, reader, trace.layout.reduced))
        else:
            hashes = windows(blocks_of(reader, CURRENT, trace.length, _BLOCK))
            for _ in blocks_of(reader, VOLTAGE, trace.length, _BLOCK):
                pass
    return Fingerprint(
        hashes,
        simulated if isinstance(simulated, bool) else None,
        reduced=bool(trace.reduced),
    )


def read(paths: Sequence[Path]) -> Mapping[Path, Fingerprint]:
    """Return the fingerprint of each trace; of one on which its reader crashes or does not end, the
    fault.
    """
    fingerprints: dict[Path, Fingerprint] = {}
    while left := [path for path in paths if path not in fingerprints]:
        for path, text in zip(left, _told(left), strict=False):
            fingerprints[path] = text
    return fingerprints


def _told(paths: Sequence[Path]) -> list[Fingerprint]:
    """Return what a process of its own says of the traces; the last is a fault where it did not
    come to its end.
    """
    size_b = sum(path.stat().st_size for path in paths)
    # -P: nothing is imported from the folder at hand, which may be the stranger's.
    command = [sys.executable, "-P", "-m", "rig.trace.fingerprint"]
    asked = json.dumps([str(path.resolve()) for path in paths])
    limit_s = _LIMIT_S + size_b / _SLOW_B_PER_S
    try:
        done = subprocess.run(
            command, input=asked.encode(), capture_output=True, check=False, timeout=limit_s
        )
        stdout = done.stdout
        why = f"its reader ended with exit code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        stdout = error.stdout or b""
        why = f"its reader was not done after {limit_s:.0f} s"
    lines = stdout.decode(errors="replace").split("\n")[:-1]
    fingerprints = [_parsed(line) for line in lines]
    return (
        fingerprints if len(fingerprints) >= len(paths) else [*fingerprints, Fingerprint(fault=why)]
    )


def _parsed(line: str) -> Fingerprint:
    told = typed.from_json(FingerprintLine, json.loads(line), "the reader's answer")
    return Fingerprint(frozenset(told.windows), told.simulated, told.fault, told.reduced)


def main() -> None:
    """Print a line for each trace that standard input names."""
    _limit()
    for name in json.load(sys.stdin):
        try:
            fingerprint = of_trace(Path(name))
        # Whatever a forged file does to its reader is a finding, and no crash.
        except Exception as error:
            fingerprint = Fingerprint(fault=f"{type(error).__name__}: {error}"[:300])
        line = FingerprintLine(
            tuple(sorted(fingerprint.windows)),
            fingerprint.simulated,
            fingerprint.fault,
            fingerprint.reduced,
        )
        sys.stdout.write(json.dumps(typed.to_json(line)) + "\n")
        sys.stdout.flush()


def _limit() -> None:
    """Let a forged length end this process, not the computer's memory."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_B, most))


if __name__ == "__main__":
    main()
