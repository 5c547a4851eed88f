# SPDX-License-Identifier: Apache-2.0
"""The task: a .tflite file over samples and labels of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from annotated_types import Ge, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.network_task import IntegerWorkload
from rig.interfaces.task import Regeneration, Task
from rig.model.catalogue import Entry
from rig.model.need import Need
from rig.model.scores import Score
from rig.network.tflite import network
from rig.network.tflite.c_header import header
from rig.network.tflite.form import IntegerNetwork
from rig.network.tflite.payloads import PayloadForm
from rig.results.labels import refuse_other
from rig.settings.declare import Count, Or, PathText
from scenarios.tasks.tflite import answer, data, kept, sounds
from scenarios.tasks.tflite.data import LabelledInputs
from scenarios.tasks.tflite.generate import SOURCE
from scenarios.tasks.tflite.programs import NAME, programs, routine
from scenarios.tasks.tflite.replica import TfliteReplica
from scenarios.tasks.user_files import (
    digest,
    facts_of_data,
    has_files,
    needs,
    outside_session,
    path_of,
    reader_of,
    source_of,
)

#: Made by examples/make_tflite.py.
EXAMPLE = Path(__file__).with_name("example.tflite")
KEYWORDS = Path(__file__).with_name("keywords.tflite")

#: Facts that follow from the files that a session keeps.
_OF_KEPT = ("samples", "labelled", "outputs", "input_b")


class TfliteTask(Task):
    """An int8 model in a .tflite or ONNX file: a payload is its input, an output its
    output, an int8 for each value (docs/reference/MODELS.md). With `real_input` a
    payload is of float32, with `features` a second of sound, and the device makes the
    input of it in a phase of its own.
    """

    name = NAME
    phases: tuple[str, ...] = ("infer",)

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The model, its samples, and their source."""

        model: Annotated[
            PathText,
            doc("The .tflite or ONNX file, quantised to int8; empty: an example."),
        ] = ""
        inputs: Annotated[
            PathText,
            doc(
                "Samples (.npy; with `features` int16 sounds), or a folder for each"
                " class; empty: generated."
            ),
        ] = ""
        labels: Annotated[
            PathText,
            doc(
                "Right outputs: .npy, or a number a line; empty: those of the rig's"
                " interpreter."
            ),
        ] = ""
        source: Annotated[
            str,
            doc(
                'The source of the samples; "generated ..." where they were not'
                " recorded."
            ),
        ] = ""
        samples: Annotated[
            Count, Or(0, "all"), Ge(1), doc("The first so many samples.")
        ] = 0
        real_input: Annotated[
            bool,
            doc(
                "The device takes real numbers (float32) and quantises them in a phase"
                " of its own, preprocess."
            ),
        ] = False
        features: Annotated[
            Literal["", "mfcc"],
            doc(
                "Features that the device computes of a second of sound (int16,"
                " 16 kHz); empty: none."
            ),
        ] = ""

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> TfliteReplica:
        """Return a stand-in that has labels and scores, and no samples."""
        refuse_other(
            facts,
            source=_source_of(settings),
            official=False,
            samples=len(entries),
        )
        return TfliteReplica.of(cls.name, phases_of(settings), facts, entries)

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return the example over random inputs; files of the bench's owner are not
        known.
        """
        if has_files(settings):
            files = outside_session(settings.model, settings.inputs, settings.labels)
            return Regeneration({}, unknown=files)
        task = cls.open(settings, BenchContext())
        return Regeneration(task.provenance(), task.catalogue(), task)

    @classmethod
    def reopened(
        cls,
        settings: Settings,
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
        folder: Path,
    ) -> Regeneration:
        """Return the model and the inputs that a session kept, with the labels of its
        catalogue.
        """
        path = kept.model_in(folder)
        read = network.read(path)
        payload = payload_of(settings)
        same = {"model": payload.identity(read), "model_file_sha256": read.sha256}
        values = kept.inputs_in(folder, read, payload)
        if values is None:
            missing = (
                f"inputs of more than {kept.INPUTS_TEXT} are not in the session, only"
                " their SHA-256 (provenance.json, inputs_sha256)"
            )
            return Regeneration(same, unknown=missing)
        if large := kept.too_large(read, len(values)):
            return Regeneration(same, unknown=f"{large} are more than a check runs")
        labels = None
        if facts.get("labelled") is True:
            labels = np.array([int(entry.label) for entry in entries])
        task = cls(settings, path, read, LabelledInputs(values, labels))
        stated = task.provenance()
        same |= {name: stated[name] for name in _OF_KEPT}
        return Regeneration(
            same,
            None if labels is not None else task.catalogue(),
            task,
            answered_max=len(values),
        )

    @classmethod
    def needs(cls, settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return the package that reads the model, and the files."""
        named = (settings.model, settings.inputs, settings.labels)
        return (reader_of(settings.model), *needs(context.folder, *named))

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Open model and samples; raises where one does not fit the other."""
        folder = context.folder
        payload = payload_of(settings)
        path = path_of(folder, settings.model) or _example_of(payload)
        read = network.read(path)
        labels = path_of(folder, settings.labels)
        inputs = path_of(folder, settings.inputs)
        inputs_read = data.samples(read, inputs, labels, payload)
        return cls(settings, path, read, inputs_read, digest(labels) if labels else "")

    def __init__(
        self,
        settings: Settings,
        path: Path,
        read: IntegerNetwork,
        inputs_read: LabelledInputs,
        labels_sha256: str = "",
    ) -> None:
        self._settings = settings
        self._path = path
        self._network = read
        self.phases = phases_of(settings)
        self._payload = payload_of(settings)
        self._routine = routine(self._network, self._payload)
        self._available = len(inputs_read.values)
        count = min(settings.samples or self._available, self._available)
        self._labels_sha256 = labels_sha256
        right = data.right(self._network, inputs_read)[:count]
        self._values = inputs_read.values[:count]
        self._limited = inputs_read.limited
        self._inputs_sha256 = inputs_read.sha256
        self._labelled = bool(right)
        self._right = right or self._own()
        self.programs = programs(path, self._network, self._payload)
        self.integers = IntegerWorkload(self._network, NAME, self._payload)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._values)

    def payload(self, index: int) -> bytes:
        """Return the model's input, or the sound that becomes it."""
        payload: bytes = self._values[index].tobytes()
        return payload

    def catalogue(self) -> list[Entry]:
        """Return the right output of every sample, or the name of its right bytes."""
        return [Entry(label) for label in self._right]

    def score(self, index: int, output: bytes) -> Score:
        """Take the largest value of an output, of equal ones the first; without labels
        all of its bytes.
        """
        right = self._right[index]
        return answer.scored(right, self._outputs, output, labelled=self._labelled)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": answer.values(self._outputs, output)}

    @classmethod
    def takes(cls, model: Path) -> bool:
        """Check whether a model is a .tflite or ONNX file."""
        return bool(network.suffix_of(model))

    def firmware_header(self) -> str:
        """Return the header of the firmware's workload."""
        return header(self._network, payload=self._payload)

    def kept(self) -> Mapping[str, bytes]:
        """Return the model and the inputs, where they are files of the bench's
        owner.
        """
        if not has_files(self._settings):
            return {}
        return kept.files(self._path, self._network, self._values)

    def reference(self, payload: bytes) -> bytes:
        """Compute the expected answer by the interpreter."""
        value = self._routine.load(payload)
        for phase in self._routine.phases:
            value = phase(value)
        return self._routine.output(value)

    def provenance(self) -> dict[str, Any]:
        """Return the facts that identify model and data."""
        settings = self._settings
        judged = (
            "right is the output with the label's number"
            if self._labelled
            else "no labels: right are the bytes of tflite-micro's arithmetic, so that"
            " accuracy says whether the device computes alike, and nothing of the task"
        )
        facts = facts_of_data(
            _source_of(settings),
            f"{judged}{self._left_out()}",
            len(self),
            self._available,
        )
        return facts | {
            "labelled": self._labelled,
            "outputs": self._outputs,
            "input_b": int(self._values[0].nbytes),
            "inputs_limited": self._limited,
            "inputs_sha256": self._inputs_sha256,
            "labels_sha256": self._labels_sha256,
            "model": self._payload.identity(self._network),
            "model_file_sha256": self._network.sha256,
        }

    def _left_out(self) -> str:
        """Return that the inputs are not in the session, where they are not."""
        if not has_files(self._settings) or kept.fits(self._values):
            return ""
        return (
            f"; the inputs, more than {kept.INPUTS_TEXT}, are not in the session, only"
            " their SHA-256 (inputs_sha256)"
        )

    @property
    def _outputs(self) -> int:
        return self._network.tensors[self._network.output].size

    def _own(self) -> list[str]:
        """Return the names of the right bytes, by the interpreter."""
        load = self._routine.load
        values = [load(self.payload(index)) for index in range(len(self))]
        assert self._routine.batch is not None
        outputs = self._routine.batch(values)
        return [answer.digest(self._routine.output(each)) for each in outputs]


def phases_of(settings: TfliteTask.Settings) -> tuple[str, ...]:
    """Return the phases that a device marks."""
    return ("preprocess", "infer") if payload_of(settings).is_raw else ("infer",)


def payload_of(settings: TfliteTask.Settings) -> PayloadForm:
    """Return the form of a payload; raises ConfigError for two forms at once."""
    if not settings.features:
        return PayloadForm.REALS if settings.real_input else PayloadForm.VALUES
    if settings.real_input:
        raise ConfigError(
            "a device that computes features takes sound, not real numbers",
            path="task.tflite.real_input",
            try_next="features or real_input",
        )
    return PayloadForm(settings.features)


def _example_of(payload: PayloadForm) -> Path:
    return KEYWORDS if payload is PayloadForm.MFCC else EXAMPLE


def _source_of(settings: TfliteTask.Settings) -> str:
    return source_of(settings, sounds.SOURCE if settings.features else SOURCE)
