# SPDX-License-Identifier: Apache-2.0
"""The meter as a tap: its sums are those of the trace, and a recording begins at its
trigger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rig.api.traces.trace import open_trace
from rig.errors import BenchError
from rig.live.accumulated import Accumulated
from rig.live.meter import Meter, RecordState, Trigger, TriggerKind
from rig.live.meter_recorder import MeterRecorder
from rig.trace.gaps import Gap
from rig.trace.tap import Fork, TraceForm, is_kept, tapped
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter
from rig.uncertainty.accuracy import Accuracy, Range

HZ = 10_000
RANGES = Accuracy(
    current=(Range(0.01, 0.002, 1e-6), Range(1.0, 0.003, 1e-5)),
    voltage=(Range(10.0, 0.001, 1e-3),),
    clock_ppm=50.0,
    source="made for this test",
)


class Rig:
    """A writer that keeps no file, with a meter as its tap."""

    def __init__(
        self, folder: Path, kind: str = "digital", edge_hz: float = HZ
    ) -> None:
        self.meter = Meter(RANGES)
        self.kind = kind
        self.edge_hz = edge_hz
        folder.mkdir()
        self.folder = folder
        with tapped(folder, self.meter.begin, kept=False):
            self.writer = TraceWriter(
                folder,
                sample_hz=HZ,
                edge_hz=edge_hz,
                source="made",
                serial="7",
                about={"simulated": True, "start_monotonic_ns": 5},
                sync_kind=kind,
            )

    def feed(self, current_a: np.ndarray, levels: np.ndarray | None = None) -> None:
        """Write samples at 2 V, and levels of SYNC."""
        volts = np.full(len(current_a), 2.0, dtype=np.float32)
        self.writer.analog(current_a.astype(np.float32), volts)
        if levels is not None:
            self.writer.sync(levels.astype(np.uint8))

    def recorded(self) -> MeterRecorder:
        """Return the recording that has ended, closed."""
        result = self.meter.collect(at_once=True)
        assert result is not None
        result.close()
        return result


MakeRig = Callable[..., Rig]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeRig]:
    """Make writers that are closed after the test."""
    made: list[Rig] = []

    def one(kind: str = "digital", edge_hz: float = HZ) -> Rig:
        made.append(Rig(tmp_path / "m", kind, edge_hz))
        return made[-1]

    yield one
    for each in made:
        each.writer.close()


def high(count: int) -> np.ndarray:
    """Return levels of a line at rest."""
    return np.ones(count, dtype=np.uint8)


def test_no_sample_is_kept_of_a_trace_that_is_only_metered(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make()
    rig.feed(np.full(5000, 0.5), high(5000))
    rig.writer.skip(200, "lost")
    rig.feed(np.full(800, 0.5), high(800))
    rig.writer.close()
    rig.writer.close()
    assert sorted(path.name for path in rig.folder.iterdir()) == ["gaps.jsonl"]
    reading = rig.meter.reading()
    assert (reading.total.samples, reading.total.lost) == (6000, 200)
    # The mean of the others stands in for lost samples.
    assert reading.total.energy_j == pytest.approx(0.6, rel=1e-12)
    assert is_kept(rig.folder)


def test_now_and_the_newest_second(make: MakeRig, tmp_path: Path) -> None:
    rig = make()
    assert rig.meter.reading().power is None
    rig.feed(np.full(3 * HZ, 0.25))
    rig.feed(np.full(HZ // 2, 0.05))
    now = np.full(HZ // 20, 0.125)
    now[3] = np.nan
    rig.feed(now)
    rig.feed(np.full(7, 9.0))  # a piece that is not whole
    power = rig.meter.reading().power
    assert power is not None
    assert power.now == pytest.approx(0.25)
    assert (power.least, power.most) == pytest.approx((0.1, 0.5))
    pieces = [0.5] * 9 + [0.1] * 10
    expected = (sum(pieces) * 500 + 0.25 * 499) / (19 * 500 + 499)
    assert power.mean == pytest.approx(expected, rel=1e-6)
    square = (sum(one**2 for one in pieces) * 500 + 0.25**2 * 499) / 9999
    deviation = (square - expected**2) ** 0.5
    assert power.deviation == pytest.approx(deviation, rel=1e-5)
    assert rig.meter.reading().total.lost == 1


def test_the_newest_second_has_the_uncertainty_of_a_trace_of_it(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make()
    random = np.random.default_rng(5)
    rig.feed(np.full(HZ // 2, 0.3))
    rig.meter.record(tmp_path / "r", Trigger())
    for _ in range(20):
        rig.feed(random.exponential(0.02, HZ // 20), high(HZ // 20))
    reading = rig.meter.reading()
    with open_trace(rig.recorded().folder / TRACE) as trace:
        stated = trace.statistics(0.0, trace.duration_s, at_edges=False)
    assert stated.span_s == 1.0 and reading.newest_remark == ""
    current, voltage, power = reading.current, reading.voltage, reading.power
    assert current is not None and voltage is not None and power is not None
    assert power.mean == pytest.approx(stated.power.mean, rel=1e-6)
    assert power.mean_u == pytest.approx(stated.energy_u_j, rel=1e-9)
    assert current.mean_u == pytest.approx(stated.charge_u_c, rel=1e-9)
    # 0.1 % of 2 V and 1 mV, both limits.
    limits_v = np.hypot(0.002, 0.001) / np.sqrt(3.0)
    assert voltage.mean_u == voltage.now_u == pytest.approx(limits_v, rel=1e-6)
    assert power.now_u is not None and current.now_u is not None
    assert 0.5 < power.now_u / power.mean_u < 2.0


def test_beyond_the_ranges_the_newest_second_has_no_uncertainty(make: MakeRig) -> None:
    rig = make()
    rig.feed(np.full(2 * HZ, 1.5))
    reading = rig.meter.reading()
    assert reading.power is not None and reading.current is not None
    assert reading.power.mean == pytest.approx(3.0)
    assert reading.power.mean_u is reading.power.now_u is reading.current.mean_u is None
    assert "no limits of error are known" in reading.newest_remark
    assert reading.voltage is not None and reading.voltage.mean_u is not None


def test_sums_and_uncertainties_are_those_of_the_trace(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make(edge_hz=2 * HZ)
    random = np.random.default_rng(3)
    rig.meter.record(tmp_path / "r", Trigger())
    for number in range(12):
        block = random.exponential(0.02, 997 + number)
        rig.feed(block, high(2 * len(block)))
        if number == 6:
            rig.writer.skip(55, "the line was busy")
    assert rig.meter.reading().state is RecordState.RECORDING
    rig.meter.end_recording()
    assert rig.meter.reading().state is RecordState.ENDING
    rig.feed(np.full(10, 0.01), high(20))
    assert rig.meter.reading().state is RecordState.OFF
    result = rig.recorded()
    amounts = result.total.amounts()
    with open_trace(result.folder / TRACE) as trace:
        stated = trace.statistics(0.0, trace.duration_s)
        assert [gap.cause for gap in trace.gaps] == ["the line was busy"]
    assert amounts.samples == stated.count
    assert amounts.lost == stated.lost == 55
    assert amounts.energy_j == pytest.approx(stated.energy_j, rel=1e-12)
    assert amounts.charge_c == pytest.approx(stated.charge_c, rel=1e-12)
    assert amounts.energy_u_j == pytest.approx(stated.energy_u_j, rel=1e-9)
    assert amounts.charge_u_c == pytest.approx(stated.charge_u_c, rel=1e-9)
    assert Trace.open(result.folder / TRACE).sync_s == pytest.approx(
        amounts.duration_s, abs=8 / HZ
    )


@pytest.mark.parametrize(
    ("kind", "before_s", "first"),
    [
        (TriggerKind.RISES, 0.0, 1501),
        (TriggerKind.RISES, 0.05, 1001),
        (TriggerKind.FALLS, 0.05, 2201),
        (TriggerKind.RISES, 1.0, 0),
    ],
)
def test_a_level_of_the_current_begins_it(
    make: MakeRig, tmp_path: Path, kind: TriggerKind, before_s: float, first: int
) -> None:
    rig = make()
    rig.meter.record(tmp_path / "r", Trigger(kind, 0.01, before_s))
    current = np.full(4000, 0.001)
    current[1501:2701] = 0.02
    for at in range(0, 4000, 160):
        rig.feed(current[at : at + 160], high(160))
    result = rig.recorded()
    trace = Trace.open(result.folder / TRACE)
    assert trace.length == 4000 - first
    _, power_w = trace.power_w(0.0, trace.duration_s)
    assert power_w == pytest.approx(2 * current[first:], rel=1e-6)


@pytest.mark.parametrize("kind", ["digital", "voltage", "stamps"])
@pytest.mark.parametrize("trigger", [TriggerKind.SYNC_FALLS, TriggerKind.SYNC_RISES])
def test_an_edge_of_sync_begins_it(
    make: MakeRig, tmp_path: Path, kind: str, trigger: TriggerKind
) -> None:
    rig = make(kind)
    rig.meter.record(tmp_path / "r", Trigger(trigger, before_s=0.02))
    levels = high(8000)
    levels[3000:3100] = 0
    levels[5000:5100] = 0
    for at in range(0, 8000, 250):
        stop = at + 250
        rig.feed(np.full(250, 0.1), levels[at:stop] if kind == "digital" else None)
        if kind == "voltage":
            rig.writer.sync_voltage(3.3 * levels[at:stop].astype(np.float32))
        if kind == "stamps":
            for edge in (3000, 3100, 5000, 5100):
                if at <= edge < stop:
                    rig.writer.stamp(edge / HZ, edge % 1000 == 0)
    trace = Trace.open(rig.recorded().folder / TRACE)
    edge = 3000 if trigger is TriggerKind.SYNC_FALLS else 3100
    falls_s = [(at - edge) / HZ + 0.02 for at in (3000, 5000)]
    assert trace.falls_s == pytest.approx(falls_s, abs=2 / HZ)
    assert trace.length == pytest.approx(8000 - edge + 200, abs=1)


def test_a_recording_that_waits_can_be_given_up(make: MakeRig, tmp_path: Path) -> None:
    rig = make()
    rig.meter.record(tmp_path / "r", Trigger(TriggerKind.RISES, 1.0))
    rig.meter.record(tmp_path / "other", Trigger())  # not beside another
    rig.feed(np.full(9000, 0.1), high(9000))
    assert rig.meter.reading().state is RecordState.ARMED
    rig.meter.end_recording()
    rig.feed(np.full(90, 2.0), high(90))
    assert rig.meter.reading().state is RecordState.OFF
    assert rig.meter.collect(at_once=True) is None
    assert not (tmp_path / "r").exists()


def test_a_recording_ends_also_where_no_more_samples_come(
    make: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make()
    rig.meter.record(tmp_path / "r", Trigger())
    rig.feed(np.full(900, 0.1), high(900))
    assert rig.meter.collect() is None
    rig.meter.end_recording()
    assert rig.meter.collect() is None
    monkeypatch.setattr("rig.live.meter._LATE_S", 0.0)
    result = rig.meter.collect()
    assert result is not None
    result.close()
    assert result.total.samples == 900


def test_a_folder_that_cannot_be_made_is_reported_and_the_meter_goes_on(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make()
    (tmp_path / "r").write_text("a file")
    rig.meter.record(tmp_path / "r", Trigger())
    rig.feed(np.full(900, 0.1), high(900))
    assert isinstance(rig.meter.refused(), BenchError)
    assert rig.meter.refused() is None
    rig.feed(np.full(900, 0.1), high(900))
    assert rig.meter.reading().total.samples == 1800
    assert rig.meter.reading().state is RecordState.OFF


def test_a_disk_that_fills_ends_the_recording_alone(
    make: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make()
    rig.meter.record(tmp_path / "r", Trigger())
    rig.feed(np.full(900, 0.1), high(900))
    error = BenchError("the disk is full")

    def full(*args: object) -> None:
        raise error

    monkeypatch.setattr(MeterRecorder, "analog", full)
    rig.feed(np.full(900, 0.1), high(900))
    result = rig.meter.collect()
    assert result is not None
    assert result.error is error
    result.close()
    assert rig.meter.reading().total.samples == 1800


def test_reset_begins_the_sums_again_and_not_the_recording(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make()
    assert Meter(RANGES).reset().samples == 0
    rig.meter.record(tmp_path / "r", Trigger())
    rig.feed(np.full(900, 0.1), high(900))
    assert rig.meter.reset().samples == 900
    rig.feed(np.full(100, 0.1), high(100))
    reading = rig.meter.reading()
    assert (reading.total.samples, reading.recorded.samples) == (100, 1000)
    rig.recorded()


def test_samples_that_are_not_to_be_trusted_are_reported(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make()
    rig.feed(np.full(500, 0.1), high(500))
    rig.meter.record(tmp_path / "r", Trigger())
    rig.feed(np.full(900, 0.1), high(900))
    rig.writer.gap(Gap(100, 200, "before"))
    rig.writer.gap(Gap(1000, 1010, "too late"))
    total = rig.meter.reading().total
    assert total.lost == 110
    assert total.remark == "110 samples that are not to be trusted are in the sums"
    result = rig.recorded()
    assert Trace.open(result.folder / TRACE).gaps == (Gap(500, 510, "too late"),)


def test_what_has_no_limits_has_no_uncertainty() -> None:
    item = Accumulated(HZ, RANGES)
    assert item.amounts().energy_j is None
    item.add(np.full(10, 3.0, dtype=np.float32), np.full(10, 2.0, dtype=np.float32))
    amounts = item.amounts()
    assert amounts.energy_j == pytest.approx(6e-3)
    assert amounts.energy_u_j is None
    assert "no limits of error are known there" in amounts.remark
    item.skip(90)
    assert item.amounts().energy_j is None
    assert item.amounts().remark == "90 of 100 samples are lost"


def test_levels_that_begin_late_or_overlap_stay_in_step(
    make: MakeRig, tmp_path: Path
) -> None:
    form = TraceForm(HZ, HZ, "digital", "made", serial="7", about={})
    recorder = MeterRecorder(tmp_path / "r", form, RANGES, 100, time.time())
    samples = np.full(400, 0.1, dtype=np.float32)
    recorder.analog(0, samples, samples)
    levels = high(400)
    levels[250:300] = 0
    packed = np.packbits(levels, bitorder="little")
    recorder.levels(0, packed[:10])  # before the beginning
    recorder.levels(160, packed[20:30])  # bits 100 to 160 were not seen
    recorder.levels(200, packed[25:])  # some twice
    recorder.close()
    trace = Trace.open(tmp_path / "r" / TRACE)
    assert trace.falls_s == pytest.approx([149.5 / HZ])
    assert trace.rises_s == pytest.approx([199.5 / HZ])


def test_a_clock_of_the_host_is_moved_to_the_first_sample(
    make: MakeRig, tmp_path: Path
) -> None:
    rig = make("clock")
    rig.feed(np.full(HZ, 0.1))
    rig.meter.record(tmp_path / "r", Trigger())
    rig.feed(np.full(900, 0.1))
    trace = Trace.open(rig.recorded().folder / TRACE)
    assert trace.start_monotonic_ns == 5 + 1_000_000_000


def test_a_fork_hands_everything_to_each() -> None:
    first, second = Meter(RANGES), Meter(RANGES)
    form = TraceForm(HZ, HZ, "digital")
    both = Fork.of(first.begin(form), second.begin(form))
    both.analog(np.ones(5, dtype=np.float32), np.ones(5, dtype=np.float32))
    both.end()
    error = ValueError("a fault")
    both.failed(error)
    assert first.reading().total.samples == second.reading().total.samples == 5
    assert first.error is second.error is error
