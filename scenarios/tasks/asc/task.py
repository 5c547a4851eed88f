# SPDX-License-Identifier: Apache-2.0
"""The task: acoustic scene classification of one-second samples, four classes
(NeuroBench system track).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import soxr
from annotated_types import Ge, Interval, doc

from rig.errors import ConfigError, DataError
from rig.files.user_folders import cache, expanded
from rig.interfaces.context import BenchContext
from rig.interfaces.task import Regeneration
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.network.tflite import network as network_of
from rig.network.tflite.network import suffix_of
from rig.results import labels
from rig.settings.declare import Count, FolderText, Or, PathText, Seed, Why
from rig.store.session_folder import BENCH
from rig.units import plural
from scenarios.tasks import user_files
from scenarios.tasks.asc import kept, kept_task
from scenarios.tasks.asc.audio import ClipReader
from scenarios.tasks.asc.cnn import (
    CNN,
    SHIPPED_CNN,
    AscCnnReplica,
    AscCnnTask,
    Kind,
    front_end,
)
from scenarios.tasks.asc.dataset import (
    CLASSES,
    Clip,
    TauDataset,
    official,
    open_dataset,
)
from scenarios.tasks.asc.generate import CITIES, GENERATOR_VERSION, ensure
from scenarios.tasks.asc.kept import Owned
from scenarios.tasks.asc.model import RATE_HZ
from scenarios.tasks.asc.nirfile import has_format, read_model
from scenarios.tasks.asc.replica import AscReplica, scored
from scenarios.tasks.asc.spiking import SpikingTask

GENERATED = "generated"
#: Of a class: more files than these are not generated to check an untrusted session.
_FILES_MAX = 60
_MANY = f"more than {_FILES_MAX} generated files a class are not made again"
_LASTING = ("file_list_sha256", "train_samples", "test_samples", "holes", "classes")
SHIPPED_MODEL = Path(__file__).with_name("asc.nir")


@dataclass(frozen=True, slots=True)
class AscSample:
    """One second of a recording."""

    clip: Clip
    second: int


class AscTask(SpikingTask):
    """The test split of a data set; a payload is 8000 int16 at 8 kHz, an output four
    int32, both little endian.
    """

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The data, which of them are measured, and the model."""

        data: Annotated[FolderText, doc('Folder of the data set, or "generated".')] = (
            GENERATED
        )
        samples: Annotated[
            Count,
            Or(0, "the whole test split"),
            Ge(1),
            doc("Samples of a class-balanced subset."),
        ] = 0
        seed: Annotated[Seed, doc("Seed of the subset and of generated data.")] = 0
        files_per_class: Annotated[
            Count,
            Interval(ge=2, le=100),
            Why("they are split by location"),
            doc("Generated files of each class."),
        ] = 9
        cache: Annotated[
            FolderText,
            doc("Folder that keeps generated data; empty: $XDG_CACHE_HOME/neurorig."),
        ] = ""
        model: Annotated[
            PathText,
            doc("NIR file of the model that the device runs; empty: the shipped one."),
        ] = ""
        network: Annotated[
            Kind,
            doc(
                "Kind of the model: a cnn, as any `model` in a .tflite or ONNX file,"
                " gets the features of a second."
            ),
        ] = "spiking"

        @property
        def is_of_cnn(self) -> bool:
            """Whether the device gets features, for a network that does not spike."""
            return self.network == CNN or bool(suffix_of(Path(self.model)))

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> AscReplica | AscCnnReplica:
        """Return a stand-in that has labels, recordings and scores, and no audio."""
        if settings.samples not in (0, len(entries)):
            raise DataError(
                f"bench.toml has {settings.samples} samples, catalogue.csv"
                f" {len(entries)}",
                file=BENCH,
            )
        cities = frozenset(entry.city for entry in entries)
        source = (
            GENERATED if settings.data == GENERATED or made_up(cities) else "folder"
        )
        labels.refuse_other(facts, data=settings.data, source=source)
        counts = facts.get("train_samples"), facts.get("test_samples")
        if not settings.samples:
            labels.refuse_other(facts, test_samples=len(entries), subset="all")
        elif not str(facts.get("subset")).startswith(
            f"{settings.samples} of {counts[1]}, "
        ):
            raise DataError(
                f"provenance.json has {str(facts.get('subset'))[:60]!r} as subset of"
                " the data"
            )
        if facts.get("official") is not False and (
            source == GENERATED or not official(counts, cities)
        ):
            raise DataError(
                "provenance.json calls data official that are not: by their cities,"
                " their counts, or bench.toml"
            )
        if settings.is_of_cnn:
            return AscCnnReplica.of(cls.name, AscCnnTask.phases, facts, entries)
        return AscReplica.of(cls.name, cls.phases, facts, entries)

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return generated data, and the shipped model; data of a folder, and a model
        of the bench's owner, are not known.
        """
        shipped = not settings.model
        if settings.data != GENERATED or settings.files_per_class > _FILES_MAX:
            facts = _of_shipped(settings.network) if shipped else {}
            missing = _MANY
            if settings.data != GENERATED:
                missing = user_files.outside_session(settings.data, settings.model)
            return Regeneration(facts, unknown=missing)
        trusted = replace(settings, cache="")
        task = cls._made(
            trusted,
            _generated(trusted, BenchContext()),
            SHIPPED_CNN if settings.is_of_cnn else SHIPPED_MODEL,
        )
        facts = task.provenance()
        if shipped:
            return Regeneration(facts, task.catalogue(), task, lasting=_LASTING)
        known = {
            key: value for key, value in facts.items() if not key.startswith("model")
        }
        missing = user_files.outside_session(settings.model)
        return Regeneration(known, task.catalogue(), unknown=missing, lasting=_LASTING)

    @classmethod
    def reopened(
        cls,
        settings: Settings,
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
        folder: Path,
    ) -> Regeneration:
        """Return the model that a session kept, with generated data or with the samples
        of a folder, which the session kept with the labels of its catalogue.
        """
        path, same = kept.model_in(folder, is_of_cnn=settings.is_of_cnn)
        if settings.data != GENERATED:
            replica = AscReplica.of(cls.name, cls.phases, facts, entries)
            return kept_task.of(replica, path, same, is_of_cnn=settings.is_of_cnn)
        if settings.files_per_class > _FILES_MAX:
            return Regeneration(same, unknown=_MANY)
        trusted = replace(settings, cache="")
        task = cls._made(trusted, _generated(trusted, BenchContext()), path)
        return Regeneration(
            task.provenance(), task.catalogue(), task, lasting=(*_LASTING, *same)
        )

    @staticmethod
    def takes(model: Path) -> bool:
        """Check whether a NIR file has the format of this task's models."""
        return has_format(model)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> AscTask | AscCnnTask:
        """Open the data and the model; DataError or ConfigError if they are not as the
        rules want them.
        """
        if settings.data == GENERATED:
            dataset = _generated(settings, context)
        else:
            dataset = open_dataset(context.folder / expanded(settings.data))
        shipped = SHIPPED_CNN if settings.is_of_cnn else SHIPPED_MODEL
        named = context.folder / expanded(settings.model)
        return cls._made(settings, dataset, named if settings.model else shipped)

    @classmethod
    def _made(
        cls, settings: Settings, dataset: TauDataset, path: Path
    ) -> AscTask | AscCnnTask:
        """Return the task with the model of a file, of the kind of the settings."""
        if not settings.is_of_cnn:
            return cls(settings, dataset, path)
        audio = cls(settings, dataset, SHIPPED_MODEL)
        features_of = front_end(audio, audio.bank)
        return AscCnnTask(audio, features_of, path, _owned(settings))

    def __init__(self, settings: Settings, dataset: TauDataset, path: Path) -> None:
        super().__init__(path)
        self._settings, self._dataset = settings, dataset
        self._file_sha256 = user_files.digest(path)
        every: list[AscSample] = []
        for clip in dataset.test:
            every += [AscSample(clip, second) for second in range(clip.samples)]
        self._samples = (
            balanced(every, settings.samples, settings.seed)
            if settings.samples
            else every
        )
        self._reader = ClipReader()

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._samples)

    def payload(self, index: int) -> bytes:
        """Return one second of audio: 8000 x int16, little endian."""
        sample = self._samples[index]
        second = self._reader.slices(sample.clip.path)[sample.second]
        payload: bytes = second.astype("<i2").tobytes()
        self._lately.append(payload)
        return payload

    def recordings(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the class and the samples of each recording, second by second; a
        subset may have parts of recordings only.
        """
        recordings: list[tuple[str, tuple[int, ...]]] = []
        before: AscSample | None = None
        for index, sample in enumerate(self._samples):
            follows = (
                before is not None
                and sample.clip == before.clip
                and sample.second == before.second + 1
            )
            label, indices = (
                recordings.pop() if follows else (CLASSES[sample.clip.label], ())
            )
            recordings.append((label, (*indices, index)))
            before = sample
        return recordings

    def _holes(self) -> list[int]:
        """Return the samples that do not follow the one before in time although it is
        of the same recording.
        """
        holes = []
        for index, (early, late) in enumerate(pairwise(self._samples), start=1):
            if early.clip == late.clip and late.second != early.second + 1:
                holes.append(index)
        return holes

    def catalogue(self) -> list[Entry]:
        """Return class, recording and city of every sample."""
        entries = []
        for sample in self._samples:
            clip = sample.clip
            entries.append(Entry(CLASSES[clip.label], clip.path.stem, clip.city))
        return entries

    def score(self, index: int, output: bytes) -> Score:
        """Take the class with the most spikes, then the highest membrane, then the
        lowest index."""
        return scored(CLASSES[self._samples[index].clip.label], output)

    def kept(self) -> Mapping[str, bytes]:
        """Return a model of the bench's owner, with the owner's samples."""
        return kept.files(self, self._path, self._file_sha256, _owned(self._settings))

    def provenance(self) -> dict[str, Any]:
        """Return what identifies data and model: hashes, counts, split, source;
        JSON-able."""
        # A folder that the generator wrote stays generated data under any name in a
        # bench file.
        made_here = self._settings.data == GENERATED
        generated = made_here or made_up(
            frozenset(sample.clip.city for sample in self._samples)
        )
        train, test = self._dataset.counts()
        statement = (
            "generated data, not the data set"
            if generated
            else self._dataset.split_statement()
        )
        unofficial = "NOT THE OFFICIAL SPLIT"
        if generated or self._dataset.strange_cities:
            unofficial = "NOT THE DATA SET"
        subset = "all"
        if self._settings.samples:
            seed = self._settings.seed
            subset = f"{len(self)} of {test}, class-balanced, seed {seed}"
        facts: dict[str, Any] = {
            "source": GENERATED if generated else "folder",
            "data": self._settings.data,
            "layout": self._dataset.layout,
            "split": (
                "test = fold1_evaluate and every device-a recording in neither list"
            ),
            "official": statement == "official split",
            "unofficial": unofficial,
            "statement": statement,
            "classes": list(CLASSES),
            "train_samples": train,
            "test_samples": test,
            "samples": len(self),
            "subset": subset,
            "holes": self._holes(),
            "extra_files": sum(not clip.listed for clip in self._dataset.test),
            "file_list_sha256": self._dataset.file_list_sha256(),
            "audio": f"int16, {RATE_HZ} Hz, soxr {soxr.__version__} HQ",
            "model": self._model.identity,
            "model_sha256": self._model.sha256,
        }
        if made_here:
            settings = self._settings
            facts["generator"] = {
                "version": GENERATOR_VERSION,
                "files_per_class": settings.files_per_class,
                "seed": settings.seed,
            }
        return facts


def _generated(settings: AscTask.Settings, context: BenchContext) -> TauDataset:
    """Return the generated data of the settings, made where the cache lacks them."""
    folder = cache_folder(settings.cache, context)
    return open_dataset(ensure(folder, settings.files_per_class, settings.seed))


def _owned(settings: AscTask.Settings) -> Owned:
    """Return which parts are files of the bench's owner."""
    return Owned(model=bool(settings.model), samples=settings.data != GENERATED)


def made_up(cities: frozenset[str]) -> bool:
    """Check whether recordings of these cities are the generator's: there are no such
    cities."""
    return cities <= frozenset(CITIES)


def _of_shipped(kind: Kind) -> dict[str, str]:
    """Return the facts of a shipped model."""
    if kind == CNN:
        cnn = network_of.read(SHIPPED_CNN)
        return {"model": cnn.identity, "model_sha256": cnn.sha256}
    spiking = read_model(SHIPPED_MODEL)
    return {"model": spiking.identity, "model_sha256": spiking.sha256}


def cache_folder(setting: str, context: BenchContext) -> Path:
    """Return where generated data is kept: the setting, or neurorig in the user's
    cache."""
    if setting:
        return context.folder / expanded(setting)
    return cache()


def balanced(every: list[AscSample], count: int, seed: int) -> list[AscSample]:
    """Draw `count` samples, as many of each class or one more of the first classes, in
    the order of the split.
    """
    if not 0 < count <= len(every):
        raise ConfigError(
            f"{plural(count, 'sample')} of {len(every)}",
            path="task.asc.samples",
            try_next="0 for all of them",
        )
    rng = np.random.default_rng(seed)
    chosen: list[int] = []
    for label in range(len(CLASSES)):
        share = count // len(CLASSES) + (label < count % len(CLASSES))
        places = [
            place for place, sample in enumerate(every) if sample.clip.label == label
        ]
        if share > len(places):
            asked = plural(share, "sample")
            cause = f"{asked} of {CLASSES[label]}, there are {len(places)}"
            raise ConfigError(
                cause, path="task.asc.samples", try_next="fewer, or 0 for all of them"
            )
        chosen += rng.choice(places, share, replace=False).tolist()
    return [every[place] for place in sorted(chosen)]
