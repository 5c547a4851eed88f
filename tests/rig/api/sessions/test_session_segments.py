# SPDX-License-Identifier: Apache-2.0
"""A trial that was interrupted: each segment has its own trace, windows and
annotations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.annotations import Annotations, SingleMarker
from rig.session import session as sessions
from rig.store.events import Event, StepDone
from tests.conftest import ROOT
from tests.traces import trace_writer

BENCH = ROOT / "benches" / "virtual-asc.toml"


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> rig.Session:
    root = tmp_path_factory.mktemp("resumed")
    left = [9]

    def cut(event: Event) -> None:
        if isinstance(event, StepDone):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

    overrides = ("task.asc.samples=8", "bench.trials=1")
    with (
        sessions.open_bench(BENCH, overrides) as bench,
        pytest.raises(KeyboardInterrupt),
    ):
        bench.run(root=root, subscribers=[cut])
    (folder,) = root.iterdir()
    sessions.resume(folder)
    return rig.open_session(folder)


def test_each_segment_has_its_own_windows(resumed: rig.Session) -> None:
    lines = (resumed.path / "trial-1" / "samples.jsonl").read_text().splitlines()
    windows = {}
    for line in map(json.loads, lines):
        for window in line.get("windows", ()):
            windows[line["step"], window["phase"]] = window
    seen = set()
    for segment in (1, 2):
        with resumed.trace(1, segment=segment) as trace:
            assert trace.place is not None and trace.place.segment == segment
            spans = trace.spans
            assert spans is not None
            falls_s = trace.falls()
            for span in spans:
                assert np.abs(falls_s - span.start_s).min() < 2 / trace.sync_hz
                if span.kind != "sample":
                    continue
                seen.add((span.step, span.phase))
                result = trace.statistics(span.start_s, span.stop_s)
                assert result.energy_j == windows[span.step, span.phase]["energy_j"]
        assert len(seen) >= 2
    assert seen == set(windows)
    assert {span.step for span in resumed.spans(1)}.isdisjoint(
        span.step for span in resumed.spans(1, segment=2)
    )


def test_each_segment_has_its_own_annotations(resumed: rig.Session) -> None:
    for segment in (1, 2):
        with resumed.trace(1, segment=segment) as trace:
            trace.annotate(Annotations((SingleMarker(0.02 * segment),)))
    for segment in (1, 2):
        with resumed.trace(1, segment=segment) as trace:
            assert trace.annotations().markers == (SingleMarker(0.02 * segment),)
    assert resumed.check().ok


def test_a_segment_that_is_not_there_is_reported(resumed: rig.Session) -> None:
    with pytest.raises(rig.DataError, match="2 segments"):
        resumed.spans(1, segment=3)


def test_a_trace_that_goes_away_is_an_error_and_no_crash(tmp_path: Path) -> None:

    with trace_writer(tmp_path, 1e5) as writer:
        for _ in range(5):
            writer.analog(np.full(1_000_000, 0.01), np.full(1_000_000, 3.0))
            writer.sync(np.ones(1_000_000, dtype=np.uint8))
    with rig.open_trace(tmp_path / "trace.jls") as trace:
        (tmp_path / "trace.jls").unlink()
        for look in (
            trace.prepare,
            trace.columns,
            trace.statistics,
            trace.edges,
            trace.spectrum,
        ):
            with pytest.raises(rig.DataError, match="is not there"):
                look()
