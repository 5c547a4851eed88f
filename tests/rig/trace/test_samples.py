# SPDX-License-Identifier: Apache-2.0
"""Which samples of a file are read for a stretch of a trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.trace import samples
from rig.trace.samples import Layout, Samples

CURRENT, VOLTAGE = 5, 6


class Reader:
    """A file whose sample k of current is k, and of voltage 1000 + k."""

    def __init__(self) -> None:
        self.reads: list[tuple[int, int]] = []

    def fsr(self, signal: int, first: int, count: int) -> np.ndarray:
        self.reads.append((first, count))
        start = {CURRENT: 0, VOLTAGE: 1000}[signal]
        return np.arange(start + first, start + first + count, dtype=np.float32)


@given(
    first=st.integers(0, 50),
    count=st.integers(1, 50),
    current_at=st.integers(0, 9),
    voltage_at=st.integers(0, 9),
    times=st.integers(1, 5),
)
def test_each_sample_has_the_voltage_of_its_time(
    first: int, count: int, current_at: int, voltage_at: int, times: int
) -> None:
    layout = Layout(
        current=CURRENT,
        current_at=current_at,
        voltage=VOLTAGE,
        voltage_at=voltage_at,
        times=times,
    )
    current, voltage = layout.read(Reader(), first, count)
    numbers = range(first, first + count)
    assert current.tolist() == [k + current_at for k in numbers]
    assert voltage.tolist() == [1000 + (k + voltage_at) // times for k in numbers]


def test_a_voltage_may_be_fixed_and_samples_cleaned() -> None:
    layout = Layout(
        current=CURRENT, voltage=None, fixed_v=2.5, cleaned=lambda _, each: each * 2.0
    )
    current, voltage = layout.read(Reader(), 3, 2)
    assert (current.tolist(), voltage.tolist()) == ([6.0, 8.0], [2.5, 2.5])
    assert current.dtype == voltage.dtype == np.float32


@pytest.mark.parametrize(
    ("stretch", "reads"),
    [
        ((2, 9), [0]),
        ((10, 20), [1]),
        ((8, 33), [0, 1, 2, 3]),
        ((29, 37), [2, 3]),
        ((7, 7), []),
    ],
)
def test_blocks_are_read_once_and_joined_at_their_borders(
    stretch: tuple[int, int], reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "BLOCK", 10)
    monkeypatch.setattr(samples, "STEP", 10)
    reader = Reader()
    layout = Layout(current=CURRENT, voltage=VOLTAGE)
    trace = Samples(reader, layout, 37)
    firsts = []
    values: list[float] = []
    for first, current, voltage in trace.blocks(*stretch):
        firsts.append(first)
        values += current.tolist()
        assert (voltage - current == 1000).all()
    assert values == [float(k) for k in range(*stretch)]
    expected = [(10 * block, min(10, 37 - 10 * block)) for block in reads]
    assert reader.reads[::2] == expected
    assert firsts == [max(stretch[0], 10 * block) for block in reads]
    # The last block is kept.
    if values:
        again, _ = trace.some(int(values[-1]), stretch[1])
        assert again.tolist() == values[-1:]
        assert reader.reads[::2] == expected


@pytest.mark.parametrize(
    ("at", "base", "last"), [(0.5, 0, 2), (1.9, 0, 3), (9.0, 7, 11), (36.9, 34, 36)]
)
def test_two_samples_each_way_are_about_an_instant(
    at: float, base: int, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "BLOCK", 10)
    monkeypatch.setattr(samples, "STEP", 10)
    trace = Samples(Reader(), Layout(current=CURRENT, voltage=VOLTAGE), 37)
    around = trace.around(at)
    assert around.base == base
    assert around.current_a == list(range(base, last + 1))
    assert around.sample(base + 1) == (base + 1, base + 1001)
    assert around.power_w(base + 1) == (base + 1) * (base + 1001)
    position = int(at)
    before, after = max(position - 1, 0), min(position + 1, 36)
    assert around.beside_w(at, 37) == (
        before * (1000 + before),
        after * (1000 + after),
    )
