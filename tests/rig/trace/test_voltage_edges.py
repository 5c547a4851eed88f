# SPDX-License-Identifier: Apache-2.0
"""Edges of a voltage line that is too long to be held are those of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.trace import voltage_edges
from rig.trace.edges import from_voltage
from rig.trace.trace import Trace
from rig.trace.writer import TraceWriter
from tests.length import length

HZ = 1000.0


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
    whole = from_voltage(volts, HZ)
    pieces = voltage_edges.in_pieces(
        lambda: (volts[at : at + block] for at in range(0, len(volts), block)), HZ
    )
    np.testing.assert_array_equal(pieces.falls_s, whole.falls_s)
    np.testing.assert_array_equal(pieces.rises_s, whole.rises_s)


def test_a_line_of_nothing_has_no_edges() -> None:
    for volts in (np.zeros(0), np.full(10, np.nan), np.full(10, 3.3)):
        found = voltage_edges.in_pieces(
            lambda volts=volts: [volts.astype(np.float32)], HZ
        )
        assert len(found.falls_s) == len(found.rises_s) == 0


def test_a_long_line_is_read_in_pieces_and_only_when_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volts = np.full(100_000, 3.3)
    for at in range(500, 100_000, 5000):
        volts[at : at + 20] = 0.0
    with TraceWriter(
        tmp_path,
        sample_hz=HZ,
        edge_hz=HZ,
        source="t",
        serial="",
        about={},
        sync_kind="voltage",
    ) as writer:
        writer.analog(np.full(100_000, 0.01), volts)
        writer.sync_voltage(volts)
    path = tmp_path / "trace.jls"
    whole = Trace.open(path)
    monkeypatch.setattr("rig.trace.sync_line._HELD", 1000)
    lazy = Trace.open(path, lazily=True)
    assert not lazy.line.is_read and whole.line.is_read
    assert len(lazy.falls_s) == 20
    np.testing.assert_array_equal(lazy.falls_s, whole.falls_s)
    np.testing.assert_array_equal(lazy.rises_s, whole.rises_s)
