# SPDX-License-Identifier: Apache-2.0
"""The TAU Urban Acoustic Scenes 2020 Mobile development set as the ASC rules use it:
device a, four classes, one-second samples.

Two layouts are read: the original (`audio/`, `evaluation_setup/`, `meta.csv`) and the
flattened one of the reference scripts (wav in `raw/`, csv beside it, in the folder
itself or in its `data/`).
"""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

from rig.errors import DataError
from rig.files import small_text
from scenarios.tasks.asc.audio import wav_header

# "classes airport, street_traffic, bus, park (label index in that order in the
# reference call)"
CLASSES = ("airport", "street_traffic", "bus", "park")
# "device a only"
DEVICE = "a"
# "41,360 train / 16,240 test; validation taken from train only; no val split is
# provided"
OFFICIAL_TRAIN_SAMPLES = 41_360
OFFICIAL_TEST_SAMPLES = 16_240

#: "recordings from 12 European cities in 10 different acoustic scenes": a recording of
#: another place is not of the set.
CITIES = frozenset(
    (
        "amsterdam",
        "barcelona",
        "helsinki",
        "lisbon",
        "london",
        "lyon",
        "madrid",
        "milan",
        "paris",
        "prague",
        "stockholm",
        "vienna",
    )
)

TRAIN_LIST = "fold1_train.csv"
TEST_LIST = "fold1_evaluate.csv"
META_LIST = "meta.csv"


@dataclass(frozen=True, slots=True)
class Clip:
    """One recording: `label` indexes CLASSES, `samples` counts its one-second slices,
    `listed` says whether a fold names it.
    """

    path: Path
    label: int
    samples: int
    size_b: int
    listed: bool

    @property
    def city(self) -> str:
        """Return where it was recorded, by its name:
        [scene]-[city]-[location]-[segment]-[device].
        """
        parts = self.path.stem.split("-")
        return parts[1] if len(parts) == 5 else ""


@dataclass(frozen=True, slots=True)
class DatasetLayout:
    """Paths of the parts of a data set."""

    name: str
    audio: Path
    lists: Path
    meta: Path


@dataclass(frozen=True, slots=True)
class TauDataset:
    """The recordings of both splits, in the order of their samples."""

    folder: Path
    layout: str
    train: tuple[Clip, ...]
    test: tuple[Clip, ...]

    def counts(self) -> tuple[int, int]:
        """Return the number of train and of test samples."""
        train = sum(clip.samples for clip in self.train)
        test = sum(clip.samples for clip in self.test)
        return train, test

    def split_statement(self) -> str:
        """Check whether the places are those of the data set and the sample counts
        those of the rule.
        """
        counts = self.counts()
        if strange := self.strange_cities:
            where = ", ".join(strange[:3]) + ("..." if len(strange) > 3 else "")
            return (
                f"not the data set: {counts[0]}/{counts[1]} samples, with recordings of"
                f" {where}, where it has none"
            )
        if official(counts, self.cities()):
            return "official split"
        return f"not the official split: {counts[0]}/{counts[1]} samples"

    @property
    def strange_cities(self) -> list[str]:
        """Places of recordings where the data set has none."""
        return sorted(self.cities() - CITIES)

    def cities(self) -> frozenset[str]:
        """Return where the recordings of both splits were made."""
        return frozenset(clip.city for clip in (*self.train, *self.test))

    def file_list_sha256(self, *, content: bool = False) -> str:
        """Hash split, name and size of every recording, sorted by name; with `content`
        also the SHA-256 of each file.
        """
        digest = hashlib.sha256()
        rows = [("train", clip) for clip in self.train]
        rows += [("test", clip) for clip in self.test]
        for split, clip in sorted(rows, key=lambda row: row[1].path.name):
            digest.update(f"{split}\t{clip.path.name}\t{clip.size_b}".encode())
            if content:
                with clip.path.open("rb") as file:
                    digest.update(
                        b"\t" + hashlib.file_digest(file, "sha256").hexdigest().encode()
                    )
            digest.update(b"\n")
        return digest.hexdigest()


def official(counts: tuple[object, object], cities: frozenset[str]) -> bool:
    """Check whether recordings of these cities, in so many train and test samples, can
    be the data set's split.
    """
    return (
        counts == (OFFICIAL_TRAIN_SAMPLES, OFFICIAL_TEST_SAMPLES) and cities <= CITIES
    )


def open_dataset(folder: Path) -> TauDataset:
    """Read lists and headers of the data set in `folder`; no audio. Raise DataError
    where lists and disk disagree.
    """
    layout = find_layout(folder)
    on_disk = {
        path.name: path
        for path in sorted(layout.audio.glob("*.wav"))
        if wanted(path.name)
    }
    train = read_list(layout.lists / TRAIN_LIST, on_disk)
    evaluate = read_list(layout.lists / TEST_LIST, on_disk)
    if both := sorted(set(train) & set(evaluate)):
        raise DataError(
            f"{both[0]} is in {TRAIN_LIST} and in {TEST_LIST}",
            evidence=f"{len(both)} such files",
        )
    if layout.meta.is_file():
        read_list(layout.meta, on_disk)
    # "test = fold1_evaluate.csv plus every device-A wav found on disk that is in
    # neither list ("extra files")"
    extra = [name for name in on_disk if name not in train and name not in evaluate]
    test = [clip(on_disk[name], True) for name in evaluate]
    test += [clip(on_disk[name], False) for name in extra]
    if not train or not test:
        raise DataError(
            f"{folder}: no recording of device {DEVICE} and the four classes to "
            f"{'test' if train else 'train'} with"
        )
    trained_on = tuple(clip(on_disk[name], True) for name in train)
    return TauDataset(folder, layout.name, trained_on, tuple(test))


def find_layout(folder: Path) -> DatasetLayout:
    """Return the layout of the data set in `folder`."""
    lists = folder / "evaluation_setup"
    if (folder / "audio").is_dir() and lists.is_dir():
        return DatasetLayout("original", folder / "audio", lists, folder / META_LIST)
    for root in (folder, folder / "data"):
        if (root / "raw").is_dir():
            return DatasetLayout("flattened", root / "raw", root, root / META_LIST)
    raise DataError(
        f"{folder} holds no TAU Urban Acoustic Scenes data set",
        evidence="neither audio/ with evaluation_setup/ nor raw/ or data/raw/",
        try_next=(
            "unpack the development set there (zenodo.3819968), or set data ="
            ' "generated"'
        ),
    )


def wanted(name: str) -> bool:
    """Check whether a file name is of device a and one of the four classes; DataError
    if it is not a name of the set.
    """
    parts = Path(name).stem.split("-")
    if len(parts) != 5:
        raise DataError(
            f"{name} is not named [scene]-[city]-[location]-[segment]-[device].wav"
        )
    return parts[4] == DEVICE and parts[0] in CLASSES


def read_list(path: Path, on_disk: dict[str, Path]) -> list[str]:
    """Read the wanted file names of a tab-separated list with a header; each must lie
    on disk, under the scene it is listed as.
    """
    try:
        with io.StringIO(small_text.read(path, newline="")) as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"{path} cannot be read", evidence=str(problem)) from problem
    names: dict[str, None] = {}
    for number, row in enumerate(rows, start=2):
        listed = row.get("filename")
        scene = row.get("scene_label")
        if not listed or not scene:
            raise DataError(
                f"{path}:{number}: no filename or scene_label",
                evidence="tab-separated with a header is wanted",
            )
        name = Path(listed).name
        if not wanted(name):
            continue
        if name not in on_disk:
            raise DataError(
                f"{path}:{number}: {name} is listed and not on disk",
                try_next="unpack every audio archive of the set",
            )
        if name in names:
            raise DataError(f"{path}:{number}: {name} is listed twice")
        if name.split("-")[0] != scene:
            raise DataError(f"{path}:{number}: {name} is listed as {scene}")
        names[name] = None
    return list(names)


def clip(path: Path, listed: bool) -> Clip:
    """Describe the recording at `path` from its name and its header."""
    header = wav_header(path)
    label = CLASSES.index(path.name.split("-")[0])
    return Clip(
        path,
        label,
        header.slices,
        header.size_b,
        listed,
    )
