# SPDX-License-Identifier: Apache-2.0
"""All digital lines of another program's file are there beside the one that is SYNC."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rig.api.traces.trace import open_trace
from rig.errors import DataError
from rig.files import user_folders
from rig.importers.digital_lines import line_names
from rig.importers.options import Options
from rig.trace.trace import TRACE
from rig.trace.writer import TraceWriter
from tests.rig.importers.joulescope.test_jls2 import HZ
from tests.rig.importers.profilers.test_ppk2 import HIGH, LOW, archive, frame
from tests.rig.importers.test_open import F32, U1, Jls

SAMPLES = 4000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(user_folders.CACHE_VARIABLE, str(tmp_path))


@pytest.fixture
def js220(tmp_path: Path) -> Path:
    """A recording with four inputs: each has its pulse in its own quarter."""
    path = tmp_path / "js220.jls"
    inputs = {f"gpi[{number}]": (U1, HZ, "", 1) for number in range(4)}
    file = Jls(
        path, {"current": (F32, HZ, "A", 1), "voltage": (F32, HZ, "V", 1)} | inputs
    )
    file.put("current", 0, np.full(SAMPLES, 0.01, dtype=np.float32))
    file.put("voltage", 0, np.full(SAMPLES, 3.0, dtype=np.float32))
    for number, name in enumerate(inputs):
        levels = np.ones(SAMPLES, dtype=bool)
        levels[1000 * number + 100 : 1000 * number + 200] = number == 3
        file.put(name, 0, levels)
    file.close()
    return path


@pytest.fixture
def ppk2(tmp_path: Path) -> Path:
    """A recording where D1 falls and D2 rises."""
    rows = [frame(1.0, {1: HIGH, 2: LOW})] * 20 + [frame(1.0, {1: LOW, 2: HIGH})] * 20
    path = tmp_path / "a.ppk2"
    path.write_bytes(archive(b"".join(rows)))
    return path


def test_the_inputs_of_a_joulescope(js220: Path) -> None:
    with open_trace(js220) as trace:
        assert trace.sync_name == "gpi[0]"
        assert trace.lines == ("gpi[1]", "gpi[2]", "gpi[3]")
        pulsed = trace.line_edges("gpi[2]")
        assert pulsed.falls_s.tolist() == pytest.approx([2099.5 / HZ])
        assert pulsed.rises_s.tolist() == pytest.approx([2199.5 / HZ])
        steady = trace.line_edges("gpi[3]")
        assert len(steady.falls_s) == len(steady.rises_s) == 0
        assert trace.falls().tolist() == pytest.approx([99.5 / HZ])
    with open_trace(js220, sync="gpi[3]") as trace:
        assert trace.lines == ("gpi[0]", "gpi[1]", "gpi[2]")
    with open_trace(js220, sync="none") as trace:
        assert trace.sync_name == "" and len(trace.lines) == 4


def test_the_lines_of_a_power_profiler(ppk2: Path) -> None:
    with open_trace(ppk2, supply_v=3.0, sync="D1") as trace:
        assert trace.lines == ("D0", *(f"D{number}" for number in range(2, 8)))
        assert trace.line_edges("D2").rises_s.tolist() == pytest.approx([19.5e-5])
        assert not len(trace.line_edges("D7").rises_s)
        with pytest.raises(DataError, match="D9"):
            trace.line_edges("D9")


def test_a_recording_is_converted_once_for_all_its_lines(
    ppk2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_trace(ppk2, supply_v=3.0) as trace:
        monkeypatch.setattr("rig.api.traces.trace.open_any", None)
        monkeypatch.setattr("rig.importers.digital_lines.open_any", None)
        edges = {name: trace.line_edges(name) for name in trace.lines}
    assert len(edges) == 8
    assert edges["D1"].falls_s.tolist() == pytest.approx([19.5e-5])
    assert edges["D2"].rises_s.tolist() == pytest.approx([19.5e-5])


def test_each_line_has_the_edges_that_it_has_as_sync(tmp_path: Path) -> None:
    drawn = np.random.default_rng(7).integers(0, 4, (300, 8))
    rows = [
        frame(math.nan if number % 50 == 49 else 1.0, dict(enumerate(levels)))
        for number, levels in enumerate(drawn.tolist())
    ]
    path = tmp_path / "a.ppk2"
    path.write_bytes(archive(b"".join(rows)))
    with open_trace(path, supply_v=3.0) as trace:
        for name in trace.lines:
            edges = trace.line_edges(name)
            with open_trace(path, supply_v=3.0, sync=name) as synced:
                assert edges.falls_s.tolist() == synced.falls().tolist()
                assert edges.rises_s.tolist() == synced.rises().tolist()


def test_a_line_of_noise_leaves_the_others_their_edges(
    ppk2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.importers.digital_levels._CHANGES", 1)
    with open_trace(ppk2, supply_v=3.0) as trace:
        with pytest.raises(DataError, match="D1 changes more than 1 times"):
            trace.line_edges("D1")
        assert not len(trace.line_edges("D0").falls_s)


@pytest.mark.parametrize(
    ("head", "cell", "names"),
    [
        ("D0-D7", "01000000", tuple(f"D{number}" for number in range(8))),
        ("D0,D1", "1,0", ("D0", "D1")),
        ("gpi[0],gpi[3]", "1,0", ("gpi[0]", "gpi[3]")),
        ("temperature", "20", ()),
    ],
)
def test_the_columns_of_a_table(
    tmp_path: Path, head: str, cell: str, names: tuple[str, ...]
) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"{number / 1000:.3f},1.0,3.0,{cell}\n" for number in range(9))
    path.write_text(f"time (s),current (A),voltage (V),{head}\n{rows}")
    assert line_names(path, Options()) == names


def test_a_trace_of_the_rig_has_none_beside_sync(tmp_path: Path) -> None:
    form = {"sample_hz": 1000.0, "edge_hz": 1000.0, "source": "s", "serial": ""}
    with TraceWriter(tmp_path, **form, about={}, sync_kind="none") as writer:
        writer.analog(np.ones(9, dtype=np.float32), np.ones(9, dtype=np.float32))
    assert line_names(tmp_path / TRACE, Options()) == ()
