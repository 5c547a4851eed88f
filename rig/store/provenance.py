# SPDX-License-Identifier: Apache-2.0
"""Provenance of a result: versions, revision, host."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

#: What must be the same for a session to go on.
_OF_BENCH = ("neurorig", "revision", "bench_sha256", "task")
_OF_SUT = ("name", "kind", "model", "firmware", "tick_hz")
_OF_MONITOR = ("name", "kind", "serial", "sample_hz", "edge_hz")


def collect(bench_toml: str) -> dict[str, Any]:
    """Return versions of the rig and what it runs on, the source revision, the bench file's hash
    and the host.
    """
    return {
        "created_utc": utc_now(),
        "neurorig": _version("neurorig"),
        "revision": revision(),
        "bench_sha256": hashlib.sha256(bench_toml.encode()).hexdigest(),
        "python": sys.version.split()[0],
        "packages": packages(),
        "host": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "node": platform.node(),
            "cpus": os.cpu_count(),
        },
    }


def utc_now() -> str:
    """Return the time of day: for people, never for a measurement."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return what of a bench differs from what it was when its session began: the rig, the task,
    the device, the instruments.

    What differs each time a device is opened (its link, what was measured of it) does not count.
    """
    said = []
    parts = [("", _OF_BENCH, before, now), ("sut", _OF_SUT, before["sut"], now["sut"])]
    parts += [
        (f"monitor {rail}".strip(), _OF_MONITOR, old, now["monitors"].get(rail, {}))
        for rail, old in before["monitors"].items()
    ]
    for part, keys, old, new in parts:
        said += [
            f"{part} {key}: {new.get(key)!r}, was {old[key]!r}".strip()
            for key in keys
            if old[key] != new.get(key)
        ]
    return said


def packages() -> dict[str, str]:
    """Return the versions of the packages the rig needs."""
    needed = [
        requirement for requirement in requires("neurorig") or [] if "extra ==" not in requirement
    ]
    names = {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in needed}
    found = {name: _version(name) for name in sorted(names)}
    return {name: number for name, number in found.items() if number}


def revision(folder: Path | None = None) -> str:
    """Return the git revision of a source folder (the rig's own), with "+changes" when files differ
    from it.

    Empty outside a checkout. Of the rig's own folder it is what this process found first: that is
    what it has imported.
    """
    return _own_revision() if folder is None else _revision(folder)


@cache
def _own_revision() -> str:
    return _revision(Path(__file__).resolve().parents[2])


def _revision(folder: Path) -> str:
    try:
        if not _is_checkout(folder):
            return ""
        lines = _git(
            folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no"
        ).splitlines()
    except (OSError, subprocess.SubprocessError):
        return ""
    headers = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
    changed = len(headers) < len(lines)
    return headers["branch.oid"] + ("+changes" if changed else "")


@cache
def _is_checkout(folder: Path) -> bool:
    """Return whether a source folder is the rig's checkout: installed inside somebody else's, this
    file is not theirs.
    """
    try:
        _git(folder, "ls-files", "--error-unmatch", "rig/store/provenance.py")
    except subprocess.CalledProcessError:
        return False
    return True


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20
    ).stdout.strip()


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
