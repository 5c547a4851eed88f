# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of `rig tiny`: where a clone of mlcommons/tiny has the reference model
of each, and the tensors of its evaluation set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import ConfigError, DataError
from scenarios.tasks.mlperf_tiny.benchmarks import BENCHMARKS, Benchmark, Name
from scenarios.tasks.mlperf_tiny.labels import read_labels

CLONE = "git clone https://github.com/mlcommons/tiny"
CLONE_OF_INPUTS = "git clone https://github.com/eembc/energyrunner"
#: Folders of data sets, by benchmark: in the clone, and in a folder of --inputs.
_OF_CLONE = "benchmark/evaluation/datasets"
_OF_INPUTS = ("datasets", _OF_CLONE, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceModel:
    """A benchmark: its name in data sets and reports, and the path of its reference
    model in a clone.
    """

    benchmark: str
    model: str

    def model_in(self, clone: Path) -> Path:
        """Return the path of the reference model; raises ConfigError for a folder that
        is no such clone.
        """
        path = clone / self.model
        if path.is_file():
            return path
        is_clone = (clone / "benchmark" / "training").is_dir()
        lacks = f"has no model of {self.benchmark}"
        raise ConfigError(
            f"{clone} {lacks if is_clone else 'is no clone of mlcommons/tiny'}",
            path="--from",
            evidence=f"no {path.name} in its folder {Path(self.model).parent}",
            try_next="a newer clone: git pull" if is_clone else CLONE,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyReference(ReferenceModel):
    """A benchmark whose data are tensors, with its lists of labels: a submission may
    take any of them.
    """

    benchmark: Name
    lists: tuple[str, ...] = ("y_labels.csv",)

    @property
    def about(self) -> Benchmark:
        """Return the form of its data."""
        return BENCHMARKS[self.benchmark]


_TRAINED = "benchmark/training/{}/trained_models/{}"
REFERENCES: Mapping[str, TinyReference] = {
    "kws": TinyReference(
        benchmark="kws01",
        model=_TRAINED.format("keyword_spotting", "kws_ref_model.tflite"),
    ),
    "ic": TinyReference(
        benchmark="ic01",
        model=_TRAINED.format("image_classification", "pretrainedResnet_quant.tflite"),
    ),
    "vww": TinyReference(
        benchmark="vww01",
        model=_TRAINED.format("visual_wake_words", "vww_96_int8.tflite"),
    ),
    "ad": TinyReference(
        benchmark="ad01",
        model=_TRAINED.format("anomaly_detection", "ad01_int8.tflite"),
        lists=("y_labels.csv", "y_labels_alt.csv"),
    ),
}
WAKE_WORD = ReferenceModel(
    benchmark="sww01",
    model=_TRAINED.format("streaming_wakeword", "str_ww_ref_model.tflite"),
)
WAKE_WORD_NAME = "sww"
NAMES = (*REFERENCES, WAKE_WORD_NAME)


@dataclass(frozen=True, slots=True)
class OfficialInputs:
    """A folder with the tensors that one of its lists names, all of them."""

    folder: Path
    labels: str


@dataclass(frozen=True, slots=True)
class MissingInputs:
    """The reason why a folder has no official inputs."""

    reason: str


def inputs_of_clone(
    reference: TinyReference, clone: Path
) -> OfficialInputs | MissingInputs:
    """Return the tensors of a clone, or why it has none: it has the lists alone, unless
    the user has put the tensors there.
    """
    folder = clone / _OF_CLONE / reference.benchmark
    return _complete(reference, folder)


def named_inputs(reference: TinyReference, given: Path) -> OfficialInputs:
    """Return the tensors of a folder that the user names: a clone of eembc/energyrunner
    or of mlcommons/tiny, or the folder of one benchmark; raises DataError where it has
    not all of them.
    """
    folders = [given / place / reference.benchmark for place in _OF_INPUTS]
    if any((given / name).is_file() for name in reference.lists):
        folders.insert(0, given)
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        raise DataError(
            f"{given} has no data of {reference.benchmark}",
            evidence=f"no folder {' or '.join(map(str, folders))}",
            try_next=f"a clone: {CLONE_OF_INPUTS}; or the folder with y_labels.csv",
        )
    found = _complete(reference, there[0])
    if isinstance(found, OfficialInputs):
        return found
    raise DataError(
        found.reason,
        try_next=(
            "the tensors beside the list, as the benchmark's training scripts write"
            " them; without --inputs generated ones are measured"
        ),
    )


def _complete(reference: TinyReference, folder: Path) -> OfficialInputs | MissingInputs:
    """Return the first list of labels whose tensors are all there."""
    reasons = []
    for name in reference.lists:
        if not (folder / name).is_file():
            reasons.append(f"the labels are missing: there is no {folder / name}")
            continue
        files = _listed(folder / name)
        missing = [file for file in files if not (folder / file).is_file()]
        if not missing:
            return OfficialInputs(folder, name)
        there = len(files) - len(missing)
        reasons.append(
            f"{folder} has {there} of the {len(files)} tensors in {name}, the first"
            f" that is missing is {missing[0]}"
        )
    return MissingInputs(reasons[0])


def _listed(path: Path) -> Sequence[str]:
    return [row.file for row in read_labels(path)]
