# SPDX-License-Identifier: Apache-2.0
"""Numbers of a stretch as texts: values below a sample's resolution are 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rig
from gui.trace.panels import readout
from rig.trace.writer import TraceWriter


@pytest.mark.parametrize("volts", [3.3, 1.8e-3, 0.7])
def test_a_voltage_that_does_not_change_has_no_deviation(
    tmp_path: Path, volts: float
) -> None:
    rates = {"sample_hz": 10_000.0, "edge_hz": 10_000.0}
    with TraceWriter(
        tmp_path, **rates, source="t", serial="", about={}, sync_kind="none"
    ) as writer:
        writer.analog(np.linspace(1e-3, 2e-3, 50_000), np.full(50_000, volts))
    with rig.open_trace(tmp_path / "trace.jls") as trace:
        result = readout.lines(trace.statistics(0.0, 5.0))
    texts = {
        line.name: dict(zip(readout.HEADS, line.values, strict=True)) for line in result
    }
    assert {line["±"] for line in texts.values()} == {"-"}
    assert texts["voltage"]["std"] == texts["voltage"]["p-p"] == "0 V"
    assert texts["current"]["std"] == "288.68 µA"
    assert texts["current"]["p-p"] == "1 mA"
