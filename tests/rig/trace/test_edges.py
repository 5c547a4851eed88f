# SPDX-License-Identifier: Apache-2.0
"""Edges of SYNC from sampled levels, from an averaged voltage, and from an instrument's
stamps; and none out of lost samples.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.errors import DataError
from rig.trace import voltage_edges
from rig.trace.edges import Edges, from_levels
from rig.trace.trace import SYNC, Trace, reading
from rig.trace.writer import TraceWriter
from tests.length import length
from tests.traces import trace_writer

HZ = 4882.8125  # one sample in 204.8 us: a rate that is no whole number


@given(
    runs=st.lists(
        st.one_of(st.integers(1, 3), st.integers(1, 200)), min_size=1, max_size=40
    ),
    first=st.integers(0, 1),
    cuts=st.lists(st.integers(1, 60), max_size=4),
)
@settings(max_examples=length(100, 40))
def test_every_change_of_a_sampled_line_is_an_edge(
    runs: list[int], first: int, cuts: list[int]
) -> None:
    levels = np.repeat((np.arange(len(runs)) + first) % 2, runs).astype(np.uint8)
    levels = np.concatenate([levels, np.full(-len(levels) % 8, levels[-1])])
    packed = np.packbits(levels, bitorder="little")
    inside = sorted(cut for cut in cuts if cut < len(packed))
    blocks = [block for block in np.split(packed, inside) if len(block)]
    edges = from_levels(blocks, HZ)
    changes = [k for k in range(1, len(levels)) if levels[k] != levels[k - 1]]
    assert (edges.falls_s * HZ + 0.5).round(6).tolist() == [
        k for k in changes if not levels[k]
    ]
    assert (edges.rises_s * HZ + 0.5).round(6).tolist() == [
        k for k in changes if levels[k]
    ]


def averaged(
    falls: list[float], rises: list[float], count: int, low_v: float, high_v: float
) -> NDArray[np.float64]:
    """Return the voltage of a line that rests high, averaged over each sample: by
    adding up the time that it was low.
    """
    high = np.ones(count)
    for fall, rise in zip(falls, rises, strict=True):
        for k in range(count):
            high[k] -= max(min(rise, k + 1) - max(fall, k), 0.0)
    return low_v + (high_v - low_v) * high


def of_voltage(volts: NDArray[np.float64]) -> Edges:
    return voltage_edges.in_pieces(lambda: [volts.astype(np.float32)], HZ)


@given(
    gaps=st.lists(
        st.tuples(st.floats(2.01, 9), st.floats(2.01, 9)), min_size=1, max_size=12
    ),
    low_v=st.floats(-0.2, 0.3),
    swing_v=st.floats(1.0, 4.0),
)
@settings(max_examples=length(80, 30), deadline=None)
def test_edges_of_an_averaged_voltage_are_found_within_a_sample(
    gaps: list[tuple[float, float]], low_v: float, swing_v: float
) -> None:
    at = 0.0
    falls = []
    rises = []
    for before, low in gaps:
        falls.append(at + before)
        rises.append(at + before + low)
        at = rises[-1]
    count = int(at) + 4
    # A whole sample of either level must be somewhere, or the levels are unknown.
    edges = of_voltage(averaged(falls, rises, count, low_v, low_v + swing_v))
    if any(
        int(rise) - int(np.ceil(fall)) >= 1
        for fall, rise in zip(falls, rises, strict=True)
    ):
        assert edges.falls_s * HZ == pytest.approx(falls, abs=0.35)
        assert edges.rises_s * HZ == pytest.approx(rises, abs=0.35)


def test_edges_of_long_pulses_are_exact() -> None:
    falls = [3.25, 17.0, 30.875]
    rises = [8.5, 24.125, 41.0]
    edges = of_voltage(averaged(falls, rises, 50, 0.25, 3.25))
    assert edges.falls_s * HZ == pytest.approx(falls, abs=1e-9)
    assert edges.rises_s * HZ == pytest.approx(rises, abs=1e-9)


def test_a_line_that_never_moves_has_no_edges() -> None:
    random = np.random.default_rng(1)
    assert not len(of_voltage(3.3 + random.normal(0, 0.01, 1000)).falls_s)
    assert not len(of_voltage(np.zeros(0)).falls_s)
    assert not len(of_voltage(np.full(10, np.nan)).falls_s)


def write(folder: Path, kind: str, edge_hz: float = HZ) -> TraceWriter:
    return trace_writer(folder, HZ, edge_hz, sync_kind=kind)


def test_a_trace_at_a_fractional_rate_keeps_it(tmp_path: Path) -> None:
    with write(tmp_path, "voltage") as writer:
        writer.analog(np.full(10_000, 0.01), np.full(10_000, 2.0))
        writer.sync_voltage(averaged([100.5], [120.0], 10_000, 0.0, 3.3))
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.sample_hz == HZ
    assert trace.duration_s == pytest.approx(10_000 * 204.8e-6, rel=1e-12)
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(
        0.02 * 2.048, rel=1e-6
    )
    assert trace.falls_s == pytest.approx([100.5 * 204.8e-6], abs=1e-9)


def test_stamps_are_kept_as_they_were_given(tmp_path: Path) -> None:
    with write(tmp_path, "stamps") as writer:
        writer.analog(np.full(100, 0.01), np.full(100, 2.0))
        for at_s in (0.001, 0.0035, 0.0035):
            writer.stamp(at_s)
        writer.stamp(0.002, fall=False)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.falls_s.tolist() == [0.001, 0.0035, 0.0035]
    assert trace.rises_s.tolist() == [0.002]


def test_damaged_stamps_are_named(tmp_path: Path) -> None:
    with write(tmp_path, "stamps") as writer:
        writer.analog(np.full(100, 0.01), np.full(100, 2.0))
    (tmp_path / "edges.jsonl").write_text("nonsense\n")
    with pytest.raises(DataError, match=r"edges\.jsonl"):
        Trace.open(tmp_path / "trace.jls")


@pytest.mark.parametrize("level_after", [0, 1])
def test_lost_samples_are_a_gap_and_no_edge(tmp_path: Path, level_after: int) -> None:
    with write(tmp_path, "digital", 2 * HZ) as writer:
        writer.analog(np.full(1000, 0.01), np.full(1000, 2.0))
        writer.sync(np.ones(2000, np.uint8))
        writer.skip(501, "lost")
        writer.analog(np.full(1000, 0.01), np.full(1000, 2.0))
        writer.sync(np.full(2000, level_after, np.uint8))
    trace = Trace.open(tmp_path / "trace.jls")
    assert not len(trace.falls_s), "when it fell is not known"
    assert [(gap.start, gap.stop, gap.cause) for gap in trace.gaps] == [
        (1000, 1501, "lost")
    ]
    assert trace.length == 2501
    assert trace.gap_between(0.0, 1000 / HZ) is None
    assert trace.gap_between(0.0, 1001 / HZ) is not None


def test_an_input_that_is_no_number_is_a_gap_each_run_by_itself(tmp_path: Path) -> None:
    current = np.full(100, 0.01)
    voltage = np.full(100, 2.0)
    current[10:13], voltage[50], current[70] = np.nan, np.inf, np.nan
    with write(tmp_path, "none") as writer:
        writer.analog(current[:60], voltage[:60])
        writer.analog(current[60:], voltage[60:])
    result = [(gap.start, gap.stop) for gap in Trace.open(tmp_path / "trace.jls").gaps]
    assert result == [(10, 13), (50, 51), (70, 71)]


@pytest.mark.parametrize("ratio", [1, 4])
@pytest.mark.parametrize("last", [0b0111_1111, 0b1000_0000])
def test_a_gap_has_the_last_level_of_the_line_as_long_as_the_samples_take(
    tmp_path: Path, ratio: int, last: int
) -> None:
    with trace_writer(tmp_path, HZ, ratio * HZ) as writer:
        for _ in range(ratio):
            writer.sync_packed(np.array([255, last], np.uint8))
        writer.analog(np.zeros(16), np.zeros(16))
        writer.skip(800, "lost")
        writer.sync(np.ones(8 * ratio, np.uint8))
        writer.analog(np.zeros(8), np.zeros(8))
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.length == 824
    assert trace.sync_s == pytest.approx(824 / HZ)
    with reading(trace.path) as reader:
        held = reader.fsr(SYNC, 16 * ratio, 800 * ratio)
    assert held.tolist() == [255 if last >> 7 else 0] * (100 * ratio)


@given(
    chunks=st.lists(st.integers(1, 40), min_size=1, max_size=30),
    seed=st.integers(0, 99),
)
@settings(max_examples=length(30, 12), deadline=None)
def test_packed_and_single_levels_give_the_same_line(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[int], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("t")
    random = np.random.default_rng(seed)
    line: list[int] = []
    with write(folder, "digital") as writer:
        for number, chunk in enumerate(chunks):
            levels = random.integers(0, 2, 8 * chunk if number % 2 else chunk).astype(
                np.uint8
            )
            line += levels.tolist()
            if number % 2:
                writer.sync_packed(np.packbits(levels, bitorder="little"))
            else:
                writer.sync(levels)
        writer.analog(np.zeros(len(line)), np.zeros(len(line)))
    falls = [
        k for k, (old, new) in enumerate(pairwise(line), start=1) if old and not new
    ]
    assert (
        Trace.open(folder / "trace.jls").falls_s * HZ + 0.5
    ).tolist() == pytest.approx(falls, abs=1e-6)
