# SPDX-License-Identifier: Apache-2.0
"""Simulated Xylo boards behind the calls of samna that Rockpool and the worker make: a stand-in
with a true clock and a true power, in real time.

The network is stepped by arithmetic of its own, from the configuration that was written to the
board: what Rockpool makes of a network can be compared with what the network is. Names of calls
are those that Rockpool 3.1.0 uses; what they do on a board was not seen. Standard library and
numpy.
"""

from __future__ import annotations

import json
import time
import types
from pathlib import Path
from typing import Any

import numpy as np

NS_PER_S = 1_000_000_000
#: True power of each channel (W): at rest, and what a running network adds.
POWER_W = {
    "audio2": {"Io": (0.9e-3, 0.3e-3), "LogicAfe": (60e-6, 0.0), "IoAfe": (4e-6, 0.0)}
    | {"Logic": (220e-6, 350e-6)},
    "audio3": {"Io": (0.3e-3, 0.1e-3), "AnalogLogic": (30e-6, 0.0)}
    | {"DigitalLogic": (250e-6, 400e-6)},
}
FAULTS = ("stop", "jump", "missing", "still")
_FAULT_AFTER_S = 0.5


class Truth:
    """What the boards do: `step_s` a time step takes, `ppm` how fast the stopwatch is, `delay_s`
    between a command or an event and its arrival; `fault` acts half a second after the start.
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
        """Return what a channel took between two times of CLOCK_MONOTONIC."""
        rest_w, more_w = POWER_W[self.chip][channel]
        busy = sum(max(min(to_ns, stop) - max(from_ns, start), 0) for start, stop in self.busy_ns)
        return (rest_w * (to_ns - from_ns) + more_w * busy) / NS_PER_S

    def note(self) -> None:
        """Write what was true into a file, for a test to compare with."""
        if self.path:
            powers = POWER_W[self.chip]
            Path(self.path).write_text(json.dumps({"busy_ns": self.busy_ns, "power_w": powers}))


class Bag:
    """An object of which every attribute is there: one that was never set is an empty bag."""

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
    """An event: it has what it was given, and nothing else."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


class Sink:
    """Where events arrive for a program."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Any]] = []
        self.source: Any = None
        self.kind = ""

    def put(self, due_ns: int, event: Any) -> None:
        """Let an event arrive at a time."""
        if not self.kind or type(event).__name__ == self.kind:
            self._waiting.append((due_ns, event))

    def get_events(self) -> list[Any]:
        """Return and forget what has arrived."""
        if isinstance(self.source, PowerSource):
            self.source.fill(self)
        now_ns = time.monotonic_ns()
        arrived = [event for due_ns, event in self._waiting if due_ns <= now_ns]
        self._waiting = [each for each in self._waiting if each[0] > now_ns]
        return arrived

    clear_events = get_events

    # What Audio 2's state buffer is asked for.
    def set_configuration(self, config: Any) -> None:
        """Take note of nothing."""

    def reset(self) -> None:
        """Forget what has arrived and what will."""
        self._waiting = []

    def get_output_spike(self) -> Any:
        """Return the output spikes of all steps so far, (outputs, steps)."""
        readouts = [event for event in self.get_events() if hasattr(event, "output_spikes")]
        return np.array([event.output_spikes for event in readouts]).T

    def __getattr__(self, name: str) -> Any:
        if name.startswith("get_reservoir_"):
            return list
        raise AttributeError(name)


class Source:
    """Where a program writes events."""

    def __init__(self) -> None:
        self.target: Any = None

    def write(self, events: list[Any]) -> None:
        """Hand events to the board."""
        self.target.take(events)


class EventFilterGraph:
    """Joins nodes: whatever comes before a sink feeds it."""

    def sequential(self, nodes: list[Any]) -> list[Any]:
        """Join nodes in their order; a name makes a filter."""
        made: list[Any] = [Bag() if isinstance(node, str) else node for node in nodes]
        first, last = made[0], made[-1]
        if isinstance(first, Source):
            first.target = last
        else:
            first.join(last)
        if len(made) == 3:
            made[1].set_desired_type = lambda name: setattr(last, "kind", name.split("::")[-1])
        return made

    def start(self) -> None:
        """Do nothing: events flow from the first."""

    stop = start


class Output:
    """The node of a board that gives events."""

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
                if truth.fault == "missing" and channel == max(vars(self._channels).values()):
                    continue
                mean_w = truth.energy_j(name, start_ns, stop_ns) * NS_PER_S / period_ns
                sink.put(stop_ns + late_ns, self._event(channel, mean_w, stop_ns, faulty))
        self._done = max(due, self._done)

    def _event(self, channel: int, mean_w: float, stop_ns: int, faulty: bool) -> Event:
        stamp_us = 0
        if self.zero_ns is not None:
            stamp_us = round((stop_ns - self.zero_ns) * (1 + self._truth.ppm * 1e-6) / 1000)
        if faulty and self._truth.fault == "jump":
            stamp_us += 5_000_000
        if self._truth.fault == "still":
            stamp_us = 0
        return Event(channel=channel, value=mean_w, timestamp=stamp_us)


class Core(Output):
    """The chip: takes a configuration and spikes, and gives readouts step by step."""

    def __init__(self, truth: Truth, events: Any, stamp: str) -> None:
        super().__init__()
        self._truth, self._events, self._stamp = truth, events, stamp
        self._config = Bag()
        self._step = 0
        self._inputs: list[Any] = []
        self._layers: tuple[Any, ...] = ()

    def apply_configuration(self, config: Any) -> None:
        """Hold a configuration; the states begin at 0."""
        self._config = config
        self.rest()

    def get_configuration(self) -> Any:
        """Return the configuration."""
        return self._config

    def get_source_node(self) -> Core:
        """Return where events come from."""
        return self

    get_sink_node = get_source_node

    def rest(self) -> None:
        """Set all states to 0."""
        config = self._config
        hidden = config.reservoir if self._truth.chip == "audio2" else config.hidden
        self._layers = () if isinstance(hidden.neurons, Bag) else (hidden, config.readout)
        if self._layers:
            self._back = np.asarray(hidden.weights, np.int64) << int(hidden.weight_bit_shift)
            self._states = [np.zeros((2, len(one.neurons)), np.int64) for one in self._layers]
            self._fired = np.zeros(len(hidden.neurons), np.int64)

    def take(self, events: list[Any]) -> None:
        """Do what events ask for."""
        now_ns = time.monotonic_ns() + round(self._truth.delay_s * NS_PER_S)
        last = None
        for event in events:
            name = type(event).__name__
            if name == "Spike":
                self._inputs.append(event)
                last = getattr(event, self._stamp)
            elif name == "TriggerReadout":
                self.give(now_ns, self._events.Readout(**{self._stamp: self._step}))
            elif name == "ReadVersion":
                self.give(now_ns, self._events.Version(major=1, minor=1))
            elif name == "ReadRegisterValue":
                self.give(now_ns, self._events.RegisterValue(address=event.address, data=0))
            elif name == "TriggerProcessing" and "target_timestep" in vars(event):
                last = event.target_timestep
        if last is not None and self._layers:
            self._run(now_ns, int(last))

    def _run(self, now_ns: int, stop: int) -> None:
        """Step until a time step, and give a readout of each as it is done."""
        config = self._config
        into, out = (
            np.asarray(part.weights, np.int64) << int(part.weight_bit_shift)
            for part in (config.input, config.readout)
        )
        counts: dict[int, Any] = {}
        for spike in self._inputs:
            step = int(getattr(spike, self._stamp))
            given = counts.setdefault(step, np.zeros(len(into), np.int64))
            given[int(getattr(spike, "neuron_id", 0))] += 1
        self._inputs = []
        began_ns = now_ns
        for step in range(self._step, stop):
            drive = np.zeros(len(self._fired), np.int64)
            drive[: into.shape[1]] = counts.get(step, np.zeros(len(into), np.int64)) @ into
            before = self._fired
            self._fired = self._stepped(0, drive + before @ self._back, 31)
            spikes = self._stepped(1, before[len(before) - len(out) :] @ out, 1)
            now_ns += round(self._truth.step_s * NS_PER_S)
            told = {"output_spikes": spikes.tolist(), self._stamp: step}
            told["output_v_mems"] = self._states[1][1].tolist()
            told |= {name: [] for name in ("neuron_v_mems", "neuron_i_syns", "neuron_i_syn2s")}
            self.give(now_ns, self._events.Readout(**told))
        self._step = stop
        self._truth.busy_ns.append((began_ns, now_ns))

    def _stepped(self, layer: int, drive: Any, most: int) -> Any:
        """Step the neurons of a layer: states of 16 bits that lose themselves shifted right."""
        neurons = self._layers[layer].neurons
        syn, mem, threshold = (
            np.array([int(getattr(one, name)) for one in neurons])
            for name in ("i_syn_decay", "v_mem_decay", "threshold")
        )
        current, membrane = self._states[layer]
        current = np.clip(current + drive, -32_768, 32_767)
        current = current - _loss(current, syn)
        moved = np.clip(current - _loss(membrane, mem), -32_768, 32_767)
        membrane = np.clip(membrane + moved, -32_768, 32_767)
        fired = np.clip(membrane // threshold, 0, most)
        self._states[layer] = np.stack([current, membrane - fired * threshold])
        return fired


def _loss(state: Any, dash: Any) -> Any:
    lost = state >> dash
    return np.where((lost == 0) & (state > 0), 1, lost)


class PowerMonitor:
    """What samna calls the board's power monitor."""

    def __init__(self, source: PowerSource) -> None:
        self._source = source

    def get_source_node(self) -> PowerSource:
        """Return where measurements come from."""
        return self._source

    def is_auto_power_measurement_active(self) -> bool:
        """Return whether it measures by itself."""
        return self._source.hz > 0

    def start_auto_power_measurement(self, hz: float) -> None:
        """Measure all channels at a rate."""
        self._source.begin(hz)

    def stop_auto_power_measurement(self) -> None:
        """Measure no more."""
        self._source.hz = 0.0


class Board:
    """A board: chip, power monitor, stopwatch."""

    def __init__(self, truth: Truth, events: Any, channels: Any) -> None:
        self._core = Core(truth, events, "timestamp" if truth.chip == "audio2" else "timestep")
        self._truth = truth
        self._power = PowerSource(truth, channels)

    def get_firmware_versions(self) -> Bag:
        """Return versions that Rockpool accepts."""
        return Bag(fxtree="0.12.2", unifirm="1.6.0")

    def get_model(self) -> Core:
        """Return the chip."""
        return self._core

    get_xylo_model = get_model_source_node = get_model_sink_node = get_model

    def get_afe_model(self) -> Bag:
        """Return the audio front end, which nobody uses here."""
        return Bag(set_saer_interface_enable=lambda on: None)

    def get_power_monitor(self) -> PowerMonitor:
        """Return the power monitor."""
        return PowerMonitor(self._power)

    def get_stop_watch(self) -> Bag:
        """Return the stopwatch: it starts some time after it was told to."""
        return Bag(start=self._start, stop=lambda: None)

    def _start(self, reset: bool = True) -> None:
        if reset or self._power.zero_ns is None:
            self._power.zero_ns = time.monotonic_ns() + round(self._truth.delay_s * NS_PER_S)


def build(samna: Any, truth: Truth) -> None:
    """Give a hollow samna the boards and the calls that are used."""

    def event(name: str) -> type:
        return type(name, (Event,), {})

    names = ("Readout", "Version", "Spike", "TriggerReadout", "TriggerProcessing")
    names = (*names, "ReadVersion", "ReadRegisterValue", "WriteRegisterValue", "RegisterValue")
    for home in ("xyloCore2", "xyloAudio3"):
        module = getattr(samna, home)
        module.event = types.SimpleNamespace(**{name: event(name) for name in names})
        module.OperationMode = Bag(AcceleratedTime=1, Manual=2)
        module.InputSource = Bag(SpikeEvents=1)
        module.validate_configuration = lambda config: (True, "")
        module.NeuronStateSinkNode = Sink
        for name in ("XyloConfiguration", "ReservoirNeuron", "HiddenNeuron", "OutputNeuron"):
            setattr(module.configuration, name, type(name, (Bag,), {"alias_target": None}))
        module.configuration.NeuronRange = lambda first, stop: range(first, stop)
    rails = {
        "audio2": types.SimpleNamespace(Io=0, LogicAfe=1, IoAfe=2, Logic=3),
        "audio3": types.SimpleNamespace(Io=0, AnalogLogic=1, DigitalLogic=2),
    }
    samna.xyloA2TestBoard.MeasurementChannels = rails["audio2"]
    samna.xyloAudio3.MeasurementChannels = rails["audio3"]
    events = (samna.xyloCore2 if truth.chip == "audio2" else samna.xyloAudio3).event
    kind = "XyloA2TestBoard" if truth.chip == "audio2" else "XyloAudio3TestBoard"
    boards = [Board(truth, events, rails[truth.chip]) for _ in range(truth.boards)]
    samna.device = types.SimpleNamespace(
        get_all_devices=lambda: [
            types.SimpleNamespace(device_type_name=kind, serial_number=f"sim-{number}", at=number)
            for number in range(len(boards))
        ],
        open_device=lambda found: boards[found.at],
    )

    def sink_from(node: Any) -> Sink:
        sink = Sink()
        node.join(sink)
        return sink

    def source_to(node: Any) -> Source:
        source = Source()
        source.target = node
        return source

    samna.graph = types.SimpleNamespace(
        EventFilterGraph=EventFilterGraph, JitSink=Sink, sink_from=sink_from, source_to=source_to
    )
    for name in (
        "BasicSinkNode_xylo_core2_event_output_event",
        "BasicSinkNode_unifirm_modules_events_measurement",
    ):
        setattr(samna, name, Sink)
    samna.BasicSourceNode_xylo_core2_event_input_event = Source
    samna.__version__ = "simulated"
    samna.simulated = True
