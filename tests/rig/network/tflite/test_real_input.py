# SPDX-License-Identifier: Apache-2.0
"""Real numbers as inputs: thresholds that a device compares with give the values that a
division gives, at and beside every one of them.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from rig.errors import DataError
from rig.network.tflite import distance, network
from rig.network.tflite.form import IntegerTensor
from rig.network.tflite.inputs import to_inputs, to_real_inputs
from rig.network.tflite.payloads import PayloadForm
from rig.network.tflite.real_input import reals_of, thresholds
from tests.conftest import ROOT
from tests.length import length

VECTORS = ROOT / "tests" / "vectors" / "tflite"
SCALES = st.floats(1e-30, 1e30, allow_subnormal=False)
ZEROS = st.integers(-128, 127)


def by_division(real: float, scale: float, zero_point: int) -> int:
    """Return a value as TFLite's kernel QUANTIZE: `value / static_cast<float>(scale)`
    in single precision, rounded with halves away from zero.
    """
    with np.errstate(over="ignore"):
        steps = abs(float(np.float32(real) / np.float32(scale)))
    whole = 10_000 if steps > 10_000 else math.floor(steps + 0.5)
    value = zero_point + (whole if real >= 0 else -whole)
    return max(-128, min(127, value))


def key_of(real: float) -> int:
    """Return a number's bits, negative for a negative one."""
    (bits,) = struct.unpack("<I", struct.pack("<f", real))
    return int(bits) if bits < 1 << 31 else -int(bits - (1 << 31))


def number_of(key: int) -> float:
    (real,) = struct.unpack("<f", struct.pack("<I", abs(key)))
    return -float(real) if key < 0 else float(real)


@given(scale=SCALES, zero_point=ZEROS, data=st.data())
@settings(max_examples=length(200, 40), deadline=None)
def test_counted_thresholds_are_the_value_of_a_division(
    scale: float, zero_point: int, data: st.DataObject
) -> None:
    keys = thresholds(IntegerTensor("in", (1,), scale, zero_point))
    assert len(keys) == 255
    assert keys == sorted(keys)
    drawn = data.draw(st.lists(st.floats(width=32, allow_nan=False), max_size=8))
    beside = [number_of(int(key)) for key in np.add.outer(keys, (-1, 0, 1)).flat]
    near = [scale * (at + 0.5) for at in range(-3, 4)]
    reals = [*drawn, *beside, *(np.float32(near).tolist()), 0.0, -0.0]
    for real in filter(math.isfinite, reals):
        found = bisect_right(keys, key_of(real)) - 128
        assert found == by_division(real, scale, zero_point)


def test_samples_are_kept_as_the_numbers_that_they_are() -> None:
    read = network.read(VECTORS / "example.tflite")
    tensor = read.tensors[read.input]
    shape = (5, *tensor.shape[1:])
    reals = np.random.default_rng(3).normal(2.5, 3.0, shape)
    found, limited = to_real_inputs(read, reals)
    assert found.dtype == np.float32
    assert np.array_equal(found, reals.astype(np.float32))
    as_values, as_limited = to_inputs(read, reals.astype(np.float32))
    assert limited == as_limited > 0
    again, none = to_real_inputs(read, as_values)
    assert none == 0
    assert np.array_equal(again, reals_of(tensor, as_values))
    assert np.array_equal(to_inputs(read, again)[0], as_values)
    with pytest.raises(DataError, match="not finite"):
        to_real_inputs(read, np.full(shape, 1e300))
    with pytest.raises(DataError, match="inputs of uint8"):
        to_real_inputs(read, np.zeros(shape, np.uint8))


def test_a_distance_takes_finite_numbers_alone() -> None:
    read = network.read(VECTORS / "example.tflite")
    reals = np.zeros(read.tensors[read.input].size, "<f4")
    assert np.array_equal(distance.reals_of(read, reals.tobytes()), reals)
    for refused in (np.nan, np.inf):
        reals[-1] = refused
        with pytest.raises(ValueError, match="not finite"):
            distance.reals_of(read, reals.tobytes())


def test_a_device_that_quantises_has_another_name() -> None:
    read = network.read(Path(VECTORS / "example.tflite"))
    assert PayloadForm.VALUES.identity(read) == read.identity
    assert PayloadForm.REALS.identity(read) == f"{read.identity}-float32"
