# SPDX-License-Identifier: Apache-2.0
"""Generate a stand-in for the data set: the same layout and names, four scenes mixed
from layered events.

What separates the scenes is how the events move in time and frequency. Level, tilt,
background and foreign events are drawn from the same distributions for all four, so no
single number of a recording distinguishes them.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from rig.errors import ConfigError, DataError
from rig.files import table_file
from scenarios.tasks.asc import sounds
from scenarios.tasks.asc.dataset import (
    CLASSES,
    DEVICE,
    META_LIST,
    TEST_LIST,
    TRAIN_LIST,
)
from scenarios.tasks.asc.sounds import RATE_HZ, Rng, Signal

GENERATOR_VERSION = 1
CITIES = ("arden", "brook", "cliff", "dale")

Layer = Callable[[Rng], Signal]

# The layers of a scene: always there, at 0 dB; and the events that may come with it.
MAIN: dict[str, Layer] = {
    "airport": sounds.babble,
    "street_traffic": lambda rng: sounds.cars(rng, float(rng.uniform(0.55, 0.9))),
    "bus": lambda rng: sounds.engine(rng, float(rng.uniform(24, 42))),
    "park": lambda rng: sounds.birds(rng, float(rng.uniform(0.9, 1.6))),
}
OWN: dict[str, Layer] = {
    "airport": sounds.chime,
    "street_traffic": sounds.horn,
    "bus": sounds.rattle,
    "park": sounds.wind,
}
OWN_PROBABILITY = {"airport": 0.4, "street_traffic": 0.3, "bus": 0.7, "park": 0.8}
FOREIGN: dict[str, tuple[Layer, ...]] = {
    "airport": (
        sounds.rattle,
        lambda rng: sounds.engine(rng, 48.0),
        lambda rng: sounds.birds(rng, 0.4),
    ),
    "street_traffic": (
        sounds.babble,
        sounds.wind,
        lambda rng: sounds.birds(rng, 0.4),
        lambda rng: sounds.engine(rng, 30.0),
    ),
    "bus": (sounds.babble, sounds.chime, lambda rng: sounds.cars(rng, 0.3)),
    "park": (sounds.babble, lambda rng: sounds.cars(rng, 0.3), sounds.rattle),
}


def mix(scene: str, rng: Rng) -> Signal:
    """Mix one recording of `scene`; float64 within -1..1, SAMPLES_PER_FILE samples at
    RATE_HZ."""
    background = sounds.noise(rng, sounds.slope(float(rng.uniform(-5, -1))))
    out = MAIN[scene](rng) + gain(rng.uniform(-8, 2)) * background
    if rng.random() < OWN_PROBABILITY[scene]:
        out += gain(rng.uniform(-9, -2)) * OWN[scene](rng)
    if rng.random() < 0.8:
        foreign = FOREIGN[scene]
        loud = gain(rng.uniform(-13, -4))
        layer = foreign[int(rng.integers(len(foreign)))]
        out += loud * layer(rng)
    out = sounds.coloured(out, sounds.slope(float(rng.uniform(-3, 3))))
    out = sounds.unit(out) * gain(rng.uniform(-38, -18))
    return np.clip(out, -1.0, 1.0 - 2.0**-23)


def gain(db: float) -> float:
    """Return the amplitude ratio of a level difference in dB."""
    return float(10.0 ** (db / 20))


@dataclass(frozen=True, slots=True)
class GeneratedRecording:
    """One file to generate, of a location of its own: `split` is "train", "evaluate" or
    "extra" (on disk and in neither list).
    """

    scene: str
    location: int
    split: str

    @property
    def identifier(self) -> str:
        """Return city and location as meta.csv has them."""
        return f"{CITIES[self.location % len(CITIES)]}-{self.location}"

    @property
    def name(self) -> str:
        """The file name, [scene]-[city]-[location]-[segment]-[device].wav."""
        return f"{self.scene}-{self.identifier}-0-{DEVICE}.wav"

    def audio(self, seed: int) -> Signal:
        """Synthesize the recording; the same seed gives the same samples."""
        rng = np.random.default_rng((seed, CLASSES.index(self.scene), self.location))
        return mix(
            self.scene,
            rng,
        )


def recordings(files_per_class: int) -> list[GeneratedRecording]:
    """List what to generate: a third of the locations, at least one, is held out; the
    last file of each class is in no list.
    """
    if files_per_class < 2:
        cause = f"{files_per_class} files a class cannot be split by location"
        raise ConfigError(cause, path="task.asc.files_per_class", try_next="2 or more")
    first_test = files_per_class - max(1, files_per_class // 3)
    listed = []
    for scene in CLASSES:
        for location in range(files_per_class):
            split = (
                "train"
                if location < first_test
                else "extra"
                if location == files_per_class - 1
                else "evaluate"
            )
            listed.append(GeneratedRecording(scene, location, split))
    return listed


def write_list(
    path: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> None:
    """Write a tab-separated list with a header."""
    path.write_text(
        table_file.text([header, *rows], delimiter="\t"), encoding="utf-8", newline=""
    )


def write(folder: Path, files_per_class: int, seed: int) -> None:
    """Write a data set of 4 x `files_per_class` recordings into the existing empty
    `folder`."""
    (folder / "audio").mkdir()
    (folder / "evaluation_setup").mkdir()
    listed = recordings(files_per_class)
    for recording in listed:
        soundfile.write(
            folder / "audio" / recording.name,
            recording.audio(seed),
            RATE_HZ,
            subtype="PCM_24",
        )
    named = ("filename", "scene_label")
    for name, split in ((TRAIN_LIST, "train"), (TEST_LIST, "evaluate")):
        rows = ((f"audio/{r.name}", r.scene) for r in listed if r.split == split)
        write_list(folder / "evaluation_setup" / name, named, rows)
    tested = ((f"audio/{r.name}",) for r in listed if r.split == "evaluate")
    write_list(folder / "evaluation_setup" / "fold1_test.csv", named[:1], tested)
    meta = ((f"audio/{r.name}", r.scene, r.identifier, DEVICE) for r in listed)
    write_list(folder / META_LIST, (*named, "identifier", "source_label"), meta)


def ensure(cache: Path, files_per_class: int, seed: int) -> Path:
    """Return the folder of a generated data set under `cache`; generate it if it is not
    there.

    It is written beside its place and renamed, so a folder with the final name is
    whole.
    """
    folder = cache / f"asc-generated-v{GENERATOR_VERSION}-{files_per_class}-{seed}"
    if folder.is_dir():
        return folder
    recordings(files_per_class)
    partial = cache / f"{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        partial.mkdir(parents=True)
        write(partial, files_per_class, seed)
        rename(partial, folder)
    except (OSError, soundfile.LibsndfileError) as problem:
        cause = f"generated data cannot be written to {cache}"
        raise DataError(
            cause, evidence=str(problem), try_next="another task.asc.cache"
        ) from problem
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def rename(partial: Path, folder: Path) -> None:
    """Give a finished data set its name, unless another process was faster: the
    generator is deterministic, theirs is as good.
    """
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
