# SPDX-License-Identifier: Apache-2.0
"""Lava processes for a network by its file's own rule: connections, neurons, and late
values.

It is imported in the worker, where lava is. A connection sends in the step of its
input, unlike Lava's Dense, which sends a step later; `Late` does that where a cycle
closes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from sut_backends.loihi import rules


class LavaConnection(AbstractProcess):
    """A weight matrix (outputs, inputs), sparse or not, and a bias."""

    def __init__(self, weights: Any, bias: np.ndarray) -> None:
        super().__init__(weights=weights, bias=bias)
        self.s_in = InPort(shape=(weights.shape[1],))
        self.a_out = OutPort(shape=(weights.shape[0],))


class LavaNeurons(AbstractProcess):
    """Neurons that follow a rule of `rules`."""

    def __init__(
        self, shape: tuple[int, ...], rule: rules.Rule, start: np.ndarray
    ) -> None:
        super().__init__(rule=rule)
        self.a_in = InPort(shape=shape)
        self.s_out = OutPort(shape=shape)
        self.current = Var(shape=shape, init=np.zeros(shape))
        self.membrane = Var(shape=shape, init=start)


class Late(AbstractProcess):
    """Output of the values received in the previous step."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.s_in = InPort(shape=shape)
        self.s_out = OutPort(shape=shape)
        self.kept = Var(shape=shape, init=np.zeros(shape))


@implements(proc=LavaConnection, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class ConnectionModel(PyLoihiProcessModel):
    """A connection on a processor."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._weights = proc_params["weights"]
        self._bias = proc_params["bias"]

    def run_spk(self) -> None:
        """Do one step."""
        self.a_out.send(self._weights @ self.s_in.recv() + self._bias)


@implements(proc=LavaNeurons, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class NeuronsModel(PyLoihiProcessModel):
    """Neurons on a processor; spikes are whole numbers, several a step where the rule
    has them."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    current: np.ndarray = LavaPyType(np.ndarray, float)
    membrane: np.ndarray = LavaPyType(np.ndarray, float)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._rule = proc_params["rule"]

    def run_spk(self) -> None:
        """Do one step."""
        arrived = self.a_in.recv()
        spikes = rules.step(self._rule, self.current, self.membrane, arrived)
        self.s_out.send(spikes)


@implements(proc=Late, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class LateModel(PyLoihiProcessModel):
    """A step of delay on a processor: it sends first, so that a cycle does not wait for
    itself."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    kept: np.ndarray = LavaPyType(np.ndarray, float)

    def run_spk(self) -> None:
        """Do one step."""
        self.s_out.send(self.kept)
        self.kept = self.s_in.recv()
