# SPDX-License-Identifier: Apache-2.0
"""Which traces are thinned, and what stands for what in them."""

from __future__ import annotations

import pytest

from rig.trace.reduced import Thinning, may_be_thinned


@pytest.mark.parametrize(
    ("kind", "sample_hz", "thinned"),
    [
        ("digital", 20_000.0, True),
        ("digital", 19_999.0, False),
        ("voltage", 1e6, False),
    ],
)
def test_fast_traces_with_a_digital_line_may_be_thinned(
    kind: str, sample_hz: float, thinned: bool
) -> None:
    assert may_be_thinned(kind, sample_hz) is thinned


def test_a_mean_stands_for_a_millisecond_and_ten_about_an_edge_are_kept() -> None:
    assert Thinning.at(2e6) == Thinning(every=2000, margin=20_000)
    assert Thinning.at(100_000.0) == Thinning(every=100, margin=1000)
