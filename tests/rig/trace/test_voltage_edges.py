# SPDX-License-Identifier: Apache-2.0
"""Edges of a voltage line do not depend on the blocks of the stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.trace import voltage_edges
from rig.trace.edges import SWING_V, Edges
from rig.trace.trace import Trace
from tests.length import length
from tests.traces import trace_writer

HZ = 1000.0


def of_the_whole(volts: NDArray[np.float32]) -> Edges:
    """Return the edges by the same rules, with the quantiles of NumPy."""
    none = np.zeros(0)
    known = np.isfinite(volts)
    finite = volts[known].astype(np.float64)
    if not len(finite) or np.ptp(finite) < SWING_V:
        return Edges(none, none)
    middle_v = (float(finite.max()) + float(finite.min())) / 2
    low_v = float(np.percentile(finite[finite <= middle_v], 25, method="lower"))
    high_v = float(np.percentile(finite[finite > middle_v], 75, method="higher"))
    last_known = np.maximum.accumulate(np.where(known, np.arange(len(volts)), -1))
    last_known[last_known < 0] = int(np.argmax(known))
    held_v = volts.astype(np.float64)[last_known]
    share = np.clip((held_v - low_v) / (high_v - low_v), 0.0, 1.0)
    above = share > 0.5
    whole = known[:-1] & known[1:]
    falls = np.flatnonzero(above[:-1] & ~above[1:] & whole) + 1
    rises = np.flatnonzero(~above[:-1] & above[1:] & whole) + 1
    return Edges(
        (falls - 1 + share[falls - 1] + share[falls]) / HZ,
        (rises + 1 - share[rises - 1] - share[rises]) / HZ,
    )


@given(
    runs=st.lists(st.integers(2, 40), min_size=1, max_size=30),
    noise_v=st.sampled_from([0.0, 0.01, 0.2]),
    swing_v=st.sampled_from([0.1, 3.3, -5.0]),
    base_v=st.sampled_from([0.0, -1.0]),
    lost=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 30)), max_size=4),
    seed=st.integers(0, 2**32 - 1),
    block=st.sampled_from([1, 7, 64, 10_000]),
)
@settings(max_examples=length(100, 30))
def test_pieces_give_the_edges_of_the_whole(
    runs: list[int],
    noise_v: float,
    swing_v: float,
    base_v: float,
    lost: list[tuple[int, int]],
    seed: int,
    block: int,
) -> None:
    rng = np.random.default_rng(seed)
    levels = np.repeat(np.arange(len(runs)) % 2, runs)
    volts = base_v + swing_v * (levels * rng.uniform(0.999, 1.0, len(levels)))
    volts = (volts + rng.normal(0, noise_v, len(volts))).astype(np.float32)
    for at, count in lost:
        volts[at : at + count] = np.nan
    whole = of_the_whole(volts)
    pieces = voltage_edges.in_pieces(
        lambda: (volts[at : at + block] for at in range(0, len(volts), block)), HZ
    )
    np.testing.assert_array_equal(pieces.falls_s, whole.falls_s)
    np.testing.assert_array_equal(pieces.rises_s, whole.rises_s)


def test_a_line_of_nothing_has_no_edges() -> None:
    for volts in (np.zeros(0), np.full(10, np.nan), np.full(10, 3.3)):
        result = voltage_edges.in_pieces(
            lambda volts=volts: [volts.astype(np.float32)], HZ
        )
        assert len(result.falls_s) == len(result.rises_s) == 0


def test_a_line_is_read_only_when_it_is_wanted(tmp_path: Path) -> None:
    volts = np.full(100_000, 3.3)
    for at in range(500, 100_000, 5000):
        volts[at : at + 20] = 0.0
    with trace_writer(tmp_path, HZ, sync_kind="voltage") as writer:
        writer.analog(np.full(100_000, 0.01), volts)
        writer.sync_voltage(volts)
    path = tmp_path / "trace.jls"
    whole = Trace.open(path)
    lazy = Trace.open(path, lazily=True)
    assert not lazy.line.is_read and whole.line.is_read
    assert len(lazy.falls_s) == 20
    np.testing.assert_array_equal(lazy.falls_s, whole.falls_s)
    np.testing.assert_array_equal(lazy.rises_s, whole.rises_s)
