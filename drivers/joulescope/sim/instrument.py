# SPDX-License-Identifier: Apache-2.0
"""Instruments of a simulated Joulescope driver: those that one bench file attaches, one
of them measuring.

A JS220 or JS320 keeps each setting and acknowledges it. For a JS110 the host driver
keeps it, sends all settings of a kind together, and acknowledges them in any case: a
failure is a line of the log (js110_usb.c).
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from drivers.joulescope.sim.ranges import Span, spans
from drivers.joulescope.sim.settings import JoulescopeSimulatorSettings
from drivers.joulescope.sim.streams import JoulescopeAcquisition, Unplugged
from drivers.joulescope.sim.topics import JS110, JS220, JS320
from rig.simulation.world import World

_POLL_S = 0.01
_TIMEOUT_S = 3.0
OPEN = 3
CLOSED = 1
ABSENT = 0
_TOPICS = {"js110": JS110, "js220": JS220, "js320": JS320}
_FIRMWARE = {"js220": "1.3.0", "js320": "1.1.2"}
_HARDWARE = "1.0.0"
#: What js110_usb.c sends together, by the name of the function that does and is in the
#: log where it fails.
_SENT = {
    "stream_settings_send": ("s/i/range/select", "s/v/range/select"),
    "extio_settings_send": ("s/extio/voltage", "s/i/lsb_src", "s/v/lsb_src"),
}


@dataclass(slots=True)
class Command:
    """A value on its way to the instrument; `refused`: it will not be carried out."""

    topic: str
    value: int
    refused: bool = False
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Device:
    """One attached instrument: its path and model, whether it is open, and the host's
    values of it."""

    path: str
    instrument: SimulatedInstrument
    state: int = CLOSED
    retained: dict[str, int] = field(default_factory=dict)


class SimulatedInstrument:
    """The instruments that one bench file attaches to the driver; the one that is
    opened measures its world.
    """

    acquisition: ClassVar[type[JoulescopeAcquisition]] = JoulescopeAcquisition

    def __init__(
        self, settings: JoulescopeSimulatorSettings, world: World, seed: int = 0
    ) -> None:
        self.settings = settings
        self._world = world
        self.topics = _TOPICS[settings.model]
        self._random = np.random.default_rng([seed, settings.seed])
        paths = (
            *(f"u/{settings.model}/{serial}" for serial in settings.serials),
            *settings.beside,
        )
        self.devices = {path: Device(path, self) for path in paths}
        self._opened = 0
        self._sent = 0  # of the topic that may be refused
        self._supply = (
            "s/i/range/select" if settings.model == "js110" else "s/i/range/mode"
        )
        options, _ = self.topics[self._supply]
        self._auto: int = next(row[0] for row in options if "auto" in row)
        self._instrument = {
            topic: value
            for topic, (_, value) in self.topics.items()
            if value is not None
        }
        if settings.faults.found_on:
            self._instrument[self._supply] = self._auto
        # by the host of a JS110, carried out or not
        self._asked = dict(self._instrument)
        world.supply_on = settings.faults.found_on
        world.supply_v = settings.supply_v
        self._acquisition: JoulescopeAcquisition | None = None
        self._end_watch: Callable[[], None] = lambda: None
        self._commands: queue.Queue[Command | None] = queue.Queue()
        self._thread = threading.Thread(
            target=self._run_device, name="simulated joulescope"
        )

    def attach(
        self,
        call: Callable[[Callable[[], None]], None],
        deliver: Callable[[str, Any], None],
        log: Callable[[str], None],
    ) -> None:
        """Begin to carry out requests of the driver; `call` runs a function on its
        thread, `deliver` publishes a value."""
        self._call = call
        self._deliver = deliver
        self._log = log
        self._thread.start()

    def detach(self) -> None:
        """End the thread, where there is one."""
        self._commands.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def busy(self) -> bool:
        """Whether another program has it."""
        return self.settings.faults.busy or (
            self.settings.faults.opens_once and self._opened > 0
        )

    @property
    def live(self) -> bool:
        """Whether its world's time goes by itself."""
        return self._world.live

    def restored(self, defaults: bool) -> dict[str, int]:
        """Return the host driver's values after it has opened and queried the
        instrument."""
        self._opened += 1
        if defaults and self.settings.model == "js110":
            # The host driver sends a JS110 its own default, which connects the DUT's
            # supply.
            self._instrument[self._supply] = self._auto
            self._world.supply_on = True
        self._asked = dict(self._instrument)
        if self.settings.model == "js110":
            return dict(self._instrument)
        versions = {
            "c/fw": _FIRMWARE[self.settings.model],
            "c/hw": _HARDWARE,
            "s/fpga": self.settings.fpga,
        }
        return self._instrument | {
            f"{part}/version": _version(text) for part, text in versions.items()
        }

    def send(self, topic: str, value: int) -> threading.Event | None:
        """Send a value to the instrument; return the values that its acknowledgement
        sets, None if it is never acknowledged."""
        refused = self._refused(topic)
        if refused and self.settings.model != "js110":
            return None
        late = refused and self.settings.faults.unanswered
        command = Command(topic, value, refused and not late)
        self._commands.put(command)
        if late:
            # Its host driver acknowledges everything, but may take 5 s: 1 s for the
            # transfer, 3 s until the instrument says that it is done, 1 s for the last
            # question (jsdrvb_ctrl_out and wait_for_sensor_command of js110_usb.c).
            command.done.wait(_TIMEOUT_S)
            return None
        return command.done

    def _refused(self, topic: str) -> bool:
        faults = self.settings.faults
        if topic != faults.refuse:
            return False
        self._sent += 1
        return not faults.refuse_only or self._sent in faults.refuse_only

    def _run_device(self) -> None:
        try:
            while True:
                try:
                    # In a virtual world a command without a topic signals every step of
                    # time.
                    command = self._commands.get(
                        timeout=_POLL_S
                        if self._acquisition and self._world.live
                        else None
                    )
                except queue.Empty:
                    command = Command("", 0)
                if command is None:
                    return
                if command.topic:
                    self._carry_out(command)
                self._follow(self._world.horizon_ns())
                if not command.topic:
                    command.done.set()
        except Unplugged:
            self._unplug()
        finally:
            self._end_watch()
            self._acquisition = None

    def _follow(self, horizon_ns: int) -> None:
        while self._acquisition is not None and self._acquisition.follow(horizon_ns):
            pass

    def _carry_out(self, command: Command) -> None:
        supply = self._instrument[self._supply]
        complaint = ""
        if self.settings.model == "js110":
            complaint = self._send_settings(command)
        else:
            self._instrument[command.topic] = command.value
        if self._instrument[self._supply] != supply:
            self._world.supply_on = self._instrument[self._supply] != 0
        name = command.topic.removesuffix("/ctrl")
        if command.topic.endswith("/ctrl") and not complaint:
            if command.value:
                self._start(name)
            elif not self._stop(name):
                # no acknowledgement: the log of the simulated device never reached the
                # end
                return
        self._call(partial(self._answer, command, complaint))

    def _answer(self, command: Command, complaint: str) -> None:
        # The real log has a thread of its own: it may come after the acknowledgement,
        # though it was written before.
        command.done.set()
        if complaint:
            self._log(complaint)

    def _send_settings(self, command: Command) -> str:
        """Act as a JS110 and its host driver; return the lines that they log."""
        streaming = self._streaming()
        self._asked[command.topic] = command.value
        for name, topics in _SENT.items():
            if command.topic in topics or (
                name == "stream_settings_send" and self._streaming() != streaming
            ):
                if command.refused:
                    return f"{name} did not work"
                self._instrument |= {topic: self._asked[topic] for topic in topics}
        self._instrument[command.topic] = command.value
        return ""

    def _streaming(self) -> bool:
        for topic in self.topics:
            is_stream = topic.endswith("/ctrl") and topic != "s/sstats/ctrl"
            if is_stream and self._asked[topic]:
                return True
        return False

    def _start(self, name: str) -> None:
        if self._acquisition is None:
            self._acquisition = self.acquisition(
                settings=self.settings,
                world=self._world,
                send=self._send,
                warn=self._warn,
                line=self._line,
                spans=self._read_spans,
                input_counts=self._instrument.get("s/gpi/+/dwnN/N", 1),
                random=self._random.spawn(1)[0],
            )
            self._end_watch = self._world.watch(self._hold)
        self._start_stream(self._acquisition, name)

    def _start_stream(self, acquisition: JoulescopeAcquisition, name: str) -> None:
        acquisition.start(name)

    def _stop(self, name: str) -> bool:
        """Sample up to this moment, then end the stream; say whether the moment was
        reached."""
        acquisition = self._acquisition
        if acquisition is None:
            return True
        stop_ns = self._world.now_ns()
        began_s = time.monotonic()
        while (horizon_ns := self._world.horizon_ns()) < stop_ns:
            self._follow(horizon_ns)
            if time.monotonic() - began_s > _TIMEOUT_S:
                return False
            threading.Event().wait(_POLL_S)
        self._follow(stop_ns)
        acquisition.stop(name)
        if not acquisition.streaming:
            self._end_watch()
            self._acquisition = None
        return True

    def _hold(self) -> None:
        """Hold a step of virtual time until all that was sampled in it has been called
        back."""
        step = Command("", 0)
        self._commands.put(step)
        while not step.done.wait(_POLL_S) and self._thread.is_alive():
            pass
        reached = threading.Event()
        self._call(reached.set)
        reached.wait(_TIMEOUT_S)

    def _send(self, topic: str, block: dict[str, Any]) -> None:
        for path, device in self.devices.items():
            if device.state == OPEN:
                self._deliver(f"{path}/{topic}", block)

    def _warn(self, message: str) -> None:
        self._call(partial(self._log, message))

    def _line(self, gpi: int) -> bool | None:
        """Check whether an input follows SYNC; None where its stream shows the
        converter's lowest bit."""
        source = "s/i/lsb_src" if gpi == 0 else "s/v/lsb_src"
        if self.settings.model == "js110" and self._instrument[source] != (2, 3)[gpi]:
            return None
        return gpi == self.settings.sync_gpi and self._reads_inputs()

    def _reads_inputs(self) -> bool:
        if self.settings.model == "js110":
            return self._instrument["s/extio/voltage"] > 0
        return self._instrument["c/gpio/vref"] == 1 or self.settings.vref_wired

    def _read_spans(self) -> tuple[Span, Span]:
        return spans(self.settings.model, self._instrument)

    def _unplug(self) -> None:
        # "Joulescope is designed to disconnect IN+ from OUT+ whenever its isolated
        # sensor side is unpowered" (its maker in
        # github.com/jetperch/pyjoulescope_ui/issues/27, of the JS110; assumed of the
        # others).
        self._world.supply_on = False
        for device in self.devices.values():
            if device.state == OPEN:
                device.state = ABSENT
                self._deliver(f"{device.path}/h/state", ABSENT)
                self._deliver("@/!remove", device.path)


def _version(text: str) -> int:
    major, minor, patch = (int(part) for part in text.split("."))
    return major << 24 | minor << 16 | patch
