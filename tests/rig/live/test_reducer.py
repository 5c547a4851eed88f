# SPDX-License-Identifier: Apache-2.0
"""Columns of written samples, in any pieces; and a trace that is the same with and
without a view.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.live.block import LiveBlock
from rig.live.observers import Observers
from rig.live.reducer import Reducer
from rig.trace.tap import TraceForm, tapped
from rig.trace.trace import Trace
from tests.length import length
from tests.traces import trace_writer

HZ = 100_000.0


def reducer(
    blocks: list[LiveBlock], form: TraceForm | None = None, **more: Any
) -> Reducer:
    return Reducer(
        "core",
        1,
        form or TraceForm(HZ, HZ, "digital"),
        blocks.append,
        lambda error: pytest.fail(repr(error)),
        **more,
    )


def joined(blocks: list[LiveBlock], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(block, name) for block in blocks])


@given(
    st.lists(st.integers(1, 700), min_size=1, max_size=30), st.integers(0, 2**32 - 1)
)
@settings(max_examples=length(100, 25))
def test_columns_do_not_depend_on_the_pieces(sizes: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    count = sum(sizes)
    current = random.normal(1.0, 0.3, count).astype(np.float32)
    voltage = random.normal(3.3, 0.1, count).astype(np.float32)
    blocks: list[LiveBlock] = []
    taking = reducer(blocks)
    at = 0
    for size in sizes:
        taking.analog(current[at : at + size], voltage[at : at + size])
        at += size
    taking.end()
    power = current * voltage
    columns = [power[start : start + 50] for start in range(0, count, 50)]
    assert blocks[0].column_s == pytest.approx(0.0005)
    assert joined(blocks, "least_w").tolist() == [float(each.min()) for each in columns]
    assert joined(blocks, "most_w").tolist() == [float(each.max()) for each in columns]
    assert joined(blocks, "mean_w") == pytest.approx(
        [each.mean() for each in columns], rel=1e-5
    )
    for before, after in pairwise(blocks):
        assert after.start_s == pytest.approx(before.stop_s, abs=1e-12)


def test_no_spike_is_lost_and_lost_samples_are_counted() -> None:
    blocks: list[LiveBlock] = []
    taking = reducer(blocks)
    current = np.full(5000, 0.01, dtype=np.float32)
    current[1234] = 5.0
    current[2000:2049] = np.nan
    current[3000:3100] = np.nan
    taking.analog(current, np.full(5000, 2.0, dtype=np.float32))
    taking.end()
    most = joined(blocks, "most_w")
    assert most[1234 // 50] == 10.0
    assert np.isfinite(most[40]) and np.isnan(most[60:62]).all()
    assert sum(block.lost for block in blocks) == 149


def test_columns_after_a_gap_are_where_they_belong() -> None:
    blocks: list[LiveBlock] = []
    taking = reducer(blocks)
    volts = np.ones(1020, dtype=np.float32)
    taking.analog(volts, volts)
    taking.skip(1_000_003, "lost")
    taking.analog(volts[:500], volts[:500])
    taking.end()
    assert sum(block.lost for block in blocks) == 1_000_003
    last = [block for block in blocks if len(block.mean_w)][-1]
    assert last.start_s == pytest.approx((1020 + 1_000_003) / HZ, abs=1e-12)
    assert sum(len(block.mean_w) for block in blocks) == 21 + 10


def test_no_column_is_reduced_without_a_viewer() -> None:
    looking = [True]
    blocks: list[LiveBlock] = []
    taking = reducer(blocks, is_wanted=lambda: looking[0])
    ones = np.ones(4000, dtype=np.float32)
    packed = np.full(125, 0xFF, dtype=np.uint8)
    packed[60] = 0
    for look in (True, False, True):
        looking[0] = look
        taking.analog(ones, ones)
        taking.levels(0, packed)
    taking.end()
    starts = [round(block.start_s * HZ) for block in blocks if len(block.mean_w)]
    assert starts == [0, 8000]
    assert sum(len(block.mean_w) for block in blocks) == 2 * 80
    assert blocks[-1].stop_s == pytest.approx(3 * 4000 / HZ, abs=0.0005)


def test_slow_monitors_have_a_column_a_sample_at_once() -> None:
    blocks: list[LiveBlock] = []
    taking = reducer(blocks, TraceForm(10.0, 10.0, "none"))
    for value in (1.0, 2.0):
        taking.analog(np.array([value], dtype=np.float32), np.ones(1, dtype=np.float32))
    assert [block.mean_w.tolist() for block in blocks] == [[1.0], [2.0]]
    assert blocks[1].start_s == pytest.approx(0.1) and blocks[
        1
    ].column_s == pytest.approx(0.1)


def test_edges_of_a_voltage_that_is_noisy(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    level = np.ones(20_000)
    for at in (1_000, 6_000, 15_000):
        level[at : at + 40] = 0
    voltage = (3.0 * level + random.normal(0, 0.05, len(level))).astype(np.float32)
    blocks: list[LiveBlock] = []
    taking = reducer(blocks, TraceForm(HZ, HZ, "voltage"))
    for at in range(0, len(voltage), 999):
        taking.analog(voltage[at : at + 999], voltage[at : at + 999])
        taking.sync_voltage(at, voltage[at : at + 999])
    taking.end()
    falls = joined(blocks, "falls_s") * HZ
    rises = joined(blocks, "rises_s") * HZ
    assert falls == pytest.approx([1_000, 6_000, 15_000], abs=1.5)
    assert rises == pytest.approx([1_040, 6_040, 15_040], abs=1.5)


@pytest.mark.parametrize("sync_kind", ["digital", "voltage", "stamps"])
def test_the_trace_is_the_same_byte_for_byte(
    sync_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    random = np.random.default_rng(2)
    current = random.normal(1e-3, 1e-4, 60_000).astype(np.float32)
    blocks: list[LiveBlock] = []
    observers = Observers((blocks.append,))
    for name in ("alone", "watched"):
        folder = tmp_path / name
        folder.mkdir()
        with (
            tapped(
                folder if name == "watched" else tmp_path, partial(observers.tap, "")
            ),
            trace_writer(folder, HZ, sync_kind=sync_kind) as writer,
        ):
            for at in range(0, len(current), 7_003):
                piece = current[at : at + 7_003]
                writer.analog(piece, np.full(len(piece), 3.3))
                if sync_kind == "digital":
                    writer.sync(
                        (np.arange(at, at + len(piece)) % 5_000 > 40).astype(np.uint8)
                    )
                elif sync_kind == "voltage":
                    writer.sync_voltage(
                        3.0 * (np.arange(at, at + len(piece)) % 5_000 > 40)
                    )
                else:
                    writer.stamp(at / HZ)
            writer.skip(12_345, "lost")
            writer.analog(current[:100], np.full(100, 3.3))
    observers.close()
    files = {path.name: path.read_bytes() for path in (tmp_path / "alone").iterdir()}
    assert files == {
        path.name: path.read_bytes() for path in (tmp_path / "watched").iterdir()
    }
    assert sum(block.lost for block in blocks) == 12_345
    trace = Trace.open(tmp_path / "alone" / "trace.jls")
    assert joined(blocks, "falls_s") == pytest.approx(trace.falls_s, abs=1.5 / HZ)
    assert not observers.dropped


def test_a_tap_that_raises_is_dropped_and_the_trace_goes_on(tmp_path: Path) -> None:
    class Spoilt:
        reported: Exception | None = None
        calls = 0

        def analog(self, *_: Any) -> None:
            self.calls += 1
            raise ZeroDivisionError("no picture")

        def failed(self, error: Exception) -> None:
            self.told = error

    tap = Spoilt()
    with (
        tapped(tmp_path, lambda form: tap),  # type: ignore[arg-type,return-value]
        trace_writer(tmp_path, HZ) as writer,
    ):
        for _ in range(3):
            writer.analog(np.ones(100), np.ones(100))
    assert Trace.open(tmp_path / "trace.jls").length == 300
    assert tap.calls == 1 and isinstance(tap.told, ZeroDivisionError)
