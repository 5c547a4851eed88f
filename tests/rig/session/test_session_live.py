# SPDX-License-Identifier: Apache-2.0
"""What an open bench tells while it opens, runs and is left: events, live blocks, who
listens."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from rig.bench.probe import probe
from rig.errors import Stopped
from rig.host.stop import Stop
from rig.live.block import LiveBlock
from rig.live.recent import Recent
from rig.session.session import open_bench
from rig.store.events import Event, Opening, PartOpened, RailState, StepBegun, StepDone
from rig.store.session_folder import SessionFolder
from rig.trace.trace import TRACE, Trace

BENCH = Path(__file__).parents[3] / "benches" / "virtual-null.toml"
QUICK = ("task.null.samples=6", "scenario.single_stream.idle_s=0.1")


def test_opening_and_leaving_are_reported_part_by_part(tmp_path: Path) -> None:
    reported: list[Event] = []
    with open_bench(BENCH, QUICK, (reported.append,)) as bench:
        name = bench.sut.info.name
    parts = [(type(event).__name__, getattr(event, "part", "")) for event in reported]
    assert parts == [
        ("Opening", "task"),
        ("PartOpened", "task"),
        ("Opening", "scenario"),
        ("PartOpened", "scenario"),
        ("Opening", "monitor"),
        ("PartOpened", "monitor"),
        ("RailState", ""),
        ("Opening", "sut"),
        ("PartOpened", "sut"),
        ("RailState", ""),
    ]
    assert [event.on for event in reported if isinstance(event, RailState)] == [
        True,
        False,
    ]
    sut = next(
        event
        for event in reported
        if isinstance(event, PartOpened) and event.part == "sut"
    )
    assert sut.info is not None and sut.info.name == name


def test_steps_are_reported_when_they_begin_and_the_journal_stays_as_it_was(
    tmp_path: Path,
) -> None:
    reported: list[Event] = []
    with open_bench(BENCH, QUICK, (reported.append,)) as bench:
        result = bench.run(2, tmp_path)
    begun = [event for event in reported if isinstance(event, StepBegun)]
    done = [event for event in reported if isinstance(event, StepDone)]
    loads = [event for event in begun if event.step.kind == "load"]
    assert len(begun) == len(done) + len(loads) and loads
    assert [event.step for event in begun if event.step.kind != "load"] == [
        event.done.step for event in done
    ]
    assert {event.left_s for event in begun if event.trial == 1} == {None}
    assert all(event.left_s is not None for event in begun if event.trial == 2)
    assert begun[0].share == 0 and 0.8 < begun[-1].share < 1
    assert {event.event for event in SessionFolder(result.folder).events()} == {
        "session_started",
        "trial_started",
        "trial_finished",
        "session_finished",
    }


def test_live_blocks_are_the_trace_and_leave_it_as_it_was(tmp_path: Path) -> None:
    blocks: list[LiveBlock] = []
    recent = Recent(1000.0)
    with open_bench(BENCH, QUICK, observers=(blocks.append, recent)) as bench:
        watched = bench.run(1, tmp_path / "watched")
        dropped = bench.dropped
    with open_bench(BENCH, QUICK) as bench:
        alone = bench.run(1, tmp_path / "alone")
    places = [
        next(result.folder.glob("trial-*/**/" + TRACE)) for result in (watched, alone)
    ]
    traces = [Trace.open(position) for position in places]
    powers_w = [trace.power_w(0.0, trace.duration_s)[1] for trace in traces]
    assert np.array_equal(*powers_w)
    assert dropped == ()
    mean_w = np.concatenate([block.mean_w for block in blocks])
    most_w = np.concatenate([block.most_w for block in blocks])
    per_column = round(blocks[0].column_s * traces[0].sample_hz)
    whole = len(powers_w[0]) // per_column * per_column
    rows = powers_w[0][:whole].reshape(-1, per_column)
    assert mean_w[: len(rows)] == pytest.approx(rows.mean(axis=1), rel=1e-5)
    assert most_w[: len(rows)] == pytest.approx(rows.max(axis=1), rel=1e-6)
    falls_s = np.concatenate([block.falls_s for block in blocks])
    assert falls_s == pytest.approx(traces[0].falls_s, abs=1e-9)
    picture = recent.picture(1000.0, 100)
    assert picture is not None and len(picture.mean_w) <= 100
    assert picture.most_w.max() == most_w.max()


def test_who_raises_is_dropped_and_named_and_the_run_goes_on(tmp_path: Path) -> None:
    def spoilt(block: LiveBlock) -> None:
        raise ValueError("a picture that cannot be drawn")

    blocks: list[LiveBlock] = []
    with open_bench(BENCH, QUICK, observers=(spoilt, blocks.append)) as bench:
        result = bench.run(1, tmp_path)
        (output,) = bench.dropped
    assert result.trials[0].problems == ()
    assert "spoilt" in output and "cannot be drawn" in output
    # The other observer has seen the whole trial, in few blocks on a busy computer.
    trace = Trace.open(next(result.folder.glob("trial-*/**/" + TRACE)))
    shown_s = sum(len(block.mean_w) * block.column_s for block in blocks)
    assert shown_s == pytest.approx(trace.duration_s, abs=2 * blocks[0].column_s)


def test_a_probe_tells_and_shows_the_same(tmp_path: Path) -> None:
    reported: list[Event] = []
    blocks: list[LiveBlock] = []
    assert all(
        finding.ok
        for finding in probe(
            BENCH, QUICK, (reported.append,), observers=(blocks.append,)
        )
    )
    assert [event.on for event in reported if isinstance(event, RailState)] == [
        True,
        False,
    ]
    assert {event.part for event in reported if isinstance(event, Opening)} == {
        "task",
        "monitor",
        "sut",
    }
    assert {block.trace for block in blocks} == {1}


def test_a_stop_from_another_thread_aborts_and_keeps_the_session(
    tmp_path: Path,
) -> None:
    stop = Stop()
    states: list[bool] = []

    def watch(event: Event) -> None:
        if isinstance(event, StepDone) and event.done.number == 3:
            asking = threading.Thread(target=stop.request)
            asking.start()
            asking.join()
        if isinstance(event, RailState):
            states.append(event.on)

    with pytest.raises(Stopped), open_bench(BENCH, QUICK, (watch,), stop) as bench:
        bench.run(2, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert SessionFolder(folder).journal().status == "abort"
    assert states == [True, False]
