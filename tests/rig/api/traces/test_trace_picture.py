# SPDX-License-Identifier: Apache-2.0
"""A trace drawn from Python states its source, units and labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.api.traces.columns import UNITS
from rig.files import user_folders
from rig.trace.trace import TRACE
from rig.trace.writer import TraceWriter
from tests.drawings import texts


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(user_folders.CACHE_VARIABLE, str(tmp_path))


def written(trace: rig.SessionTrace, path: Path, stop_s: float) -> list[str]:
    rig.save_picture(trace.picture(0.0, stop_s), path)
    return texts(path.read_text(encoding="utf-8"))


def test_session_trial_labels_and_units_stand_on_it(
    copied: Callable[[int], Path], tmp_path: Path
) -> None:
    session = rig.open_session(copied(1))
    with session.trace(1) as trace:
        words = written(trace, tmp_path / "whole.svg", trace.duration_s)
        columns = trace.columns(0.0, trace.duration_s, 100)
    assert session.labels and columns.labels == session.labels
    above = next(text for text in words if session.path.name in text)
    assert "trial 1" in above and all(label in above for label in session.labels)
    for name, unit in UNITS.items():
        assert f"{name} ({unit})" in words
    assert "SYNC" in words and "time since the first sample (s)" in words
    assert {"low", "high", "infer", "warm-up"} <= set(words)


def test_sync_is_low_within_a_low_pulse(tmp_path: Path) -> None:
    form = {"sample_hz": 1000.0, "edge_hz": 1000.0, "source": "s", "serial": ""}
    with TraceWriter(tmp_path, **form, about={}, sync_kind="digital") as writer:
        ones = np.ones(900, dtype=np.float32)
        levels = np.ones(900, dtype=np.uint8)
        levels[300:600] = 0
        writer.analog(ones, ones)
        writer.sync(levels)
    with rig.open_trace(tmp_path / TRACE) as trace:
        drawn = {}
        for start_s, stop_s in ((0.0, 0.9), (0.4, 0.5), (0.5, 0.7), (0.7, 0.8)):
            figure = trace.picture(start_s, stop_s).figure
            assert figure is not None
            drawn[start_s] = figure.axes[-1].lines[0].get_ydata().tolist()
    assert drawn == {0.0: [1, 0, 1, 1], 0.4: [0, 0], 0.5: [0, 1, 1], 0.7: [1, 1]}


def test_lost_samples_are_hatched_and_a_file_of_no_session_has_its_name(
    tmp_path: Path,
) -> None:
    form = {"sample_hz": 1000.0, "edge_hz": 1000.0, "source": "s", "serial": ""}
    with TraceWriter(tmp_path, **form, about={}, sync_kind="none") as writer:
        current = np.full(900, 0.001, dtype=np.float32)
        current[400:500] = np.nan
        writer.analog(current, np.full(900, 3.0, dtype=np.float32), unreadable="lost")
    with rig.open_trace(tmp_path / TRACE) as trace:
        picture = trace.picture()
        words = written(trace, tmp_path / "a.svg", trace.duration_s)
    assert picture.figure is not None and "SYNC" not in words
    assert any(TRACE in text for text in words)
    patches = chain.from_iterable(axes.patches for axes in picture.figure.axes)
    hatched = [patch for patch in patches if patch.get_hatch()]
    assert len(hatched) == 3, "one in each lane"
