# SPDX-License-Identifier: Apache-2.0
"""Modules with the names and calls of Lava and lava-loihi that this backend makes on a
chip, and a small simulation: LIF in the chip's fixed point, a profiler that can be used
once.

Its powers and times are made up. It exists so that the calls are made in a test at all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

STATIC_W = 0.5
IDLE_W = 0.1
SPIKE_W = 0.001
STEP_S = 5e-6
#: States have 24 bits: a current wraps around, a membrane stops.
STATE_END = 1 << 23
#: A time probe disturbs the power that is read, as users of the chip report.
DISTURBANCE_W = 0.05


@dataclass
class Port:
    """An end of a connection."""

    owner: Any
    to: list[Port] = field(default_factory=list)
    fed_by: list[Port] = field(default_factory=list)

    def connect(self, ports: Port) -> None:
        """Lead to another port."""
        self.to.append(ports)
        ports.fed_by.append(self)


@dataclass
class Variable:
    """A variable of a process."""

    value: Any

    def set(self, value: Any) -> None:
        """Give it a value."""
        assert np.shape(value) == np.shape(self.value)
        self.value = np.array(value)

    def get(self) -> Any:
        """Return its value."""
        return self.value

    @property
    def init(self) -> Any:
        """Return the value that it begins with."""
        return self.value

    @init.setter
    def init(self, value: Any) -> None:
        self.set(value)


class Source:
    """Lava's source: one column of its data a step."""

    def __init__(self, *, data: Any) -> None:
        self.data = Variable(data)
        self.s_out = Port(self)
        self.steps = 0
        self.stopped = False
        self.sent: Any = None

    def run(self, condition: Any, run_cfg: Any) -> None:
        """Run all processes that hang together with this one."""
        assert not self.stopped
        run_cfg.begin(condition.num_steps)
        processes = _together(self)
        for _ in range(condition.num_steps):
            run_cfg.step(sum(_step(processes, self.steps)))
            self.steps += 1

    def stop(self) -> None:
        """End."""
        self.stopped = True


class Sink:
    """Lava's sink: keeps its input, a column a step."""

    def __init__(self, *, shape: tuple[int, ...], buffer: int) -> None:
        self.data = Variable(np.zeros((*shape, buffer)))
        self.a_in = Port(self)


class Adapter:
    """What stands between host and chip: of lava-loihi, as published programs call
    it."""

    def __init__(self, *, shape: tuple[int, ...], num_message_bits: int = 0) -> None:
        self.inp = Port(self)
        self.out = Port(self)
        self.shape = shape


class Lif:
    """LIF cells in fixed point: one du, dv and vth of them all, as on the chip."""

    def __init__(self, *, shape: tuple[int, ...], du: int, dv: int, vth: int) -> None:
        assert all(isinstance(value, int) for value in (du, dv, vth))
        assert 0 <= du < 4096 and 0 <= dv < 4096 and 0 < vth < 1 << 17
        self.decays = 4096 - du - 1, 4096 - dv
        self.vth = vth << 6
        self.a_in = Port(self)
        self.s_out = Port(self)
        self.u = Variable(np.zeros(shape, np.int64))
        self.v = Variable(np.zeros(shape, np.int64))
        self.sent = np.zeros(shape, np.int64)

    def step(self) -> int:
        """Do a step; return how many cells fired."""
        taken = np.asarray(sum(port.owner.a_buff.value for port in self.a_in.fed_by))
        self.u.value = _wrapped(_decayed(self.u.value, self.decays[0]) + (taken << 6))
        self.v.value = np.clip(
            _decayed(self.v.value, self.decays[1]) + self.u.value,
            1 - STATE_END,
            STATE_END - 1,
        )
        self.sent = (self.v.value > self.vth).astype(np.int64)
        self.v.value = np.where(self.sent, 0, self.v.value)
        return int(self.sent.sum())


class Dense:
    """A matrix of 8-bit weights, handed on a step later."""

    def __init__(self, *, weights: Any, num_message_bits: int = 0) -> None:
        assert np.array_equal(weights, np.rint(weights)) and not np.any(weights % 2)
        assert weights.min() >= -256 and weights.max() <= 254
        self.weights = weights.astype(np.int64)
        self.graded = num_message_bits > 0
        self.s_in = Port(self)
        self.a_out = Port(self)
        self.a_buff = Variable(np.zeros(len(weights), np.int64))


@dataclass(frozen=True, kw_only=True)
class Loihi2SimCfg:
    """A run configuration of the simulator on a processor, with its models in fixed
    point.
    """

    select_tag: str

    def begin(self, steps: int) -> None:
        """Refuse models that are not here."""
        assert self.select_tag == "fixed_pt"

    def step(self, spikes: int) -> None:
        """Record no event."""


@dataclass
class Loihi2HwCfg:
    """A run configuration, which a profiler hangs on to."""

    profiler: Any = None

    def begin(self, steps: int) -> None:
        """Note that a run begins."""
        if self.profiler is not None:
            self.profiler.begin(steps)

    def step(self, spikes: int) -> None:
        """Note a step."""
        if self.profiler is not None:
            self.profiler.fired += spikes


class Profiler:
    """Lava's profiler on a chip; it serves one run, as users report."""

    def __init__(self) -> None:
        self._timed_steps = 0
        self._reads_energy = self._counts = False
        self.steps = 0
        self.fired = 0

    @staticmethod
    def init(run_cfg: Loihi2HwCfg) -> Profiler:
        """Return the profiler of a run configuration."""
        profiler = Profiler()
        run_cfg.profiler = profiler
        return profiler

    def begin(self, steps: int) -> None:
        """Note the run."""
        if self.steps:
            raise RuntimeError("a profiler serves one run")
        self.steps = steps

    def execution_time_probe(self, num_steps: int, buffer_size: int = 1024) -> None:
        """Ask for the time of each step."""
        self._timed_steps = num_steps

    def energy_probe(self, num_steps: int) -> None:
        """Ask for power."""
        self._reads_energy = True

    def activity_probe(self) -> None:
        """Ask for activity."""
        self._counts = True

    @property
    def execution_time(self) -> Any:
        """Return the time of each step that was asked for, s."""
        return np.full(self._timed_steps, STEP_S)

    @property
    def activity(self) -> list[int]:
        """Return how many spikes there were."""
        return [self.fired] if self._counts else []

    def power_breakdown(self) -> tuple[float, ...]:
        """Return total, dynamic, static and three supplies, W."""
        assert self._reads_energy
        dynamic = IDLE_W + SPIKE_W * self.fired / self.steps
        dynamic += DISTURBANCE_W * (self._timed_steps > 0)
        return (STATIC_W + dynamic, dynamic, STATIC_W, dynamic, STATIC_W, 0.0)

    def energy_breakdown(self) -> tuple[float, ...]:
        """Return the same as energies of the run, in uJ."""
        return tuple(
            1e6 * STEP_S * self.steps * item for item in self.power_breakdown()
        )


@dataclass(frozen=True)
class RunSteps:
    """A run of so many steps."""

    num_steps: int


@contextmanager
def installed(*, there: bool = True) -> Iterator[list[str]]:
    """Put the modules in place of Lava's; `there`: lava-loihi is. Yields the boards
    asked for."""
    boards: list[str] = []
    modules: dict[str, dict[str, Any]] = {
        "lava.magma.core.run_configs": {
            "Loihi2HwCfg": Loihi2HwCfg,
            "Loihi2SimCfg": Loihi2SimCfg,
        },
        "lava.magma.core.run_conditions": {"RunSteps": RunSteps},
        "lava.proc.lif.process": {"LIF": Lif},
        "lava.proc.dense.process": {"Dense": Dense},
        "lava.proc.io.source": {"RingBuffer": Source},
        "lava.proc.io.sink": {"RingBuffer": Sink},
        "lava.proc.embedded_io.spike": {
            "PyToNxAdapter": Adapter,
            "NxToPyAdapter": Adapter,
        },
        "lava.utils.loihi": {
            "is_installed": lambda: there,
            "use_ethernet_host": boards.append,
        },
        "lava.utils.profiler": {"Profiler": Profiler},
    }
    made: dict[str, ModuleType] = {}
    for name, content in modules.items():
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            made.setdefault(
                ".".join(parts[:count]), ModuleType(".".join(parts[:count]))
            )
        made[name].__dict__.update(content)
    with patch.dict(sys.modules, made):
        yield boards


def _together(start: Any) -> list[Any]:
    result = [start]
    for process in result:
        for port in [
            value for value in vars(process).values() if isinstance(value, Port)
        ]:
            for other in (*port.to, *port.fed_by):
                if other.owner not in result:
                    result.append(other.owner)
    return result


def _step(processes: list[Any], step: int) -> list[int]:
    """Do a step: all cells take each Dense's stored output, then each Dense takes the
    new spikes.
    """
    for process in processes:
        if isinstance(process, Source):
            process.sent = process.data.value[:, step % process.data.value.shape[1]]
    fired = [process.step() for process in processes if isinstance(process, Lif)]
    for process in processes:
        if isinstance(process, Sink):
            process.data.value[:, step % process.data.value.shape[1]] = _sent(
                process.a_in
            )
        elif isinstance(process, Dense):
            taken = np.asarray(_sent(process.s_in))
            process.a_buff.value = process.weights @ (
                taken if process.graded else taken > 0
            ).astype(np.int64)
    return fired


def _sent(port: Port) -> Any:
    (before,) = port.fed_by
    owner = before.owner
    return _sent(owner.inp) if isinstance(owner, Adapter) else owner.sent


def _decayed(value: Any, kept: int) -> Any:
    product = np.asarray(value, np.int64) * kept
    return np.sign(product) * (np.abs(product) >> 12)


def _wrapped(value: Any) -> Any:
    value = np.where(value > STATE_END, value - 2 * STATE_END, value)
    return np.where(value <= -STATE_END, value + 2 * STATE_END, value)
