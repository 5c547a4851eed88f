# SPDX-License-Identifier: Apache-2.0
"""The task with a convolutional network in place of the spiking one: a .tflite file
over the same features, the centred levels of the front end (docs/reference/ASC.md).

The front end runs on the host, untimed; a payload is its features, and the device's
only phase is `infer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError, RemoteProtocolError
from rig.interfaces.network_task import IntegerWorkload
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import SignalTask, Task
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.network.tflite import network
from rig.network.tflite.c_header import header
from scenarios.tasks.asc import kept
from scenarios.tasks.asc.dataset import CLASSES
from scenarios.tasks.asc.integer import centred_levels
from scenarios.tasks.asc.kept import OURS, Owned
from scenarios.tasks.asc.model import CHANNELS, STEPS, FilterBank
from scenarios.tasks.asc.replica import AscReplica
from scenarios.tasks.replica import CatalogueReplica
from scenarios.tasks.tflite import programs

#: The kind of network of the task.
Kind = Literal["spiking", "cnn"]
CNN: Kind = "cnn"
SHIPPED_CNN = Path(__file__).with_name("asc_cnn.tflite")
PHASES = ("infer",)


def limited(levels: Any) -> NDArray[np.int8]:
    """Return centred levels (slices, 125, 16), sixteenths of an octave of amplitude,
    within eight octaves about the mean.
    """
    found: NDArray[np.int8] = np.clip(levels, -128, 127).astype(np.int8)
    return found


def features(levels: Any) -> NDArray[np.int8]:
    """Return centred levels as images (slices, 125, 16, 1)."""
    return limited(levels)[..., None]


def scored(label: str, output: bytes) -> Score:
    """Take the class with the largest share, of equal ones the first."""
    answer = CLASSES[int(_shares(output).argmax())]
    return Score(answer == label, label, answer)


def _shares(output: bytes) -> NDArray[np.int8]:
    if len(output) != len(CLASSES):
        raise RemoteProtocolError(
            f"an output of {len(output)} B, a network of asc gives {len(CLASSES)} B",
            evidence=output[:32].hex(),
        )
    return np.frombuffer(output, np.int8)


def front_end(audio: SignalTask, bank: FilterBank) -> Callable[[int], bytes]:
    """Return what gives the features of a sample, in 50 ms."""

    def features_of(index: int) -> bytes:
        second = np.frombuffer(audio.payload(index), "<i2")[None]
        return features(centred_levels(bank, second)).tobytes()

    return features_of


class AscCnnTask(Task):
    """Samples of the task, each the features of one second; an output is an int8 for
    each class.
    """

    name = "asc"
    phases: tuple[str, ...] = PHASES

    def __init__(
        self,
        audio: SignalTask,
        features_of: Callable[[int], bytes],
        path: Path,
        owned: Owned = OURS,
    ) -> None:
        """Take the samples of the task with audio, their features by index, and the
        network of a file; raises DataError for a network of another size.
        """
        self._audio = audio
        self._features_of = features_of
        self._labels = [entry.label for entry in audio.catalogue()]
        self._payloads: dict[int, bytes] = {}
        self._path = path
        self._owned = owned
        self._network = network.read(path)
        entry = self._network.tensors[self._network.input]
        last = self._network.tensors[self._network.output]
        sides = tuple(size for size in entry.shape if size > 1)
        fits = sides in ((STEPS, CHANNELS), (STEPS * CHANNELS,))
        if not fits or last.size != len(CLASSES):
            raise DataError(
                f"{path.name} takes {entry.shape} and gives {last.shape}",
                try_next=f"(1, {STEPS}, {CHANNELS}, 1) to (1, {len(CLASSES)})",
            )
        self._routine = programs.routine(self._network)
        self.programs = programs.programs(path, self._network)
        self.integers = IntegerWorkload(self._network, programs.NAME)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._audio)

    def payload(self, index: int) -> bytes:
        """Return the features of one second: an int8 for each step and channel."""
        if index not in self._payloads:
            self._payloads[index] = self._features_of(index)
        return self._payloads[index]

    def catalogue(self) -> Sequence[Entry]:
        """Return class, recording and city of every sample."""
        return self._audio.catalogue()

    def score(self, index: int, output: bytes) -> Score:
        """Take the class with the largest share, of equal ones the first."""
        return scored(self._labels[index], output)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": _shares(output).tolist()}

    @property
    def reference(self) -> Callable[[bytes], bytes]:
        """Return what gives the right answer to a payload: the interpreter."""
        routine = self._routine
        return lambda payload: routine.output(routine.phases[0](routine.load(payload)))

    def firmware_header(self) -> str:
        """Return the header of the firmware's workload for .tflite files."""
        return header(self._network)

    def accepts(self, info: SutInfo) -> bool:
        """Check whether a device runs networks of .tflite files."""
        return info.task in (programs.NAME, "any")

    def kept(self) -> Mapping[str, bytes]:
        """Return a model of the bench's owner, with the features of the owner's
        samples.
        """
        sha256 = self._network.sha256
        return kept.files(self, self._path, sha256, self._owned)

    def provenance(self) -> dict[str, Any]:
        """Return the facts of the data as the task with audio has them, and those of
        the network.
        """
        return self._audio.provenance() | {
            "model": self._network.identity,
            "model_sha256": self._network.sha256,
            "features": "centred levels of the front end, which runs on the host",
        }


class AscCnnReplica(CatalogueReplica):
    """Labels of the samples."""

    content = "the audio of sample"

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        AscReplica.of(cls.__name__, PHASES, facts, entries)
        return {}

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        return scored(self.entries[index].label, output)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": _shares(output).tolist()}
