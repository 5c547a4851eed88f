# SPDX-License-Identifier: Apache-2.0
"""The cells of a campaign on the workers of a Dask cluster, each at a host with boards.

A worker offers its boards as abstract resources, `board:NAME=1`, so that a board runs
one session at a time. Sessions are copied from the host, and each file is compared with
the hash that it had there and with the one in the session's journal.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
import time
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.api.backends.rows import Failure
from rig.api.campaign import cell_at_host
from rig.api.campaign.cell_at_host import CellAtHost
from rig.api.campaign.cell_process import CellNews
from rig.api.campaign.grid import GridCell
from rig.api.campaign.local import CellEvent, Hear, Ordered, unanswered
from rig.errors import BenchError, ConfigError, DataError, RigError, storage_error
from rig.host.stop import Stop
from rig.store import journal, session_folder
from rig.store.session_folder import EVENTS, SessionFolder

_BOARD = "board:"
_WORKERS = "a worker that offers its boards: rig docs CAMPAIGN has the command"
_CONNECT_S = 10.0
#: Time between two looks at the cluster.
_POLL_S = 0.5
#: So long a board may be offered by no worker: a worker may start again.
_GONE_S = 20.0
#: Time for all cells to end when asked.
_LEAVE_S = 90.0


@dataclass(frozen=True, slots=True)
class _Task:
    """A cell on the cluster: its future, and the resource that it waits for."""

    cell: GridCell
    future: Any
    resource: str


@dataclass(frozen=True, slots=True)
class DaskHosts:
    """The workers of a scheduler, and the folder into which sessions are copied."""

    address: str
    root: Path

    def run(
        self, cells: Sequence[GridCell], ordered: Ordered, hear: Hear, stop: Stop
    ) -> None:
        """Run the cells on the workers, and copy their sessions; raises ConfigError
        where a board is offered by none, BenchError where the scheduler is gone, and
        Stopped where that was requested.
        """
        with _connected(self.address) as client:
            _refuse_other_sources(client)
            needed = _resources(cells, _offered(client))
            place = f"{socket.gethostname()}:{self.root.resolve()}"
            key = hashlib.sha256(place.encode()).hexdigest()[:16]
            run = str(time.time_ns())
            tasks = []
            for number, cell in enumerate(cells):
                resource = needed[cell.name]
                future = client.submit(
                    cell_at_host.run_cell,
                    ordered(cell),
                    key,
                    run,
                    key=f"{cell.name}-{run}",
                    pure=False,
                    priority=-number,
                    resources={resource: 1} if resource else None,
                )
                tasks.append(_Task(cell, future, resource))
            cluster = _Cluster(client, self.root, hear)
            try:
                with stop.heard():
                    while tasks:
                        stop.wait(_POLL_S)
                        tasks = cluster.collected(tasks)
            finally:
                if tasks:
                    _leave(cluster, (key, run), tasks)


def _leave(
    cluster: _Cluster, key_and_run: tuple[str, str], tasks: Sequence[_Task]
) -> None:
    """Let the cells end, and collect their last news."""
    with suppress(Exception):
        # A worker that does not answer keeps no other one from being asked.
        cluster.client.run(cell_at_host.ask_to_stop, *key_and_run, on_error="ignore")
        end_s = time.monotonic() + _LEAVE_S
        while tasks and time.monotonic() < end_s:
            time.sleep(_POLL_S)
            tasks = cluster.collected(tasks)
        cluster.client.cancel([task.future for task in tasks])
    for task in tasks:
        cluster.hear(CellEvent(task.cell, unanswered(task.cell)))


class _Cluster:
    """The cluster as the campaign sees it, and when each board was seen last."""

    def __init__(self, client: Any, root: Path, hear: Hear) -> None:
        self.client = client
        self._root = root
        self.hear = hear
        self._seen_s: dict[str, float] = {}
        self._alive_s = time.monotonic()

    def collected(self, tasks: Sequence[_Task]) -> list[_Task]:
        """Take in the cells that ended; return the others."""
        now_s = time.monotonic()
        offered: set[str] = set()
        if self.client.status == "running":
            with suppress(OSError, TimeoutError):
                offered = _offered(self.client)
                self._alive_s = now_s
        if now_s > self._alive_s + _GONE_S:
            raise BenchError(
                "the Dask scheduler is gone",
                evidence=f"it does not answer for {_GONE_S:.0f} s",
                try_next="start it again; the same command goes on",
            )
        self._seen_s |= dict.fromkeys(offered, now_s)
        left = []
        for task in tasks:
            seen_s = self._seen_s.setdefault(task.resource, now_s)
            if task.future.done():
                self._end(task)
            elif task.resource and now_s > seen_s + _GONE_S:
                task.future.cancel()
                self._fail(
                    task.cell,
                    Failure(
                        f"no worker offers {task.resource} any more",
                        try_next="start its worker again; the same command goes on",
                    ),
                )
            else:
                left.append(task)
        return left

    def _end(self, task: _Task) -> None:
        try:
            # Its worker may be gone since, with the result; no other may offer the
            # board that would run it again.
            ended: CellAtHost = task.future.result(timeout=_GONE_S)
        except (Exception, CancelledError) as error:
            self._fail(
                task.cell,
                Failure(
                    "its worker was lost",
                    evidence=repr(error),
                    try_next="look at the worker; the same command goes on",
                ),
            )
            return
        news = ended.news
        if ended.files:
            try:
                copied = _copy(self.client, ended, self._root)
                news = replace(news, session=str(copied))
            except RigError as error:
                news = replace(news, failure=Failure.of(error))
        self.hear(CellEvent(task.cell, news, ended.host))
        # The scheduler forgets it.
        task.future.release()

    def _fail(self, cell: GridCell, failure: Failure) -> None:
        self.hear(CellEvent(cell, CellNews(ended=True, failure=failure)))


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError(
            "Dask is not installed",
            path="--scheduler",
            try_next="pip install 'neurorig[dask]'",
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"no Dask scheduler at {address}",
            path="--scheduler",
            evidence=str(error),
            try_next="dask scheduler, which prints its address",
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            raise ConfigError(
                f"the Dask scheduler at {address} has no workers",
                path="--scheduler",
                evidence=f"none came within {_CONNECT_S:g} s",
                try_next=_WORKERS,
            ) from error
        yield client


def _refuse_other_sources(client: Any) -> None:
    """Raise ConfigError for a worker whose rig is another one."""
    try:
        hashes = client.run(cell_at_host.sources)
    except Exception as error:
        raise ConfigError(
            "a worker has no rig that can be imported",
            path="--scheduler",
            evidence=repr(error),
            try_next="pip install 'neurorig[dask]' there, of this version",
        ) from error
    local = cell_at_host.sources()
    if others := sorted(worker for worker, theirs in hashes.items() if theirs != local):
        raise ConfigError(
            "a worker has another version of the rig",
            path="--scheduler",
            evidence=", ".join(others),
            try_next="install this version there",
        )


def _offered(client: Any) -> set[str]:
    """Return the boards that workers offer."""
    boards: set[str] = set()
    known = client.scheduler_info(n_workers=-1).get("workers", {})
    for worker in known.values():
        for name, count in worker.get("resources", {}).items():
            if name.startswith(_BOARD) and count >= 1:
                boards.add(name)
    return boards


def _resources(cells: Sequence[GridCell], offered: set[str]) -> dict[str, str]:
    """Return the resource of each cell: its board where a worker offers it, none for a
    simulated bench; raises ConfigError for a board that none offers.
    """
    needed = {}
    for cell in cells:
        name = f"{_BOARD}{cell.board}"
        if name not in offered and not cell.held.is_free:
            raise ConfigError(
                f"no worker offers {name}, which bench {cell.bench} needs",
                path="--scheduler",
                evidence=f"offered: {', '.join(sorted(offered)) or 'none'}",
                try_next=_WORKERS,
            )
        needed[cell.name] = name if name in offered else ""
    return needed


def _copy(client: Any, ended: CellAtHost, root: Path) -> Path:
    """Copy a session from its host, compare its files with both hashes, and remove it
    there; raises DataError where they differ.
    """
    name = Path(ended.folder).name
    partial = root / f".{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for file, digest in ended.files.items():
            target = partial / file
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as stream:
                for block in _blocks(client, ended, file):
                    stream.write(block)
            _refuse_other_hash(target, digest, ended.host)
        for event in journal.read(partial / EVENTS).events:
            folder = partial
            if event.event in ("trial_finished", "trial_resumed"):
                folder = SessionFolder(partial).trial(event.trial)
            if event.event != "trial_resumed":
                for file, digest in event.files.items():
                    _refuse_other_hash(folder / file, digest, ended.host)
        session_folder.to_disk(partial)
        target = _free(root, name)
        partial.rename(target)
    except OSError as error:
        raise storage_error(error, root) from error
    with suppress(Exception):
        client.run(cell_at_host.remove, ended.folder, workers=[ended.worker])
    return target


def _blocks(client: Any, ended: CellAtHost, file: str) -> Iterator[bytes]:
    """Yield a file of a session piece by piece."""
    start_b = 0
    while True:
        try:
            blocks = client.run(
                cell_at_host.piece,
                ended.folder,
                file,
                start_b,
                workers=[ended.worker],
            )
            block: bytes = blocks[ended.worker]
        except Exception as error:
            raise DataError(
                f"{file} of {ended.folder} cannot be copied from {ended.host}",
                evidence=repr(error),
                try_next="look at the worker; the same command goes on",
            ) from error
        if not block:
            return
        yield block
        start_b += len(block)


def _refuse_other_hash(path: Path, digest: str, host: str) -> None:
    if not path.is_file() or session_folder.sha256(path) != digest:
        raise DataError(
            f"{path.name} of a session from {host} is not what was written there",
            evidence=f"SHA-256 is not {digest[:16]}...",
            try_next="the same command, which runs the cell again",
        )


def _free(root: Path, name: str) -> Path:
    names = [name, *(f"{name}-{number}" for number in range(2, 1000))]
    return next(root / one for one in names if not (root / one).exists())
