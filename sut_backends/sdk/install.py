# SPDX-License-Identifier: Apache-2.0
"""Installation of an SDK: an environment of its own, from a pinned list."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import as_file
from pathlib import Path

from rig.errors import BenchError, ConfigError
from sut_backends.sdk.kinds import REQUIREMENTS, SdkKind
from sut_backends.workers.environments import installed

_PIP_S = 3600.0
_PROBE_S = 20.0
_TAIL = 5
_MINORS = range(8, 20)
_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def install(sdk: SdkKind, python: str, say: Callable[[str], None]) -> Path:
    """Make the environment anew and return its interpreter; `say` is told each step.

    Raises ConfigError where no Python fits, BenchError with pip's last words where it fails: what
    is there then is removed.
    """
    base = _fitting(sdk, python)
    target = installed(sdk.kind)
    environment = target.parent.parent
    shutil.rmtree(environment, ignore_errors=True)
    environment.parent.mkdir(parents=True, exist_ok=True)
    try:
        say(f"environment {environment}, from {base}")
        _run([base, "-m", "venv", str(environment)], "no environment can be made", _PROBE_S * 6)
        say(f"{len(sdk.requirements)} packages, pinned; minutes, some compile")
        with as_file(sdk.folder / REQUIREMENTS) as wanted:
            pip = [str(target), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            _run([*pip, "-r", str(wanted)], "the packages cannot be installed", _PIP_S)
        for name in sdk.never:
            _run([str(target), "-m", "pip", "uninstall", "-q", "-y", name], "", _PROBE_S * 6)
    except BaseException:
        shutil.rmtree(environment, ignore_errors=True)
        raise
    return target


def _fitting(sdk: SdkKind, python: str) -> str:
    """Return the first Python that the SDK runs under."""
    seen = []
    for path in [python] if python else _pythons():
        version = _version(path)
        if version is not None and version in sdk.python:
            return path
        seen.append(f"{path} is {version or 'no Python'}")
    raise ConfigError(
        f"{sdk.title} needs Python {sdk.python}",
        evidence="; ".join(seen) or "none found",
        try_next="install such a Python and name it: --python PATH",
    )


def _pythons() -> Iterator[str]:
    yield sys.executable
    versions = Path.home() / ".pyenv" / "versions"
    for minor in _MINORS:
        for folder in sorted(versions.glob(f"3.{minor}.*/bin"), reverse=True):
            yield str(folder / "python")
        found = shutil.which(f"python3.{minor}")
        if found is not None:
            yield found


def _version(path: str) -> str | None:
    try:
        done = subprocess.run(
            [path, "-S", "-c", _VERSION],
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _run(command: Sequence[str], failed: str, limit_s: float) -> None:
    """Run a command; raise BenchError with its last lines where it fails, if `failed` is said."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{command[0]} took longer than {limit_s:g} s") from error
    if done.returncode and failed:
        raise BenchError(
            failed,
            evidence=" ".join((done.stderr or done.stdout).strip().splitlines()[-_TAIL:]),
            try_next="is there a network, and a C++ compiler where packages compile?",
        )
