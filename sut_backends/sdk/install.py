# SPDX-License-Identifier: Apache-2.0
"""Installation of an SDK: an environment of its own, from a pinned list."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import as_file

from rig.errors import BenchError, ConfigError
from rig.files.user_folders import expanded
from sut_backends.sdk.doctor import Diagnosis, examine
from sut_backends.sdk.installer import Progress, run
from sut_backends.sdk.kinds import REQUIREMENTS, SdkKind
from sut_backends.sdk.place import NewEnvironment, size_b
from sut_backends.workers.environments import installed, root

_PIP_S = 3600.0
_PROBE_S = 20.0
_MB = 1_000_000
_MINORS = range(8, 20)
_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def install(sdk: SdkKind, python: str, say: Callable[[str], None]) -> Diagnosis:
    """Make an environment beside the one that is there, try it, and let it take the
    place; return its state. `say` gets a line for each step.

    Raises ConfigError where no Python fits, BenchError where there is no room, where
    pip fails (with its last words), and where the new environment cannot be imported
    and the present one can. The present one stays as it is until the new one takes its
    place.
    """
    base = _fitting(sdk, python)
    say(_size(sdk))
    with NewEnvironment(sdk.kind) as new:
        _require_room(sdk)
        say(f"environment {new.folder}, from {base}")
        _fill(sdk, base, new, say)
        diagnosis = examine(sdk, str(new.interpreter))
        if not diagnosis.imports and examine(sdk).imports:
            raise BenchError(
                f"the new environment of {sdk.title} does not work, the present one"
                " stays",
                evidence="; ".join(diagnosis.problems),
                try_next=f"rig sdk doctor {sdk.kind} for the present one",
            )
        new.take_place()
        say(f"{size_b(new.folder) / _MB:.0f} MB are installed")
    return dataclasses.replace(diagnosis, interpreter=str(installed(sdk.kind)))


def _fill(
    sdk: SdkKind, base: str, new: NewEnvironment, say: Callable[[str], None]
) -> None:
    """Make the environment of its list."""
    folder = str(new.folder)
    run([base, "-m", "venv", folder], "no environment can be made", _PROBE_S * 6)
    pip = [
        str(new.interpreter),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
    ]
    with as_file(sdk.folder / REQUIREMENTS) as wanted:
        command = [*pip, "install", "--progress-bar", "off", "-r", str(wanted)]
        progress = Progress(len(sdk.requirements), say)
        run(command, "the packages cannot be installed", _PIP_S, progress.heard)
    for name in sdk.never:
        run([*pip, "uninstall", "-q", "-y", name], "", _PROBE_S * 6)


def _size(sdk: SdkKind) -> str:
    """Return how much is to come, where its sheet states it."""
    count = f"{len(sdk.requirements)} packages, pinned"
    if sdk.size is None:
        return count
    size = sdk.size
    return (
        f"{count}: {size.download_mb} MB to download, {size.installed_mb} MB installed "
        f"({size.measured}); minutes, some compile"
    )


def _require_room(sdk: SdkKind) -> None:
    wanted_mb = sdk.size.installed_mb if sdk.size else 0
    free_mb = shutil.disk_usage(root()).free // _MB
    if free_mb < wanted_mb:
        raise BenchError(
            f"there is no room for the environment of {sdk.title}",
            evidence=f"{free_mb} MB are free in {root()}, {wanted_mb} MB are needed",
            try_next="free some, or XDG_DATA_HOME=FOLDER on another disk",
        )


def _fitting(sdk: SdkKind, python: str) -> str:
    """Find the first Python that the SDK runs under."""
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
    versions = expanded("~") / ".pyenv" / "versions"
    for minor in _MINORS:
        for folder in sorted(versions.glob(f"3.{minor}.*/bin"), reverse=True):
            yield str(folder / "python")
        python = shutil.which(f"python3.{minor}")
        if python is not None:
            yield python


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
