# SPDX-License-Identifier: Apache-2.0
"""A network as the workload of a task: a NIR file, and a codec that turns payloads into
spikes and spikes into outputs; or a network in whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.payloads import PayloadForm


@dataclass(frozen=True, slots=True)
class NetworkWorkload:
    """A task's network: its NIR file and its codec.

    `codec` is "module:function"; called with `arguments` (JSON-able), in a worker that
    may have no package but numpy, the function returns a Codec. Its module and its
    imports keep to the standard library and numpy, in Python 3.10 as well. `task` and
    `model` are those that the SUT then reports. `dt_s` is the time step where the file
    states none; `rule` the name of the conventions (rig/network/conventions.py), empty
    for those of the file. With `trains` the output is what left the
    network, whole (rig/network/trains.py), instead of the task's.
    """

    path: Path
    codec: str
    task: str
    model: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    dt_s: float | None = None
    rule: str = ""
    trains: bool = False


@dataclass(frozen=True, slots=True)
class IntegerWorkload:
    """A task's network in whole numbers: a payload is its input, or what that is made
    of in a phase of its own, an output its output, an int8 for each value. `task` is
    the one that the SUT then reports.
    """

    network: IntegerNetwork
    task: str
    payload: PayloadForm = PayloadForm.VALUES

    @property
    def model(self) -> str:
        """The name of the network that the SUT reports."""
        return self.payload.identity(self.network)

    def inputs_of(self, payloads: Sequence[bytes]) -> Any:
        """Return the inputs of payloads as the network gets them: (samples, values) of
        int8.
        """
        kind = self.payload.dtype
        numbers = np.stack([np.frombuffer(payload, kind) for payload in payloads])
        return self.payload.inputs(self.network.tensors[self.network.input], numbers)


class Codec(Protocol):
    """What stands around a network, in the worker: `phases`, the task's before the
    network, timed functions of one value such as the front end, maybe none; and the
    task's output.
    """

    phases: tuple[Callable[[Any], Any], ...]

    def load(self, payload: bytes) -> Any:
        """Make the input of the first phase, or else of the network; untimed.
        ValueError refuses a payload.
        """

    def output(self, values: Any, membranes: Any) -> bytes:
        """Return the task's output for the outputs of the network: values (steps,
        outputs), and the membranes after the last step (outputs,), None where a backend
        does not report them. Untimed.
        """
