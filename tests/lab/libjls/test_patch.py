# SPDX-License-Identifier: Apache-2.0
"""The patch for the trace library: its summaries are those of the library, and those of
the samples. RIG_LIBJLS_SOURCE names a clone of the library.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from lab.libjls.benchmark import (
    PATCH,
    SUMMARY,
    build,
    hard_samples,
    own_tests,
    summaries,
    write,
)
from rig.arrays import Float64s

SOURCE = os.environ.get("RIG_LIBJLS_SOURCE", "")
needs_source = pytest.mark.skipif(
    not SOURCE or not shutil.which("cmake"),
    reason="no clone of libjls: RIG_LIBJLS_SOURCE names one, and cmake is needed",
)
#: Half of the distance of two floats of 32 bits, relative to their value, twice: both
#: files round a number of double precision.
_TWO_ROUNDINGS = 2.0**-23


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return build(Path(SOURCE).resolve(), tmp_path_factory.mktemp("libjls"))


def test_the_patch_changes_one_file_and_shows_few_lines_of_it() -> None:
    lines = PATCH.read_text().splitlines()
    assert [line for line in lines if line.startswith("+++")] == ["+++ b/src/wr_fsr.c"]
    assert sum(line.startswith(" ") for line in lines) < 20


@needs_source
def test_summaries_are_those_of_the_library_and_of_the_samples(
    programs: Mapping[str, Path], tmp_path: Path
) -> None:
    samples = hard_samples()
    both = []
    for name, program in programs.items():
        path = tmp_path / f"{len(name)}.jls"
        write(program, samples, path)
        both.append(summaries(path))
    before, after = both
    for column in ("min", "max"):
        np.testing.assert_array_equal(before[column], after[column])
    largest = np.nanmax(np.abs(_finite(samples)), axis=1, initial=0.0)[:-1]
    for column in ("mean", "std"):
        _same(after[column], before[column], largest)
    expected = _of_samples(samples)
    for column, values in expected.items():
        _same(after[column], values[:-1], largest)


def _finite(samples: Float64s) -> Float64s:
    rows = samples.reshape(-1, SUMMARY).copy()
    rows[~np.isfinite(rows)] = np.nan
    return rows


def _of_samples(samples: Float64s) -> dict[str, Float64s]:
    """Return mean and deviation of the finite samples, in 80 bits."""
    columns: dict[str, list[float]] = {"mean": [], "std": []}
    for row in _finite(samples).astype(np.longdouble):
        finite = row[np.isfinite(row)]
        mean = finite.mean() if len(finite) else np.longdouble(np.nan)
        squares = ((finite - mean) ** 2).mean() if len(finite) else mean
        columns["mean"].append(float(mean))
        columns["std"].append(float(np.sqrt(squares)))
    return {name: np.array(values) for name, values in columns.items()}


def _same(found: Float64s, expected: Float64s, largest: Float64s) -> None:
    """Compare numbers that are rounded to 32 bits; a sum of 1024 doubles loses less
    than 1e-12 of the largest sample.
    """
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    off = np.abs(found - expected)[known]
    limit = _TWO_ROUNDINGS * np.abs(expected) + 1e-12 * largest + 2.0**-149
    assert np.all(off <= limit[known])


@needs_source
def test_the_library_passes_its_own_tests(programs: Mapping[str, Path]) -> None:
    own_tests(programs["patched"])
