# SPDX-License-Identifier: Apache-2.0
"""A stretch of a trace in a file: the same samples, of the announced size; histogram
and spectrum.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.api.traces.samples import Cancelled
from rig.trace.trace import Gap
from rig.trace.writer import TraceWriter
from tests.traces import trace_writer

HZ = 50_000.0
LONG = 500_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10 s with a tone of 1 kHz in the current, pulses of SYNC, and lost samples."""
    folder = tmp_path_factory.mktemp("trace")
    rng = np.random.default_rng(1)
    times_s = (np.arange(LONG) + 0.5) / HZ
    current = (
        0.01 + 0.002 * np.sin(2 * np.pi * 1000 * times_s) + rng.normal(0, 1e-4, LONG)
    )
    levels = np.ones(LONG, dtype=np.uint8)
    for at in range(1000, LONG, 50_000):
        levels[at : at + 20] = 0
    with trace_writer(folder, HZ) as writer:
        writer.analog(current, rng.normal(3.0, 0.001, LONG))
        writer.sync(levels)
        writer.gap(Gap(100_000, 100_007, "for the test"))
    return folder / "trace.jls"


@pytest.mark.parametrize("form", ["jls", "csv", "parquet"])
@pytest.mark.parametrize(("start", "stop"), [(0.0, 10.0), (1.5, 2.5), (0.01, 0.03)])
def test_what_is_exported_is_the_same(
    path: Path, tmp_path: Path, form: str, start: float, stop: float
) -> None:
    reported: list[float] = []
    with rig.open_trace(path) as trace:
        size_b = trace.export_bytes(start, stop, form)
        out = trace.export(
            tmp_path / f"part.{form}", start, stop, progress=reported.append
        )
        current, voltage = trace.current(start, stop), trace.voltage(start, stop)
        falls_s, sync = trace.falls(start, stop), trace.sync(start, stop)
        times_s = trace.times(start, stop)
    assert reported == sorted(reported) and reported[-1] == 1.0
    assert [file.name for file in tmp_path.iterdir()] == [out.name]
    real_b = out.stat().st_size
    assert size_b == pytest.approx(real_b, rel=0.1)
    if form == "parquet":
        from pyarrow import parquet

        table = parquet.read_table(out)
        assert table.column_names == [
            "time_s",
            "current_a",
            "voltage_v",
            "power_w",
            "sync",
        ]
        np.testing.assert_array_equal(
            table["current_a"].to_numpy(), current.astype(np.float32)
        )
        np.testing.assert_allclose(table["time_s"].to_numpy(), times_s, rtol=1e-15)
        assert table.schema.metadata[b"sample_hz"] == b"50000.0"
        assert table["sync"].to_numpy().sum() == pytest.approx(sync.sum(), abs=2)
        return
    with rig.open_trace(out) as again:
        assert again.sample_hz == pytest.approx(HZ, rel=1e-9)
        np.testing.assert_array_equal(again.current(), current)
        np.testing.assert_array_equal(again.voltage(), voltage)
        # A table has the line at the middles of the samples.
        near_s = 1.1 / HZ
        np.testing.assert_allclose(again.falls() + start, falls_s, atol=near_s)


@pytest.mark.parametrize("form", ["jls", "csv", "parquet"])
@pytest.mark.parametrize("count", [40, 3000, 150_000])
def test_the_size_that_is_reported_is_right_also_where_values_repeat(
    tmp_path: Path, form: str, count: int
) -> None:
    rng = np.random.default_rng(2)
    rates = {"sample_hz": 10_000.0, "edge_hz": 100_000.0}
    with TraceWriter(
        tmp_path, **rates, source="t", serial="", about={}, sync_kind="digital"
    ) as writer:
        writer.analog(rng.normal(0.01, 1e-4, count), np.full(count, 3.3))
        writer.sync(np.ones(10 * count, dtype=np.uint8))
        # Lost samples are empty cells.
        writer.gap(Gap(count // 4, count // 2, "for the test"))
    with rig.open_trace(tmp_path / "trace.jls") as trace:
        size_b = trace.export_bytes(form=form)
        real_b = trace.export(tmp_path / f"part.{form}").stat().st_size
    assert size_b == pytest.approx(real_b, rel=0.1)


def test_the_export_is_given_up_without_a_trace_of_it(
    path: Path, tmp_path: Path
) -> None:
    with rig.open_trace(path) as trace:
        for form in ("jls", "csv", "parquet"):
            looks = iter([False, True])
            with pytest.raises(Cancelled):
                trace.export(
                    tmp_path / f"x.{form}", stopped=lambda looks=looks: next(looks)
                )
    assert not list(tmp_path.iterdir())


def test_errors_of_an_export_say_what_to_do(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rig.open_trace(path) as trace:
        (tmp_path / "there.csv").write_text("mine")
        with pytest.raises(rig.DataError, match="there already"):
            trace.export(tmp_path / "there.csv", 0, 0.1)
        trace.export(tmp_path / "there.csv", 0, 0.1, replace=True)
        with pytest.raises(rig.ConfigError, match="'xls'"):
            trace.export(tmp_path / "table.xls")
        with pytest.raises(rig.DataError, match="is no folder"):
            trace.export(tmp_path / "nowhere" / "x.csv")
        with pytest.raises(rig.DataError, match="no sample"):
            trace.export(tmp_path / "x.csv", 0.1, 0.1)
        with pytest.raises(rig.DataError, match="no stretch of the trace"):
            trace.export(tmp_path / "x.csv", 20.0, 30.0)
        monkeypatch.setattr("rig.api.traces.export.RESERVE_B", 1 << 60)
        with pytest.raises(rig.RigError, match=r"no room for x\.csv"):
            trace.export(tmp_path / "x.csv", 0, 0.1)
        monkeypatch.undo()
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(rig.DataError, match="need pyarrow") as error:
            trace.export(tmp_path / "x.parquet", 0, 0.1)
        assert "pip install" in error.value.try_next
    assert [file.name for file in tmp_path.iterdir()] == ["there.csv"]


def test_a_histogram_counts_every_known_sample(path: Path) -> None:
    with rig.open_trace(path) as trace:
        result = trace.histogram(1.5, 2.5, "power", bins=50)
        values = trace.power(1.5, 2.5)
        known = values[np.isfinite(values)]
        counts, borders = np.histogram(known, 50, (known.min(), known.max()))
        np.testing.assert_allclose(result.seconds * HZ, counts, atol=1e-6)
        np.testing.assert_allclose(result.borders, borders)
        assert (result.count, result.lost, result.unit) == (50_000, 7, "W")
        part = trace.histogram(0, 1, "voltage", bins=3, limits=(2.9, 3.1))
        assert part.seconds.sum() == pytest.approx(1.0)
        with pytest.raises(rig.DataError, match="is known here"):
            trace.histogram(2.00001, 2.0001, "current")
        with pytest.raises(rig.ConfigError, match="speed"):
            trace.histogram(0, 1, "speed")
        with pytest.raises(Cancelled):
            trace.histogram(stopped=lambda: True)


def test_the_spectrum_shows_the_tone_and_its_power(path: Path) -> None:
    with rig.open_trace(path) as trace:
        result = trace.spectrum(0, 10, "current", segment=5000)
        assert result.unit == "A²/Hz" and result.segment_s == 0.1
        # The samples that are lost lie in two segments that overlap.
        assert result.left_out in (1, 2) and result.segments + result.left_out == 199
        peak = int(np.argmax(result.density))
        assert result.frequency_hz[peak] == pytest.approx(1000.0)
        width_hz = result.frequency_hz[1]
        tone = result.density[peak - 3 : peak + 4].sum() * width_hz
        assert tone == pytest.approx(0.002**2 / 2, rel=1e-3)
        noise = np.median(result.density) * HZ / 2
        assert noise == pytest.approx(1e-8, rel=0.1)
        assert len(trace.spectrum(0, 1).frequency_hz) == 4097
        with pytest.raises(rig.DataError, match="segments of"):
            trace.spectrum(0, 0.0001)
        with pytest.raises(rig.DataError, match="without lost samples"):
            trace.spectrum(2.0, 2.001, segment=50)


def test_a_spectrum_does_not_depend_on_how_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rig.open_trace(path) as trace:
        whole = trace.spectrum(0, 3, segment=512)
        monkeypatch.setattr("rig.api.traces.distributions._BLOCK", 700)
        pieces = trace.spectrum(0, 3, segment=512)
    assert (whole.segments, whole.left_out) == (pieces.segments, pieces.left_out)
    np.testing.assert_allclose(whole.density, pieces.density, rtol=1e-9)
