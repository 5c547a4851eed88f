# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word of MLPerf Tiny 1.4: a signal at 16 kHz with words in it, of
which a device takes 512 samples at a time and answers by its model after each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge, Interval, Unit, doc

from rig.errors import ConfigError, DataError
from rig.interfaces.context import BenchContext, Listener
from rig.interfaces.task import EventTask, Regeneration
from rig.model.catalogue import Entry
from rig.model.need import Need
from rig.model.scores import Score
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.tflite.form import IntegerNetwork
from rig.network.wake import c_header
from rig.network.wake.features import HOP
from rig.results.labels import refuse_other
from rig.settings.declare import Number, Or, PathText
from rig.units import plural
from scenarios.tasks.sww import answer, data, generate
from scenarios.tasks.sww.programs import NAME, WordListener, hop_of, programs
from scenarios.tasks.sww.replica import SwwReplica, labels_of
from scenarios.tasks.tflite import kept
from scenarios.tasks.tflite.answer import values
from scenarios.tasks.user_files import needs, outside_session, path_of, reader_of

#: Made by examples/make_sww.py.
EXAMPLE = Path(__file__).with_name("example.tflite")
_GENERATED = ("generated", "random")
_LENGTH_S = 60.0
#: The benchmark's recording has 20 minutes.
_LENGTH_MAX_S = 3600.0
#: Half an hour; a longer signal is left out of a session.
_KEPT_B = 1 << 26
_KEPT_TEXT = "64 MiB"
#: submission_checker.py of the benchmark: "fps_fns", (8, 8).
_LIMITS = {"false_negatives": 8, "false_positives": 8, "division": "closed"}
#: Facts that follow from the files that a session keeps.
_OF_KEPT = ("samples", "outputs", "samples_sha256", "words")


class SwwTask(EventTask):
    """A payload is a hop of samples, int16 with the low byte first; an output is the
    model's, an int8 for each class, the wake word's first.
    """

    name = NAME
    phases: tuple[str, ...] = ("preprocess", "infer")
    sample_hz = SAMPLE_HZ
    window = HOP
    sample_b = 2

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The model, the recording with its words, and their source."""

        model: Annotated[
            PathText,
            doc(
                "A .tflite file over rows of 40 features; empty: an example for the"
                " generated signal."
            ),
        ] = ""
        audio: Annotated[
            PathText,
            doc("The recording, a WAV file at 16 kHz; empty: a generated signal."),
        ] = ""
        truth: Annotated[
            PathText,
            doc("The words of the recording: the truth file of MLPerf Tiny's runner."),
        ] = ""
        source: Annotated[
            str,
            doc(
                'The source of the recording; "generated ..." where it was not'
                " recorded."
            ),
        ] = ""
        length_s: Annotated[
            float,
            Or(0, "all of the recording; of a generated signal 60 s"),
            Interval(gt=0, le=_LENGTH_MAX_S),
            Unit("s"),
            doc("Length of the signal: of a recording the first so many seconds."),
        ] = 0.0
        signal_seed: Annotated[Number, Ge(1), doc("Seed of the generated signal.")] = 1

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> SwwReplica:
        """Return a stand-in that has words and scores, and no sound."""
        source = source_of(settings)
        refuse_other(
            facts,
            source=source,
            official=is_official(source, facts.get("git_ids")),
            samples=len(entries),
        )
        return SwwReplica.of(cls.name, cls.phases, facts, entries)

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return the generated signal with the example; files of the bench's owner are
        not known.
        """
        if _has_files(settings):
            files = outside_session(settings.model, settings.audio, settings.truth)
            return Regeneration({}, unknown=files)
        task = cls.open(settings, BenchContext())
        return Regeneration(
            task.provenance(), task.catalogue(), task, answered_max=len(task)
        )

    @classmethod
    def reopened(
        cls,
        settings: Settings,
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
        folder: Path,
    ) -> Regeneration:
        """Return the model and the signal that a session kept, with the words of its
        provenance.
        """
        path = kept.model_in(folder)
        read = c_header.read(path)
        same: dict[str, Any] = {
            "model": read.identity,
            "model_file_sha256": read.sha256,
        }
        samples = kept.array_in(folder, np.dtype("<i2"))
        if samples is None:
            missing = (
                f"a signal of more than {_KEPT_TEXT} is not in the session, only its"
                " SHA-256 (provenance.json, samples_sha256)"
            )
            return Regeneration(same, unknown=missing)
        if samples.ndim != 1 or len(samples) != len(entries) * HOP:
            raise DataError("inputs.npy holds another signal than catalogue.csv")
        if large := kept.too_large(read, len(entries)):
            return Regeneration(same, unknown=f"{large} are more than a check runs")
        words = cls.replica(settings, facts, entries).words
        task = cls(settings, path, read, data.WordSignal(samples, words))
        stated = task.provenance()
        same |= {name: stated[name] for name in _OF_KEPT}
        return Regeneration(same, task.catalogue(), task, answered_max=len(task))

    @classmethod
    def needs(cls, settings: Settings, context: BenchContext) -> Sequence[Need]:
        """Return the package that reads the model, and the files."""
        named = (settings.model, settings.audio, settings.truth)
        return (reader_of(settings.model), *needs(context.folder, *named))

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Open model and recording; raises where one does not fit the other."""
        folder = context.folder
        if bool(settings.audio) != bool(settings.truth):
            raise ConfigError(
                "audio and truth go together",
                path="task.sww",
                try_next="both, or none for a generated signal",
            )
        path = path_of(folder, settings.model) or EXAMPLE
        audio, truth = path_of(folder, settings.audio), path_of(folder, settings.truth)
        if audio is None or truth is None:
            length = round((settings.length_s or _LENGTH_S) * SAMPLE_HZ)
            made = generate.stream(settings.signal_seed, max(length // HOP, 1) * HOP)
            signal = data.WordSignal(*made)
        else:
            signal = _beginning(data.recording(audio, truth), settings.length_s)
        return cls(settings, path, c_header.read(path), signal)

    def __init__(
        self,
        settings: Settings,
        path: Path,
        network: IntegerNetwork,
        signal: data.WordSignal,
    ) -> None:
        self._settings = settings
        self._path = path
        self._network = network
        self._signal = signal
        self.programs = programs(path, network)
        self._names = answer.names_of(signal.words, len(self))

    def __len__(self) -> int:
        """Return the number of hops."""
        return len(self._signal.samples) // HOP

    def payload(self, index: int) -> bytes:
        """Return a hop of samples."""
        samples = self._signal.samples[index * HOP : (index + 1) * HOP]
        payload: bytes = samples.astype("<i2").tobytes()
        return payload

    def catalogue(self) -> list[Entry]:
        """Return of every hop whether a word has a sample in it."""
        return [Entry(label) for label in labels_of(self._names)]

    def events(self) -> Sequence[tuple[int, int]]:
        """Return the words."""
        return self._signal.words

    def score(self, index: int, output: bytes) -> Score:
        """Take output 0 above its threshold for a detection."""
        return answer.scored(self._names[index], self._outputs, output)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": values(self._outputs, output)}

    def listening(self) -> Listener:
        """Begin a stream, and return what gives a device's answers to its windows."""
        heard = WordListener(self._network)

        def answers(windows: Sequence[bytes]) -> Sequence[bytes]:
            outputs = heard.answers(heard.rows(np.stack(list(map(hop_of, windows)))))
            return [output.tobytes() for output in outputs]

        return answers

    def kept(self) -> Mapping[str, bytes]:
        """Return the model and the signal, where they are files of the bench's
        owner.
        """
        if not _has_files(self._settings):
            return {}
        samples = self._signal.samples.astype("<i2")
        return kept.files(self._path, self._network, samples, _KEPT_B)

    def provenance(self) -> dict[str, Any]:
        """Return the facts that identify model and recording."""
        source = source_of(self._settings)
        official = is_official(source, list(self._signal.ids))
        length_s = len(self) * HOP / SAMPLE_HZ
        words = plural(len(self._signal.words), "word")
        samples = self._signal.samples.astype("<i2").tobytes()
        return {
            "source": source,
            "official": official,
            "unofficial": "OWN DATA",
            "statement": f"{source}; {words} in {length_s:g} s;"
            f" features in whole numbers on the device{_judged(source, official)}",
            "samples": len(self),
            "subset": self._subset(length_s),
            "git_ids": list(self._signal.ids),
            "quality": _LIMITS,
            "outputs": self._outputs,
            "words": [list(word) for word in self._signal.words],
            "samples_sha256": sha256(samples).hexdigest(),
            "model": self._network.identity,
            "model_file_sha256": self._network.sha256,
        }

    def _subset(self, length_s: float) -> str:
        available_s = self._signal.available / SAMPLE_HZ
        if available_s <= length_s:
            return "all"
        return f"the first {length_s:g} of {available_s:g} s"

    @property
    def score_count(self) -> int:
        """Return 1: the share of the wake word."""
        return 1

    @property
    def _outputs(self) -> int:
        return self._network.tensors[self._network.output].size


def source_of(settings: SwwTask.Settings) -> str:
    """Return the source of the recording: that of the bench file, or its default."""
    return settings.source or (
        "a recording of the bench's owner" if settings.audio else generate.SOURCE
    )


def is_official(source: str, git_ids: Any) -> bool:
    """Check whether a recording and its words are the benchmark's own files."""
    return git_ids == list(data.OFFICIAL) and not _is_generated(source)


def _judged(source: str, official: bool) -> str:
    """Return a remark on the files of a recording."""
    if official:
        return "; Git's ids of both files are those of mlcommons/tiny"
    return "" if _is_generated(source) else ": not checked to be a benchmark's data"


def _is_generated(source: str) -> bool:
    return source.lower().startswith(_GENERATED)


def _beginning(signal: data.WordSignal, length_s: float) -> data.WordSignal:
    """Return the first seconds of a recording, all of it for 0; raises ConfigError
    where it is shorter.
    """
    if not length_s:
        return signal
    available_s = len(signal.samples) / SAMPLE_HZ
    if length_s > available_s:
        raise ConfigError(
            f"{length_s:g} s, the recording has {available_s:g} s",
            path="task.sww.length_s",
            try_next="0, for all of it",
        )
    return signal.first(max(round(length_s * SAMPLE_HZ) // HOP, 1) * HOP)


def _has_files(settings: SwwTask.Settings) -> bool:
    return bool(settings.model or settings.audio or settings.truth)
