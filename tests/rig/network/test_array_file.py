# SPDX-License-Identifier: Apache-2.0
"""The error about a file that holds no array of numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rig.errors import ConfigError, DataError
from rig.network.array_file import array_of
from scenarios.tasks.user_files import array


def saved(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=True)
    return stream.getvalue()


def archived() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, spikes=np.zeros(3))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "evidence", "try_next"),
    [
        (b"1,2,3\n4,5,6\n", "it is a text that begins with '1,2,3", "numpy.loadtxt"),
        (b"", "it is empty", "numpy.save"),
        (archived(), "it is an archive, as a .npz file is", "numpy.load(ARCHIVE)"),
        (bytes(9), "it begins with the bytes 00 00 00 00 00 00", "numpy.save"),
        (b"\x93NUMPY\x01\0\x04\0spam", "its header cannot be read", "numpy.save"),
        (saved(np.zeros(7))[:-8], "an array (7,) of float64, it has 176", "numpy.save"),
        (saved(np.array([{}], object)), "it holds objects of Python", "numpy.save"),
        (saved(np.zeros(2, complex)), "values of the type complex128", "numpy.save"),
    ],
    ids=["text", "empty", "npz", "bytes", "header", "cut", "objects", "complex"],
)
def test_a_file_that_is_no_array_of_numbers_is_described(
    tmp_path: Path, content: bytes, evidence: str, try_next: str
) -> None:
    path = tmp_path / "inputs.npy"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        array_of(path)
    with pytest.raises(ConfigError) as of_bench:
        array(path, "task.network.inputs")
    assert of_bench.value.path == "task.network.inputs"
    for error in (caught.value, of_bench.value):
        assert f"{path} is no .npy file of numbers" in error.cause
        assert evidence in error.evidence
        assert try_next in error.try_next
        assert "pickle" not in str(error)
