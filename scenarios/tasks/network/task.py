# SPDX-License-Identifier: Apache-2.0
"""The task: the network of any NIR file over samples and labels of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge, Gt, Interval, Unit, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.task import Regeneration, Task
from rig.model.catalogue import Entry
from rig.model.need import Need
from rig.model.scores import Score
from rig.network import conventions, graph, interpreter
from rig.network.conventions import SPIKES_MAX, ConventionChoice
from rig.network.fixed.c_header import header
from rig.network.fixed.file import to_text
from rig.network.fixed.form import identity
from rig.network.fixed.interpreter import run as run_fixed
from rig.network.fixed.make import BITS_MAX, BITS_MIN, rule_of, side_by_side
from rig.network.fixed.report import to_inputs
from rig.results.labels import refuse_other
from rig.settings.declare import Count, Or, PathText
from scenarios.tasks import user_files
from scenarios.tasks.network import data, kept
from scenarios.tasks.network.codec import open_codec
from scenarios.tasks.network.generate import SAMPLES, SOURCE, STEPS
from scenarios.tasks.network.programs import (
    NAME,
    integer,
    membrane_unit,
    programs,
    workload,
)
from scenarios.tasks.network.replica import (
    NetworkReplica,
    parts,
    scored,
    sums_and_membranes,
)

#: Made by examples/make_networks.py.
EXAMPLE = Path(__file__).with_name("example.nir")


#: Facts that network and inputs determine, without the labels.
_OF_KEPT = (
    *("inputs_sha256", "inputs_limited", "steps", "channels", "outputs"),
    *("model", "weight_bits", "dt_s", "rule", "reset_is_stated"),
    *("quantised", "decided_as_in_floating_point"),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Files:
    """The files of a network: the NIR file, all samples and the hash of their file, a
    label for each, where there are any.
    """

    model: Path
    values: Any
    inputs_sha256: str = ""
    labels: Any = None
    labels_sha256: str = ""
    inputs: Path | None = None


class NetworkTask(Task):
    """Any NIR file: a payload is the network's input step after step, an output the
    sums of its outputs and their last membranes (docs/reference/FIXED_POINT.md).
    """

    name = NAME
    phases: tuple[str, ...] = ("infer",)

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The network, its samples, and where they come from."""

        model: Annotated[
            PathText,
            doc("NIR file of the network, quantised or not; empty: an example."),
        ] = ""
        inputs: Annotated[
            PathText,
            doc(
                "Samples: .npy, (samples, steps, channels or shape); empty: random"
                " spikes."
            ),
        ] = ""
        labels: Annotated[
            PathText,
            doc(
                "Right outputs: .npy, or a number a line; empty: the network's in"
                " floating point."
            ),
        ] = ""
        source: Annotated[
            str,
            doc('Origin of the samples; "generated ..." where they were not recorded.'),
        ] = ""
        samples: Annotated[
            Count, Or(0, "all"), Ge(1), doc("The first so many samples.")
        ] = 0
        dt_s: Annotated[
            float,
            Or(0, "as the file states"),
            Gt(0),
            Unit("s"),
            doc("Time step of the network."),
        ] = 0.0
        rule: Annotated[
            str,
            doc("Conventions, as of rig model run --as; empty: as the file states."),
        ] = ""
        reset: Annotated[
            str,
            doc(
                "Effect of a spike: zero, subtract, subtract-next, none; empty: as of"
                " rule."
            ),
        ] = ""
        spikes_max: Annotated[
            Count,
            Or(0, "as of rule"),
            Interval(ge=1, le=SPIKES_MAX),
            doc("Of a neuron in a step."),
        ] = 0
        start: Annotated[
            str, doc("Membranes before the first step: leak, zero; empty: as of rule.")
        ] = ""
        bits: Annotated[
            int,
            Interval(ge=BITS_MIN, le=BITS_MAX),
            Unit("count"),
            doc("Bits of a weight."),
        ] = BITS_MAX

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> NetworkReplica:
        """Return a stand-in that has labels and scores, and no samples."""
        refuse_other(
            facts,
            source=user_files.source_of(settings, SOURCE),
            official=False,
            samples=len(entries),
        )
        return NetworkReplica.of(cls.name, cls.phases, facts, entries)

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return the example network over random spikes; files of the bench's owner are
        not known.
        """
        if user_files.has_files(settings):
            files = user_files.outside_session(
                settings.model, settings.inputs, settings.labels
            )
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
        """Return the network and the inputs that a session kept, with the labels of its
        catalogue.
        """
        model, model_sha256 = kept.model_in(folder)
        same: dict[str, Any] = {"model_file_sha256": model_sha256}
        inputs = kept.inputs_in(folder) if settings.inputs else (None, "")
        if inputs is None:
            missing = (
                f"inputs of more than {kept.FILE_TEXT} are not in the session, only"
                " their SHA-256 (provenance.json, inputs_sha256)"
            )
            return Regeneration(same, unknown=missing)
        values, inputs_sha256 = inputs
        samples, steps = (SAMPLES, STEPS) if values is None else values.shape[:2]
        if large := kept.too_large(model, samples, steps):
            return Regeneration(same, unknown=f"{large} are more than a check runs")
        if values is None:
            values = data.samples(None, model)
        labels = None
        if facts.get("labelled") is True:
            # The session has the labels of its samples, and no others.
            labels = np.zeros(len(values), np.int64)
            labels[: len(entries)] = [int(entry.label) for entry in entries]
        task = cls(settings, _Files(model, values, inputs_sha256, labels))
        stated = task.provenance()
        same |= {name: stated[name] for name in _OF_KEPT if name in stated}
        return Regeneration(
            same,
            None if labels is not None else task.catalogue(),
            task,
            answered_max=len(task),
        )

    @classmethod
    def needs(cls, settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return the files of network, samples and labels."""
        named = (settings.model, settings.inputs, settings.labels)
        return user_files.needs(context.folder, *named)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Open network and samples; raises where one does not fit the other."""
        folder = context.folder
        model = user_files.path_of(folder, settings.model) or EXAMPLE
        inputs = user_files.path_of(folder, settings.inputs)
        labels = user_files.path_of(folder, settings.labels)
        values = data.samples(inputs, model)
        inputs_sha256 = user_files.digest(inputs) if inputs else ""
        array = user_files.array(labels, "task.network.labels") if labels else None
        labels_sha256 = user_files.digest(labels) if labels else ""
        files = _Files(
            model,
            values=values,
            inputs_sha256=inputs_sha256,
            labels=array,
            labels_sha256=labels_sha256,
            inputs=inputs,
        )
        return cls(settings, files)

    def __init__(self, settings: Settings, files: _Files) -> None:
        self._settings = settings
        self._model, values = files.model, files.values
        self._files = replace(files, values=None)  # they may be large
        self._model_sha256 = user_files.digest(self._model)
        choice = choice_of(settings)
        self._fixed, self._same = data.fixed_network(
            self._model, values, settings.dt_s or None, choice, settings.bits
        )
        self._reset_is_stated = data.reset_is_stated(self._model, choice)
        if len(self._fixed.outputs) != 1:
            raise ConfigError(
                f"the network has {len(self._fixed.outputs)} outputs, a decision is"
                " one's",
                path="task.network.model",
            )
        real = side_by_side(self._fixed, values)
        self._available = len(real)
        count = min(settings.samples or len(real), len(real))
        self._numbers, self._limited = to_inputs(self._fixed, real[:count])
        labels = files.labels
        if labels is None:
            labels = data.own_labels(self._model, self._fixed, values)
        self._right = user_files.require_labels(labels, len(real), self._fixed.answers)[
            :count
        ]
        self.programs = programs(self._fixed)
        self.network = workload(self._model.resolve(), self._fixed)
        self._routine = integer(to_text(self._fixed))

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._numbers)

    def payload(self, index: int) -> bytes:
        """Return the network's input, step after step: uint8, or int16, little
        endian."""
        kind = "<u1" if self._fixed.input_b == 1 else "<i2"
        payload: bytes = self._numbers[index].astype(kind).tobytes()
        return payload

    def catalogue(self) -> list[Entry]:
        """Return the right output of every sample."""
        return [Entry(label) for label in self._right]

    def score(self, index: int, output: bytes) -> Score:
        """Take the output with the largest sum, then the highest membrane, then the
        lowest index.
        """
        return scored(self._right[index], self._fixed.answers, output)

    def parts(self, output: bytes) -> dict[str, list[float]]:
        """Return sums and last membranes of an output."""
        return parts(self._fixed.answers, output)

    def kept(self) -> Mapping[str, bytes]:
        """Return the network and the inputs, where they are files of the bench's
        owner.
        """
        if not user_files.has_files(self._settings):
            return {}
        inputs = self._files.inputs
        return kept.files(
            (self._model, self._model_sha256),
            (inputs, self._files.inputs_sha256) if inputs else None,
        )

    def firmware_header(self) -> str:
        """Return the header of the firmware's workload, for inputs as long as the
        samples."""
        return header(self._fixed, int(self._numbers.shape[1]))

    @property
    def membrane_unit(self) -> float:
        """The unit of an output's membranes in units of the file."""
        return membrane_unit(self._fixed)

    def membranes(self, output: bytes) -> Any:
        """Return the last membranes of an output in the file's units."""
        _, last = sums_and_membranes(self._fixed.answers, output)
        return np.asarray(last) * self.membrane_unit

    def in_floating_point(self, payload: bytes) -> bytes:
        """Compute the answer by the file's network, in the conventions of the task."""
        workload = self.network
        assert workload is not None
        codec = open_codec(**workload.arguments)
        network = graph.network(graph.read(self._model))
        how = conventions.of_text(rule_of(self._fixed))
        value = np.asarray(codec.load(payload))[None]
        done = interpreter.run(network, value, self._fixed.dt_s, how)
        source = graph.membrane_of(network, network.outputs[0])
        last = done.membranes[source][0] if source else None
        return codec.output(done.values[network.outputs[0]][0], last)

    def trains(self, payload: bytes) -> Any:
        """Return what leaves the integer model for a payload, in the file's units."""
        inputs = self._routine.load(payload)
        name = self._fixed.outputs[0]
        done = run_fixed(self._fixed, inputs[None])
        values = done.values[name][0] * self._fixed.node(name).scale
        return values.reshape(len(values), -1)

    def reference(self, payload: bytes) -> bytes:
        """Compute the expected answer by the integer model."""
        routine = self._routine
        return routine.output(routine.phases[0](routine.load(payload)))

    def provenance(self) -> dict[str, Any]:
        """Return what identifies network and data."""
        facts = user_files.facts_of_data(
            user_files.source_of(self._settings, SOURCE),
            f"{self._labelled()}{self._left_out()}",
            len(self),
            self._available,
        )
        facts |= {
            "labelled": self._files.labels is not None,
            "outputs": self._fixed.answers,
            "steps": int(self._numbers.shape[1]),
            "channels": self._fixed.channels,
            "inputs_limited": self._limited,
            "inputs_sha256": self._files.inputs_sha256,
            "labels_sha256": self._files.labels_sha256,
            "model": identity(to_text(self._fixed)),
            "model_file_sha256": self._model_sha256,
            "weight_bits": self._fixed.weight_bits,
            "dt_s": self._fixed.dt_s,
            "rule": rule_of(self._fixed),
            "reset_is_stated": self._reset_is_stated,
        }
        if self._same is None:
            facts["quantised"] = "in the model's file"
        else:
            facts["decided_as_in_floating_point"] = f"{self._same} of {self._available}"
        return facts

    def _left_out(self) -> str:
        """Return that the inputs are not in the session, where they are not."""
        inputs = self._files.inputs
        if inputs is None or kept.fits(inputs):
            return ""
        return (
            f"; the inputs, more than {kept.FILE_TEXT}, are not in the session, only"
            " their SHA-256 (inputs_sha256)"
        )

    def _labelled(self) -> str:
        """Return whose the labels are."""
        if self._files.labels is not None:
            return "labels of a file"
        weights = "whole weights" if self._same is None else "its weights"
        return f"right is what the network decides in floating point with {weights}"


def choice_of(settings: NetworkTask.Settings) -> ConventionChoice:
    """Return the conventions that the bench file chooses."""
    return ConventionChoice(
        settings.rule,
        settings.reset or None,
        settings.spikes_max or None,
        settings.start or None,
    )
