# SPDX-License-Identifier: Apache-2.0
"""A Joulescope behind the interface of pyjoulescope_driver.Driver, in this process; simulated.

What the real one does: one thread that calls back, values retained and checked against their metadata, a publish that finds the
value already there is not sent, errors as the binding raises them (pyjoulescope_driver/binding.pyx, src/pubsub.c; js110_usb.c).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from drivers.joulescope.simulated_ranges import Span, spans
from drivers.joulescope.simulated_streams import Acquisition, SimulatorSettings, Unplugged
from drivers.joulescope.simulated_topics import JS110, JS220, Options
from rig.errors import ConfigError
from rig.virtual import World

__all__ = ["SimulatedDriver", "SimulatorSettings"]

_LOGGER = "jsdrv"
_TIMEOUT_S = 1.0
_POLL_S = 0.01
_BACKLOG = 100_000
_PATIENCE_S = 3.0
_OPEN, _CLOSED, _ABSENT = 3, 1, 0
_PUB, _METADATA, _RETAIN = "pub", "metadata_rsp", "_retain"

_FIRMWARE, _HARDWARE = "1.3.0", "1.0.0"


@dataclass(slots=True)
class _Command:
    topic: str
    value: int
    done: threading.Event


@dataclass(slots=True)
class _Device:
    """One attached instrument: its path, whether it is open, and the values that the host holds of it."""

    path: str
    state: int = _CLOSED
    retained: dict[str, int] = field(default_factory=dict)


class SimulatedDriver:
    """Has the methods of pyjoulescope_driver.Driver that a monitor needs. Simulated.

    Where the real one waits a second for an acknowledgement that does not come, this one raises TimeoutError at once.
    """

    def __init__(self, settings: SimulatorSettings, world: World, seed: int = 0) -> None:
        if settings.model not in ("js110", "js220", "js320"):
            raise ConfigError(f"{settings.model!r}", path="monitor.joulescope.simulator.model", try_next="js220 or js110")
        for name, ok, rule in (
            ("supply_v", settings.supply_v > 0, "above 0"),
            ("share", 0 < settings.share <= 1, "above 0, to 1"),
            ("noise_a", settings.noise_a >= 0, "0 or more"),
            ("clock_ppm", abs(settings.clock_ppm) < 100_000, "less than 100000 either way"),
        ):
            if not ok:
                raise ConfigError(f"{getattr(settings, name)}", path=f"monitor.joulescope.simulator.{name}", try_next=rule)
        self.log_level: Any = "off"
        self._settings, self._world = settings, world
        self._topics = JS110 if settings.model == "js110" else JS220
        self._random = np.random.default_rng([seed, settings.seed])
        paths = (*(f"u/{settings.model}/{serial}" for serial in settings.serials), *settings.beside)
        self._devices = {path: _Device(path) for path in paths}
        self._publishes = 0  # of the topic that may be refused
        self._supply = "s/i/range/select" if settings.model == "js110" else "s/i/range/mode"
        self._instrument = {topic: value for topic, (_, value) in self._topics.items() if value is not None}
        if settings.faults.found_on:
            self._instrument[self._supply] = 128 if settings.model == "js110" else 1
        world.supply_on = settings.faults.found_on
        self._subscribers: list[tuple[str, str, Callable[[str, Any], None]]] = []
        self._acquisition: Acquisition | None = None
        self._end_watch: Callable[[], None] = lambda: None
        self._commands: queue.SimpleQueue[_Command | None] = queue.SimpleQueue()
        self._callbacks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._moved = threading.Condition()
        self._finalized = False
        self._device_thread = threading.Thread(target=self._run_device, name="simulated joulescope")
        self._frontend = threading.Thread(target=self._run_frontend, name="simulated joulescope frontend")
        self._device_thread.start()
        self._frontend.start()

    def finalize(self, timeout: float | None = None) -> None:
        """End the threads; finalizing twice is allowed."""
        if self._finalized:
            return
        self._finalized = True
        self._commands.put(None)
        self._device_thread.join()
        self._callbacks.put(None)
        self._frontend.join()

    def device_paths(self, timeout: float | None = None) -> list[str]:
        """Return the paths of the instruments that are attached."""
        return sorted(path for path, device in self._devices.items() if device.state != _ABSENT)

    def open(self, device_prefix: str, mode: str | int | None = None, timeout: float | None = None) -> None:
        """Open an instrument."""
        device = self._devices.get(device_prefix.rstrip("/"))
        if device is None or device.state == _ABSENT:
            raise TimeoutError(f"jsdrv_open timed out | {device_prefix}")
        if self._settings.faults.busy or device.state == _OPEN:
            raise RuntimeError(f"jsdrv_open failed 21 IN_USE | The requested resource is currently in use. | {device_prefix}")
        device.retained = dict(self._instrument)
        if mode in (None, "defaults", 0) and self._settings.model == "js110":
            # The host driver sends a JS110 its own default, which connects the DUT's supply.
            device.retained[self._supply] = self._instrument[self._supply] = 128
            self._world.supply_on = True
        if self._settings.model == "js220":
            versions = {"c/fw": _FIRMWARE, "c/hw": _HARDWARE, "s/fpga": self._settings.fpga}
            device.retained |= {f"{part}/version": _version(text) for part, text in versions.items()}
        device.state = _OPEN
        self._deliver(f"{device.path}/h/state", _OPEN)

    def close(self, device_prefix: str, timeout: float | None = None) -> None:
        """Close an instrument; its streams end."""
        device = self._present(device_prefix.rstrip("/"), "jsdrv_close")
        for topic in [name for name in self._topics if name.endswith("/ctrl") and device.retained.get(name)]:
            self.publish(f"{device.path}/{topic}", 0, timeout)
        device.state = _CLOSED
        self._deliver(f"{device.path}/h/state", _CLOSED)

    def publish(self, topic: str, value: Any, timeout: float | None = None) -> None:
        """Write a value; waits for the acknowledgement unless `timeout` is 0."""
        if not isinstance(value, (str, int, float, bytes)) or isinstance(value, np.generic):
            raise ValueError(f"Unsupported value type: {type(value)}")
        path, _, name = _split(topic)
        device = self._present(path, "jsdrv_publish", topic)
        if name not in self._topics or self._refused(name):
            raise TimeoutError(f"jsdrv_publish timed out | {topic}")
        number = _number_of(value, self._topics[name][0])
        if number is None or (name in ("s/p/ctrl", "s/i/range/ctrl", "s/stats/ctrl") and number):
            raise RuntimeError(f"jsdrv_publish failed 5 PARAMETER_INVALID | The parameter value is invalid | {topic}")
        if device.retained.get(name) == number:
            return  # the host driver does not send what the instrument has already
        device.retained[name] = number
        command = _Command(name, number, threading.Event())
        self._commands.put(command)
        if timeout == 0:
            return
        patience_s = 0.0 if threading.current_thread() is self._frontend else _TIMEOUT_S if timeout is None else timeout
        if not command.done.wait(patience_s):
            raise TimeoutError(f"jsdrv_publish timed out | {topic}")

    def _refused(self, name: str) -> bool:
        faults = self._settings.faults
        if name != faults.refuse:
            return False
        self._publishes += 1
        return not faults.refuse_only or self._publishes in faults.refuse_only

    def query(self, topic: str, timeout: float | None = None) -> Any:
        """Return the value that is held of a topic."""
        if topic == "@/list":
            return ",".join(self.device_paths())
        path, _, name = _split(topic)
        device = self._devices.get(path)
        if device is not None and name == "h/state":
            return device.state
        if device is None or name not in device.retained:
            raise RuntimeError(f"jsdrv_query failed 16 NOT_FOUND | The requested resource was not found | {topic}")
        return self._settings.faults.misread_as if name == self._settings.faults.misread else device.retained[name]

    def subscribe(
        self, topic: str, flags: str | Iterable[str], fn: Callable[[str, Any], None], timeout: float | None = None
    ) -> None:
        """Have `fn` called with every value, or all metadata, of a topic and what lies below it."""
        for flag in [flags] if isinstance(flags, str) else list(flags):
            kind = _METADATA if flag.startswith("metadata") else flag.removesuffix(_RETAIN)
            self._subscribers.append((topic, kind, fn))
            if not flag.endswith(_RETAIN) and flag != "metadata":
                continue
            for path, device in self._devices.items():
                if device.state == _OPEN:
                    self._repeat(path, kind == _METADATA, topic, fn)
        self._reach(f"jsdrv_subscribe timed out | {topic}", timeout)

    def unsubscribe(self, topic: str, fn: Callable[[str, Any], None], timeout: float | None = None) -> None:
        """End a subscription; `fn` is the same object. What is on its way comes first."""
        self._callbacks.put(partial(self._forget, topic, fn))
        self._reach(f"jsdrv_unsubscribe timed out | {topic}", timeout)

    def unsubscribe_all(self, fn: Callable[[str, Any], None], timeout: float | None = None) -> None:
        """End all subscriptions of `fn`. What is on its way comes first."""
        self._callbacks.put(partial(self._forget, "", fn))
        self._reach("jsdrv_unsubscribe_all timed out", timeout)

    def _forget(self, topic: str, fn: Callable[[str, Any], None]) -> None:
        self._subscribers = [row for row in self._subscribers if row[2] is not fn or row[0] != (topic or row[0])]

    def _reach(self, complaint: str, timeout: float | None) -> None:
        """Wait until all that is queued for callbacks has been called back."""
        if timeout == 0:
            return
        reached = threading.Event()
        self._callbacks.put(reached.set)
        patience_s = 0.0 if threading.current_thread() is self._frontend else _TIMEOUT_S if timeout is None else timeout
        if not reached.wait(patience_s):
            raise TimeoutError(complaint)

    def _present(self, path: str, call: str, topic: str = "") -> _Device:
        device = self._devices.get(path)
        if device is None or device.state != _OPEN:
            raise TimeoutError(f"{call} timed out | {topic or path}")
        return device

    def _repeat(self, path: str, metadata: bool, prefix: str, fn: Callable[[str, Any], None]) -> None:
        """Tell a new subscriber what is retained."""
        values: dict[str, Any] = dict(self._devices[path].retained)
        if metadata:
            values = {f"{name}$": {"dtype": "u32", "options": options} for name, (options, _) in self._topics.items()}
        for name, value in values.items():
            if _below(f"{path}/{name}", prefix):
                self._callbacks.put(partial(self._call, fn, f"{path}/{name}", value))

    def _deliver(self, topic: str, value: Any) -> None:
        self._callbacks.put(lambda: self._call_all(topic, value))

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

    def _run_device(self) -> None:
        try:
            while True:
                try:
                    # In a virtual world every step of time is told by a command of no topic.
                    command = self._commands.get(timeout=_POLL_S if self._acquisition and self._world.live else None)
                except queue.Empty:
                    command = _Command("", 0, threading.Event())
                if command is None:
                    return
                if command.topic:
                    self._carry_out(command)
                self._follow(self._world.horizon_ns())
        except Unplugged:
            self._unplug()
        finally:
            self._end_watch()
            self._acquisition = None
            with self._moved:
                self._moved.notify_all()

    def _follow(self, horizon_ns: int) -> None:
        while self._acquisition is not None and self._acquisition.follow(horizon_ns):
            with self._moved:
                self._moved.notify_all()

    def _carry_out(self, command: _Command) -> None:
        name = command.topic.removesuffix("/ctrl")
        self._instrument[command.topic] = command.value
        if command.topic == self._supply:
            self._world.supply_on = command.value != 0
        elif command.topic.endswith("/ctrl") and command.value:
            self._start(name)
        elif command.topic.endswith("/ctrl") and not self._stop(name):
            return  # no acknowledgement: the log of the simulated device never reached the end
        self._callbacks.put(command.done.set)

    def _start(self, name: str) -> None:
        if self._acquisition is None:
            self._acquisition = Acquisition(
                self._settings, self._world, self._send, self._warn, self._line, self._read_spans, self._random.spawn(1)[0]
            )
            self._end_watch = self._world.watch(self._hold)
        self._acquisition.start(name)

    def _stop(self, name: str) -> bool:
        """Sample up to this moment, then end the stream; say whether the moment was reached."""
        acquisition = self._acquisition
        if acquisition is None:
            return True
        stop_ns, began_s = self._world.now_ns(), time.monotonic()
        while (horizon_ns := self._world.horizon_ns()) < stop_ns:
            self._follow(horizon_ns)
            if time.monotonic() - began_s > _PATIENCE_S:
                return False
            threading.Event().wait(_POLL_S)
        self._follow(stop_ns)
        acquisition.stop(name)
        if not acquisition.streaming:
            self._end_watch()
            self._acquisition = None
        return True

    def _hold(self) -> None:
        """Hold a step of virtual time until the samples have caught up with it."""
        self._commands.put(_Command("", 0, threading.Event()))
        with self._moved:
            self._moved.wait_for(self._caught_up)
        # What has been sampled arrives before more time passes.
        reached = threading.Event()
        self._callbacks.put(reached.set)
        reached.wait(_TIMEOUT_S)

    def _caught_up(self) -> bool:
        acquisition = self._acquisition
        if acquisition is None or not self._device_thread.is_alive():
            return True
        return acquisition.due(self._world.horizon_ns()) <= _BACKLOG

    def _send(self, topic: str, block: dict[str, Any]) -> None:
        for path, device in self._devices.items():
            if device.state == _OPEN:
                self._deliver(f"{path}/{topic}", block)

    def _warn(self, message: str) -> None:
        self._callbacks.put(lambda: logging.getLogger(_LOGGER).warning(message))

    def _line(self, gpi: int) -> bool | None:
        """Say whether an input follows SYNC; None where its stream shows the converter's lowest bit."""
        if self._settings.model == "js110":
            if self._instrument["s/i/lsb_src" if gpi == 0 else "s/v/lsb_src"] != (2, 3)[gpi]:
                return None
            return gpi == self._settings.sync_gpi and self._instrument["s/extio/voltage"] > 0
        powered = self._instrument["c/gpio/vref"] == 1 or self._settings.vref_wired
        return gpi == self._settings.sync_gpi and powered

    def _read_spans(self) -> tuple[Span, Span]:
        return spans(self._settings.model, self._instrument)

    def _unplug(self) -> None:
        # "Joulescope is designed to disconnect IN+ from OUT+ whenever its isolated sensor side is unpowered" (its maker in
        # github.com/jetperch/pyjoulescope_ui/issues/27, of the JS110; assumed of the JS220).
        self._world.supply_on = False
        for device in self._devices.values():
            if device.state == _OPEN:
                device.state = _ABSENT
                self._deliver(f"{device.path}/h/state", _ABSENT)
                self._deliver("@/!remove", device.path)


def _version(text: str) -> int:
    major, minor, patch = (int(part) for part in text.split("."))
    return major << 24 | minor << 16 | patch


def _split(topic: str) -> tuple[str, str, str]:
    """Return the path of the device in a topic and what follows."""
    parts = topic.split("/", 3)
    return "/".join(parts[:3]), "/", parts[3] if len(parts) > 3 else ""


def _below(topic: str, prefix: str) -> bool:
    return topic == prefix or topic.startswith(f"{prefix}/")


def _number_of(value: Any, options: Options) -> int | None:
    """Return the number of an option by its number or one of its names; None where it is none."""
    return next((row[0] for row in options if value in row), None)
