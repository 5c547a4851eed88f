# SPDX-License-Identifier: Apache-2.0
"""A stretch that a recording holds twice is found; a signal that only resembles itself
is not."""

from __future__ import annotations

import numpy as np
import pytest

from rig.trace import repeats
from rig.trace.fingerprint import windows

NOISE = np.random.default_rng(1).normal(0.01, 1e-4, 400_000).astype(np.float32)
BLOCK = 1 << 16


def blocks(signal: np.ndarray) -> list[np.ndarray]:
    return [signal[at : at + BLOCK] for at in range(0, len(signal), BLOCK)]


def test_noise_has_no_stretch_twice() -> None:
    assert windows(blocks(NOISE))[1] is None


@pytest.mark.parametrize("length", [2_000, 50_000])
def test_a_copied_stretch_is_found_with_its_places(length: int) -> None:
    signal = NOISE.copy()
    signal[300_000 : 300_000 + length] = signal[10_000 : 10_000 + length]
    result = windows(blocks(signal))[1]
    assert result is not None
    assert result.second - result.first == 290_000
    assert 10_000 <= result.first < 11_000


def test_a_periodic_signal_is_no_copy() -> None:
    period = np.random.default_rng(2).normal(0.01, 1e-4, 1_000).astype(np.float32)
    assert windows(blocks(np.tile(period, 300)))[1] is None


def test_a_few_codes_of_a_converter_are_no_copy() -> None:
    codes = np.random.default_rng(3).integers(0, 4, 400_000).astype(np.float32)
    assert windows(blocks(codes))[1] is None


def test_of_a_long_recording_a_long_stretch_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repeats, "_KEPT", 1_000)
    signal = NOISE.copy()
    signal[200_000:300_000] = signal[:100_000]
    result = windows(blocks(signal))[1]
    assert result is not None and result.second - result.first == 200_000
    assert windows(blocks(NOISE))[1] is None
