# SPDX-License-Identifier: Apache-2.0
"""Spans of a trial, and the statistics between two of its edges against
results.json."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.api.traces.span_lines import moved
from rig.api.traces.spans import Spans
from rig.session.session import open_bench
from rig.timebase.timebase import Timebase
from tests.conftest import VIRTUAL_NULL


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> rig.Session:
    root = tmp_path_factory.mktemp("sessions")
    overrides = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
    overrides += ["scenario.single_stream.warmup=3"]
    with open_bench(VIRTUAL_NULL, overrides) as bench:
        return rig.open_session(bench.run(1, root).folder)


@pytest.fixture(scope="module")
def spans(session: rig.Session) -> Spans:
    return session.spans(1)


def test_spans_are_the_windows_of_the_samples_and_the_warm_up(
    session: rig.Session, spans: Spans
) -> None:
    windows = session.windows()
    kinds = [span.kind for span in spans]
    assert kinds.count("sample") == 12 and kinds.count("idle") == 2
    assert kinds.count("warm-up") == 6
    measured = sorted(
        (row.start_s, row.stop_s, row.phase, row.energy_j, row.latency_u_s)
        for row in windows.itertuples()
    )
    assert measured == [
        (span.start_s, span.stop_s, span.phase, span.energy_j, span.latency_u_s)
        for span in spans
        if not span.warm_up
    ]
    assert all(span.step is not None for span in spans)
    assert {span.flags for span in spans if span.warm_up} == {("warm-up",)}
    assert {span.correct for span in spans if span.kind == "sample"} <= {True, False}


def test_warm_ups_lie_between_edges_of_the_trace(
    session: rig.Session, spans: Spans
) -> None:
    with session.trace(1) as trace:
        falls_s = trace.falls()
        for span in spans:
            for at_s in (span.start_s, span.stop_s):
                assert np.abs(falls_s - at_s).min() < 2 / trace.sync_hz


def test_spans_in_view(spans: Spans) -> None:
    assert spans.within(-1.0, 1e9).tolist() == list(range(len(spans)))
    position = len(spans) // 2
    middle_s = (spans.start_s[position] + spans.stop_s[position]) / 2
    assert position in spans.within(middle_s, middle_s + 1e-9)
    for start_s, stop_s in ((0.05, 0.3), (0.4, 0.41), (1e3, 1e4)):
        inside = [
            at
            for at, span in enumerate(spans)
            if span.start_s < stop_s and span.stop_s > start_s
        ]
        assert spans.within(start_s, stop_s).tolist() == inside


def test_markers_on_edges_give_the_energy_of_the_results(session: rig.Session) -> None:
    lines = (session.path / "trial-1" / "samples.jsonl").read_text().splitlines()
    rows = map(json.loads, lines)
    windows = list(chain.from_iterable(row.get("windows", ()) for row in rows))
    assert len(windows) == 12
    with session.trace(1) as trace:
        for window in windows:
            # As a hand places markers: near to the edges, and they snap.
            start, stop = (
                trace.nearest_edge(window[end] + off_s)
                for end, off_s in (("start_s", 4e-6), ("stop_s", -3e-6))
            )
            assert start is not None and stop is not None
            assert start.is_window_end and stop.is_window_end and start.falls
            result = trace.statistics(start.at_s, stop.at_s)
            assert result.energy_j == window["energy_j"]
            assert result.energy_u_j == pytest.approx(window["energy_u_j"], rel=1e-9)
            assert result.at_edges and not result.remark and result.lost == 0
            # Errors of both marks partly cancel in the latency of the results.
            assert result.span_u_s == pytest.approx(window["latency_u_s"], rel=0.5)
            assert result.charge_c is not None and result.charge_u_c is not None
            assert 0 < result.charge_u_c < 0.1 * result.charge_c


def test_from_mark_to_mark(session: rig.Session, spans: Spans) -> None:
    inner = [span for span in spans if span.phase == "infer"]
    with session.trace(1) as trace:
        for span in inner:
            begin = trace.nearest_edge(span.start_s, falls=True)
            assert begin is not None and begin.at_s == span.start_s
            end = trace.next_edge(begin.at_s, falls=True)
            assert end is not None and end.at_s == span.stop_s
            assert trace.previous_edge(end.at_s, falls=True) == begin
            rise = trace.next_edge(begin.at_s)
            assert (
                rise is not None
                and not rise.falls
                and begin.at_s < rise.at_s < end.at_s
            )
            assert trace.nearest_edge(span.stop_s, falls=False) != end


def test_markers_elsewhere_have_exact_ends(session: rig.Session) -> None:
    with session.trace(1) as trace:
        result = trace.statistics(0.0507, 0.0603)
        assert not result.at_edges
        assert trace.edge_uncertainty_s(0.0507) == 0.0
        assert result.energy_j == pytest.approx(trace.energy(0.0507, 0.0603), rel=1e-12)
        assert result.energy_u_j is not None and result.energy_u_j > 0
        accuracy = trace.accuracy
        assert accuracy is not None and result.voltage is not None
        [limits] = accuracy.voltage
        assert limits.offset == limits.noise == limits.lsb == 0
        voltage_u_v = limits.gain * result.voltage.mean / accuracy.divisor
        assert result.voltage_u_v == pytest.approx(voltage_u_v, rel=1e-9)
        clock_u_s = result.span_s * accuracy.clock_ppm * 1e-6 / accuracy.divisor
        assert result.span_u_s == pytest.approx(clock_u_s, rel=1e-9)


def test_a_trace_knows_its_place(session: rig.Session, tmp_path: Path) -> None:
    with session.trace(1) as trace:
        assert (
            trace.place is not None
            and trace.place.trial == 1
            and trace.place.segment == 1
        )
        assert trace.place.session == session.path.resolve()
        assert trace.spans is not None and len(trace.spans) == len(session.spans(1))
    copy = tmp_path / "copy.jls"
    copy.write_bytes((session.path / "trial-1" / "trace.jls").read_bytes())
    with rig.open_trace(copy) as trace:
        assert trace.place is None and trace.spans is None and trace.accuracy is None
        result = trace.statistics(0.1, 0.2)
        assert result.energy_u_j is None and "no accuracy" in result.remark
        assert result.voltage_u_v is None and result.span_u_s is None


def test_a_session_without_results_has_windows(
    session: rig.Session, tmp_path: Path
) -> None:
    trial = tmp_path / "trial-1"
    trial.mkdir()
    for name in ("samples.jsonl", "completions.jsonl"):
        (trial / name).write_bytes((session.path / "trial-1" / name).read_bytes())
    provenance = (session.path / "provenance.json").read_bytes()
    (tmp_path / "provenance.json").write_bytes(provenance)
    (trial / "trace.jls").write_bytes(
        (session.path / "trial-1" / "trace.jls").read_bytes()
    )
    with rig.open_trace(trial) as trace:
        assert trace.spans is not None
        assert {span.kind for span in trace.spans} == {"sample", "idle"}


def test_a_strange_line_is_an_error(session: rig.Session, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in session.path.rglob("*"):
        if file.is_file() and file.suffix != ".jls":
            (copy / file.relative_to(session.path)).parent.mkdir(exist_ok=True)
            (copy / file.relative_to(session.path)).write_bytes(file.read_bytes())
    (copy / "trial-1" / "samples.jsonl").write_text('{"step": "x"}\n')
    with pytest.raises(rig.DataError, match=r"samples\.jsonl"):
        rig.open_session(copy).spans(1)


def test_spans_move_to_the_clock_of_another_monitor(spans: Spans) -> None:
    here = Timebase.nominal(0, 1e6)
    there = Timebase.nominal(-500, 1e6 / 1.0001)
    result = moved(spans, here, there)
    want_s = there.origin_s + (spans.start_s - here.origin_s) * 1.0001 + 500 * 1.0001e-6
    np.testing.assert_allclose(result.start_s, want_s, atol=1e-9)
    assert (result.stop_s > result.start_s).all()


def test_spans_of_a_second_rail_lie_on_its_edges(tmp_path: Path) -> None:
    bench = """
[bench]
name = "rails"
trials = 1
[sut.virtual]
clock_ppm = 60.0
[rail.core.virtual]
sample_hz = 200_000
clock_ppm = -40.0
[rail.io.virtual]
sample_hz = 100_000
clock_ppm = 90.0
[scenario.single_stream]
idle_s = 0.1
[task.null]
samples = 3
"""
    (tmp_path / "rails.toml").write_text(bench)
    with rig.open_bench(tmp_path / "rails.toml") as opened:
        session = opened.run(1, tmp_path / "sessions")
    energies = []
    for rail in ("core", "io"):
        with session.trace(1, rail) as trace:
            assert trace.place is not None and trace.place.rail == rail
            result = trace.spans
            assert result is not None
            falls_s = trace.falls()
            for at_s in result.borders_s:
                assert np.abs(falls_s - at_s).min() < 1 / trace.sync_hz
            energies.append(
                [
                    trace.statistics(span.start_s, span.stop_s).energy_j or 0.0
                    for span in result
                    if span.energy_j is not None
                ]
            )
    stated = [
        span.energy_j for span in session.spans(1, "core") if span.energy_j is not None
    ]
    np.testing.assert_allclose(np.sum(energies, axis=0), stated, rtol=1e-9)


def test_sixteen_thousand_windows_cost_little(tmp_path: Path) -> None:
    import time

    from rig.api.traces import span_lines

    window = {"phase": "infer", "latency_s": 1e-3, "latency_u_s": 1e-6, "energy_j": 1.0}
    with (tmp_path / "samples.jsonl").open("w") as stream:
        for step in range(16_240):
            item = window | {
                "start_s": step * 1e-2,
                "stop_s": step * 1e-2 + 1e-3,
                "energy_u_j": 0.1,
            }
            line = {
                "step": step,
                "indices": [step],
                "repeat": 1,
                "correct": True,
                "windows": [item],
            }
            line |= {"label": "a", "answer": "a"}
            stream.write(json.dumps(line) + "\n")
    began = time.process_time()
    spans = span_lines.read(tmp_path, 1, ["infer"], None)
    assert len(spans) == 16_240
    assert time.process_time() - began < 5.0
    began = time.process_time()
    for at in range(1000):
        assert 4 <= len(spans.within(at / 10, at / 10 + 0.05)) <= 6
    assert time.process_time() - began < 1.0
