# SPDX-License-Identifier: Apache-2.0
"""Recordings: the WAV header checked against the file, and one-second samples of int16
at 8 kHz."""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from rig.errors import DataError
from scenarios.tasks.asc.model import RATE_HZ, SLICE_SAMPLES

PCM = 0x0001
EXTENSIBLE = 0xFFFE
BITS = (16, 24)
RATES_HZ = (44_100, 48_000)
CHANNELS = (1, 2)
#: 160 kB each; as many as the subset of a quick bench has.
CACHED_CLIPS = 64


@dataclass(frozen=True, slots=True)
class WavHeader:
    """Header of a WAV file; `frames` counts samples per channel, `size_b` the whole
    file."""

    rate_hz: int
    channels: int
    bits: int
    frames: int
    size_b: int

    @property
    def slices(self) -> int:
        """The number of one-second slices; "10-s files cut into 1-s slices (last
        one zero-padded)".
        """
        return -(-self.frames // self.rate_hz)


def wav_header(path: Path) -> WavHeader:
    """Read and check the header of the WAV file at `path`; DataError if it is truncated
    or of another format.
    """
    try:
        size_b = path.stat().st_size
        with path.open("rb") as file:
            form, data_b, start_b = chunks(path, file, size_b)
    except OSError as problem:
        raise DataError(f"{path} cannot be read", evidence=str(problem)) from problem
    tag, channels, rate_hz, _, frame_b, bits = struct.unpack("<HHIIHH", form[:16])
    if tag == EXTENSIBLE and len(form) >= 26:
        tag = int.from_bytes(form[24:26], "little")
    shape = (
        f"format {tag:#06x}, {bits} bit, {rate_hz} Hz, {channels} channels, {frame_b} B"
        " a frame"
    )
    if (
        tag != PCM
        or bits not in BITS
        or rate_hz not in RATES_HZ
        or channels not in CHANNELS
        or frame_b != channels * bits // 8
    ):
        forms = "PCM of 16 or 24 bit, 44.1 or 48 kHz, mono or stereo"
        raise DataError(
            f"{path}: not a format of the set", evidence=shape, try_next=forms
        )
    if start_b + data_b > size_b:
        declared = (
            f"its header declares {data_b} B of audio from byte {start_b}, the file has"
            f" {size_b} B"
        )
        raise DataError(f"{path} is truncated", evidence=declared)
    if data_b == 0 or data_b % frame_b:
        raise DataError(
            f"{path}: {data_b} B of audio are not whole frames", evidence=shape
        )
    return WavHeader(rate_hz, channels, bits, data_b // frame_b, size_b)


def chunks(path: Path, file: BinaryIO, size_b: int) -> tuple[bytes, int, int]:
    """Walk the RIFF chunks to the audio; return the format chunk, and length and start
    of the data chunk in bytes.
    """
    riff = file.read(12)
    if len(riff) < 12 or riff[:4] != b"RIFF" or riff[8:] != b"WAVE":
        raise DataError(
            f"{path} is not a RIFF/WAVE file",
            evidence=f"{size_b} B, begins with {riff[:12]!r}",
        )
    form = b""
    while len(head := file.read(8)) == 8:
        name = head[:4]
        length_b = int.from_bytes(head[4:], "little")
        if name == b"data":
            if len(form) < 16:
                raise DataError(f"{path}: no format before the audio")
            return form, length_b, file.tell()
        if name == b"fmt ":
            form = file.read(length_b)
            file.seek(length_b & 1, 1)
        else:
            file.seek(length_b + (length_b & 1), 1)
    raise DataError(f"{path} is truncated", evidence=f"no audio within its {size_b} B")


def quantised(signal: NDArray[np.float64]) -> NDArray[np.int16]:
    """Turn -1..1 into int16: times 32768, rounded half to even, limited to
    -32768..32767."""
    return np.clip(np.rint(signal * 32_768), -32_768, 32_767).astype(np.int16)


def read_clip(path: Path) -> NDArray[np.int16]:
    """Read a recording as int16 at 8 kHz: channels averaged, the whole file resampled
    (soxr HQ), zero-padded to whole seconds.

    Returns shape (seconds, 8000). Raise DataError as wav_header does.
    """
    header = wav_header(path)
    try:
        frames, rate_hz = soundfile.read(path, dtype="float64", always_2d=True)
    except (soundfile.LibsndfileError, OSError) as problem:
        raise DataError(f"{path} cannot be decoded", evidence=str(problem)) from problem
    if len(frames) != header.frames or rate_hz != header.rate_hz:
        raise DataError(
            f"{path}: {len(frames)} frames decoded",
            evidence=f"its header declares {header.frames}",
        )
    # The mean over a single channel takes as long as a quarter of the rest.
    mono = frames[:, 0] if header.channels == 1 else frames.mean(axis=1)
    resampled = soxr.resample(mono, rate_hz, RATE_HZ, "HQ")
    whole = np.zeros(header.slices * SLICE_SAMPLES)
    kept = min(len(resampled), len(whole))
    whole[:kept] = resampled[:kept]
    return quantised(whole).reshape(header.slices, SLICE_SAMPLES)


class ClipReader:
    """Recordings as read_clip returns them; the last CACHED_CLIPS stay in memory."""

    def __init__(self) -> None:
        self._clips: OrderedDict[Path, NDArray[np.int16]] = OrderedDict()

    def slices(self, path: Path) -> NDArray[np.int16]:
        """Return the recording at `path`, int16 of shape (seconds, 8000)."""
        if path not in self._clips:
            self._clips[path] = _as_before(path)
            if len(self._clips) > CACHED_CLIPS:
                self._clips.popitem(last=False)
        self._clips.move_to_end(path)
        return self._clips[path]


def _as_before(path: Path) -> NDArray[np.int16]:
    """Return a recording, shared with the last reader of the file in this process."""
    try:
        about = path.stat()
    except OSError:
        return read_clip(path)  # which says why
    return _read_once(path, about.st_ino, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=CACHED_CLIPS)
def _read_once(
    path: Path, inode: int, size_b: int, changed_ns: int
) -> NDArray[np.int16]:
    """Read a recording that lies there as this file."""
    return read_clip(path)
