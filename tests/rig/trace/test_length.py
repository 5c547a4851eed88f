# SPDX-License-Identifier: Apache-2.0
"""Traces of every length keep all their samples: libjls leaves a last chunk that is too
short out of its index.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyjls
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.cli.measure import measure
from rig.errors import BenchError
from rig.importers.open import open_any
from rig.trace.chunks import Chunks
from rig.trace.recovery import recover
from rig.trace.trace import CURRENT, SYNC, SYNC_VOLTAGE, VOLTAGE, Trace
from tests.commands import rig
from tests.length import length
from tests.programs import captured
from tests.traces import trace_writer

pytestmark = pytest.mark.computes

BENCHES = Path(__file__).parents[3] / "benches"
SLOW_HZ = 100_000
FAST_HZ = 1_000_000
#: The least that pyjls takes: a level begins every 20 * 16 * 10**n samples.
SMALL = Chunks(80, 16, 20, 10)
SMALL_LEVELS = Chunks(512, 256, 20, 10)


def currents_of(samples: int) -> NDArray[np.float32]:
    """Currents that tell one sample from the next."""
    return (np.arange(samples) % 9973).astype(np.float32) * np.float32(1e-5)


def stored(path: Path, signal: int, count: int) -> NDArray[np.float32]:
    reader = pyjls.Reader(str(path))
    try:
        return reader.fsr(signal, 0, count)
    finally:
        reader.close()


def lengths(path: Path) -> dict[int, int]:
    reader = pyjls.Reader(str(path))
    try:
        return {signal.signal_id: signal.length for signal in reader.signals.values()}
    finally:
        reader.close()


def written(
    folder: Path,
    samples: int,
    sample_hz: float,
    kind: str = "none",
    levels: NDArray[np.uint8] | None = None,
) -> Trace:
    current = currents_of(samples)
    block = 100_000
    with trace_writer(folder, sample_hz, sync_kind=kind) as writer:
        for at in range(0, samples, block):
            some = current[at : at + block]
            writer.analog(some, np.full(len(some), 2.0, np.float32))
            if kind == "voltage":
                writer.sync_voltage(np.full(len(some), 3.3, np.float32))
        if levels is not None:
            for at in range(0, len(levels), block):
                writer.sync(levels[at : at + block])
    return Trace.open(folder / "trace.jls")


def require_all(trace: Trace, samples: int) -> None:
    """Every sample is there, the length is the true one, and the energy at the end that
    of the last samples.
    """
    current = currents_of(samples)
    assert trace.length == samples
    assert trace.duration_s == samples / trace.sample_hz
    assert np.array_equal(stored(trace.path, CURRENT, samples), current)
    assert np.array_equal(
        stored(trace.path, VOLTAGE, samples), np.full(samples, 2.0, np.float32)
    )
    for count in (1, 5, 200):
        expected_j = (
            float(np.sum(current[-count:].astype(np.float64))) * 2.0 / trace.sample_hz
        )
        assert trace.energy_j(
            (samples - count) / trace.sample_hz, trace.duration_s
        ) == pytest.approx(expected_j, rel=1e-9)
    assert (
        trace.gap_between((samples - 100) / trace.sample_hz, trace.duration_s) is None
    )
    assert trace.lost_between(0.0, trace.duration_s) == 0


@pytest.mark.parametrize("beyond", [-1, 0, 1, 2, 100, 127, 128, 129])
@pytest.mark.parametrize("multiple", [1, 2, pytest.param(7, marks=pytest.mark.repeats)])
def test_below_1_mhz_no_sample_is_lost_about_a_multiple_of_81_920(
    tmp_path: Path, multiple: int, beyond: int
) -> None:
    samples = multiple * 81_920 + beyond
    require_all(written(tmp_path, samples, SLOW_HZ), samples)


@pytest.mark.parametrize("beyond", [0, 1, 127, 128, 129, 2559, 2560, 2561])
def test_below_1_mhz_no_sample_is_lost_where_a_second_level_begins(
    tmp_path: Path, beyond: int
) -> None:
    samples = 20 * 81_920 + beyond
    require_all(written(tmp_path, samples, SLOW_HZ), samples)


@pytest.mark.parametrize("beyond", [-1, 0, 1, 2, 1000, 1023, 1024, 1025])
@pytest.mark.parametrize("multiple", [1, pytest.param(3, marks=pytest.mark.repeats)])
def test_from_1_mhz_on_no_sample_is_lost_about_a_multiple_of_655_360(
    tmp_path: Path, multiple: int, beyond: int
) -> None:
    samples = multiple * 655_360 + beyond
    require_all(written(tmp_path, samples, FAST_HZ), samples)


@pytest.mark.parametrize("beyond", [1, 20_479])
def test_from_1_mhz_on_no_sample_is_lost_where_a_second_level_begins(
    tmp_path: Path, beyond: int
) -> None:
    samples = 20 * 655_360 + beyond
    require_all(written(tmp_path, samples, FAST_HZ), samples)


@pytest.mark.parametrize("bits", [1, 7, 8, 1016, 1023, 1024, 1032])
@pytest.mark.parametrize("sample_hz", [SLOW_HZ, FAST_HZ])
def test_no_level_of_sync_is_lost_and_what_was_added_is_no_edge(
    tmp_path: Path, sample_hz: float, bits: int
) -> None:
    for last in (0, 1):
        levels = np.full(1_310_720 + bits, 1 - last, dtype=np.uint8)
        levels[-1] = last
        folder = tmp_path / str(last)
        folder.mkdir()
        trace = written(folder, 1000, sample_hz, "digital", levels)
        packed = stored(trace.path, SYNC, len(levels))
        assert np.array_equal(
            np.unpackbits(packed, bitorder="little")[: len(levels)], levels
        )
        edges = (
            (trace.rises_s, trace.falls_s) if last else (trace.falls_s, trace.rises_s)
        )
        assert edges[0].tolist() == [(len(levels) - 1 - 0.5) / sample_hz]
        assert not len(edges[1])


def test_no_voltage_of_sync_is_lost_and_what_was_added_is_no_edge(
    tmp_path: Path,
) -> None:
    samples = 81_921
    with trace_writer(tmp_path, SLOW_HZ, sync_kind="voltage") as writer:
        writer.analog(currents_of(samples), np.full(samples, 2.0, np.float32))
        sync_v = np.zeros(samples, np.float32)
        sync_v[-2:] = 3.3
        writer.sync_voltage(sync_v)
    trace = Trace.open(tmp_path / "trace.jls")
    require_all(trace, samples)
    assert np.array_equal(stored(trace.path, SYNC_VOLTAGE, samples), sync_v)
    assert trace.rises_s.tolist() == pytest.approx([(samples - 2) / SLOW_HZ])
    assert not len(trace.falls_s)


def test_samples_that_were_lost_at_the_end_stay_a_gap(tmp_path: Path) -> None:
    with trace_writer(tmp_path, SLOW_HZ) as writer:
        writer.analog(currents_of(81_920), np.full(81_920, 2.0, np.float32))
        writer.sync(np.ones(81_920, np.uint8))
        writer.skip(50, "lost")
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.length == 81_970
    assert [(gap.start, gap.stop) for gap in trace.gaps] == [(81_920, 81_970)]
    assert not len(trace.falls_s) and not len(trace.rises_s)


def test_where_the_library_lost_samples_itself_the_disk_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Chunks, "indexed", lambda layout, length: length)
    with pytest.raises(BenchError, match="not written completely") as caught:
        written(tmp_path, 81_921, SLOW_HZ)
    assert (
        "signal 1 has 81920 samples in the file, 81921 were written; no write was"
        " reported as failed" in caught.value.evidence
    )
    assert "quota" not in caught.value.try_next and "room" not in caught.value.try_next


def lost_at_its_end(
    folder: Path,
    samples: int,
    levels: NDArray[np.uint8],
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Write a trace as before signals were made longer: its end is in the file, and not
    in its index.
    """
    with monkeypatch.context() as changed:
        changed.setattr(Chunks, "indexed", lambda layout, length: length)
        with pytest.raises(BenchError):
            written(folder, samples, SLOW_HZ, "digital", levels)
    return folder / "trace.jls.partial"


@pytest.mark.parametrize(
    ("samples", "bits", "last"),
    [
        (81_921, 800, 0),
        (81_921, 800, 1),
        (81_920 + 127, 1_310_720 + 8, 0),
        pytest.param(81_920 + 127, 1_310_720 + 8, 1, marks=pytest.mark.repeats),
        pytest.param(1000, 1_310_720 + 1016, 0, marks=pytest.mark.repeats),
        (1000, 1_310_720 + 1016, 1),
    ],
)
def test_what_was_left_of_a_trace_is_recovered_to_its_last_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples: int, bits: int, last: int
) -> None:
    levels = np.full(bits, last, np.uint8)
    levels[-3:] = (1 - last, last, last)
    partial = lost_at_its_end(tmp_path, samples, levels, monkeypatch)
    before = partial.read_bytes()
    (tmp_path / "new").mkdir()
    recover(partial, tmp_path / "new" / "trace.jls")
    assert partial.read_bytes() == before
    trace = Trace.open(tmp_path / "new" / "trace.jls")
    require_all(trace, samples)
    ends = sorted([*trace.falls_s.tolist(), *trace.rises_s.tolist()])
    assert ends == pytest.approx([(bits - 3.5) / SLOW_HZ, (bits - 2.5) / SLOW_HZ])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["trace.jls"]


def test_a_copy_that_is_whole_is_left_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, 2 * 81_920, SLOW_HZ)
    (tmp_path / "trace.jls").rename(tmp_path / "trace.jls.partial")
    recover(tmp_path / "trace.jls.partial", tmp_path / "copy.jls")
    require_all(Trace.open(tmp_path / "copy.jls"), 2 * 81_920)


def test_other_programs_read_what_was_added_as_no_numbers(tmp_path: Path) -> None:
    trace = written(tmp_path, 81_921, SLOW_HZ)
    result = lengths(trace.path)
    assert result[CURRENT] == result[VOLTAGE] == 82_048
    assert np.isnan(stored(trace.path, CURRENT, 82_048)[81_921:]).all()
    done = captured(
        [sys.executable, "-m", "pyjls", "info", str(trace.path)], check=True
    )
    assert "current" in done.stdout and not done.stderr
    reader = pyjls.Reader(str(trace.path))
    known: list[tuple[int, object]] = []
    reader.user_data(lambda meta, data: known.append((meta, data)) and False)
    reader.close()
    assert (2, {"1": 81_921, "2": 81_921}) in [
        (meta, json.loads(str(data))) for meta, data in known if meta == 2
    ]


def test_rig_measure_takes_a_trace_for_as_long_as_it_was_written(
    tmp_path: Path,
) -> None:
    written(tmp_path, 81_921, SLOW_HZ)
    done = CliRunner().invoke(
        measure,
        [str(tmp_path / "trace.jls"), "--whole", "--json"],
        standalone_mode=False,
    )
    content = json.loads(done.stdout)
    assert content["duration_s"] == 81_921 / SLOW_HZ
    expected_j = float(np.sum(currents_of(81_921).astype(np.float64))) * 2.0 / SLOW_HZ
    assert content["windows"][0]["energy_j"] == pytest.approx(expected_j, rel=1e-9)


def test_a_table_of_unlucky_length_is_converted_whole(tmp_path: Path) -> None:
    rows = [f"{k / 1000:.3f},{(k % 97) * 1e-3:.4g},3.0" for k in range(81_921)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["time_s,current_a,voltage_v", *rows, ""]))
    (tmp_path / "scratch").mkdir()
    trace = open_any(path, tmp_path / "scratch").trace
    assert trace.length == 81_921
    expected_j = sum((k % 97) * 1e-3 for k in range(81_921)) * 3.0 / 1000
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(expected_j, rel=1e-6)


@given(length=st.integers(1, 40_000))
@example(length=32_000 + 1)
@example(length=32_000 + 1599)
@example(length=3200 + 159)
@settings(max_examples=length(80, 20), deadline=None)
def test_the_index_ends_where_the_library_has_it(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    path = tmp_path_factory.mktemp("t") / "f.jls"
    for layout, kind, size in (
        (SMALL, "f32", length),
        (SMALL_LEVELS, "u1", 16 * length),
    ):
        for count in {size, layout.indexed(size)}:
            writer = pyjls.Writer(str(path))
            writer.source_def(source_id=1, name="s")
            fsr = pyjls.SignalType.FSR
            writer.signal_def(
                1,
                source_id=1,
                signal_type=fsr,
                data_type=kind,
                sample_rate=1000,
                name="x",
                **layout.definition(),
            )
            if kind == "f32":
                writer.fsr_f32(1, 0, np.arange(count, dtype=np.float32))
            else:
                writer.fsr(1, 0, np.zeros(count // 8, dtype=np.uint8))
            writer.close()
            is_whole = lengths(path)[1] == count
            assert is_whole == (count == layout.indexed(count)), (
                f"{kind}: {count} samples"
            )
            path.unlink()


@pytest.mark.parametrize(
    ("layout", "kind", "rate"), [("slow", "f32", SLOW_HZ), ("fast", "f32", FAST_HZ)]
)
def test_the_library_takes_the_layout_as_it_is(
    tmp_path: Path, layout: str, kind: str, rate: int
) -> None:
    written(tmp_path, 10, rate, "digital", np.ones(16, np.uint8))
    reader = pyjls.Reader(str(tmp_path / "trace.jls"))
    result = {
        row.signal_id: (
            row.samples_per_data,
            row.sample_decimate_factor,
            row.entries_per_summary,
            row.summary_decimate_factor,
        )
        for row in reader.signals.values()
    }
    reader.close()
    data, entry = (8192, 128) if layout == "slow" else (32_768, 1024)
    assert result[CURRENT] == result[VOLTAGE] == (data, entry, 640, 20)
    assert result[SYNC] == (data, 1024, 1280, 20)


def test_the_session_that_lost_its_last_samples_is_valid(tmp_path: Path) -> None:
    bench = BENCHES / "virtual-null.toml"
    settings = [
        "--set",
        "task.null.samples=5",
        "--set",
        "scenario.single_stream.idle_s=0.35646",
    ]
    done = rig("run", bench, "--trials", "1", *settings, "--sessions", tmp_path)
    assert done.returncode == 4, (
        "one trial is not what the replication rule asks for: " + done.stderr
    )
    (session,) = tmp_path.iterdir()
    events = [
        json.loads(line) for line in (session / "events.jsonl").read_text().splitlines()
    ]
    assert [
        event["status"] for event in events if event["event"] == "session_finished"
    ] == ["success"]
    results = json.loads((session / "results.json").read_text())
    assert [trial["problems"] for trial in results["trials"]] == [[]]
    trace = Trace.open(session / "trial-1" / "trace.jls")
    assert 0 < trace.length % 81_920 < 128, (
        "the bench no longer has this length: choose idle_s anew"
    )
    assert lengths(trace.path)[CURRENT] > trace.length
    assert rig("check", session).returncode == 0
