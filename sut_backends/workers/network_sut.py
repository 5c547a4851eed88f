# SPDX-License-Identifier: Apache-2.0
"""A task's network in a worker: the common part of the backends of SDKs, simulators and
GPUs.

A backend brings a runner (sut_backends/workers/inside/network_routine.py) and its
knowledge of its chip.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rig.errors import BenchError, ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.network_task import IntegerWorkload, NetworkWorkload
from rig.interfaces.sut import SutInfo
from rig.model.origin import Origin, Origins
from rig.network import conventions, graph
from rig.network.checks import require_sound
from rig.network.conventions import by_name
from rig.network.graph import Network
from rig.network.plain import write_plain
from rig.network.tflite import plain as integers
from rig.simulation.world import NS_PER_S
from sut_backends.workers.inside.job import Job
from sut_backends.workers.process import Place, Worker
from sut_backends.workers.settings import WireSettings
from sut_backends.workers.sut import WorkerSut

ROUTINE = "sut_backends.workers.inside.network_routine:open_routine"
_WIRE = WireSettings()


@dataclass(frozen=True, slots=True)
class Runner:
    """Description of a backend's runner: its kind in a bench file, its module, its
    settings (JSON-able), the origins of times and energies, and a title, which `title`
    in the runner's `about` replaces.

    `refuse` looks at the network before any start and raises for one that the chip
    cannot map: DataError that names node and limit.
    """

    kind: str
    module: str
    name: str
    origins: Origins
    settings: Mapping[str, Any] = field(default_factory=dict)
    refuse: Callable[[Network], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A network for a worker: the names that the SUT reports, how its plain form is
    written, the codec around it, and what provenance says of it.
    """

    task: str
    model: str
    file: str
    plain: Callable[[Path], None]
    codec: str
    arguments: Mapping[str, Any]
    nir: str = ""
    trains: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)


def open_network_sut(
    runner: Runner,
    place: Place,
    context: BenchContext,
    settings: WireSettings = _WIRE,
) -> WorkerSut:
    """Start the worker with the task's network; ConfigError where the task has none,
    DataError where the network cannot be run.
    """
    workload = context.network
    if workload is None:
        raise ConfigError(
            f"[sut.{runner.kind}] runs networks, and this task is none",
            path=f"sut.{runner.kind}",
            try_next="[task.asc], or another task that states a NIR file",
        )
    network, how = _network(workload)
    if runner.refuse is not None:
        runner.refuse(network)
    plain = partial(write_plain, network, how, workload.dt_s)
    prepared = _Prepared(
        task=workload.task,
        model=workload.model,
        file=workload.path.name,
        plain=plain,
        codec=workload.codec,
        arguments=workload.arguments,
        nir=str(workload.path.resolve()),
        trains=workload.trains,
        about={"rule": by_name(how)},
    )
    return _opened(runner, place, context, settings, prepared)


def open_integer_sut(
    runner: Runner,
    place: Place,
    context: BenchContext,
    settings: WireSettings,
    workload: IntegerWorkload,
) -> WorkerSut:
    """Start the worker with a task's network in whole numbers; the runner's module has
    its codec.
    """
    network = workload.network
    prepared = _Prepared(
        task=workload.task,
        model=workload.model,
        file=workload.model,
        plain=partial(integers.write_plain, network),
        codec=f"{runner.module}:open_codec",
        arguments=_codec_arguments(workload),
    )
    return _opened(runner, place, context, settings, prepared)


def _codec_arguments(workload: IntegerWorkload) -> dict[str, Any]:
    tensor = workload.network.tensors[workload.network.input]
    size_b = workload.payload.size_b(tensor)
    return {
        "payload": workload.payload.value,
        "size_b": size_b,
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
    }


def _opened(
    runner: Runner,
    place: Place,
    context: BenchContext,
    settings: WireSettings,
    prepared: _Prepared,
) -> WorkerSut:
    worker = _started(runner, place, prepared)
    context.state.program = runner.kind
    about = worker.about
    details = dict(about.details)
    info = SutInfo(
        name=details.pop("title", runner.name),
        kind=runner.kind,
        simulated=runner.origins.time is Origin.SIMULATED,
        tick_hz=NS_PER_S,
        task=prepared.task,
        model=prepared.model,
        firmware=runner.module,
        batch_max=settings.slots,
        streams=True,
        details={
            **about.facts,
            **details,
            **prepared.about,
            "wrote_to_its_home": list(worker.wrote),
            "simulated_power_w": asdict(settings.power_w),
        },
        origins=runner.origins,
    )
    return WorkerSut(info, worker, context, settings)


def _network(workload: NetworkWorkload) -> tuple[Network, conventions.Conventions]:
    read = graph.read(workload.path)
    require_sound(read, workload.dt_s)
    how = conventions.of_rule(workload.rule, graph.taken_apart(read)[0])
    return graph.network(read), how


def _started(runner: Runner, place: Place, prepared: _Prepared) -> Worker:
    """Start the worker; it has read the network when it says that it is there."""
    with tempfile.TemporaryDirectory(prefix="neurorig-network-") as folder:
        plain = Path(folder) / "network.npz"
        prepared.plain(plain)
        job = asdict(Job(prepared.nir, str(plain), dict(runner.settings)))
        codec_arguments = dict(prepared.arguments)
        arguments = {
            "runner": runner.module,
            "job": job,
            "codec": prepared.codec,
            "codec_arguments": codec_arguments,
            "trains": prepared.trains,
        }
        program = Program(ROUTINE, prepared.task, prepared.model, arguments)
        packages = tuple(name.split(".")[0] for name in (runner.module, prepared.codec))
        try:
            return Worker(program, dataclasses.replace(place, packages=packages))
        except BenchError as error:
            if type(error) is not BenchError:  # late, or gone: they say so
                raise
            raise BenchError(
                f"{runner.name} does not start with {prepared.file}",
                evidence=error.evidence,
                try_next=error.try_next,
            ) from error
