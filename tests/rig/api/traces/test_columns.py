# SPDX-License-Identifier: Apache-2.0
"""A trace for a window: columns against all samples, statistics and edges against
results."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rig
from rig.api.traces.columns import Band
from rig.api.traces.samples import Cancelled
from rig.files import user_folders
from rig.trace.trace import Gap
from tests.traces import trace_writer

HZ = 200_000.0
LONG = 6_000_000
LOST = (1_500_000, 1_600_000)


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    current = rng.normal(0.01, 1e-3, LONG).astype(np.float32)
    voltage = rng.normal(3.0, 0.1, LONG).astype(np.float32)
    current[4_000_123] = 0.5
    voltage[5_000_321] = -1.0
    return current, voltage


@pytest.fixture(scope="module")
def path(
    tmp_path_factory: pytest.TempPathFactory, samples: tuple[np.ndarray, np.ndarray]
) -> Path:
    """A trace of 30 s with lost samples, and two spikes of one sample."""
    folder = tmp_path_factory.mktemp("long")
    writer = trace_writer(folder, HZ)
    with writer:
        for start, stop in ((0, LOST[0]), (LOST[1], LONG)):
            writer.analog(samples[0][start:stop], samples[1][start:stop])
            levels = np.ones(stop - start, dtype=np.uint8)
            levels[100:103] = 0
            writer.sync(levels)
            if start == 0:
                writer.skip(LOST[1] - LOST[0], "for the test")
        writer.gap(Gap(200, 210, "not to be trusted"))
    return folder / "trace.jls"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for the caches of the trace; the other tests share one."""
    monkeypatch.setenv(user_folders.CACHE_VARIABLE, str(tmp_path))
    return tmp_path / "levels"


@pytest.fixture(scope="module")
def known(samples: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
    current, voltage = (signal.astype(np.float64) for signal in samples)
    for signal in (current, voltage):
        signal[LOST[0] : LOST[1]] = np.nan
        signal[200:210] = np.nan
    return {"current": current, "voltage": voltage, "power": current * voltage}


VIEWS = [
    (0.0, 30.0, 1400),
    (3.3, 29.1, 1000),
    (0.0, 30.0, 2),
    (19.0, 23.5, 1400),
    (0.0, 0.02, 700),
]
VIEWS += [
    (20.0006, 20.00062, 500),
    (7.4, 8.1, 90),
    (0.0009, 0.0012, 30),
    (20.0, 21.0, 1400),
]


@pytest.mark.parametrize(("start", "stop", "count"), VIEWS)
@pytest.mark.parametrize("prepared", [False, True])
def test_columns_are_those_of_all_samples(
    path: Path,
    known: dict[str, np.ndarray],
    start: float,
    stop: float,
    count: int,
    prepared: bool,
) -> None:
    with rig.open_trace(path) as trace:
        if prepared:
            assert trace.prepare()
        columns = trace.columns(start, stop, count)
    assert count / 3 < len(columns) <= count or len(columns) <= (stop - start) * HZ + 2
    assert columns.start_s[0] <= start and columns.stop_s[-1] >= stop - 1e-9
    np.testing.assert_array_equal(columns.start_s[1:], columns.stop_s[:-1])
    bounds = np.round(np.append(columns.start_s, columns.stop_s[-1]) * HZ).astype(int)
    for name, values in known.items():
        band = getattr(columns, name)
        if band is None:
            assert name == "power" and not prepared and stop - start > 2.5
            continue
        for position, (low, high) in enumerate(pairwise(bounds)):
            part = values[low:high]
            part = part[np.isfinite(part)]
            result = np.array(
                [band.least[position], band.mean[position], band.most[position]]
            )
            if not len(part):
                assert np.isnan(result).all()
                continue
            np.testing.assert_allclose(
                result, (part.min(), part.mean(), part.max()), rtol=3e-6
            )


def test_no_spike_is_lost_at_any_zoom(path: Path) -> None:
    with rig.open_trace(path) as trace:
        trace.prepare()
        for long_s in np.geomspace(1e-3, 30.0, 25):
            start = max(4_000_123 / HZ - long_s / 3, 0.0)
            columns = trace.columns(start, min(start + long_s, 30.0), 1000)
            assert columns.current is not None and columns.power is not None
            assert np.nanmax(columns.current.most) == 0.5
            assert np.nanmax(columns.power.most) > 1.2


def test_columns_stay_where_they_are_while_the_view_moves(path: Path) -> None:
    with rig.open_trace(path) as trace:
        trace.prepare()
        first = trace.columns(5.0, 15.0, 1000)
        second = trace.columns(5.3, 15.3, 1000)
    shared = np.intersect1d(first.start_s, second.start_s)
    assert len(shared) > 900


def test_preparing_is_cancelled_and_cached(path: Path, cache: Path) -> None:
    reported: list[float] = []
    with rig.open_trace(path) as trace:
        assert not trace.prepare(stopped=lambda: True)
        assert not trace.prepared and not list(cache.glob("*"))
        assert trace.prepare(reported.append)
        assert reported == sorted(reported) and reported[-1] == 1.0
        whole = trace.columns(0, 30, 300)
    assert len(list(cache.glob("*.npz"))) == 1
    reported.clear()
    with rig.open_trace(path) as trace:
        assert trace.prepare(reported.append) and not reported
        again = trace.columns(0, 30, 300)
    assert isinstance(whole.power, Band) and isinstance(again.power, Band)
    np.testing.assert_array_equal(whole.power.mean, again.power.mean)
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "gaps.jsonl",
        "trace.jls",
    ]


def test_a_damaged_cache_is_no_harm(path: Path, cache: Path) -> None:
    with rig.open_trace(path) as trace:
        trace.prepare()
        [file] = cache.glob("*.npz")
        for content in (b"", b"PK\x03\x04 nonsense", file.read_bytes()[:1000]):
            file.write_bytes(content)
            with rig.open_trace(path) as other:
                assert other.prepare()
                assert other.columns(0, 30, 300).power is not None


@pytest.mark.parametrize(
    ("start", "stop"), [(0.0, 7.0), (10.1, 10.7000013), (8.1, 29.0)]
)
def test_statistics_are_those_of_all_samples(
    path: Path, known: dict[str, np.ndarray], start: float, stop: float
) -> None:
    with rig.open_trace(path) as trace:
        result = trace.statistics(start, stop)
        energy_j = trace._trace.integrals([(start, stop)], bridged=True)[0].energy_j
    assert result.energy_j == energy_j and result.energy_u_j is None and result.remark
    first, last = int(start * HZ), int(np.ceil(stop * HZ - 1e-6))
    for name, signal in (("current", result.current), ("power", result.power)):
        part = known[name][first:last]
        assert signal is not None
        assert result.count == len(part) and result.lost == np.isnan(part).sum()
        assert signal.least == np.nanmin(part) and signal.most == np.nanmax(part)
        assert signal.mean == pytest.approx(np.nanmean(part), rel=1e-5)
        assert signal.std == pytest.approx(np.nanstd(part), rel=1e-4)
        assert signal.rms == pytest.approx(np.sqrt(np.nanmean(part**2)), rel=1e-5)
    assert result.power.mean * result.span_s == pytest.approx(energy_j, rel=1e-5)


def test_statistics_say_why_there_is_no_energy(path: Path) -> None:
    with rig.open_trace(path) as trace:
        result = trace.statistics(7.0, 9.0)
        assert result.energy_j is None and result.lost == 100_000
        assert "100000 of 400000 samples are lost" in result.remark
        with pytest.raises(rig.DataError, match="no stretch of the trace"):
            trace.statistics(5.0, 5.0)
        with pytest.raises(Cancelled):
            trace.statistics(0.0, 30.0, stopped=lambda: True)


def test_edges_one_after_the_other(path: Path) -> None:
    with rig.open_trace(path) as trace:
        edges = trace.edges()
        assert edges.falls.tolist() == [True, False, True, False]
        first = trace.nearest_edge(0.0)
        assert first is not None and first.falls
        assert first.at_s == pytest.approx(99.5 / HZ) and not first.is_window_end
        assert first.u_s == pytest.approx(1 / HZ / 12**0.5)
        second = trace.next_edge(first.at_s)
        assert second is not None and second.at_s == pytest.approx(102.5 / HZ)
        assert trace.previous_edge(second.at_s) == first
        assert trace.previous_edge(first.at_s) is None
        assert trace.next_edge(20.0) is None
        assert trace.edge_uncertainty_s(first.at_s) == first.u_s
        assert trace.edge_uncertainty_s(0.3) == 0.0
