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

from rig.errors import ConfigError
from rig.files.user_folders import expanded
from rig.interfaces.context import BenchContext, Listener
from rig.interfaces.task import EventTask, Regeneration
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.network.wake import c_header
from rig.network.wake.features import HOP, SAMPLE_HZ
from rig.results.labels import refuse_other
from rig.settings.declare import Number, Or, PathText
from scenarios.tasks.sww import answer, data, generate
from scenarios.tasks.sww.programs import NAME, WordListener, hop_of, programs
from scenarios.tasks.sww.replica import SwwReplica, labels_of

#: Made by examples/make_sww.py.
EXAMPLE = Path(__file__).with_name("example.tflite")
_GENERATED = ("generated", "random")
_LENGTH_S = 60.0
#: The benchmark's recording has 20 minutes.
_LENGTH_MAX_S = 3600.0


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
            Or(0, "60 s"),
            Interval(gt=0, le=_LENGTH_MAX_S),
            Unit("s"),
            doc("Length of the generated signal."),
        ] = 0.0
        signal_seed: Annotated[Number, Ge(1), doc("Seed of the generated signal.")] = 1

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> SwwReplica:
        """Return a stand-in that has words and scores, and no sound."""
        refuse_other(
            facts, source=source_of(settings), official=False, samples=len(entries)
        )
        return SwwReplica.of(cls.name, cls.phases, facts, entries)

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return the generated signal with the example; files of the bench's owner are
        not known.
        """
        if settings.model or settings.audio or settings.truth:
            return Regeneration({}, unknown="model or recording are not at hand")
        task = cls(settings, Path())
        return Regeneration(task.provenance(), task.catalogue(), task)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Open model and recording; raises where one does not fit the other."""
        return cls(settings, context.folder)

    def __init__(self, settings: Settings, folder: Path) -> None:
        if bool(settings.audio) != bool(settings.truth):
            raise ConfigError(
                "audio and truth go together",
                path="task.sww",
                try_next="both, or none for a generated signal",
            )
        self._settings = settings
        path = _of(folder, settings.model) or EXAMPLE
        self._network = c_header.read(path)
        self.programs = programs(path, self._network)
        audio, truth = _of(folder, settings.audio), _of(folder, settings.truth)
        if audio is not None and truth is not None:
            self._signal = data.recording(audio, truth)
        else:
            length = round((settings.length_s or _LENGTH_S) * SAMPLE_HZ)
            made = generate.stream(settings.signal_seed, max(length // HOP, 1) * HOP)
            self._signal = data.WordSignal(*made)
        self._names = answer.names_of(self._signal.words, len(self))

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
        return {"values": answer.values(self._outputs, output)}

    def listening(self) -> Listener:
        """Begin a stream, and return what gives a device's answers to its windows."""
        heard = WordListener(self._network)

        def answers(windows: Sequence[bytes]) -> Sequence[bytes]:
            found = heard.answers(heard.rows(np.stack(list(map(hop_of, windows)))))
            return [output.tobytes() for output in found]

        return answers

    def provenance(self) -> dict[str, Any]:
        """Return the facts that identify model and recording."""
        source = source_of(self._settings)
        generated = source.lower().startswith(_GENERATED)
        samples = self._signal.samples.astype("<i2").tobytes()
        return {
            "source": source,
            "official": False,
            "unofficial": "OWN DATA",
            "statement": f"{source}; {len(self._signal.words)} words in"
            f" {len(self) * HOP / SAMPLE_HZ:g} s; features in whole numbers on the"
            " device" + ("" if generated else ": not checked to be a benchmark's data"),
            "samples": len(self),
            "subset": "all",
            "outputs": self._outputs,
            "words": [list(word) for word in self._signal.words],
            "samples_sha256": sha256(samples).hexdigest(),
            "model": self._network.identity,
            "model_file_sha256": self._network.sha256,
        }

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


def _of(folder: Path, named: str) -> Path | None:
    return folder / expanded(named) if named else None
