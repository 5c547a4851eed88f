# SPDX-License-Identifier: Apache-2.0
"""Networks over a window, run row by row: the bytes of the whole window."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from hypothesis import given, settings
from hypothesis import strategies as st

from examples.make_tflite import SAME, VALID, Layers
from rig.errors import DataError
from rig.network.tflite import interpreter, network, sizes
from rig.network.tflite.form import IntegerNetwork, Ints
from rig.network.tflite.rows import row_by_row
from tests.length import length
from tests.rig.network.tflite_models import drawn_window

#: A clone of mlcommons/tiny.
CLONE = "MLPERF_TINY_CLONE"


def saved(folder: Path, net: Layers) -> IntegerNetwork:
    path = folder / "window.tflite"
    path.write_bytes(net.content())
    return network.read(path)


def windows(signal: Ints, rows: int, start: int) -> Ints:
    """Return the window that ends at each row of a signal; all before it is `start`."""
    before = np.full((rows - 1, signal.shape[1]), start, np.int8)
    view = np.lib.stride_tricks.sliding_window_view(
        np.concatenate([before, signal]), rows, axis=0
    )
    return np.moveaxis(view, -1, 1)


@given(seed=st.integers(0, 2**32 - 1), start=st.integers(-128, 127))
@settings(max_examples=length(150, 40), deadline=None)
def test_any_window_gives_the_same_bytes_row_by_row(
    tmp_path_factory: pytest.TempPathFactory, seed: int, start: int
) -> None:
    read = saved(tmp_path_factory.getbasetemp(), drawn_window(seed))
    shape = read.tensors[read.input].shape
    rows = max(shape[1:3])
    rng = np.random.default_rng(seed)
    signal = rng.integers(-128, 128, (40, np.prod(shape) // rows)).astype(np.int8)
    due = interpreter.run(read, windows(signal, rows, start).reshape(-1, *shape))
    derived = interpreter.RowByRow(row_by_row(read), start)
    cut = int(rng.integers(1, 40))
    result = [derived.answers(part) for part in (signal[:cut], signal[cut:])]
    assert np.array_equal(np.concatenate(result).reshape(40, -1), due.reshape(40, -1))


def test_a_row_costs_its_own_products_alone(tmp_path: Path) -> None:
    net = Layers((1, 12, 1, 4), 1)
    net.convolution(8, (3, 1), padding=VALID)
    net.depthwise((10, 1), padding=VALID)
    net.reshape(1, 8)
    net.dense(2)
    read = saved(tmp_path, net)
    derived = row_by_row(read)
    assert sizes.sizes(read).macs == 10 * 3 * 4 * 8 + 10 * 8 + 8 * 2
    assert sizes.sizes(derived).macs == 3 * 4 * 8 + 10 * 8 + 8 * 2
    assert sizes.state_of(derived) == 3 * 4 + 10 * 8


@pytest.mark.parametrize(
    ("layers", "cause"),
    [
        (lambda net: net.convolution(3, (3, 1), padding=SAME), "pads the rows"),
        (
            lambda net: net.depthwise((3, 1), (2, 1), VALID),
            "it moves by 2 rows at a time",
        ),
        (
            lambda net: net.pad([(0, 0), (0, 2), (0, 0), (0, 0)]),
            "PAD: it pads the rows",
        ),
        (lambda net: net.convolution(3, (3, 1), padding=VALID), "8 rows of time"),
        (
            lambda net: (net.reshape(5, 8), net.dense(3)),
            "FULLY_CONNECTED: it takes 8 values together",
        ),
        (
            lambda net: (
                net.reshape(1, 5, 2, 4),
                net.pool("MAX_POOL_2D", (2, 1), (1, 1)),
            ),
            "the rows are no axis of its input",
        ),
    ],
)
def test_what_cannot_run_row_by_row_is_refused_by_name(
    tmp_path: Path, layers: object, cause: str
) -> None:
    net = Layers((1, 10, 1, 4), 1)
    layers(net)  # type: ignore[operator]
    with pytest.raises(DataError, match=f"row by row: .*{cause}"):
        row_by_row(saved(tmp_path, net))


def test_an_input_without_rows_is_refused(tmp_path: Path) -> None:
    net = Layers((1, 10), 1)
    net.dense(3)
    with pytest.raises(DataError, match="no rows that follow each other"):
        row_by_row(saved(tmp_path, net))


@pytest.mark.skipif(CLONE not in os.environ, reason=f"{CLONE} names no clone")
def test_the_reference_model_of_the_streaming_wake_word_gives_the_same_bytes() -> None:
    training = Path(os.environ[CLONE]) / "benchmark" / "training"
    folder = training / "streaming_wakeword" / "trained_models"
    read = network.read(folder / "str_ww_ref_model.tflite")
    derived = row_by_row(read)
    assert sizes.sizes(derived).macs == 46_040
    assert sizes.state_of(derived) == 3_960
    rng = np.random.default_rng(4)
    signal = np.clip(rng.normal(0, 60, (200, 40)), -128, 127).astype(np.int8)
    due = interpreter.run(read, windows(signal, 30, 0).reshape(-1, 30, 1, 40))
    result = interpreter.RowByRow(derived).answers(signal)
    assert len(np.unique(due)) > 20
    assert np.array_equal(result.reshape(-1, 3), due.reshape(-1, 3))
