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
_NETWORK = "network"
_INTEGERS = "tflite"
#: Workloads that run any network of their kind, by a header in a project.
_HEADERS = {
    _NETWORK: Path("workloads/network/nr_network_model.h"),
    _INTEGERS: Path("workloads/tflite/nr_tflite_model.h"),
}
#: So long a compiler may take, on a busy computer too.
_LIMIT_S = 600.0


def runs_any_network(planned: Planned) -> bool:
    """Check whether a bench came from the tree with the image of an example, and its
    task measures any network.
    """
    if not planned.from_example or not _port(planned):
        return False
    return _bench(planned).task.kind in _HEADERS


def workload_of(planned: Planned, task: Task) -> str:
    """Return the workload for which a bench from the tree needs an image in place of
    the example's: the one that runs the task's network, or the task's own, where the
    example's is not built; empty where it needs none.
    """
    if not planned.from_example or not _port(planned):
        return ""
    bench = _bench(planned)
    if runs_any_network(planned):
        return bench.task.kind
    if task.integers is not None and task.firmware_header():
        return _INTEGERS
    built = (bench.folder / bench.sut.settings.program).exists()
    sources = projects.sources() / "workloads" / bench.task.kind
    return "" if built or not sources.is_dir() else bench.task.kind


def with_image(
    planned: Planned, workload: str, task: Task, root: Path, *, build: bool = True
) -> Planned:
    """Return a bench whose program is an image of a workload, with the task's network
    where it runs any; built below `root` where it is not there yet. Raises ConfigError
    and BenchError where none can be made, or is to be built.
    """
    port = _port(planned)
    text = task.firmware_header() if workload in _HEADERS else ""
    network = task.network or task.integers
    if network is None or (workload in _HEADERS and not text):
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
    name = f"{network.model}-{port}-{digest}"
    folder = (root / FOLDER / name).resolve()
    image = _there(folder, workload, text)
    if image is None and not build:
        raise BenchError(f"the image {folder} is not built yet")
    if image is None:
        image = _built(folder, port, workload, text)
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
    """Return the image of a project with this header of a workload, or with the
    workload's own where it is empty; None where it is not there.
    """
    place = folder / _HEADERS[workload] if header else None
    done = _images(folder, workload)
    if done and (place is None or place.read_text(encoding="utf-8") == header):
        return done[-1]
    return None


def _built(folder: Path, name: str, workload: str, header: str) -> Path:
    """Make the image of a project with this header of a workload, or with the
    workload's own, and return it."""
    place = folder / _HEADERS[workload] if header else None
    if not (folder / projects.PORT_FILE).exists():
        projects.create(folder, name, projects.sources())
    port = projects.read_port(folder / projects.PORT_FILE)
    if place is not None:
        write_text(place, header)
    make = toolchain.find("make")
    toolchain.find(port.compiler)
    goal = projects.goals(port, workload)[-1]
    command: list[str | Path] = [make, "-C", folder, goal]
    try:
        made = subprocess.run(
            command,
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
    images = _images(folder, workload)
    if made.returncode or not images:
        evidence = (
            "\n".join(made.stderr.splitlines()[-8:])
            or f"make ended with {made.returncode}"
        )
        raise BenchError(
            f"the image for {name} does not build",
            evidence=evidence,
            try_next=(
                f"rig firmware build --model MODEL --target {name}, which says what"
                " the network takes of the part"
            ),
        )
    return images[-1]


def _images(folder: Path, workload: str) -> list[Path]:
    """Return the images of a workload, the last for the emulator."""
    images = [path for path in projects.images(folder) if path.stem == workload]
    return sorted(images, key=projects.is_for_emulator)
