# SPDX-License-Identifier: Apache-2.0
"""A foreign JLS file that is read in place: the same as converted, without a copy."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rig
from rig.files import user_folders
from rig.importers.joulescope import jls2
from rig.importers.options import Options
from tests.rig.importers.test_open import F32, U1, Jls, plain

HZ = 100_000
LONG = 1_300_000
SHORT = 300_000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(user_folders.CACHE_VARIABLE, str(tmp_path))


def joulescope(
    path: Path,
    *,
    voltage_at: int = 0,
    current_at: int = 0,
    lost: tuple[int, int] = (0, 0),
    times: int = 1,
    long: int = LONG,
) -> dict[str, np.ndarray]:
    """A file as Joulescope UI records it; the samples on the time of the current's
    sample 0."""
    rng = np.random.default_rng(1)
    whole = {
        "current": rng.normal(0.01, 1e-3, long).astype(np.float32),
        "voltage": np.repeat(
            rng.normal(3.0, 0.1, long // times).astype(np.float32), times
        ),
    }
    whole["current"][long // 2 - 1] = 0.5
    whole["voltage"][:] = np.where(
        np.arange(long) // times == (long - 99_999) // times, 9, whole["voltage"]
    )
    for signal in whole.values():
        signal[slice(*lost)] = np.nan
    levels = np.ones(long, dtype=bool)
    for at in range(1000, long, 20_000):
        levels[at : at + 40] = False
    kinds = {"current": (F32, HZ, "A", 1), "voltage": (F32, HZ // times, "V", 1)}
    file = Jls(path, kinds | {"gpi[0]": (U1, HZ, "", 1)})
    for name, at, step in (("current", current_at, 1), ("voltage", voltage_at, times)):
        file.put(name, at // step, whole[name][at::step].copy())
    file.put("gpi[0]", 0, levels)
    file.close()
    return whole


@pytest.mark.parametrize(
    ("current_at", "voltage_at", "times", "lost"),
    [
        (0, 0, 1, (0, 0)),
        (13, 0, 1, (40_960, 81_920)),
        (0, 40, 1, (100_960, 100_992)),
        (7, 24, 4, (40_960, 81_920)),
        (3, 0, 4, (0, 0)),
    ],
)
def test_in_place_is_the_same_as_converted(
    tmp_path: Path, current_at: int, voltage_at: int, times: int, lost: tuple[int, int]
) -> None:
    path = tmp_path / "joulescope.jls"
    joulescope(
        path,
        current_at=current_at,
        voltage_at=voltage_at,
        lost=lost,
        times=times,
        long=SHORT,
    )
    converted = jls2.convert(path, tmp_path / "scratch", Options(), path)
    viewed = jls2.view(path, Options())
    assert viewed is not None
    here, there = viewed.trace, converted.trace
    assert (here.length, here.sample_hz, here.edge_hz) == (
        there.length,
        there.sample_hz,
        there.edge_hz,
    )
    assert len(here.falls_s) >= 12
    np.testing.assert_allclose(here.falls_s, there.falls_s, atol=1e-12)
    np.testing.assert_allclose(here.rises_s, there.rises_s, atol=1e-12)
    windows = [(0.0, 0.3), (1.1000031, 1.4), (1.9, 2.3), (2.0, here.duration_s)]
    assert repr(here.integrals(windows)) == repr(there.integrals(windows))
    with (
        rig.open_trace(path) as trace,
        rig.open_trace(tmp_path / "scratch/converted") as other,
    ):
        mine, theirs = trace.statistics(0.05, 2.9), other.statistics(0.05, 2.9)
        assert (mine.lost, mine.energy_j) == (theirs.lost, theirs.energy_j)
        assert repr(mine.power) == repr(theirs.power)
        np.testing.assert_array_equal(trace.power(0.9, 1.1), other.power(0.9, 1.1))
        np.testing.assert_array_equal(trace.sync(0.5, 0.6), other.sync(0.5, 0.6))


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize(
    "kinds", [{}, {"current_at": 13}, {"voltage_at": 24}, {"voltage_at": 8, "times": 4}]
)
def test_no_spike_is_lost_in_place(
    tmp_path: Path, prepared: bool, kinds: dict[str, Any]
) -> None:
    whole = joulescope(tmp_path / "js.jls", **kinds)
    first = max(kinds.values(), default=0) if "times" not in kinds else 8
    with rig.open_trace(tmp_path / "js.jls") as trace:
        assert trace.path.parent == tmp_path and trace.recorded.path == trace.path
        if prepared:
            assert trace.prepare()
        for start, stop in ((0.0, 13.0), (1.3, 12.4)):
            columns = trace.columns(start, min(stop, trace.duration_s), 1000)
            assert columns.current is not None and columns.voltage is not None
            assert np.nanmax(columns.current.most) == np.float32(0.5)
            assert np.nanmax(columns.voltage.most) == 9
            assert (columns.power is not None) == prepared
            at = (np.round(columns.start_s * HZ).astype(int) + first).clip(0, LONG - 1)
            for name, band in (
                ("current", columns.current),
                ("voltage", columns.voltage),
            ):
                low = np.fmin.reduceat(whole[name], at)[:-1]
                high = np.fmax.reduceat(whole[name], at)[:-1]
                assert (band.least[:-1] <= low).all() and (band.most[:-1] >= high).all()


def test_no_spike_beside_lost_samples_is_lost(tmp_path: Path) -> None:
    whole = joulescope(tmp_path / "js.jls", lost=(LONG // 2 + 100, LONG // 2 + 400))
    with rig.open_trace(tmp_path / "js.jls") as trace:
        for count in (100, 500, 1100):
            columns = trace.columns(0.0, trace.duration_s, count)
            assert columns.current is not None
            at = np.round(columns.start_s * HZ).astype(int)
            high = np.fmax.reduceat(whole["current"], at)
            assert (columns.current.most >= high).all()
            assert np.nanmax(columns.current.most) == np.float32(0.5)


def test_a_look_copies_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    joulescope(tmp_path / "js.jls")
    with rig.open_trace(tmp_path / "js.jls") as trace:
        trace.columns()
        trace.statistics(0, 1)
        trace.edges()
        assert (
            sum(file.stat().st_size for file in scratch.rglob("*") if file.is_file())
            == 0
        )


def test_double_precision_is_converted(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(1.0, 0.1, LONG)
    file = Jls(
        tmp_path / "x.jls",
        {"current": ("f64", HZ, "A", 1), "voltage": ("f64", HZ, "V", 1)},
    )
    file.put("current", 0, values).put("voltage", 0, values).close()
    with rig.open_trace(tmp_path / "x.jls") as trace:
        columns = trace.columns(count=500)
        assert columns.current is not None
        assert np.nanmax(columns.current.most) == np.float32(values.max())


def test_lost_samples_are_known_once_all_are_read(tmp_path: Path) -> None:
    joulescope(tmp_path / "js.jls", lost=(1_000_960, 1_000_992))
    with rig.open_trace(tmp_path / "js.jls") as trace:
        assert trace.gaps == ()
        trace.prepare()
        [gap] = trace.gaps
        assert (gap.start, gap.stop) == (1_000_960, 1_000_992)
        assert trace.statistics(9.0, 11.0).lost == 32


def test_power_alone_and_a_given_supply(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    watts = rng.normal(0.03, 0.001, 1_500_000).astype(np.float32)
    Jls(tmp_path / "p.jls", {"power": (F32, HZ, "W", 1)}).put("power", 0, watts).close()
    with rig.open_trace(tmp_path / "p.jls") as trace:
        columns = trace.columns()
        assert columns.current is None and columns.power is not None
        assert np.nanmax(columns.power.most) == watts.max()
        result = trace.statistics(0, 1)
        assert result.current is None and result.charge_c is None
        assert result.power.mean == pytest.approx(
            watts[:HZ].mean(dtype=float), rel=1e-6
        )
    Jls(tmp_path / "i.jls", {"current": (F32, HZ, "A", 1)}).put(
        "current", 0, watts
    ).close()
    with rig.open_trace(tmp_path / "i.jls", supply_v=2.0) as trace:
        columns = trace.columns()
        assert columns.voltage is not None and np.nanmax(columns.voltage.most) == 2.0
        assert trace.power(0, 1e-4) == pytest.approx(2 * watts[:10], rel=1e-6)


# What cannot be looked at.


@pytest.fixture
def quickly() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < 2.0


def sparse(path: Path, head: bytes, size_b: int) -> Path:
    """A file of any size that takes no room."""
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(size_b)
    os.utime(path, (0, 0))
    return path


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("name", ["big.jls", "big.csv", "big.ppk2", "big"])
def test_fifty_gigabytes_of_something_else(tmp_path: Path, name: str) -> None:
    path = sparse(tmp_path / name, b"time (s),current (A)\n0,1\n", 50_000_000_000)
    with pytest.raises(rig.DataError) as error:
        rig.open_trace(path)
    assert error.value.evidence and (error.value.try_next or name == "big.jls")


@pytest.mark.usefixtures("quickly")
def test_fifty_gigabytes_without_an_end(tmp_path: Path) -> None:
    head = plain(tmp_path / "small.jls").read_bytes()[:1000]
    path = sparse(tmp_path / "cut.jls", head, 50_000_000_000)
    with pytest.raises(rig.DataError, match="not closed properly") as error:
        rig.open_trace(path)
    assert "50.0 GB" in error.value.evidence and "rig measure" in error.value.try_next


def test_a_file_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "growing.jls"
    path.write_bytes(plain(tmp_path / "small.jls").read_bytes()[:1000])
    done = threading.Event()

    def grow() -> None:
        while not done.wait(0.01):
            with path.open("ab") as stream:
                stream.write(bytes(100))

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        with pytest.raises(rig.DataError, match="still being written") as error:
            rig.open_trace(path)
        assert "grew by" in error.value.evidence and "over" in error.value.try_next
    finally:
        done.set()
        writer.join()


def test_a_file_that_was_cut_off_is_recovered_where_it_is_small(tmp_path: Path) -> None:
    joulescope(tmp_path / "whole.jls")
    content = (tmp_path / "whole.jls").read_bytes()
    path = tmp_path / "cut.jls"
    path.write_bytes(content[: len(content) // 2])
    os.utime(path, (0, 0))
    with rig.open_trace(path) as trace:
        assert any("not closed properly" in note for note in trace.notes)
        assert 0.1 < trace.duration_s < 13
    path.write_bytes(content[:5000])
    os.utime(path, (0, 0))
    with pytest.raises(rig.DataError):
        rig.open_trace(path)


def test_an_input_that_is_no_jls_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "text.jls"
    path.write_text("hello")
    with pytest.raises(rig.DataError, match="is not a JLS file"):
        rig.open_trace(path)
