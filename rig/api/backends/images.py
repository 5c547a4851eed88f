# SPDX-License-Identifier: Apache-2.0
"""Images of a task's network for the systems of a comparison that run firmware on this
computer: a process, or an emulated board.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from rig.api.backends.runs import Planned, overridden
from rig.bench import config
from rig.bench.config import Config
from rig.errors import BenchError, ConfigError
from rig.firmware import project as projects
from rig.firmware import toolchain
from rig.interfaces.task import Task
from rig.store.session_folder import write_text

FOLDER = "images"
#: The workload of a task has the name of its kind, and a header in a project.
_HEADERS = {
    "network": Path("workloads/network/nr_network_model.h"),
    "tflite": Path("workloads/tflite/nr_tflite_model.h"),
}
#: So long a compiler may take, on a busy computer too.
_LIMIT_S = 600.0


def needs_image(planned: Planned) -> bool:
    """Check whether a bench came from the tree, with the image of an example instead
    of one of the task's network.
    """
    if not planned.from_example or not _port(planned):
        return False
    return _bench(planned).task.kind in _HEADERS


def with_image(
    planned: Planned, task: Task | None, root: Path, *, build: bool = True
) -> Planned:
    """Return a bench whose program is an image of the task's network, built below
    `root` where it is not there yet; raises ConfigError and BenchError where none can
    be made, or is to be built.
    """
    port = _port(planned)
    text = "" if task is None else task.firmware_header()
    workload = None if task is None else task.network or task.integers
    if workload is None or not text:
        raise ConfigError(
            f"no image for {planned.name}: the task does not open, or has no firmware",
            path="--suts",
            try_next=(
                "the other backends say why; or a bench file of your own with its"
                " program"
            ),
        )
    resolved = _bench(planned)
    digest = sha256(text.encode()).hexdigest()[:8]
    name = f"{workload.model}-{port}-{digest}"
    folder = (root / FOLDER / name).resolve()
    kind = resolved.task.kind
    image = _there(folder, kind, text)
    if image is None and not build:
        raise BenchError(f"the image {folder} is not built yet")
    if image is None:
        image = _built(folder, port, kind, text)
    program = f"sut.{resolved.sut.kind}.program={image}"
    return replace(planned, text=overridden(resolved, [program]))


def _bench(planned: Planned) -> Config:
    return config.parsed(planned.text, Path.cwd())


def _port(planned: Planned) -> str:
    """Return the port of the firmware that a bench runs; empty where it runs none
    here."""
    sut = _bench(planned).sut
    if sut.kind == "posix":
        return "posix"
    if sut.kind not in ("qemu", "rp2040js"):
        return ""
    known = projects.ports(projects.sources())
    machine = sut.settings.machine
    return next((name for name, port in known.items() if port.machine == machine), "")


def _there(folder: Path, workload: str, header: str) -> Path | None:
    """Return the image of a project with this header of a workload, if it is there."""
    place = folder / _HEADERS[workload]
    done = _images(folder, workload)
    if done and place.read_text(encoding="utf-8") == header:
        return done[-1]
    return None


def _built(folder: Path, name: str, workload: str, header: str) -> Path:
    """Make the image of a project with this header of a workload, and return it."""
    place = folder / _HEADERS[workload]
    if not (folder / projects.PORT_FILE).exists():
        projects.create(folder, name, projects.sources())
    port = projects.read_port(folder / projects.PORT_FILE)
    write_text(place, header)
    make = toolchain.find("make")
    toolchain.find(port.compiler)
    goal = projects.goals(port, workload)[-1]
    try:
        made = subprocess.run(
            [make, "-C", folder, goal],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(
            f"the image for {name} does not build",
            evidence=f"not done after {_LIMIT_S:.0f} s",
        ) from error
    found = _images(folder, workload)
    if made.returncode or not found:
        raise BenchError(
            f"the image for {name} does not build",
            evidence="\n".join(made.stderr.splitlines()[-8:])
            or f"make ended with {made.returncode}",
            try_next=(
                f"rig firmware build --model MODEL --target {name}, which says what"
                " the network takes of the part"
            ),
        )
    return found[-1]


def _images(folder: Path, workload: str) -> list[Path]:
    """Return the images of a workload, the last for the emulator."""
    found = [path for path in projects.images(folder) if path.stem == workload]
    return sorted(found, key=projects.is_for_emulator)
