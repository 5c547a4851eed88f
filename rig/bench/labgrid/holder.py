# SPDX-License-Identifier: Apache-2.0
"""A process that acquires a place of labgrid, and switches off and releases it once its
standard input is closed: by the rig, or because the rig is gone.

labgrid keeps its state in globals, changes those of Python, and prints: this process is
the only one that imports it. It does not run on Windows (loan.py).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rig.bench.labgrid.messages import LentResource, PlaceAnswer, Refusal
from rig.bench.place_settings import LabgridSettings
from rig.files import typed
from rig.host import file_lock
from rig.host.pseudo_terminal import posix_only
from rig.host.python_child import READY

#: Time for the coordinator to answer, and for each action of a resource.
_CONNECT_S = 10
_ACTION_S = 20
_WHAT = "a board on loan from labgrid"
_COORDINATOR = "127.0.0.1:20408"


class _Refused(Exception):
    def __init__(self, refusal: Refusal, cause: str, evidence: str = "") -> None:
        super().__init__(cause)
        self.answer = PlaceAnswer(refusal=refusal, cause=cause, evidence=evidence)


class _Late(Exception):
    """An action of labgrid has not come to its end in time."""


@contextmanager
def _within(limit_s: int) -> Iterator[None]:
    """End an action of labgrid, which may wait without a limit."""
    if sys.platform == "win32":
        raise posix_only(_WHAT)

    def late(*_: object) -> None:
        raise _Late(f"no answer within {limit_s} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(limit_s)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _lock(name: str, stack: ExitStack) -> None:
    """Keep other rigs of this user from a place that labgrid takes for theirs too."""
    if sys.platform == "win32":
        raise posix_only(_WHAT)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"neurorig-labgrid-{os.getuid()}-{digest}"
    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    stream = stack.enter_context(os.fdopen(os.open(path, flags, 0o600), "r+"))
    if not file_lock.take(stream):
        raise _Refused("held", "another rig on this computer holds it")


class _Place:
    """A place at a coordinator, through labgrid's own client."""

    def __init__(self, settings: LabgridSettings, environment: Any) -> None:
        from labgrid.remote import client
        from labgrid.util.proxy import proxymanager

        address = settings.coordinator or os.environ.get("LG_COORDINATOR", "")
        if not address and environment is not None:
            address = environment.config.get_option("coordinator_address", "")
        address = address or _COORDINATOR
        self.address = proxymanager.get_grpc_address(address, default_port=20408)
        loop = client.ensure_event_loop()
        self._session = client.ClientSession(
            self.address,
            loop,
            env=environment,
            role=settings.target if environment is not None else None,
            args=argparse.Namespace(
                allow_unmatched=False,
                delay=None,
                kick=False,
                name=settings.switch or None,
                state=None,
            ),
        )
        self._client = client
        self._run = loop.run_until_complete

    def connect(self) -> None:
        """Connect to the coordinator."""
        start = asyncio.wait_for(self._session.start(), _CONNECT_S)
        try:
            self._run(start)
        except (TimeoutError, self._client.ServerError, OSError) as error:
            raise _Refused(
                "absent",
                f"no coordinator of labgrid answers at {self.address}",
                str(error),
            ) from error

    def acquire(self, name: str, stack: ExitStack) -> None:
        """Acquire the place; one that its user acquired before stays acquired."""
        places = self._session.places
        if name not in places:
            raise _Refused(
                "wrong",
                f"there is no place {name!r}",
                f"places there: {', '.join(sorted(places)) or 'none'}",
            )
        _lock(f"{self.address} {name}", stack)
        self._session.args.place = name
        me = f"{self._session.gethostname()}/{self._session.getuser()}"
        holder = places[name].acquired
        if holder == me:
            return
        if holder and me not in places[name].allowed:
            raise _Refused("held", f"the place {name} is held by {holder}")
        if holder:
            return
        try:
            self._run(self._session.acquire())
        except self._client.Error as error:
            raise _Refused(
                "failed", f"the place {name} cannot be acquired", _said(error)
            ) from error
        stack.callback(self._bounded, lambda: self._run(self._session.release()))

    def target(self) -> Any:
        """Return the target with the resources of the acquired place."""
        place = self._session.get_acquired_place(self._session.args.place)
        return self._session._get_target(place)

    def switch(self, stack: ExitStack) -> bool:
        """Switch the place on, and off at the end; False where it has no switch."""
        try:
            self._power("on")
        except self._client.UserError:
            return False
        stack.callback(self._bounded, lambda: self._power("off"))
        return True

    def _power(self, action: str) -> None:
        self._session.args.action = action
        self._session.power()

    @staticmethod
    def _bounded(action: Callable[[], Any]) -> None:
        with _within(_ACTION_S):
            action()


def _acquired(settings: LabgridSettings, stack: ExitStack) -> PlaceAnswer:
    """Acquire a place until `stack` is left; raise _Refused."""
    try:
        import labgrid
    except ImportError as error:
        raise _Refused(
            "not-installed", "labgrid is not installed", str(error)
        ) from error
    environment = None
    name = settings.place
    if settings.environment:
        try:
            environment = labgrid.Environment(settings.environment)
            targets = environment.config.get_targets()
        except Exception as error:
            raise _Refused(
                "wrong", f"{settings.environment} is no environment file", _said(error)
            ) from error
        if settings.target not in targets:
            raise _Refused(
                "wrong",
                f"{settings.environment} has no target {settings.target}",
                f"targets there: {', '.join(targets)}",
            )
        name = name or _place_of(targets[settings.target])
    if name:
        place = _Place(settings, environment)
        place.connect()
        place.acquire(name, stack)
        with _within(_ACTION_S):
            target = place.target()
            resources = _resources(target)
            switched = place.switch(stack)
        return PlaceAnswer(name, resources, switched)
    if environment is None:
        raise _Refused("wrong", "neither place nor environment is given")
    _lock(f"{settings.environment} {settings.target}", stack)
    with _within(_ACTION_S):
        target = environment.get_target(settings.target)
        resources = _resources(target)
        switched = _switch_local(target, settings.switch or None, stack)
    return PlaceAnswer(settings.target, resources, switched)


def _place_of(target: dict[str, Any]) -> str:
    """Return the place that a target of an environment names; empty: none."""
    from labgrid import target_factory

    resources, _ = target_factory.normalize_config(target)
    return next(iter(resources.get("RemotePlace", {})), "")


def _resources(target: Any) -> tuple[LentResource, ...]:
    """Return the resources of a target that a bench can use."""
    target.await_resources(target.resources, timeout=_ACTION_S)
    resources = []
    for resource in target.resources:
        address = _address(resource)
        if address:
            name = resource.name or type(resource).__name__
            resources.append(LentResource(name, address))
    return tuple(resources)


def _address(resource: Any) -> str:
    """Return the port or address of a resource as a bench file states it."""
    from labgrid.resource import NetworkSerialPort, SerialPort
    from labgrid.resource.pyvisa import PyVISADevice
    from labgrid.util.proxy import proxymanager

    if isinstance(resource, SerialPort):
        return str(resource.port)
    if isinstance(resource, PyVISADevice):
        return f"{resource.type}::{resource.url}::INSTR"
    if not isinstance(resource, NetworkSerialPort):
        return ""
    host, port = proxymanager.get_host_and_port(resource)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if resource.protocol == "raw":
        return f"socket://{place}"
    # As labgrid's own driver: ser2net does not confirm control lines.
    return f"rfc2217://{place}?ign_set_control"


def _switch_local(target: Any, name: str | None, stack: ExitStack) -> bool:
    """Switch a target without a coordinator on, and off at the end."""
    from labgrid.exceptions import NoDriverFoundError

    try:
        driver = target.get_driver("PowerProtocol", name=name)
    except NoDriverFoundError:
        return False
    driver.on()
    stack.callback(_Place._bounded, driver.off)
    return True


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def main() -> int:
    """Acquire a place as the first line orders, and hold it to the end of the input."""
    first = sys.stdin.readline()
    if not first:
        return 0
    out = sys.stdout
    sys.stdout = sys.stderr  # labgrid prints
    settings = typed.from_json(LabgridSettings, json.loads(first), "the order")
    with ExitStack() as stack:
        try:
            answer = _acquired(settings, stack)
        except _Refused as refused:
            answer = refused.answer
        except Exception as error:
            answer = PlaceAnswer(
                refusal="failed", cause="labgrid failed", evidence=_said(error)
            )
        out.write(f"{READY} {json.dumps(typed.to_json(answer))}\n")
        out.flush()
        if not answer.refusal:
            sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
