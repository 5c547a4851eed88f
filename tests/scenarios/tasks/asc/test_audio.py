# SPDX-License-Identifier: Apache-2.0
"""Recordings: which formats are read, which are refused, and none is shortened
silently.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rig.errors import DataError
from scenarios.tasks.asc.audio import (
    CACHED_CLIPS,
    ClipReader,
    quantised,
    read_clip,
    wav_header,
)

from .conftest import wav


def tone_error(samples: np.ndarray, amplitude: float) -> float:
    """Return the largest difference from a 440 Hz tone at 8 kHz, away from the ends, in
    int16 units.
    """
    ideal = (
        amplitude * 32_768 * np.sin(2 * np.pi * 440 * np.arange(len(samples)) / 8000)
    )
    return float(np.abs(samples - ideal)[400:-400].max())


@pytest.mark.parametrize("bits", [16, 24])
@pytest.mark.parametrize("rate_hz", [44_100, 48_000])
@pytest.mark.parametrize("extensible", [False, True])
def test_pcm_of_the_set_is_read_and_resampled(
    tmp_path: Path, bits: int, rate_hz: int, extensible: bool
) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(
        wav(2 * rate_hz, bits=bits, rate_hz=rate_hz, extensible=extensible)
    )
    slices = read_clip(path)
    assert slices.dtype == np.int16
    assert slices.shape == (2, 8000)
    assert tone_error(slices.reshape(-1), 0.25) < 3


def test_two_channels_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(88_200, channels=2, bits=24))
    assert tone_error(read_clip(path).reshape(-1), 0.125) < 3


def test_the_last_slice_is_padded_with_zeros(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(44_100 + 22_050))
    slices = read_clip(path)
    assert wav_header(path).slices == 2
    assert slices.shape == (2, 8000)
    assert not slices[1, 4000:].any()
    assert np.abs(slices[1, :3900]).max() > 8000


def test_int16_is_rounded_half_to_even_and_limited() -> None:
    halves = np.array([0.5, 1.5, -0.5, -1.5]) / 32_768
    assert quantised(halves).tolist() == [0, 2, 0, -2]
    assert quantised(np.array([1.0, -1.0, 2.0, -2.0])).tolist() == [
        32_767,
        -32_768,
        32_767,
        -32_768,
    ]


@pytest.mark.parametrize(
    ("content", "evidence"),
    [
        (wav(4410, bits=8), "8 bit"),
        (wav(4410, bits=32), "32 bit"),
        (wav(4410, bits=32, tag=3), "format 0x0003"),
        (wav(4410, tag=0x55), "format 0x0055"),
        (wav(4410, tag=0x55, extensible=True), "format 0x0055"),
        (wav(4410, rate_hz=22_050), "22050 Hz"),
        (wav(4410, channels=4), "4 channels"),
    ],
)
def test_another_format_is_refused_and_named(
    tmp_path: Path, content: bytes, evidence: str
) -> None:
    path = tmp_path / "odd.wav"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"odd\.wav: not a format of the set") as caught:
        read_clip(path)
    assert evidence in caught.value.evidence


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda whole: whole[:-1], "truncated"),
        (lambda whole: whole[: len(whole) // 2], "truncated"),
        (lambda whole: whole[:60], "truncated"),
        (lambda whole: whole[:30], "truncated"),
        (lambda whole: whole[:11], "not a RIFF/WAVE file"),
        (lambda whole: b"", "not a RIFF/WAVE file"),
        (lambda whole: b"ID3" + whole[3:], "not a RIFF/WAVE file"),
    ],
)
def test_a_truncated_file_is_refused_with_its_bytes(
    tmp_path: Path, spoil: Callable[[bytes], bytes], cause: str
) -> None:
    path = tmp_path / "short.wav"
    spoilt = spoil(wav(44_100))
    path.write_bytes(spoilt)
    with pytest.raises(DataError, match=rf"short\.wav.*{cause}") as caught:
        wav_header(path)
    assert f"{len(spoilt)} B" in caught.value.evidence


def test_a_file_without_audio_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.wav"
    path.write_bytes(wav(0))
    with pytest.raises(DataError, match="not whole frames"):
        wav_header(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.wav cannot be read"):
        wav_header(tmp_path / "gone.wav")


def test_the_reader_keeps_a_few_recordings_only(tmp_path: Path) -> None:
    reader = ClipReader()
    paths = [tmp_path / f"{number}.wav" for number in range(CACHED_CLIPS + 1)]
    for path in paths:
        path.write_bytes(wav(4410))
        reader.slices(path)
    for path in paths:
        path.unlink()
    assert reader.slices(paths[-1]).shape == (1, 8000)
    with pytest.raises(DataError):
        reader.slices(paths[0])


def test_a_recording_is_read_again_by_another_reader_only_if_its_file_is_another(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tone.wav"
    path.write_bytes(wav(4410))
    once = ClipReader().slices(path)
    assert ClipReader().slices(path) is once
    path.write_bytes(wav(4410, level=0.125))
    assert not np.array_equal(ClipReader().slices(path), once)
