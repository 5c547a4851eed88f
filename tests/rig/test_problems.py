# SPDX-License-Identifier: Apache-2.0
"""A problem has its place as data, from the fault in a trace to results.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest

from rig.model.trial import Sample
from rig.problems import Problem
from rig.results import document, results
from rig.results.document import Results
from rig.session import session
from rig.store.events import Event, StepDone
from rig.store.session_folder import SessionFolder
from rig.trace.trace import CURRENT, SYNC, VOLTAGE, Trace
from tests.traces import trace_writer

BENCH = """
[bench]
name = "two-rails"
trials = 1

[sut.virtual]
sync_hold_us = 100

[rail.core.virtual]
sample_hz = 50_000
share = 0.75

[rail.io.virtual]
sample_hz = 20_000
share = 0.25

[scenario.single_stream]
idle_s = 0.1

[task.null]
samples = 8
"""
#: Steps before the cut: SYNC, idle, and a load and a query of each of some samples.
CUT_AFTER = 9


def cut(event: Event) -> None:
    if isinstance(event, StepDone) and event.done.number > CUT_AFTER:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial of two segments, on two rails."""
    folder = tmp_path_factory.mktemp("problems")
    bench_file = folder / "bench.toml"
    bench_file.write_text(BENCH, encoding="utf-8")
    root = folder / "sessions"
    with session.open_bench(bench_file) as bench, pytest.raises(KeyboardInterrupt):
        bench.run(root=root, subscribers=[cut])
    (path,) = root.iterdir()
    assert session.resume(path).trials[0].segments == 2
    return path


def derived(path: Path) -> tuple[Results, tuple[Sample, ...]]:
    """The results of the files as they are, and the samples of the trial."""
    context = results.Context.of(SessionFolder(path))
    trial = results.reduce_trial(context, path / "trial-1", 1, 1)
    return results.derive(context, [trial]), trial.measured.samples


def with_pulse(folder: Path, at_s: float) -> None:
    """Write a trace again with one more pulse of SYNC."""
    trace = Trace.open(folder / "trace.jls")
    with pyjls.Reader(str(folder / "trace.jls")) as reader:
        current, voltage = (
            reader.fsr(signal, 0, trace.length) for signal in (CURRENT, VOLTAGE)
        )
        length = next(s.length for s in reader.signals.values() if s.signal_id == SYNC)
        levels = np.unpackbits(reader.fsr(SYNC, 0, length // 8 * 8), bitorder="little")
    first = round(at_s * trace.edge_hz)
    levels[first : first + 10] = 0
    with trace_writer(folder, trace.sample_hz, trace.edge_hz) as writer:
        writer.analog(current, voltage)
        writer.sync(levels)


def stored(found: Results) -> list[dict[str, Any]]:
    tree = document.to_json(found)
    problems: list[dict[str, Any]] = tree["problems"]
    assert document.from_json(tree).problems == found.problems
    # With its trial a problem does not repeat the number.
    of_trial = [{"trial": 1, **problem} for problem in tree["trials"][0]["problems"]]
    assert of_trial == problems
    return problems


def test_a_gap_has_its_rail_segment_step_and_time(
    recorded: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(recorded, tmp_path / recorded.name)
    before, samples = derived(path)
    assert before.problems == () and stored(before) == []
    last = samples[-1]
    window = last.windows[0]
    first = round((window.start_s + window.stop_s) / 2 * 20_000)
    gap = {"start": first, "stop": first + 4, "cause": "for the test"}
    rail = path / "trial-1" / "segment-2" / "io"
    (rail / "gaps.jsonl").write_text(json.dumps(gap) + "\n", encoding="utf-8")
    result, _ = derived(path)
    (problem,) = result.problems
    assert problem == Problem(
        "gap",
        problem.detail,
        trial=1,
        rail="io",
        segment=2,
        step=last.step,
        start_s=first / 20_000,
        stop_s=(first + 4) / 20_000,
    )
    assert stored(result) == [
        {
            "trial": 1,
            "code": "gap",
            "detail": problem.detail,
            "rail": "io",
            "segment": 2,
            "step": last.step,
            "start_s": problem.start_s,
            "stop_s": problem.stop_s,
        }
    ]
    older = document.to_json(result, 6)["problems"]
    assert older == [{"trial": 1, "code": "gap", "detail": problem.detail}]


def test_an_edge_too_many_has_its_rail_and_its_number(
    recorded: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(recorded, tmp_path / recorded.name)
    _, samples = derived(path)
    first, second = (sample.windows for sample in samples[:2])
    at_s = (first[-1].stop_s + second[0].start_s) / 2
    rail = path / "trial-1" / "segment-1" / "core"
    with_pulse(rail, at_s)
    edges_s = Trace.open(rail / "trace.jls").falls_s
    result, _ = derived(path)
    problem = next(each for each in result.problems if each.code == "edges")
    assert (problem.rail, problem.segment, problem.step) == ("core", 1, None)
    assert problem.edge is not None
    assert edges_s[problem.edge - 1] == pytest.approx(at_s, abs=1e-4)
    (in_file,) = (each for each in stored(result) if each["code"] == "edges")
    assert in_file["edge"] == problem.edge and in_file["rail"] == "core"
    assert "segment" not in in_file and "start_s" not in in_file
