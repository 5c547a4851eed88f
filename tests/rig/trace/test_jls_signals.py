# SPDX-License-Identifier: Apache-2.0
"""Chunks of samples that are left out between windows."""

from __future__ import annotations

import pytest

from rig.trace import jls_signals
from rig.trace.trace import CURRENT


@pytest.mark.parametrize(
    ("margin", "samples"),
    [(1, 1), (20, 16), (1024, 1024), (8191, 4096), (20_000, 8192)],
)
def test_a_chunk_is_no_longer_than_the_margin_and_over_half_of_it_or_the_usual_one(
    margin: int, samples: int
) -> None:
    assert jls_signals.thinned(100e3, margin).data == samples


def test_only_the_length_of_a_chunk_depends_on_the_margin() -> None:
    usual = jls_signals.chunks(CURRENT, 100e3)
    assert jls_signals.thinned(100e3, 10**6) == usual
    fast = jls_signals.chunks(CURRENT, 2e6)
    assert jls_signals.thinned(2e6, 10**6) == fast
