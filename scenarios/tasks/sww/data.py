# SPDX-License-Identifier: Apache-2.0
"""A recording of its user and the words in it: a WAV file, and a truth file as the
runner of MLPerf Tiny has it.
"""

from __future__ import annotations

import json
import wave
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

import numpy as np

from rig.errors import ConfigError, DataError
from rig.files import foreign_files, small_text
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.tflite.form import Ints
from rig.network.wake.features import HOP
from scenarios.common.word_list import FORM, named

#: Half an hour of stereo; the benchmark's recording has 20 minutes.
_WAV_B = 1 << 27
_WAV = "a WAV file of PCM, 16 bits, 16 kHz, mono or stereo (of which the first channel)"
Event = tuple[int, int]


#: Git's ids of the benchmark's recording and of its words, long_wav.wav and
#: sww_long_test.json of mlcommons/tiny, version 1.4 (commit 1afd2c9).
OFFICIAL = (
    "8af6a23b74e080826eacc84c766e5fc121520a4e",
    "442afb12b2b1d151faa68e282f702b87d0d0c131",
)


@dataclass(frozen=True, slots=True)
class WordSignal:
    """Samples of 16 bits, whole hops of them; of each word its first sample and the one
    after its last. `ids` are Git's of the files of recording and words, empty where
    there are none; `available` counts the samples that it is the first part of.
    """

    samples: Ints
    words: tuple[Event, ...]
    ids: tuple[str, ...] = ()
    available: int = 0

    def first(self, length: int) -> WordSignal:
        """Return the first samples, and the words that end within them."""
        words = tuple(word for word in self.words if word[1] <= length)
        return WordSignal(self.samples[:length], words, self.ids, len(self.samples))


def recording(audio: Path, truth: Path) -> WordSignal:
    """Return a recording with its words; raises ConfigError for other files."""
    samples = _samples(audio)
    length = len(samples) // HOP * HOP
    if not length:
        raise ConfigError(
            f"{audio} has {len(samples)} samples", path="task.sww.audio", try_next=_WAV
        )
    words = _words(truth, audio.name, length)
    ids = (
        git_id(foreign_files.read_bytes(audio)),
        git_id(small_text.read_block(truth)),
    )
    return WordSignal(samples[:length], words, ids, length)


def git_id(content: bytes) -> str:
    """Return the id that Git gives a file."""
    return sha1(
        b"blob %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()


def _samples(path: Path) -> Ints:
    try:
        with foreign_files.opened(path) as stream, wave.Wave_read(stream) as file:
            shape = (file.getnchannels(), file.getsampwidth(), file.getframerate())
            size_b = file.getnframes() * shape[0] * shape[1]
            if shape not in ((1, 2, SAMPLE_HZ), (2, 2, SAMPLE_HZ)) or size_b > _WAV_B:
                raise _no_wav(
                    path,
                    f"{shape[0]} channels of {8 * shape[1]} bits at "
                    f"{shape[2]} Hz, {size_b} B",
                )
            content = file.readframes(file.getnframes())
    except (OSError, EOFError, RuntimeError, wave.Error) as error:
        raise _no_wav(path, str(error)) from error
    if len(content) < size_b:
        raise ConfigError(
            f"{path} is not whole",
            path="task.sww.audio",
            evidence=f"its header states {size_b:,} B of samples, and it has"
            f" {len(content):,}",
            try_next="copy the file from its source once more",
        )
    whole = len(content) // (2 * shape[0]) * 2 * shape[0]
    frames = np.frombuffer(content[:whole], "<i2").reshape(-1, shape[0])
    return frames[:, 0].copy()


def _no_wav(path: Path, evidence: str) -> ConfigError:
    return ConfigError(
        f"{path} is no recording for this task",
        path="task.sww.audio",
        evidence=evidence,
        try_next=_WAV,
    )


def _words(path: Path, name: str, length: int) -> tuple[Event, ...]:
    try:
        entry = named(json.loads(small_text.read(path)), name, str(path))
        windows = entry.detection_windows
        words = [(_sample(begin), _sample(end)) for begin, end in windows]
    except (OSError, ValueError, OverflowError, DataError) as error:
        raise ConfigError(
            f"{path} does not state the words of {name}",
            path="task.sww.truth",
            evidence=str(error),
            try_next=FORM,
        ) from error
    return checked(words, length, path)


def _sample(time_s: float) -> int:
    return round(time_s * SAMPLE_HZ)


def checked(words: list[Event], length: int, path: Path) -> tuple[Event, ...]:
    """Return words in the order of time; raises ConfigError where they are none."""
    ordered = sorted(words)
    before = 0
    for begin, end in ordered:
        if not before <= begin < end <= length:
            raise ConfigError(
                f"{path} has a word from {begin / SAMPLE_HZ:g} to"
                f" {end / SAMPLE_HZ:g} s",
                path="task.sww.truth",
                evidence=f"the one before ends at {before / SAMPLE_HZ:g} s, the"
                f" recording at {length / SAMPLE_HZ:g} s",
                try_next="words within the recording that do not overlap",
            )
        before = end
    return tuple(ordered)
