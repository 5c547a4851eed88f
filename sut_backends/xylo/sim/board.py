# SPDX-License-Identifier: Apache-2.0
"""Simulated Xylo boards with the calls of samna that Rockpool and the worker make: a
stand-in with a true clock and a true power, in real time.

The network is stepped by arithmetic of its own, from the configuration that was written
to the board: Rockpool's mapping can be compared with the network. Names of calls are
those that Rockpool 3.1.0 uses; their effect on a board was not seen. Standard library
and numpy.
"""

from __future__ import annotations

import time
import types
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sut_backends.xylo.sim.nodes import (
    NS_PER_S,
    Bag,
    Event,
    EventFilterGraph,
    Output,
    PowerMonitor,
    PowerSource,
    Sink,
    Source,
    StopWatch,
    Truth,
)


def _parameters_of(layer: Any) -> list[NDArray[np.int64]]:
    """Return the two decays and the threshold of a layer's neurons."""
    parameters = []
    for name in ("i_syn_decay", "v_mem_decay", "threshold"):
        values = [int(getattr(neuron, name)) for neuron in layer.neurons]
        parameters.append(np.array(values))
    return parameters


def _weights_of(part: Any) -> NDArray[np.int64]:
    """Return the weights of a part of a configuration, shifted as it says."""
    return np.asarray(part.weights, np.int64) << int(part.weight_bit_shift)


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
        self._layers = (
            () if isinstance(hidden.neurons, Bag) else (hidden, config.readout)
        )
        if self._layers:
            self._back = _weights_of(hidden)
            sizes = [len(layer.neurons) for layer in self._layers]
            self._states = [np.zeros((2, size), np.int64) for size in sizes]
            self._fired = np.zeros(len(hidden.neurons), np.int64)
            self._parameters = [_parameters_of(layer) for layer in self._layers]

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
                self.give(
                    now_ns, self._events.RegisterValue(address=event.address, data=0)
                )
            elif name == "TriggerProcessing" and "target_timestep" in vars(event):
                last = event.target_timestep
        if last is not None and self._layers:
            self._run(int(last))

    def _run(self, stop: int) -> None:
        """Step until a time step, and give a readout of each when it would be done: the
        chip is busy from now on, not while it is computed here.
        """
        config = self._config
        into = _weights_of(config.input)
        out = _weights_of(config.readout)
        counts: dict[int, Any] = {}
        for spike in self._inputs:
            step = int(getattr(spike, self._stamp))
            given = counts.setdefault(step, np.zeros(len(into), np.int64))
            given[int(getattr(spike, "neuron_id", 0))] += 1
        self._inputs = []
        readouts = []
        for step in range(self._step, stop):
            drive = np.zeros(len(self._fired), np.int64)
            none = np.zeros(len(into), np.int64)
            drive[: into.shape[1]] = counts.get(step, none) @ into
            before = self._fired
            self._fired = self._stepped(0, drive + before @ self._back, 31)
            spikes = self._stepped(1, before[len(before) - len(out) :] @ out, 1)
            fields = {"output_spikes": spikes.tolist(), self._stamp: step}
            fields |= {"output_v_mems": self._states[1][1].tolist()}
            for name in ("neuron_v_mems", "neuron_i_syns", "neuron_i_syn2s"):
                fields[name] = []
            readouts.append(self._events.Readout(**fields))
        self._step = stop
        step_ns = round(self._truth.step_s * NS_PER_S)
        began_ns = time.monotonic_ns() + round(self._truth.delay_s * NS_PER_S)
        self._truth.busy_ns.append((began_ns, began_ns + step_ns * len(readouts)))
        for number, readout in enumerate(readouts, start=1):
            self.give(began_ns + number * step_ns, readout)

    def _stepped(self, layer: int, drive: Any, most: int) -> Any:
        """Step the neurons of a layer: states of 16 bits that lose themselves shifted
        right."""
        syn, mem, threshold = self._parameters[layer]
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


class SimulatedHdk:
    """A board: chip, power monitor, stopwatch."""

    def __init__(self, truth: Truth, events: Any, channels: Any) -> None:
        self._core = Core(
            truth, events, "timestamp" if truth.chip == "audio2" else "timestep"
        )
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
        """Return the audio front end, which is not used here."""
        return Bag(set_saer_interface_enable=lambda on: None)

    def get_power_monitor(self) -> PowerMonitor:
        """Return the power monitor."""
        return PowerMonitor(self._power)

    def get_stop_watch(self) -> StopWatch:
        """Return the stopwatch."""
        return StopWatch(self._power, round(self._truth.delay_s * NS_PER_S))


def build(samna: Any, truth: Truth) -> None:
    """Give a hollow samna the boards and the calls that are used."""

    def event(name: str) -> type:
        return type(name, (Event,), {})

    names = ["Readout", "Version", "Spike", "TriggerReadout", "TriggerProcessing"]
    names += ["ReadVersion", "ReadRegisterValue", "WriteRegisterValue", "RegisterValue"]
    for home in ("xyloCore2", "xyloAudio3"):
        module = getattr(samna, home)
        module.event = types.SimpleNamespace(**{name: event(name) for name in names})
        module.OperationMode = Bag(AcceleratedTime=1, Manual=2)
        module.InputSource = Bag(SpikeEvents=1)
        module.validate_configuration = lambda config: (True, "")
        module.NeuronStateSinkNode = Sink
        for name in (
            "XyloConfiguration",
            "ReservoirNeuron",
            "HiddenNeuron",
            "OutputNeuron",
        ):
            setattr(
                module.configuration, name, type(name, (Bag,), {"alias_target": None})
            )
        module.configuration.NeuronRange = lambda first, stop: range(first, stop)
    of_audio2 = types.SimpleNamespace(Io=0, LogicAfe=1, IoAfe=2, Logic=3)
    of_audio3 = types.SimpleNamespace(Io=0, AnalogLogic=1, DigitalLogic=2)
    samna.xyloA2TestBoard.MeasurementChannels = of_audio2
    samna.xyloAudio3.MeasurementChannels = of_audio3
    rails = of_audio2 if truth.chip == "audio2" else of_audio3
    events = (samna.xyloCore2 if truth.chip == "audio2" else samna.xyloAudio3).event
    kind = "XyloA2TestBoard" if truth.chip == "audio2" else "XyloAudio3TestBoard"
    boards = [SimulatedHdk(truth, events, rails) for _ in range(truth.boards)]

    def get_all_devices() -> list[Any]:
        devices = []
        for at in range(len(boards)):
            device = types.SimpleNamespace(
                device_type_name=kind, serial_number=f"sim-{at}", at=at
            )
            devices.append(device)
        return devices

    samna.device = types.SimpleNamespace(
        get_all_devices=get_all_devices, open_device=lambda found: boards[found.at]
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
        EventFilterGraph=EventFilterGraph,
        JitSink=Sink,
        sink_from=sink_from,
        source_to=source_to,
    )
    for name in (
        "BasicSinkNode_xylo_core2_event_output_event",
        "BasicSinkNode_unifirm_modules_events_measurement",
    ):
        setattr(samna, name, Sink)
    samna.BasicSourceNode_xylo_core2_event_input_event = Source
    samna.__version__ = "simulated"
    samna.simulated = True
