# SPDX-License-Identifier: Apache-2.0
"""Nodes of a simulated board: events and where they go, its ADC with a true power and a
clock."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

NS_PER_S = 1_000_000_000
#: True power of each channel (W): at rest, and the addition of a running network.
POWER_W = {
    "audio2": {"Io": (0.9e-3, 0.3e-3), "LogicAfe": (60e-6, 0.0), "IoAfe": (4e-6, 0.0)}
    | {"Logic": (220e-6, 350e-6)},
    "audio3": {"Io": (0.3e-3, 0.1e-3), "AnalogLogic": (30e-6, 0.0)}
    | {"DigitalLogic": (250e-6, 400e-6)},
}
FAULTS = ("stop", "jump", "missing", "still")
_FAULT_AFTER_S = 0.5


class Truth:
    """True behaviour of the boards: `step_s` of a time step, `ppm` error of the
    stopwatch, `delay_s` between a command or an event and its arrival; `fault` acts
    half a second after the start.
    """

    def __init__(self, chip: str = "audio3", **given: Any) -> None:
        self.chip = chip
        self.boards = int(given.get("boards", 1))
        self.step_s = float(given.get("step_s", 400e-6))
        self.ppm = float(given.get("ppm", 30.0))
        self.delay_s = float(given.get("delay_s", 1e-3))
        self.fault = str(given.get("fault", ""))
        self.path = str(given.get("truth", ""))
        self.busy_ns: list[tuple[int, int]] = []

    def energy_j(self, channel: str, from_ns: int, to_ns: int) -> float:
        """Compute the energy of a channel between two times of CLOCK_MONOTONIC."""
        rest_w, more_w = POWER_W[self.chip][channel]
        busy_ns = 0
        for start, stop in self.busy_ns:
            busy_ns += max(min(to_ns, stop) - max(from_ns, start), 0)
        return (rest_w * (to_ns - from_ns) + more_w * busy_ns) / NS_PER_S

    def note(self) -> None:
        """Write the true values to a file, for comparison in a test."""
        if self.path:
            powers = POWER_W[self.chip]
            Path(self.path).write_text(
                json.dumps({"busy_ns": self.busy_ns, "power_w": powers})
            )


class Bag:
    """An object with every attribute: one that was never set is an empty bag."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "shape":  # numpy asks for it
            raise AttributeError(name)
        made = Bag()
        setattr(self, name, made)
        return made

    def __bool__(self) -> bool:
        return False


class Event:
    """An event with the given attributes alone."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


class Sink:
    """Destination of events for a program."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Any]] = []
        self.source: Any = None
        self.kind = ""

    def put(self, due_ns: int, event: Any) -> None:
        """Let an event arrive at a time."""
        if not self.kind or type(event).__name__ == self.kind:
            self._waiting.append((due_ns, event))

    def get_events(self) -> list[Any]:
        """Take the events that have arrived."""
        if isinstance(self.source, PowerSource):
            self.source.fill(self)
        now_ns = time.monotonic_ns()
        arrived = [event for due_ns, event in self._waiting if due_ns <= now_ns]
        self._waiting = [each for each in self._waiting if each[0] > now_ns]
        return arrived

    clear_events = get_events

    # What Audio 2's state buffer is asked for.
    def set_configuration(self, config: Any) -> None:
        """Ignore the configuration."""

    def reset(self) -> None:
        """Drop present and coming events."""
        self._waiting = []

    def get_output_spike(self) -> Any:
        """Return the output spikes of all steps so far, (outputs, steps)."""
        readouts = [
            event for event in self.get_events() if hasattr(event, "output_spikes")
        ]
        return np.array([event.output_spikes for event in readouts]).T

    def __getattr__(self, name: str) -> Any:
        if name.startswith("get_reservoir_"):
            return list
        raise AttributeError(name)


class Source:
    """Node into which a program writes events."""

    def __init__(self) -> None:
        self.target: Any = None

    def write(self, events: list[Any]) -> None:
        """Hand events to the board."""
        self.target.take(events)


class EventFilterGraph:
    """Joins nodes: all nodes before a sink feed it."""

    def sequential(self, nodes: list[Any]) -> list[Any]:
        """Join nodes in their order; a name makes a filter."""
        made: list[Any] = [Bag() if isinstance(node, str) else node for node in nodes]
        first, last = made[0], made[-1]
        if isinstance(first, Source):
            first.target = last
        else:
            first.join(last)
        if len(made) == 3:
            made[1].set_desired_type = lambda name: setattr(
                last, "kind", name.split("::")[-1]
            )
        return made

    def start(self) -> None:
        """Ignore the start: events flow from the first."""

    stop = start


class Output:
    """Node of a board that emits events."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []

    def join(self, sink: Sink) -> None:
        """Let a sink have all events from here on."""
        sink.source = self
        self.sinks.append(sink)

    def give(self, due_ns: int, event: Any) -> None:
        """Let an event arrive at every sink."""
        for sink in self.sinks:
            sink.put(due_ns, event)


class PowerSource(Output):
    """The board's ADC: a mean power a period and channel, stamped by the stopwatch."""

    def __init__(self, truth: Truth, channels: Any) -> None:
        super().__init__()
        self._truth, self._channels = truth, channels
        self.hz = 0.0
        self.zero_ns: int | None = None
        self._done = 0
        self._began_ns = 0

    def begin(self, hz: float) -> None:
        """Measure from here on."""
        self.hz, self._done = hz, 0
        self._began_ns = time.monotonic_ns() + round(self._truth.delay_s * NS_PER_S)

    def fill(self, sink: Sink) -> None:
        """Hand over all events whose period is over and whose way was long enough."""
        if not self.hz:
            return
        truth = self._truth
        period_ns = NS_PER_S / self.hz
        late_ns = round(truth.delay_s * NS_PER_S)
        due = int((time.monotonic_ns() - late_ns - self._began_ns) / period_ns)
        for number in range(self._done, due):
            start_ns = self._began_ns + round(number * period_ns)
            stop_ns = self._began_ns + round((number + 1) * period_ns)
            faulty = stop_ns - self._began_ns > _FAULT_AFTER_S * NS_PER_S
            if faulty and truth.fault == "stop":
                break
            for name, channel in vars(self._channels).items():
                if truth.fault == "missing" and channel == max(
                    vars(self._channels).values()
                ):
                    continue
                mean_w = truth.energy_j(name, start_ns, stop_ns) * NS_PER_S / period_ns
                sink.put(
                    stop_ns + late_ns, self._event(channel, mean_w, stop_ns, faulty)
                )
        self._done = max(due, self._done)

    def _event(self, channel: int, mean_w: float, stop_ns: int, faulty: bool) -> Event:
        stamp_us = 0
        if self.zero_ns is not None:
            stamp_us = round(
                (stop_ns - self.zero_ns) * (1 + self._truth.ppm * 1e-6) / 1000
            )
        if faulty and self._truth.fault == "jump":
            stamp_us += 5_000_000
        if self._truth.fault == "still":
            stamp_us = 0
        return Event(channel=channel, value=mean_w, timestamp=stamp_us)


class PowerMonitor:
    """samna's power monitor of the board."""

    def __init__(self, source: PowerSource) -> None:
        self._source = source

    def get_source_node(self) -> PowerSource:
        """Return where measurements come from."""
        return self._source

    def is_auto_power_measurement_active(self) -> bool:
        """Check whether it measures by itself."""
        return self._source.hz > 0

    def start_auto_power_measurement(self, hz: float) -> None:
        """Measure all channels at a rate."""
        self._source.begin(hz)

    def stop_auto_power_measurement(self) -> None:
        """Measure no more."""
        self._source.hz = 0.0


class StopWatch:
    """The board's stopwatch. A command arrives some time later. A start does not reset
    one that runs already."""

    def __init__(self, source: PowerSource, delay_ns: int) -> None:
        self._source = source
        self._delay_ns = delay_ns

    def start(self) -> None:
        """Run, from 0 where it did not run before."""
        if self._source.zero_ns is None:
            self.reset()

    def reset(self) -> None:
        """Go back to 0."""
        self._source.zero_ns = time.monotonic_ns() + self._delay_ns

    def stop(self) -> None:
        """Stop; stamps of power go on, as no test needs them stopped."""
