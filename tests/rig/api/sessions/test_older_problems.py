# SPDX-License-Identifier: Apache-2.0
"""Problems of a session have a place: rail, segment, step and time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyjls
import pytest

import rig
from rig.api.sessions.older_problems import placed
from rig.problems import Problem
from rig.trace.trace import CURRENT, SYNC, VOLTAGE, Trace
from tests.traces import trace_writer


@pytest.fixture
def session(copied: Callable[[int], Path]) -> rig.Session:
    return rig.open_session(copied(1))


def derived_again(session: rig.Session) -> rig.Session:
    """The session with results that are made of its files as they are now."""
    (session.path / "results.json").unlink(missing_ok=True)
    return rig.Session(session.path)


def rewritten(trial: Path, change: Callable[[np.ndarray], None]) -> None:
    """Write the trace of a trial again with other levels of SYNC."""
    trace = Trace.open(trial / "trace.jls")
    with pyjls.Reader(str(trial / "trace.jls")) as reader:
        current, voltage = (
            reader.fsr(row, 0, trace.length) for row in (CURRENT, VOLTAGE)
        )
        length = next(s.length for s in reader.signals.values() if s.signal_id == SYNC)
        levels = np.unpackbits(reader.fsr(SYNC, 0, length // 8 * 8), bitorder="little")
    change(levels)
    with trace_writer(trial, trace.sample_hz, trace.edge_hz) as writer:
        writer.analog(current, voltage)
        writer.sync(levels)


def test_a_valid_session_has_no_problem(session: rig.Session) -> None:
    assert session.problems == ()


def test_a_gap_has_its_time_and_its_step(session: rig.Session) -> None:
    span = next(span for span in session.spans(1) if span.kind == "sample")
    hz = session.results.provenance.monitors[""].sample_hz
    first = round((span.start_s + span.stop_s) / 2 * hz)
    gap = {"start": first, "stop": first + 10, "cause": "for the test"}
    (session.path / "trial-1" / "gaps.jsonl").write_text(json.dumps(gap) + "\n")
    [problem] = derived_again(session).problems
    assert problem.code == "gap" and problem.trial == 1 and problem.rail == ""
    assert problem.step == span.step and problem.segment == 1
    assert problem.start_s == pytest.approx(first / hz)
    assert problem.stop_s == pytest.approx((first + 10) / hz)
    assert str(problem) == f"trial 1: gap: {problem.detail}"


def test_a_missing_edge_has_the_time_of_its_mark(session: rig.Session) -> None:
    span = [span for span in session.spans(1) if span.kind == "sample"][3]

    def fill(levels: np.ndarray) -> None:
        hz = session.results.provenance.monitors[""].edge_hz
        at = round(span.start_s * hz)
        levels[at - 5 : at + 40] = 1

    rewritten(session.path / "trial-1", fill)
    [problem] = derived_again(session).problems
    assert problem.code == "edges" and "no edge for mark" in problem.detail
    assert problem.start_s == problem.stop_s
    assert problem.start_s == pytest.approx(span.start_s, abs=1e-5)


def test_an_edge_too_many_is_found_by_the_trace(session: rig.Session) -> None:
    idle = next(span for span in session.spans(1) if span.kind == "idle")
    at_s = (idle.start_s + idle.stop_s) / 2

    def pulse(levels: np.ndarray) -> None:
        at = round(at_s * session.results.provenance.monitors[""].edge_hz)
        levels[at : at + 10] = 0

    rewritten(session.path / "trial-1", pulse)
    again = derived_again(session)
    problem = next(
        problem for problem in again.problems if "no mark for edge" in problem.detail
    )
    assert problem.start_s is None and problem.edge is not None
    with again.trace(1) as trace:
        position = trace.locate(problem)
        assert position is not None and position[0] == pytest.approx(at_s, abs=1e-5)


def test_problems_of_older_results_have_the_places_that_their_evidence_names(
    session: rig.Session,
) -> None:
    spans = session.spans(1)
    rates_hz = {"core": 1000.0, "io": 500.0}
    span = next(
        span for span in spans if span.phase == "infer" and span.kind == "sample"
    )
    inside = spans.step == span.step

    def of(detail: str) -> Problem:
        moments_s = {3: 0.5}
        return placed(
            Problem("clock", detail), rates_hz, lambda _: spans, moments_s.get
        )

    whole = of(f"step {span.step} has marks that are not due (1 such steps)")
    assert (whole.rail, whole.segment, whole.step) == ("core", 1, span.step)
    assert whole.start_s == spans.start_s[inside].min()
    assert whole.stop_s == spans.stop_s[inside].max()
    lost = of(
        f"segment 2: io: 3 of 4 windows, first infer of step {span.step} "
        "(samples 500 to 600: lost)"
    )
    assert (lost.rail, lost.segment, lost.start_s, lost.stop_s) == ("io", 2, 1.0, 1.2)
    edge = of("sitting 3: no mark for edge 17, 1 edges are too many")
    assert (edge.segment, edge.edge, edge.step) == (3, 17, None)
    of_phase = of(f"1 of 14 windows, shortest infer of step {span.step} with 1.0 us")
    assert (of_phase.start_s, of_phase.stop_s) == (span.start_s, span.stop_s)
    for detail in (
        "4 marks, 3 falling edges, 3 pairs; no edge for mark 3",
        "mark 3 has tick 5, less than the one before, 9: did",
    ):
        marked = of(detail)
        assert (marked.start_s, marked.stop_s, marked.edge) == (0.5, 0.5, None)
    # A word with a colon is a rail only where there is one of this name.
    assert of("bounced: edge 5").edge == 5
    nowhere = of("the monitor sees device time stretched 1.1 times")
    assert nowhere.start_s is None and nowhere.step is None and nowhere.edge is None


def test_results_of_an_older_schema_have_places_too(session: rig.Session) -> None:
    span = [span for span in session.spans(1) if span.kind == "sample"][2]
    path = session.path / "results.json"
    tree = json.loads(path.read_text())
    tree["schema"] = "neurorig-results-6"
    detail = f"step {span.step} has marks that are not due (1 such steps)"
    problem = {"code": "clock", "detail": detail}
    tree["problems"] = [{"trial": 1, **problem}]
    tree["trials"][0]["problems"] = [problem]
    path.write_text(json.dumps(tree))
    [result] = rig.Session(session.path).problems
    assert isinstance(result, rig.SessionProblem) and result.step == span.step
    assert result.start_s is not None and result.start_s <= span.start_s
    assert str(result) == f"trial 1: clock: {detail}"
    tree["problems"][0]["detail"] = "9 marks, 8 falling edges; no edge for mark 1"
    path.write_text(json.dumps(tree))
    [result] = rig.Session(session.path).problems
    first_s = min(session.trace(1).falls())
    assert result.start_s == pytest.approx(first_s, abs=1e-4)
