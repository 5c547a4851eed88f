# SPDX-License-Identifier: Apache-2.0
"""Thinned traces: kept samples are unchanged, the others have their means, and no
sample near a mark, or not known to be quiet, is left out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.errors import DataError
from rig.trace.fingerprint import of_trace
from rig.trace.recovery import recover
from rig.trace.reduced import CURRENT_MEAN, POWER_MEAN
from rig.trace.thinning import Quiet, QuietTimes, thinned
from rig.trace.trace import CURRENT, Trace, reading
from tests.length import length
from tests.programs import captured
from tests.traces import trace_writer
from tests.waiting import eventually

HZ = 100_000
#: By the documents: means of 1 ms, 10 ms about each edge.
EVERY = 100
MARGIN = 1000
HOLD = 5
WINDOW = 1700


def levels(length: int, marks: list[int]) -> NDArray[np.uint8]:
    """The SYNC line: low from each mark on, for the length of a pulse."""
    line = np.ones(length, np.uint8)
    for mark in marks:
        line[mark : mark + HOLD] = 0
    return line


def record(
    folder: Path,
    marks: list[int],
    length: int,
    said: list[tuple[int, Quiet]],
    chunk: int = 2048,
    sync_ahead: int = 0,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Write a trace in chunks; `said` holds the messages that are sent after so many
    samples.
    """
    random = np.random.default_rng(len(marks))
    current = random.normal(0.01, 0.001, length).astype(np.float32)
    voltage = random.normal(3.3, 0.01, length).astype(np.float32)
    line = levels(length, marks)
    times = QuietTimes()
    waiting = list(said)
    with (
        thinned(folder, times),
        trace_writer(folder, HZ) as writer,
    ):
        writer.sync(line[:sync_ahead])
        for at in range(0, length, chunk):
            while waiting and waiting[0][0] <= at:
                times.add(waiting.pop(0)[1])
            writer.analog(current[at : at + chunk], voltage[at : at + chunk])
            writer.sync(line[at + sync_ahead : at + chunk + sync_ahead])
    return current, voltage


def marks_of(gaps: list[int], window: int = WINDOW) -> list[int]:
    """Two marks, a window apart, after each gap."""
    result = []
    at = 0
    for gap in gaps:
        result += [at + gap, at + gap + window]
        at += gap + window
    return result


@given(
    gaps=st.lists(st.integers(300, 9000), min_size=1, max_size=5),
    quiet=st.lists(st.booleans(), min_size=5, max_size=5),
    late=st.integers(0, 4000),
    chunk=st.integers(200, 6000),
    ahead=st.sampled_from([0, 0, 700]),
    rest=st.integers(0, 7000),
)
@settings(max_examples=length(40, 15), deadline=None)
def test_what_is_kept_is_as_it_was_and_only_what_is_quiet_is_left_out(
    tmp_path_factory: pytest.TempPathFactory,
    gaps: list[int],
    quiet: list[bool],
    late: int,
    chunk: int,
    ahead: int,
    rest: int,
) -> None:
    folder = tmp_path_factory.mktemp("t")
    marks = marks_of(gaps)
    length = marks[-1] + HOLD + rest
    stretches = [
        (number, marks[number - 1], marks[number] if number < len(marks) else length)
        for number, is_quiet in zip(range(2, len(marks) + 1, 2), quiet, strict=False)
        if is_quiet
    ]
    output = [
        (begin + late, Quiet(number, WINDOW / HZ)) for number, begin, _ in stretches
    ]
    current, voltage = record(
        folder, marks, length, output, chunk=chunk, sync_ahead=ahead
    )
    trace = Trace.open(folder / "trace.jls")
    assert trace.length == length
    line = levels(length, marks)
    assert len(trace.falls_s) == len(marks)
    assert trace.rises_s == pytest.approx(
        (np.flatnonzero(np.diff(line) == 1) + 0.5) / HZ
    )
    kept = np.ones(length, bool)
    for span in trace.reduced:
        assert span.start % EVERY == span.stop % EVERY == 0
        assert any(
            begin + HOLD + MARGIN <= span.start
            and (span.stop <= end - MARGIN or (end == length and span.stop <= end))
            for _, begin, end in stretches
        )
        kept[span.start : span.stop] = False
    with reading(trace.path) as reader:
        result = trace.samples(reader, 0, length)
        for signal, values in zip((current, voltage), result, strict=True):
            assert np.array_equal(signal[kept], values[kept])
            means = (
                signal[: length // EVERY * EVERY]
                .reshape(-1, EVERY)
                .mean(axis=1, dtype=float)
            )
            held = np.repeat(means, EVERY)[~kept[: length // EVERY * EVERY]]
            assert values[~kept] == pytest.approx(held, rel=1e-6)
        # Any part of it reads as a part of the whole.
        first, last = sorted((gaps[0] * 7 % length, marks[-1] * 3 % length))
        part = trace.samples(reader, first, last - first)
        assert np.array_equal(part[0], result[0][first:last], equal_nan=True)
        power = reader.fsr(POWER_MEAN, 0, length // EVERY)
    made = current.astype(float) * voltage
    assert power == pytest.approx(
        made[: length // EVERY * EVERY].reshape(-1, EVERY).mean(axis=1), rel=1e-6
    )
    of_trace(trace.path)
    # A span reported in time, with SYNC not far ahead, is left out as far as it may be.
    if late == 0 and ahead == 0:
        for _, begin, end in stretches:
            wide = end - begin - 2 * MARGIN - HOLD - 2 * EVERY - chunk
            assert end == length or wide <= 0 or not kept[begin:end].all()


def test_any_part_of_a_reduced_span_reads_as_a_part_of_the_whole(
    tmp_path: Path,
) -> None:
    marks = marks_of([3000, 9000])
    record(tmp_path, marks, marks[-1] + 5000, [(0, Quiet(2, WINDOW / HZ))])
    trace = Trace.open(tmp_path / "trace.jls")
    [span] = trace.reduced
    with reading(trace.path) as reader:
        whole = trace.samples(reader, 0, trace.length)
        for first in range(span.start - 150, span.start + 450, 37):
            for count in (1, 99, 101, 350):
                part = trace.samples(reader, first, count)
                for read, due in zip(part, whole, strict=True):
                    assert np.array_equal(read, due[first : first + count])


def test_energy_and_lost_samples_near_a_reduced_span_are_reported(
    tmp_path: Path,
) -> None:
    marks = marks_of([3000, 9000])
    record(tmp_path, marks, marks[-1] + 5000, [(0, Quiet(2, WINDOW / HZ))])
    trace = Trace.open(tmp_path / "trace.jls")
    [span] = trace.reduced
    assert span.stop - span.start > 6000
    window = marks[2] / HZ, marks[3] / HZ
    assert trace.gap_between(*window) is None
    assert trace.lost_between(*window) == 0
    for touching in ((span.start / HZ, window[1]), ((span.stop - 1) / HZ, window[0])):
        gap = trace.gap_between(*touching)
        assert gap is not None and "means" in gap.cause
        assert trace.lost_between(*touching) is None


@pytest.mark.parametrize("fault", ["an edge too many", "a mark without an edge"])
def test_where_edges_and_marks_are_not_counted_alike_all_is_kept(
    tmp_path: Path, fault: str
) -> None:
    window = 5000
    marks = marks_of([3000] + [9000] * 4, window)
    output = [(0, Quiet(number, window / HZ)) for number in (2, 4, 6, 8)]
    seen = (
        sorted([*marks, marks[2] + 700])
        if fault == "an edge too many"
        else marks[:2] + marks[3:]
    )
    record(tmp_path, seen, marks[-1] + 5000, output)
    trace = Trace.open(tmp_path / "trace.jls")
    [span] = trace.reduced
    # A window whose first edge is missing goes with the stretch before it: its trial is
    # invalid.
    assert marks[1] < span.start and span.stop < seen[2]
    reported = json.loads((tmp_path / "recording.json").read_text())["thinned"]
    assert reported["spans"] == 1 and "edge 4 came" in reported["kept_on"]


def test_samples_without_a_known_line_are_kept_and_not_held_for_ever(
    tmp_path: Path,
) -> None:
    times = QuietTimes()
    block = np.ones(HZ, np.float32)
    with (
        thinned(tmp_path, times),
        trace_writer(tmp_path, HZ) as writer,
    ):
        for _ in range(6):
            writer.analog(block, block)
        eventually(lambda: (tmp_path / "trace.jls.partial").stat().st_size > 3 * 8 * HZ)
        writer.sync(np.ones(6 * HZ, np.uint8))
    assert Trace.open(tmp_path / "trace.jls").length == 6 * HZ


def test_other_programs_open_it_and_know_the_time_of_what_is_kept(
    tmp_path: Path,
) -> None:
    marks = marks_of([3000, 29_000])
    record(tmp_path, marks, marks[-1] + 5000, [(0, Quiet(2, WINDOW / HZ))])
    done = captured(
        [sys.executable, "-m", "pyjls", "info", str(tmp_path / "trace.jls")], check=True
    )
    assert "current, means of 100" in done.stdout and not done.stderr
    trace = Trace.open(tmp_path / "trace.jls")
    [span] = trace.reduced
    with reading(trace.path) as reader:
        begin = reader.sample_id_to_timestamp(CURRENT, 0)
        for position, recorded in (
            (span.start - 1, span.start - 1),
            (span.start + 400, span.stop + 400),
        ):
            at_s = (reader.sample_id_to_timestamp(CURRENT, position) - begin) / 2**30
            assert at_s == pytest.approx(recorded / HZ, abs=1e-6)
        lengths = {row.signal_id: row.length for row in reader.signals.values()}
        assert lengths[CURRENT] < trace.length / 2
        assert lengths[CURRENT_MEAN] >= trace.length // EVERY


def value(places: NDArray[np.int64]) -> NDArray[np.float32]:
    """A current that tells the number of its sample."""
    return (places % 99_991 / 1e5).astype(np.float32)


def test_a_killed_writer_loses_no_window_after_which_the_margin_was_written(
    tmp_path: Path,
) -> None:
    count = 12
    marks = marks_of([20_000] * count)
    length = marks[-1] + 2 * MARGIN
    program = f"""
        import sys
        from pathlib import Path
        import numpy as np
        from rig.trace.thinning import Quiet, QuietTimes, thinned
        from rig.trace.writer import TraceWriter
        from tests.rig.trace.test_thinning import HZ, WINDOW, levels, value
        times = QuietTimes()
        line = levels({length}, {marks})
        folder = Path({str(tmp_path)!r})
        with thinned(folder, times):
            known = dict(source="t", serial="1", about={{}})
            writer = TraceWriter(folder, sample_hz=HZ, edge_hz=HZ, **known)
        for number in range(2, {len(marks)}, 2):
            times.add(Quiet(number, WINDOW / HZ))
        for at in range(0, {length}, 1000):
            places = np.arange(at, min(at + 1000, {length}))
            writer.analog(value(places), np.full(len(places), 2, np.float32))
            writer.sync(line[at : at + 1000])
        print("all", flush=True)
        sys.stdin.read()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"all\n"
        partial = tmp_path / "trace.jls.partial"
        sizes = [0]

        def settled() -> bool:
            sizes.append(partial.stat().st_size)
            return sizes[-1] == sizes[-2] > 8 * count * (WINDOW + 2 * MARGIN)

        eventually(settled, process=process)
        os.kill(process.pid, signal.SIGKILL)
    recover(partial, tmp_path / "trace.jls")
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.reduced) >= count - 1
    of_trace(trace.path)
    with reading(trace.path) as reader:
        for begin, end in zip(marks[::2], marks[1::2], strict=True):
            assert end <= trace.length and end / HZ < trace.reach_s
            places = np.arange(begin - 100, end)
            current, _ = trace.samples(reader, begin - 100, len(places))
            assert np.array_equal(current, value(places))


@pytest.mark.parametrize(
    ("forged", "fault"),
    [
        (lambda lines: lines[:-1], "does not fit"),
        (
            lambda lines: [
                {"start": s["start"] - 100, "stop": s["stop"] - 100} for s in lines
            ],
            "mean",
        ),
        (lambda lines: lines[::-1], "not in order"),
        (
            lambda lines: [
                {"start": s["start"] + 1, "stop": s["stop"] + 1} for s in lines
            ],
            "whole",
        ),
        (lambda lines: [{"start": 0, "stop": 10**30}], "another form"),
        (lambda lines: [{"start": 0, "stop": 10**18}], "beyond"),
        (lambda lines: [{"start": 0, "stop": 200_000}], "beyond"),
        (lambda lines: [lines[0] | {"x": 1}], "form"),
    ],
    ids=[
        "one gone",
        "moved",
        "order",
        "part of a mean",
        "no number",
        "endless",
        "behind SYNC",
        "key",
    ],
)
def test_forged_spans_are_refused(tmp_path: Path, forged, fault) -> None:
    marks = marks_of([3000, 9000, 9000])
    # Reported late: samples before it are kept, and a span may be moved without coming
    # near an edge.
    output = [
        (marks[1] + 3000, Quiet(2, WINDOW / HZ)),
        (marks[3] + 3000, Quiet(4, WINDOW / HZ)),
    ]
    record(tmp_path, marks, marks[-1] + 5000, output)
    of_trace(tmp_path / "trace.jls")
    path = tmp_path / "reduced.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in forged(lines)))
    with pytest.raises(DataError, match=fault):
        of_trace(tmp_path / "trace.jls")


def test_a_thinned_trace_without_its_spans_is_refused(tmp_path: Path) -> None:
    """One that was cut off as well, which does not say how many samples were
    recorded."""
    marks = marks_of([3000, 9000])
    record(tmp_path, marks, marks[-1] + 5000, [(0, Quiet(2, WINDOW / HZ))])
    (tmp_path / "reduced.jsonl").unlink()
    with pytest.raises(DataError, match=r"reduced\.jsonl is missing"):
        Trace.open(tmp_path / "trace.jls")
