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
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

_GIT_S = 20.0


def collect(bench_toml: str) -> dict[str, Any]:
    """Return the versions of the rig and its platform, the source revision, the bench
    file's hash and the host.
    """
    source = own_revision()
    reason = {"revision_unknown": source.unknown} if source.unknown else {}
    return {
        "created_utc": utc_now(),
        "neurorig": version_of("neurorig"),
        "revision": source.text,
        **reason,
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


def packages() -> dict[str, str]:
    """Return the versions of the packages the rig needs."""
    needed = [
        requirement
        for requirement in requires("neurorig") or []
        if "extra ==" not in requirement
    ]
    names = {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in needed}
    found = {name: version_of(name) for name in sorted(names)}
    return {name: number for name, number in found.items() if number}


@dataclass(frozen=True, slots=True)
class SourceRevision:
    """The git revision of a source folder, with "+changes" when files differ from it;
    empty outside a checkout, and where it could not be read for the reason `unknown`.
    """

    text: str
    unknown: str = ""

    def __str__(self) -> str:
        return f"not known: {self.unknown}" if self.unknown else self.text


@cache
def own_revision() -> SourceRevision:
    """Return the revision of the rig. The first result of this process is kept: it
    describes the imported code.
    """
    return revision(Path(__file__).resolve().parents[2])


def revision(folder: Path) -> SourceRevision:
    """Return the revision of a folder that is the rig's checkout."""
    try:
        if not _is_checkout(folder):
            return SourceRevision("")
        lines = _git(
            folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no"
        ).splitlines()
    except subprocess.TimeoutExpired:
        return SourceRevision("", f"git did not answer within {_GIT_S:g} s")
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().partition("\n")[0]
        return SourceRevision("", f"git ended with {error.returncode}: {said}")
    except OSError as error:
        return SourceRevision("", f"git cannot be run: {error.strerror}")
    headers = [line[2:].split(" ", 1) for line in lines if line.startswith("# ")]
    changed = len(headers) < len(lines)
    commit = next(value for name, value in headers if name == "branch.oid")
    return SourceRevision(commit + ("+changes" if changed else ""))


def _is_checkout(folder: Path) -> bool:
    """Check whether a source folder is the rig's checkout; a rig installed inside
    another project's checkout is not.
    """
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return False
    try:
        _git(folder, "ls-files", "--error-unmatch", "rig/store/provenance.py")
    except subprocess.CalledProcessError as error:
        # 1 is of a file that git does not know; 128 of a git that could not look.
        if error.returncode != 1:
            raise
        return False
    return True


def _git(folder: Path, *words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=_GIT_S
    )
    return done.stdout.strip()


@cache
def sources_sha256() -> str:
    """Return hashes of the files of the rig and of its scenarios, as they are on the
    disk: an edit within one version or revision changes them.
    """
    top = Path(__file__).resolve().parents[2]
    return " ".join(hash_of_files(top / name) for name in ("rig", "scenarios"))


def hash_of_files(folder: Path) -> str:
    """Return a hash of the names and contents of all files in a folder, without those
    that Python compiled.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent.name != "__pycache__":
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


@cache
def version_of(name: str) -> str:
    """Return the version of an installed package; empty where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
