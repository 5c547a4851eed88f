# SPDX-License-Identifier: Apache-2.0
"""The places of means that are not those of their samples, and of spans beside edges."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rig.errors import DataError
from rig.trace.reduced_check import _require_means, _require_quiet

EVERY = 4
#: Means of 0 1 2 3, 4 5 6 7, ...
MEANS = np.array([1.5, 5.5, 9.5, 13.5, 17.5])
TRACE: Any = SimpleNamespace(path="trace.jls")


class Reader:
    """A file with means of four samples each, one may be wrong."""

    def __init__(self, wrong: int | None, by: float) -> None:
        self.means = MEANS.copy()
        if wrong is not None:
            self.means[wrong] *= by

    def fsr(self, signal: int, first: int, count: int) -> np.ndarray:
        assert signal == 7
        return self.means[first : first + count]


def check(reader: Reader, at: int, count: int) -> None:
    reduced: Any = SimpleNamespace(
        thinning=SimpleNamespace(every=EVERY), means=len(MEANS)
    )
    values = np.arange(at, at + count, dtype=np.float32)
    _require_means(TRACE, reader, reduced=reduced, signal=7, at=at, values=values)


@pytest.mark.parametrize(("at", "count"), [(0, 20), (8, 12), (12, 30), (0, 7), (20, 9)])
def test_means_of_their_samples_pass_also_where_the_last_ones_are_missing(
    at: int, count: int
) -> None:
    check(Reader(None, 1.0), at, count)
    check(Reader(2, 1 + 9e-6), at, count)


@pytest.mark.parametrize(("at", "wrong"), [(0, 0), (0, 2), (8, 3), (8, 4)])
@pytest.mark.parametrize("by", [1 + 2e-5, 1 - 2e-5, -1.0])
def test_a_mean_of_other_samples_is_named_with_its_samples(
    at: int, wrong: int, by: float
) -> None:
    with pytest.raises(DataError) as raised:
        check(Reader(wrong, by), at, 20 - at)
    begin = 4 * wrong
    assert f"the mean of samples {begin} to {begin + 4} is not" in raised.value.cause
    made, stated = raised.value.evidence.split(", the file has ")
    assert float(made) == pytest.approx(MEANS[wrong])
    assert float(stated) == pytest.approx(MEANS[wrong] * by)


@pytest.mark.parametrize(
    ("edge", "near"), [(94, False), (96, True), (150, True), (204, True), (206, False)]
)
@pytest.mark.parametrize("falls", [True, False])
def test_a_span_reaches_no_nearer_to_an_edge_than_the_margin(
    edge: int, near: bool, falls: bool
) -> None:
    edges_s = [np.array([3.0, edge / 10]), np.array([90.0])]
    trace: Any = SimpleNamespace(
        path="trace.jls",
        sample_hz=10.0,
        falls_s=edges_s[not falls],
        rises_s=edges_s[falls],
    )
    reduced: Any = SimpleNamespace(
        thinning=SimpleNamespace(margin=5), bounds=np.array([[40, 50], [100, 200]])
    )
    if not near:
        _require_quiet(trace, reduced)
        return
    with pytest.raises(DataError, match="samples 100 to 200 were reduced"):
        _require_quiet(trace, reduced)
