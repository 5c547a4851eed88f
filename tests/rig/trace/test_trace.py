# SPDX-License-Identifier: Apache-2.0
"""Traces: energy between two instants is exact, edges are where they were, gaps are
known, crashes are survived.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.errors import DataError, StorageFull
from rig.trace.recovery import copy_all, recover
from rig.trace.tap import Tap, tapped
from rig.trace.trace import Gap, Trace
from rig.trace.writer import TraceWriter
from tests.length import length
from tests.programs import captured
from tests.traces import trace_writer
from tests.waiting import eventually

HZ = 1000


def written(
    folder: Path,
    current_a: NDArray[np.float32],
    voltage_v: NDArray[np.float32],
    sync: NDArray[np.uint8],
    chunk: int = 7,
) -> Trace:
    folder.mkdir(parents=True, exist_ok=True)
    with trace_writer(folder, HZ) as writer:
        for at in range(0, len(current_a), chunk):
            writer.analog(current_a[at : at + chunk], voltage_v[at : at + chunk])
            writer.sync(sync[at : at + chunk])
    return Trace.open(folder / "trace.jls")


def by_hand_j(power_w: NDArray[np.float64], start_s: float, stop_s: float) -> float:
    """Energy by adding up, sample by sample, the part of each that lies in the
    window."""
    total = 0.0
    for k, power in enumerate(power_w):
        total += power * max(min(stop_s, (k + 1) / HZ) - max(start_s, k / HZ), 0.0)
    return total


@given(
    seed=st.integers(0, 2**32),
    length=st.integers(1, 300),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    chunk=st.integers(1, 400),
)
@settings(max_examples=length(60, 25), deadline=None)
def test_energy_between_any_two_instants_equals_the_sum_by_hand(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    length: int,
    ends: tuple[float, float],
    chunk: int,
) -> None:
    random = np.random.default_rng(seed)
    current = random.normal(0.01, 0.01, length).astype(np.float32)
    voltage = random.uniform(1, 5, length).astype(np.float32)
    trace = written(
        tmp_path_factory.mktemp("t"), current, voltage, np.ones(length, np.uint8), chunk
    )
    # So near to the border of two samples an instant lies on it, and digits that were
    # cut off have no effect.
    places = (end * length for end in ends)
    start_s, stop_s = sorted(
        (round(at) if abs(at - round(at)) < 1e-4 else at) / HZ for at in places
    )
    expected = by_hand_j(current.astype(np.float64) * voltage, start_s, stop_s)
    assert trace.energy_j(start_s, stop_s) == pytest.approx(
        expected, rel=1e-9, abs=1e-15
    )


@given(
    levels=st.lists(st.integers(0, 1), min_size=2, max_size=200),
    chunk=st.integers(1, 60),
)
@settings(max_examples=length(60, 25), deadline=None)
def test_every_level_change_is_an_edge_halfway_between_its_samples(
    tmp_path_factory: pytest.TempPathFactory, levels: list[int], chunk: int
) -> None:
    sync = np.array(levels, dtype=np.uint8)
    trace = written(
        tmp_path_factory.mktemp("t"),
        np.zeros(len(sync), np.float32),
        np.zeros(len(sync), np.float32),
        sync,
        chunk,
    )
    falls = [(k - 0.5) / HZ for k in range(1, len(levels)) if levels[k - 1] > levels[k]]
    rises = [(k - 0.5) / HZ for k in range(1, len(levels)) if levels[k - 1] < levels[k]]
    assert trace.falls_s.tolist() == pytest.approx(falls)
    assert trace.rises_s.tolist() == pytest.approx(rises)


def test_a_window_outside_the_trace_is_refused_and_counts_as_a_gap(
    tmp_path: Path,
) -> None:
    trace = written(
        tmp_path,
        np.ones(10, np.float32),
        np.ones(10, np.float32),
        np.ones(10, np.uint8),
    )
    with pytest.raises(DataError, match="outside the trace"):
        trace.energy_j(0.005, 0.011)
    assert trace.gap_between(0.005, 0.011) is not None
    assert trace.gap_between(0.005, 0.010) is None


def test_noted_gaps_are_found_again(tmp_path: Path) -> None:
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(np.ones(100, np.float32), np.ones(100, np.float32))
        writer.sync(np.ones(100, np.uint8))
        writer.gap(Gap(40, 45, "lost"))
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.gap_between(0.030, 0.0405) == Gap(40, 45, "lost")
    assert trace.gap_between(0.030, 0.040) is None
    assert trace.gap_between(0.045, 0.050) is None


def test_edges_within_a_period_of_lost_samples_are_none_and_all_others_are(
    tmp_path: Path,
) -> None:
    level = np.ones(100, np.uint8)
    for fall in (10, 30, 39, 46, 60):
        level[fall : fall + 3] = 0
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(np.ones(100, np.float32), np.ones(100, np.float32))
        writer.sync(level)
        writer.gap(Gap(40, 45, "lost"))
    trace = Trace.open(tmp_path / "trace.jls")
    # An edge lies between two samples, and the line is dark from 39 to 46.
    assert (trace.falls_s * HZ).tolist() == pytest.approx([9.5, 29.5, 38.5, 59.5])
    assert (trace.rises_s * HZ).tolist() == pytest.approx([12.5, 32.5, 48.5, 62.5])


def test_pyjls_tools_open_a_trace_without_complaint(tmp_path: Path) -> None:
    written(
        tmp_path,
        np.ones(1000, np.float32),
        np.ones(1000, np.float32),
        np.ones(1000, np.uint8),
    )
    done = captured(
        [sys.executable, "-m", "pyjls", "info", str(tmp_path / "trace.jls")], check=True
    )
    assert (
        "current" in done.stdout and "voltage" in done.stdout and "sync" in done.stdout
    )
    assert not done.stderr


def test_beside_a_thread_that_computes_a_recording_soon_has_its_turn(
    tmp_path: Path,
) -> None:
    before_s = sys.getswitchinterval()
    try:
        for given_s, expected_s in ((0.005, 0.0005), (0.0001, 0.0001)):
            sys.setswitchinterval(given_s)
            with TraceWriter(
                tmp_path,
                sample_hz=100.0,
                edge_hz=100.0,
                source="x",
                serial="",
                about={},
            ):
                assert sys.getswitchinterval() == pytest.approx(expected_s, rel=0.02)
    finally:
        sys.setswitchinterval(before_s)


def test_a_trace_under_way_has_another_name(tmp_path: Path) -> None:
    writer = trace_writer(tmp_path, HZ)
    assert (tmp_path / "trace.jls.partial").exists() and not (
        tmp_path / "trace.jls"
    ).exists()
    writer.close()
    writer.close()
    assert (tmp_path / "trace.jls").exists() and not (
        tmp_path / "trace.jls.partial"
    ).exists()


def test_an_input_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.jls").write_bytes(b"no trace" * 100)
    with pytest.raises(DataError, match="not a readable trace"):
        Trace.open(tmp_path / "trace.jls")


def test_a_killed_writer_leaves_a_trace_that_can_be_recovered(tmp_path: Path) -> None:
    program = f"""
        import numpy as np, time
        from pathlib import Path
        from rig.trace.writer import TraceWriter
        writer = TraceWriter(
            Path({str(tmp_path)!r}), sample_hz=1_000_000, edge_hz=1_000_000,
            source="t", serial="1", about={{}},
        )
        while True:
            writer.analog(np.ones(10_000, np.float32), np.full(10_000, 2, np.float32))
            writer.sync(np.ones(10_000, np.uint8))
            print(flush=True)
            time.sleep(0.002)  # the pace of an instrument
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    for _ in range(100):
        process.stdout.readline()
    # A sample has 8 bytes, and a thread of the library writes them.
    partial = tmp_path / "trace.jls.partial"
    eventually(lambda: partial.stat().st_size > 6_000_000, process=process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    before = (tmp_path / "trace.jls.partial").read_bytes()
    recover(tmp_path / "trace.jls.partial", tmp_path / "copy.jls")
    trace = Trace.open(tmp_path / "copy.jls")
    assert trace.length > 500_000
    assert trace.energy_j(0.0, 0.5) == pytest.approx(1.0, rel=1e-9)
    assert (tmp_path / "trace.jls.partial").read_bytes() == before, (
        "the original stays as the killed process left it"
    )


def test_a_disk_without_room_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.trace.writer.RESERVE_B", 1 << 62)
    with pytest.raises(StorageFull, match="full"):
        trace_writer(tmp_path, HZ)


def test_the_room_on_the_disk_is_looked_at_every_eighth_of_what_is_kept_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    with trace_writer(tmp_path, HZ) as writer:
        monkeypatch.setattr(writer, "_require_room", lambda: looks.append(tmp_path))
        # 32 MiB are kept free, and a sample of current and voltage has 8 bytes.
        quarter = np.zeros((1 << 20) // 8, np.float32)
        for _ in range(9):
            writer.analog(quarter, quarter)
    assert len(looks) == 2


@pytest.mark.parametrize(
    ("start_s", "stop_s"), [(0.02, 0.01), (-0.01, 0.01), (0.02, 0.05)]
)
def test_a_window_that_ends_before_it_begins_or_beside_the_trace_is_refused(
    tmp_path: Path, start_s: float, stop_s: float
) -> None:
    ones = np.ones(40, np.float32)
    trace = written(tmp_path, ones, ones, np.ones(40, np.uint8))
    with pytest.raises(DataError, match="lies outside the trace"):
        trace.energy_j(start_s, stop_s)


@pytest.mark.parametrize("lost", [0, 5])
def test_a_tap_sees_the_voltage_of_sync_without_the_filling_of_a_gap(
    tmp_path: Path, lost: int
) -> None:
    seen: list[tuple[int, list[float]]] = []

    class SyncTap(Tap):
        def sync_voltage(self, at: int, voltage_v: NDArray[np.float32]) -> None:
            seen.append((at, voltage_v.tolist()))

    ones = np.ones(3, np.float32)
    with (
        tapped(tmp_path, lambda _: SyncTap()),
        trace_writer(tmp_path, HZ, sync_kind="voltage") as writer,
    ):
        writer.analog(ones, ones)
        writer.sync_voltage(ones)
        if lost:
            writer.skip(lost, "lost")
        writer.analog(ones, ones)
        writer.sync_voltage(2 * ones)
    assert seen == [(0, [1.0] * 3), (3 + lost, [2.0] * 3)]


@given(
    start=st.floats(5, 6),
    stop=st.floats(25, 26),
    before=st.floats(0, 1),
    inside=st.floats(0, 1),
    after=st.floats(0, 1),
)
@settings(max_examples=length(60, 25), deadline=None)
def test_between_marks_a_step_at_the_end_of_a_window_costs_no_energy(
    tmp_path_factory: pytest.TempPathFactory,
    start: float,
    stop: float,
    before: float,
    inside: float,
    after: float,
) -> None:
    edges = np.array([0.0, start, stop, 40.0])
    energy = np.concatenate(
        [[0.0], np.cumsum(np.diff(edges) * [before, inside, after])]
    )
    means = np.diff(np.interp(np.arange(41), edges, energy))
    trace = written(
        tmp_path_factory.mktemp("t"),
        means.astype(np.float32),
        np.ones(40, np.float32),
        np.ones(40, np.uint8),
    )
    for ranges in ([], [0.3, 10.0]):
        result = trace.integrals([(start / HZ, stop / HZ)], ranges, steps_at_ends=True)[
            0
        ]
        assert result.energy_j == pytest.approx(
            inside * (stop - start) / HZ, rel=1e-5, abs=1e-9
        )
        assert sum(result.range_energy_j) == pytest.approx(
            result.energy_j, rel=1e-12, abs=1e-15
        )
        assert sum(result.range_volt_s) == pytest.approx((stop - start) / HZ, rel=1e-6)


@given(
    seed=st.integers(0, 2**32),
    gaps=st.lists(
        st.tuples(st.integers(8, 180), st.integers(1, 5)), min_size=1, max_size=3
    ),
)
@settings(max_examples=length(40, 15), deadline=None)
def test_lost_samples_inside_a_window_are_taken_for_the_mean_of_the_others(
    tmp_path_factory: pytest.TempPathFactory, seed: int, gaps: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("t")
    random = np.random.default_rng(seed)
    current = random.uniform(0.001, 0.02, 200).astype(np.float32)
    with trace_writer(folder, HZ) as writer:
        writer.analog(current, np.full(200, 3.0, np.float32))
        writer.sync(np.ones(200, np.uint8))
        for start, length in gaps:
            writer.gap(Gap(start, start + length, "test"))
    trace = Trace.open(folder / "trace.jls")
    lost = sorted(
        set(chain.from_iterable(range(at, at + length) for at, length in gaps))
    )
    assert trace.lost_between(0.0, 0.2) == len(lost)
    integral = trace.integrals([(0.0, 0.2)], [0.01, 1.0], bridged=True)[0]
    kept = np.delete(current.astype(np.float64), lost) * 3.0
    assert integral.energy_j == pytest.approx(kept.mean() * 0.2, rel=1e-9)
    assert integral.lost_s == pytest.approx(len(lost) / HZ)
    assert (integral.least_w, integral.most_w) == (kept.min(), kept.max())


@pytest.mark.parametrize(
    ("gap", "window", "lost"),
    [
        (Gap(50, 60, ""), (0.0, 0.2), 10),
        (Gap(50, 60, ""), (0.0, 0.05), 0),
        (Gap(50, 60, ""), (0.048, 0.2), None),
        (Gap(50, 60, ""), (0.0, 0.062), None),
        (Gap(50, 75, ""), (0.0, 0.2), None),
        (Gap(50, 60, ""), (0.0, 0.201), None),
    ],
    ids=[
        "inside",
        "outside",
        "beside the start",
        "beside the end",
        "too many",
        "beyond the trace",
    ],
)
def test_samples_lost_at_an_end_or_too_many_leave_no_energy(
    tmp_path: Path, gap: Gap, window: tuple[float, float], lost: int | None
) -> None:
    written(
        tmp_path,
        np.ones(200, np.float32),
        np.ones(200, np.float32),
        np.ones(200, np.uint8),
    )
    (tmp_path / "gaps.jsonl").write_text(
        json.dumps({"start": gap.start, "stop": gap.stop, "cause": ""}) + "\n"
    )
    assert Trace.open(tmp_path / "trace.jls").lost_between(*window) == lost


@pytest.mark.parametrize("ends", [-9, 600.0])
def test_a_recovery_that_is_cut_off_leaves_no_trace_that_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: float
) -> None:
    def cut_off(command: list[str], *_: object) -> subprocess.CompletedProcess[bytes]:
        Path(command[-1]).write_bytes(b"half of a trace")
        if ends > 0:
            raise subprocess.TimeoutExpired(command, ends)
        return subprocess.CompletedProcess(command, int(ends), b"", b"")

    written(
        tmp_path,
        np.ones(200, np.float32),
        np.ones(200, np.float32),
        np.ones(200, np.uint8),
    )
    partial = (tmp_path / "trace.jls").rename(tmp_path / "trace.jls.partial")
    (tmp_path / "gaps.jsonl").unlink()
    monkeypatch.setattr("rig.trace.limited_child.run", cut_off)
    output = "was not recovered in time" if ends > 0 else "cannot be recovered"
    with pytest.raises(DataError, match=output):
        recover(partial, tmp_path / "trace.jls")
    assert list(tmp_path.iterdir()) == [partial]


def test_a_killed_recovery_is_done_again_and_its_child_that_lives_on_has_no_effect(
    tmp_path: Path,
) -> None:
    with trace_writer(tmp_path, HZ) as writer:
        writer.analog(np.ones(5000, np.float32), np.ones(5000, np.float32))
        writer.sync(np.ones(5000, np.uint8))
    partial = (tmp_path / "trace.jls").rename(tmp_path / "trace.jls.partial")
    into = tmp_path / "trace.jls"
    program = f"""
        import os, subprocess, sys
        from pathlib import Path
        from rig.trace import recovery

        def killed(command, *_):
            Path(command[-1]).write_bytes(b"half of a trace")
            print(command[-1], flush=True)
            os.kill(os.getpid(), 9)

        recovery.limited_child.run = killed
        recovery.recover(Path({str(partial)!r}), Path({str(into)!r}))
    """
    done = captured([sys.executable, "-c", textwrap.dedent(program)], timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = Path(done.stdout.strip())
    assert left.exists() and not into.exists()
    recover(partial, into)
    assert Trace.open(into).length == 5000
    with pytest.raises((OSError, RuntimeError)):
        copy_all(partial, left)
    assert (
        sorted(tmp_path.glob("*trace*")) == [into, partial] and not left.parent.exists()
    )
