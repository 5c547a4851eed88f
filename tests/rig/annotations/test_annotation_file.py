# SPDX-License-Identifier: Apache-2.0
"""Annotation files: written, read again, and read as Joulescope UI reads them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest

import rig
from rig.annotations import Annotations, DualMarker, Level, Note, SingleMarker
from rig.importers.markers import Marked, read
from rig.trace.thinning import Quiet, QuietTimes, thinned
from rig.trace.trace import CURRENT, SYNC, Trace
from tests.traces import trace_writer

HZ = 100_000.0
ALL = Annotations(
    (
        SingleMarker(0.1234567891, "here"),
        DualMarker(0.2000000013, 0.7500000001, "both"),
        SingleMarker(0.05),
        DualMarker(0.3, 0.4),
    ),
    (
        Note(0.5, "wakes up", "power", 0.03, 4),
        Note(0.25, "starts\nto sing: 1a", "current"),
    ),
    (Level("current", 0.012), Level("voltage", 2.9, 3.1)),
)


@pytest.fixture
def trace(tmp_path: Path) -> rig.SessionTrace:
    with trace_writer(tmp_path, HZ, sync_kind="none") as writer:
        writer.analog(np.full(100_000, 0.01), np.full(100_000, 3.0))
    (tmp_path / "trace.jls").rename(tmp_path / "run.jls")
    return rig.open_trace(tmp_path / "run.jls")


def as_joulescope_ui(path: Path) -> list[tuple[Any, ...]]:
    """What joulescope_ui/jls_v2_annotations.py makes of a file: kind, signal, UTC and
    content."""
    result: list[tuple[Any, ...]] = []
    with pyjls.Reader(str(path)) as reader:
        for number, signal in reader.signals.items():
            if signal.name not in ("current", "voltage", "power"):
                assert signal.name == "global_annotation_signal"
                continue
            halves: dict[str, int] = {}
            # It loads the time stamps first: a look at them ends the list of
            # annotations.
            reader.sample_id_to_timestamp(number, 0)

            def take(
                at: int,
                y: float | None,
                kind: int,
                group: int,
                data: str,
                number: int = number,
                name: str = signal.name,
                halves: dict[str, int] = halves,
            ) -> bool:
                utc = reader.sample_id_to_timestamp(number, at)
                if kind == pyjls.AnnotationType.TEXT:
                    result.append(("text", name, utc, data, group, y))
                elif kind == pyjls.AnnotationType.HMARKER:
                    result.append(("y", name, None, data, 0, y))
                else:
                    parts = data.split("\x1c")
                    assert len(parts) <= 2
                    meta = json.loads(parts[1]) if len(parts) == 2 else {}
                    if parts[0][-1] not in "ab":
                        result.append(("single", name, utc, meta.get("label"), 0, y))
                    elif parts[0][:-1] in halves:
                        result.append(
                            ("dual", name, (halves.pop(parts[0][:-1]), utc), None, 0, y)
                        )
                    else:
                        halves[parts[0][:-1]] = utc
                return False

            reader.annotations(number, 0, take)
            assert not halves
    return result


def test_what_is_written_is_read_again_exactly(trace: rig.SessionTrace) -> None:
    path = trace.annotate(ALL)
    assert path.name == "run.anno.jls"
    result = trace.annotations()
    assert set(result.markers) == set(ALL.markers)
    assert set(result.notes) == set(ALL.notes)
    assert set(result.levels) == set(ALL.levels)
    assert not list(path.parent.glob("*.partial"))


def test_joulescope_ui_finds_all_of_it_at_its_time(trace: rig.SessionTrace) -> None:
    path = trace.annotate(ALL)
    with pyjls.Reader(str(trace.path)) as reader:
        began = reader.sample_id_to_timestamp(1, 0)
    result = as_joulescope_ui(path)

    def seconds(utc: int) -> float:
        return (utc - began) / 2**30

    singles = {row[3]: seconds(row[2]) for row in result if row[0] == "single"}
    assert singles["here"] == pytest.approx(0.1234567891, abs=3e-9)
    duals = sorted(tuple(map(seconds, row[2])) for row in result if row[0] == "dual")
    assert duals == [
        pytest.approx((0.2000000013, 0.7500000001), abs=3e-9),
        pytest.approx((0.3, 0.4), abs=3e-9),
    ]
    texts = [row for row in result if row[0] == "text"]
    assert {(row[1], row[3], row[4]) for row in texts} == {
        ("power", "wakes up", 4),
        ("current", "starts\nto sing: 1a", 0),
    }
    assert sorted(row[3] for row in result if row[0] == "y") == ["1", "2a", "2b"]


def test_a_file_of_joulescope_ui_is_read(trace: rig.SessionTrace) -> None:
    """As its waveform widget writes it, in microseconds from the left end of the
    view."""
    with pyjls.Reader(str(trace.path)) as reader:
        began = reader.sample_id_to_timestamp(1, 0)
    path = trace.annotation_path
    left, right = began + round(0.1 * 2**30), began + round(0.9 * 2**30)
    with pyjls.Writer(str(path)) as writer:
        writer.source_def(
            source_id=1,
            name="annotations",
            vendor="-",
            model="-",
            version="-",
            serial_number="-",
        )
        writer.user_data(0x400, {"id": "joulescope.ui.waveform_widget", "plots": {}})
        writer.signal_def(
            signal_id=1, source_id=1, sample_rate=1_000_000, name="current", units="A"
        )
        writer.utc(1, 0, left)
        writer.utc(1, 800_000, right)
        kinds = pyjls.AnnotationType
        for annotation in (
            (0, 0.009, kinds.HMARKER, 0, "1"),
            (
                100_000,
                None,
                kinds.VMARKER,
                0,
                '1a\x1c{"label": "x", "mode": "absolute"}',
            ),
            (150_000, None, kinds.TEXT, 3, "End"),
            (300_000, None, kinds.VMARKER, 0, "1b"),
            (400_000, None, kinds.VMARKER, 0, "2\x1c{}"),
        ):
            writer.annotation(1, *annotation)
    result = trace.annotations()
    [dual, single] = sorted(
        result.markers, key=lambda marker: isinstance(marker, SingleMarker)
    )
    assert isinstance(dual, DualMarker) and isinstance(single, SingleMarker)
    assert dual.label == "x"
    assert (dual.start_s, dual.stop_s, single.at_s) == pytest.approx(
        (0.2, 0.4, 0.5), abs=2e-6
    )
    assert result.levels == (Level("current", float(np.float32(0.009))),)
    [note] = result.notes
    assert (note.text, note.shape, note.y) == ("End", 3, None)
    with pytest.raises(rig.DataError, match="written by another program"):
        trace.annotate(ALL)
    trace.annotate(ALL, replace=True)
    assert len(trace.annotations().markers) == 4


def test_a_trace_without_a_date_keeps_its_places(tmp_path: Path) -> None:
    rows = "".join(f"{k / 1000},{0.001 * (k % 3)}\n" for k in range(300))
    (tmp_path / "log.csv").write_text("time (s),current (A)\n" + rows)
    content = Annotations((SingleMarker(0.1, "a"), DualMarker(0.15, 0.25)))
    for _ in range(2):
        with rig.open_trace(tmp_path / "log.csv", supply_v=3.0) as trace:
            trace.annotate(content)
            assert trace.annotation_path == tmp_path / "log.anno.jls"
    with rig.open_trace(tmp_path / "log.csv", supply_v=3.0) as trace:
        assert set(trace.annotations().markers) == set(content.markers)


@pytest.mark.parametrize(
    "content",
    [
        Annotations((SingleMarker(1.5),)),
        Annotations((SingleMarker(float("nan")),)),
        Annotations(notes=(Note(0.5, "x", "speed"),)),
        Annotations(levels=(Level("current", np.inf),)),
    ],
)
def test_what_has_no_place_is_refused(
    trace: rig.SessionTrace, content: Annotations
) -> None:
    with pytest.raises(rig.DataError):
        trace.annotate(content)
    assert not trace.annotation_path.exists()


def test_a_damaged_annotation_file_is_named(trace: rig.SessionTrace) -> None:
    trace.annotate(ALL)
    whole = trace.annotation_path.read_bytes()
    trace.annotation_path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        rig.DataError, match=r"run\.anno\.jls is not a JLS file that was closed"
    ):
        trace.annotations()
    with pytest.raises(rig.DataError, match="written by another program"):
        trace.annotate(ALL)


def test_a_session_is_never_written_into(tmp_path: Path) -> None:
    trial = tmp_path / "session" / "trial-2"
    trial.mkdir(parents=True)
    (tmp_path / "session" / "provenance.json").write_text("{}")
    with trace_writer(trial, HZ, sync_kind="none") as writer:
        writer.analog(np.full(1000, 0.01), np.full(1000, 3.0))
    with rig.open_trace(trial) as trace:
        with pytest.raises(rig.DataError, match="inside a session"):
            trace.annotate(Annotations(), trial / "x.anno.jls")
        path = trace.annotate(Annotations((SingleMarker(0.005),)))
        assert (
            path.parent == tmp_path.resolve()
            and path.name == "session.trial-2.anno.jls"
        )
        assert trace.annotations().markers == (SingleMarker(0.005),)
    assert sorted(file.name for file in trial.iterdir()) == ["gaps.jsonl", "trace.jls"]


def test_a_trace_that_was_cut_off_gets_no_link(tmp_path: Path) -> None:
    """Joulescope UI repairs such a file where it is: in the session."""
    trial = tmp_path / "session" / "trial-1"
    trial.mkdir(parents=True)
    (tmp_path / "session" / "provenance.json").write_text("{}")
    with trace_writer(trial, HZ, sync_kind="none") as writer:
        writer.analog(np.full(100_000, 0.01), np.full(100_000, 3.0))
    whole = (trial / "trace.jls").read_bytes()
    (trial / "trace.jls").write_bytes(whole[: len(whole) // 2])
    os.utime(trial / "trace.jls", (0, 0))
    with rig.open_trace(trial) as trace:
        written = trace.annotate(Annotations((SingleMarker(0.0),)))
        assert trace.joulescope_path is None
    assert sorted(tmp_path.iterdir()) == [tmp_path / "session", written]


def test_markers_on_a_trace_that_keeps_means_lie_where_they_were_put(
    tmp_path: Path,
) -> None:
    times = QuietTimes()
    times.add(Quiet(2, 0.002))
    times.add(Quiet(4, 0.002))
    line = np.ones(100_000, np.uint8)
    for mark in (5000, 5200, 55_000, 55_200):
        line[mark : mark + 5] = 0
    with (
        thinned(tmp_path, times),
        trace_writer(tmp_path, HZ) as writer,
    ):
        writer.analog(
            np.full(100_000, 0.01, np.float32), np.full(100_000, 3.0, np.float32)
        )
        writer.sync(line)
    path = tmp_path / "trace.jls"
    assert len(Trace.open(path).reduced) == 2
    places = (0.01, 0.05, 0.2, 0.5512, 0.56, 0.7, 0.99)
    with rig.open_trace(path) as opened:
        made = opened.annotate(
            Annotations(tuple(SingleMarker(at_s) for at_s in places))
        )
        result = opened.annotations().markers
    assert [marker.at_s for marker in result] == pytest.approx(places, abs=1e-6)
    with pyjls.Reader(str(path)) as reader:
        stamps = [
            reader.sample_id_to_timestamp(SYNC, round(at_s * HZ)) for at_s in places
        ]
    dates = sorted(row[2] for row in as_joulescope_ui(made) if row[0] == "single")
    assert dates == pytest.approx(stamps, abs=2**30 * 1e-6)
    measured = read(Marked(path, path, CURRENT, 0), Trace.open(path))
    assert [marker.at_s for marker in measured] == pytest.approx(places, abs=2e-5)
