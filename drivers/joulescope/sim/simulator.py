# SPDX-License-Identifier: Apache-2.0
"""Joulescopes with the interface of pyjoulescope_driver.Driver, in this process;
simulated.

As in the real one: one driver object in a process, one thread that calls back, values
checked against their metadata, retained before they are sent and not sent where they
are retained already, errors and log as there (pyjoulescope_driver/binding.pyx,
src/pubsub.c, src/buffer.c).
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from drivers.joulescope.sim.instrument import (
    ABSENT,
    CLOSED,
    OPEN,
    Device,
    SimulatedInstrument,
)
from drivers.joulescope.sim.settings import JoulescopeSimulatorSettings
from drivers.joulescope.sim.topics import Options
from drivers.joulescope.sim.topics import metadata as metadata_of
from rig.errors import ConfigError

__all__ = ["JoulescopeSimulatorSettings", "SimulatedDriver", "SimulatedInstrument"]

_LOGGER = "jsdrv"
_TIMEOUT_S = 1.0
_PUB = "pub"
_METADATA = "metadata_rsp"
_RETAIN = "_retain"
_IN_USE = "21 IN_USE | The requested resource is currently in use."
#: Held by the driver object that exists.
_INSTANCE = threading.Lock()


class SimulatedDriver:
    """Has the methods of pyjoulescope_driver.Driver that a monitor needs, and
    `attached` for the hand at the cable. Simulated.

    Where the real one waits a second for an acknowledgement that does not come, this
    one raises TimeoutError at once.
    """

    _not_simulated: ClassVar[set[str]] = {"s/i/range/ctrl", "s/p/ctrl", "s/stats/ctrl"}

    def __init__(self) -> None:
        if not _INSTANCE.acquire(blocking=False):
            raise RuntimeError(f"jsdrv_initialize failed {_IN_USE} ")
        self.log_level: Any = "off"
        self._devices: dict[str, Device] = {}
        self._subscribers: list[tuple[str, str, Callable[[str, Any], None]]] = []
        self._callbacks: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._finalized = False
        self._frontend = threading.Thread(
            target=self._run_frontend, name="simulated joulescope frontend"
        )
        self._frontend.start()

    def finalize(self, timeout: float | None = None) -> None:
        """End the thread; finalizing twice is allowed."""
        if self._finalized:
            return
        self._finalized = True
        self._callbacks.put(None)
        self._frontend.join()
        _INSTANCE.release()

    @contextmanager
    def attached(self, instrument: SimulatedInstrument) -> Iterator[list[str]]:
        """Attach the instruments of a bench file and yield their paths; each bench file
        has a desk of its own."""
        for path in instrument.devices:
            if path in self._devices:
                raise ConfigError(
                    f"{path} is simulated already",
                    path="monitor.joulescope.simulator.serials",
                    try_next=(
                        'a number of its own for each rail, as serials = ["000416"]'
                    ),
                )
        try:
            self._devices |= instrument.devices
            instrument.attach(self._callbacks.put, self._deliver, self._log)
            yield sorted(instrument.devices)
        finally:
            instrument.detach()
            for path in instrument.devices:
                self._devices.pop(path, None)

    def device_paths(self, *, timeout: float | None = None) -> list[str]:
        """Return the paths of the instruments that are attached."""
        return sorted(
            path for path, device in self._devices.items() if device.state != ABSENT
        )

    def open(
        self,
        device_prefix: str,
        mode: str | int | None = None,
        timeout: float | None = None,
    ) -> None:
        """Open an instrument; a JS110 that is open is opened again."""
        device = self._devices.get(device_prefix.rstrip("/"))
        if device is None or device.state == ABSENT:
            raise TimeoutError(f"jsdrv_open timed out | {device_prefix}")
        anew = device.state == OPEN and "/js110/" in device.path
        if device.instrument.busy or (device.state == OPEN and not anew):
            raise RuntimeError(f"jsdrv_open failed {_IN_USE} | {device_prefix}")
        if anew:
            self._end_streams(device, timeout)
        # Topics of the host alone stay as they were.
        device.retained |= device.instrument.restored(mode in (None, "defaults", 0))
        device.state = OPEN
        self._deliver(f"{device.path}/h/state", OPEN)

    def close(self, device_prefix: str, timeout: float | None = None) -> None:
        """Close an instrument; its streams end."""
        device = self._present(device_prefix.rstrip("/"), "jsdrv_close")
        self._end_streams(device, timeout)
        device.state = CLOSED
        self._deliver(f"{device.path}/h/state", CLOSED)

    def _end_streams(self, device: Device, timeout: float | None) -> None:
        controls = [name for name in device.instrument.topics if name.endswith("/ctrl")]
        for topic in list(filter(device.retained.get, controls)):
            self.publish(f"{device.path}/{topic}", 0, timeout)

    def publish(self, topic: str, value: Any, timeout: float | None = None) -> None:
        """Write a value; waits for the acknowledgement unless `timeout` is 0."""
        if not isinstance(value, (str, int, float, bytes)) or isinstance(
            value, np.generic
        ):
            raise ValueError(f"Unsupported value type: {type(value)}")
        path, _, name = _split(topic)
        device = self._present(path, "jsdrv_publish", topic)
        if name not in device.instrument.topics:
            raise TimeoutError(f"jsdrv_publish timed out | {topic}")
        number = _number_of(value, device.instrument.topics[name][0])
        if number is None or (name in self._not_simulated and number):
            self._callbacks.put(
                partial(
                    self._log,
                    f"pubsub validate failed {topic} {type(value).__name__}.R "
                    f" {value!s}",
                )
            )
            raise RuntimeError(
                "jsdrv_publish failed 5 PARAMETER_INVALID | The parameter value is"
                f" invalid | {topic}"
            )
        if device.retained.get(name) == number:
            return
        device.retained[name] = number
        done = device.instrument.send(name, number)
        if timeout == 0:
            # Virtual time may leap as soon as this returns; sending takes no time.
            if done is not None and threading.current_thread() is not self._frontend:
                done.wait(0.0 if device.instrument.live else _TIMEOUT_S)
            return
        timeout_s = (
            0.0
            if threading.current_thread() is self._frontend
            else _TIMEOUT_S
            if timeout is None
            else timeout
        )
        if done is None or not done.wait(timeout_s):
            raise TimeoutError(f"jsdrv_publish timed out | {topic}")

    def query(self, topic: str, timeout: float | None = None) -> Any:
        """Return the value that is held of a topic."""
        if topic == "@/list":
            return ",".join(self.device_paths())
        path, _, name = _split(topic)
        device = self._devices.get(path)
        if device is not None and name == "h/state":
            return device.state
        if device is None or name not in device.retained:
            raise RuntimeError(
                "jsdrv_query failed 16 NOT_FOUND | The requested resource was not"
                f" found | {topic}"
            )
        faults = device.instrument.settings.faults
        return faults.misread_as if name == faults.misread else device.retained[name]

    def subscribe(
        self,
        topic: str,
        flags: str | Iterable[str],
        fn: Callable[[str, Any], None],
        timeout: float | None = None,
    ) -> None:
        """Have `fn` called with every value, or all metadata, of a topic and what lies
        below it."""
        for flag in [flags] if isinstance(flags, str) else list(flags):
            kind = (
                _METADATA if flag.startswith("metadata") else flag.removesuffix(_RETAIN)
            )
            self._subscribers.append((topic, kind, fn))
            if not flag.endswith(_RETAIN) and flag != "metadata":
                continue
            for path, device in self._devices.items():
                if device.state == OPEN:
                    self._repeat(path, kind == _METADATA, topic, fn)
        self._reach(f"jsdrv_subscribe timed out | {topic}", timeout)

    def unsubscribe(
        self, topic: str, fn: Callable[[str, Any], None], timeout: float | None = None
    ) -> None:
        """End a subscription; `fn` is the same object. Values under way arrive
        first."""
        self._callbacks.put(partial(self._forget, topic, fn))
        self._reach(f"jsdrv_unsubscribe timed out | {topic}", timeout)

    def _forget(self, topic: str, fn: Callable[[str, Any], None]) -> None:
        kept = []
        for row in self._subscribers:
            is_other_topic = bool(topic) and row[0] != topic
            if row[2] is not fn or is_other_topic:
                kept.append(row)
        self._subscribers = kept

    def _reach(self, complaint: str, timeout: float | None) -> None:
        """Wait until all that is queued for callbacks has been called back."""
        if timeout == 0:
            return
        reached = threading.Event()
        self._callbacks.put(reached.set)
        timeout_s = (
            0.0
            if threading.current_thread() is self._frontend
            else _TIMEOUT_S
            if timeout is None
            else timeout
        )
        if not reached.wait(timeout_s):
            raise TimeoutError(complaint)

    def _present(self, path: str, call: str, topic: str = "") -> Device:
        device = self._devices.get(path)
        if device is None or device.state != OPEN:
            raise TimeoutError(f"{call} timed out | {topic or path}")
        return device

    def _repeat(
        self, path: str, metadata: bool, prefix: str, fn: Callable[[str, Any], None]
    ) -> None:
        """Send a new subscriber the retained values."""
        device = self._devices[path]
        values: dict[str, Any] = dict(device.retained)
        if metadata:
            values = {}
            model = device.instrument.settings.model
            for name, (options, _) in device.instrument.topics.items():
                values[f"{name}$"] = metadata_of(model, options)
            for name in device.retained:
                if name.endswith("/version"):
                    values[f"{name}$"] = {"dtype": "u32", "format": "version"}
        for name, value in values.items():
            if _below(f"{path}/{name}", prefix):
                self._callbacks.put(partial(self._call, fn, f"{path}/{name}", value))

    def _deliver(self, topic: str, value: Any) -> None:
        self._callbacks.put(partial(self._call_all, topic, value))

    def _log(self, message: str) -> None:
        if self.log_level != "off":
            logging.getLogger(_LOGGER).warning(message)

    def _call_all(self, topic: str, value: Any) -> None:
        for prefix, kind, fn in list(self._subscribers):
            if kind == _PUB and _below(topic, prefix):
                self._call(fn, topic, dict(value) if isinstance(value, dict) else value)

    def _call(self, fn: Callable[[str, Any], None], topic: str, value: Any) -> None:
        try:
            fn(topic, value)
        except Exception:
            logging.getLogger(_LOGGER).exception("_on_cmd_publish_cbk(%s)", topic)

    def _run_frontend(self) -> None:
        while (call := self._callbacks.get()) is not None:
            call()


def _split(topic: str) -> tuple[str, str, str]:
    """Return the path of the device in a topic and what follows."""
    parts = topic.split("/", 3)
    return "/".join(parts[:3]), "/", parts[3] if len(parts) > 3 else ""


def _below(topic: str, prefix: str) -> bool:
    return topic == prefix or topic.startswith(f"{prefix}/")


def _number_of(value: Any, options: Options) -> int | None:
    """Return the number of an option by its number or one of its names, any where there
    are none; None where it is none.
    """
    if not options:
        return value if type(value) is int and value > 0 else None
    return next((row[0] for row in options if value in row), None)
