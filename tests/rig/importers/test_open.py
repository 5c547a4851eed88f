# SPDX-License-Identifier: Apache-2.0
"""Files of other origin: their content is found exactly, missing or unclear facts are
reported, and they stay unchanged.
"""

from __future__ import annotations

import hashlib
import math
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.settings.check import checked
from rig.trace.trace import Gap
from rig.trace.writer import TraceWriter
from tests import unprivileged
from tests.length import length
from tests.programs import captured
from tests.traces import jls_writer

Open = Callable[..., Opened]
F32 = "f32"
U1 = "u1"


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open a file with options; it must be the same afterwards."""
    count = iter(range(100))

    def open_it(path: Path, **options: Any) -> Opened:
        before = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        try:
            return open_any(
                path, tmp_path / f"scratch-{next(count)}", Options(**options)
            )
        finally:
            if before:
                assert hashlib.sha256(path.read_bytes()).hexdigest() == before, (
                    "the original was changed"
                )

    return open_it


class Jls:
    """A JLS file as pyjls alone writes it; signals by name: (kind, rate, units,
    source)."""

    def __init__(
        self,
        path: Path,
        signals: dict[str, tuple[str, int, str, int]],
        sources: tuple[str, ...] = ("JS220-1",),
    ) -> None:
        self.path, self._writer, self._numbers = path, pyjls.Writer(str(path)), {}
        for number, name in enumerate(sources, start=1):
            self._writer.source_def(
                source_id=number,
                name=name,
                vendor="",
                model="",
                version="",
                serial_number=f"00{number}",
            )
        for number, (name, (kind, rate, units, source)) in enumerate(
            signals.items(), start=1
        ):
            self._numbers[name] = number
            self._writer.signal_def(
                signal_id=number,
                source_id=source,
                signal_type=pyjls.SignalType.FSR,
                data_type=kind,
                sample_rate=rate,
                name=name.split("/")[-1],
                units=units,
            )

    def put(self, name: str, first: int, data: NDArray[Any]) -> Jls:
        if data.dtype == np.bool_:
            data = np.packbits(data, bitorder="little")
        self._writer.fsr(self._numbers[name], first, data)
        return self

    def utc(self, name: str, sample: int, seconds: float) -> Jls:
        self._writer.utc(self._numbers[name], sample, round(seconds * 2**30))
        return self

    def close(self) -> Path:
        self._writer.close()
        return self.path


def f32(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def plain(path: Path, hz: int = 1000, samples: int = 100) -> Path:
    file = Jls(path, {"current": (F32, hz, "A", 1), "voltage": (F32, hz, "V", 1)})
    return (
        file.put("current", 0, np.full(samples, 0.5, np.float32))
        .put("voltage", 0, np.full(samples, 2, np.float32))
        .close()
    )


# JLS


@given(
    seed=st.integers(0, 2**32),
    offsets=st.tuples(
        st.integers(0, 10**9), st.integers(-20, 20), st.integers(-40, 40)
    ),
    gpi_times=st.sampled_from([1, 2, 5]),
    voltage_part=st.sampled_from([1, 4]),
)
@settings(max_examples=length(30, 12), deadline=None)
def test_signals_of_any_offset_and_rate_are_laid_side_by_side_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    offsets: tuple[int, int, int],
    gpi_times: int,
    voltage_part: int,
) -> None:
    folder = tmp_path_factory.mktemp("jls")
    random = np.random.default_rng(seed)
    hz = 1000
    at = 1000 + offsets[0] // voltage_part * voltage_part
    voltage_at = at // voltage_part + offsets[1]
    gpi_at = at * gpi_times + offsets[2]
    current = random.uniform(0, 1, 200).astype(np.float32)
    voltage = random.uniform(1, 5, 300 // voltage_part).astype(np.float32)
    levels = random.integers(0, 2, 200 * gpi_times // 8 * 8).astype(bool)
    signals = {
        "current": (F32, hz, "A", 1),
        "voltage": (F32, hz // voltage_part, "V", 1),
        "gpi[0]": (U1, hz * gpi_times, "", 1),
    }
    file = (
        Jls(folder / "a.jls", signals)
        .put("current", at, current)
        .put("voltage", voltage_at, voltage)
        .put("gpi[0]", gpi_at, levels)
    )
    trace = open_any(file.close(), folder / "scratch").trace

    first = max(at, voltage_at * voltage_part)
    last = min(at + 200, (voltage_at + len(voltage)) * voltage_part)
    power = [
        float(current[k - at]) * float(voltage[k // voltage_part - voltage_at])
        for k in range(first, last)
    ]
    assert trace.length == last - first
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(
        math.fsum(power) / hz, rel=1e-9
    )
    changes = [k for k in range(1, len(levels)) if levels[k] != levels[k - 1]]
    times_s = [
        ((gpi_at + k) * 2 - 1) / (2 * hz * gpi_times) - first / hz for k in changes
    ]
    falls = [
        t
        for t, k in zip(times_s, changes, strict=True)
        if not levels[k] and -1e-12 <= t <= trace.duration_s + 1e-12
    ]
    rises = [
        t
        for t, k in zip(times_s, changes, strict=True)
        if levels[k] and -1e-12 <= t <= trace.duration_s + 1e-12
    ]
    assert trace.falls_s.tolist() == pytest.approx(falls, abs=1e-9)
    assert trace.rises_s.tolist() == pytest.approx(rises, abs=1e-9)


def test_lost_samples_are_gaps_and_make_no_edges(tmp_path: Path, opened: Open) -> None:
    file = Jls(
        tmp_path / "a.jls",
        {
            "current": (F32, 1000, "A", 1),
            "voltage": (F32, 1000, "V", 1),
            "gpi[0]": (U1, 2000, "", 1),
        },
    )
    for first in (80, 240):
        levels = np.ones(240, bool)
        levels[40:60] = False
        for name, value in (("current", 0.5), ("voltage", 2.0)):
            file.put(name, first, np.full(120, value, np.float32))
        file.put("gpi[0]", 2 * first, levels)
    result = opened(file.close())
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(120, 160)]
    assert result.trace.falls_s.tolist() == pytest.approx([0.01975, 0.17975])
    assert result.trace.rises_s.tolist() == pytest.approx([0.02975, 0.18975])
    assert "2 edges at the borders of lost samples are left out" in " ".join(
        result.notes
    )


def test_a_loss_that_fills_no_whole_bytes_of_sync_is_pointed_out(
    tmp_path: Path, opened: Open
) -> None:
    file = Jls(
        tmp_path / "a.jls",
        {
            "current": (F32, 1000, "A", 1),
            "voltage": (F32, 1000, "V", 1),
            "gpi[0]": (U1, 2000, "", 1),
        },
    )
    for first in (80, 210):
        for name in ("current", "voltage"):
            file.put(name, first, np.ones(120, np.float32))
        file.put("gpi[0]", 2 * first, np.ones(240, bool))
    result = opened(file.close())
    assert not len(result.trace.falls_s) and not len(result.trace.rises_s), (
        "what the last bits read as is no edge"
    )
    assert "whole bytes" in " ".join(result.notes)


def test_power_alone_has_energy_and_no_charge(tmp_path: Path, opened: Open) -> None:
    path = (
        Jls(tmp_path / "a.jls", {"power": (F32, 1000, "W", 1)})
        .put("power", 7, np.full(100, 0.25, np.float32))
        .close()
    )
    result = opened(path)
    assert result.trace.energy_j(0.0, 0.1) == pytest.approx(0.025, rel=1e-9)
    assert (
        not result.has_current
        and "power alone: there is no charge and no current" in result.notes
    )


def test_a_supply_voltage_stands_for_one_that_was_not_recorded(
    tmp_path: Path, opened: Open
) -> None:
    path = (
        Jls(tmp_path / "a.jls", {"current": (F32, 1000, "A", 1)})
        .put("current", 0, np.full(100, 0.5, np.float32))
        .close()
    )
    with pytest.raises(DataError, match="no voltage beside the current") as error:
        opened(path)
    assert (
        "--supply-v" in error.value.try_next
        and "JS220-1: current [A] 1000 Hz" in error.value.evidence
    )
    assert opened(path, supply_v=3.0).trace.energy_j(0.0, 0.1) == pytest.approx(
        0.15, rel=1e-9
    )


def test_of_several_sources_one_must_be_named(tmp_path: Path, opened: Open) -> None:
    units = {"current": "A", "voltage": "V"}
    signals = {
        f"{n}/{name}": (F32, 1000, units[name], n) for n, name in product((1, 2), units)
    }
    file = Jls(tmp_path / "a.jls", signals, ("JS220-1", "JS220-2"))
    for name in signals:
        file.put(
            name, 0, np.full(100, 1.0 if name.startswith("1") else 2.0, np.float32)
        )
    path = file.close()
    with pytest.raises(DataError, match="2 sources") as error:
        opened(path)
    assert (
        "JS220-1: current" in error.value.evidence
        and "JS220-2: voltage" in error.value.evidence
    )
    assert opened(path, source="JS220-2").trace.energy_j(0.0, 0.1) == pytest.approx(0.4)
    assert opened(path, source="001").trace.energy_j(0.0, 0.1) == pytest.approx(0.1)
    with pytest.raises(DataError, match="0 sources are called JS110"):
        opened(path, source="JS110")


def test_of_several_digital_lines_one_must_be_named_or_none(
    tmp_path: Path, opened: Open
) -> None:
    signals = {
        "current": (F32, 1000, "A", 1),
        "voltage": (F32, 1000, "V", 1),
        "gpi[2]": (U1, 1000, "", 1),
        "gpi[3]": (U1, 1000, "", 1),
    }
    file = Jls(tmp_path / "a.jls", signals)
    file.put("current", 0, np.ones(80, np.float32)).put(
        "voltage", 0, np.ones(80, np.float32)
    )
    file.put("gpi[2]", 0, np.ones(80, bool)).put("gpi[3]", 0, np.arange(80) < 40)
    path = file.close()
    with pytest.raises(DataError, match=r"2 digital signals, none called gpi\[0\]"):
        opened(path)
    assert opened(path, sync="gpi[3]").trace.falls_s.tolist() == pytest.approx([0.0395])
    assert opened(path, sync="none").sync == "none"
    with pytest.raises(DataError, match=r"no digital signal is called gpi\[7\]"):
        opened(path, sync="gpi[7]")


@pytest.mark.parametrize(
    ("signals", "options", "message"),
    [
        ({"temperature": (F32, 10, "C", 1)}, {}, "neither current nor power"),
        (
            {"current": (F32, 1000, "A", 1), "voltage": (F32, 300, "V", 1)},
            {},
            "rate does not divide",
        ),
        (
            {"i1": (F32, 1000, "A", 1), "i2": (F32, 1000, "A", 1)},
            {"supply_v": 1.0},
            "2 signals could be the current",
        ),
        (
            {"current": (F32, 1000, "A", 1)},
            {"current": "i", "supply_v": 1.0},
            "neither current nor power",
        ),
        ({"current": (F32, 1000, "A", 1)}, {"voltage": "u"}, "no signal is called u"),
        (
            {"current": ("u8", 1000, "A", 1)},
            {"current": "current", "supply_v": 1.0},
            "no.* floating point",
        ),
    ],
)
def test_what_a_jls_file_lacks_is_reported_with_what_it_has(
    tmp_path: Path,
    opened: Open,
    signals: dict[str, tuple[str, int, str, int]],
    options: dict[str, Any],
    message: str,
) -> None:
    file = Jls(tmp_path / "a.jls", signals)
    for name, (kind, *_) in signals.items():
        file.put(name, 0, np.ones(80, np.uint8 if kind == "u8" else np.float32))
    with pytest.raises(DataError, match=message) as error:
        opened(file.close(), **options)
    assert "JS220-1: " in error.value.evidence


def test_current_and_voltage_of_different_times_are_refused(
    tmp_path: Path, opened: Open
) -> None:
    file = Jls(
        tmp_path / "a.jls",
        {"current": (F32, 1000, "A", 1), "voltage": (F32, 1000, "V", 1)},
    )
    path = (
        file.put("current", 0, np.ones(80, np.float32))
        .put("voltage", 500, np.ones(80, np.float32))
        .close()
    )
    with pytest.raises(DataError, match="not recorded at the same time"):
        opened(path)


def test_a_rate_that_the_time_stamps_contradict_is_pointed_out_and_can_be_set_right(
    tmp_path: Path, opened: Open
) -> None:
    # JLS keeps whole numbers: 10.5 samples a second are written as 10.
    file = Jls(
        tmp_path / "a.jls", {"current": (F32, 10, "A", 1), "gpi[0]": (U1, 20, "", 1)}
    )
    file.put("current", 0, np.ones(80, np.float32)).put(
        "gpi[0]", 0, np.arange(160) < 80
    )
    path = file.utc("current", 0, 1000.0).utc("current", 80, 1000.0 + 80 / 10.5).close()
    result = opened(path, supply_v=1.0)
    assert result.trace.duration_s == pytest.approx(8.0)
    assert (
        "the rate is 10 Hz, but the file's time stamps make it 10.5 Hz: --rate HZ if"
        " they are right" in result.notes
    )
    right = opened(path, supply_v=1.0, rate_hz=10.5)
    assert right.trace.energy_j(0.0, 80 / 10.5) == pytest.approx(80 / 10.5)
    assert right.trace.falls_s.tolist() == pytest.approx([79.5 / 21])


def test_an_unclosed_file_is_recovered_from_a_copy(
    tmp_path: Path, opened: Open
) -> None:
    program = f"""
        import os, time, signal, numpy as np, pyjls
        w = pyjls.Writer({str(tmp_path / "crashed.jls")!r})
        w.source_def(source_id=1, name="s", vendor="", model="", version="", serial_number="")
        for n, name, unit in ((1, "current", "A"), (2, "voltage", "V")):
            w.signal_def(
                signal_id=n, source_id=1, signal_type=0, data_type="f32", sample_rate=1000,
                name=name, units=unit,
            )
        for k in range(100):
            for n in (1, 2):
                w.fsr_f32(n, k * 10_000, np.full(10_000, n, np.float32))
        w.flush()
        while os.path.getsize({str(tmp_path / "crashed.jls")!r}) < 6_000_000:
            time.sleep(0.01)  # a thread of the library writes 8 MB
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -signal.SIGKILL
    result = opened(tmp_path / "crashed.jls")
    assert result.trace.length > 500_000 and result.trace.energy_j(
        0.0, 500.0
    ) == pytest.approx(1000.0)
    assert "was not closed properly" in result.notes[0]


def test_a_killed_recording_of_the_rig_is_recovered_with_its_gaps(
    tmp_path: Path, opened: Open
) -> None:
    folder = tmp_path / "trial-1"
    folder.mkdir()
    program = f"""
        import os, time, signal, numpy as np
        from pathlib import Path
        from rig.trace.writer import TraceWriter
        from rig.trace.trace import Gap
        w = TraceWriter(
            Path({str(folder)!r}), sample_hz=1000, edge_hz=1000, source="t", serial="", about={{}}
        )
        w.gap(Gap(5, 6, "lost"))
        for k in range(100):
            w.analog(np.ones(10_000, np.float32), np.ones(10_000, np.float32))
            w.sync(np.ones(10_000, np.uint8))
        while os.path.getsize({str(folder / "trace.jls.partial")!r}) < 6_000_000:
            time.sleep(0.01)  # a thread of the library writes 8 MB
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    before = (folder / "trace.jls.partial").read_bytes()
    result = opened(folder)
    assert (
        result.origin == "rig"
        and result.trace.length > 500_000
        and result.trace.gaps == (Gap(5, 6, "lost"),)
    )
    assert (
        folder / "trace.jls.partial"
    ).read_bytes() == before and "was not closed properly" in result.notes[0]


def test_a_trace_of_the_rig_is_opened_where_it_is(tmp_path: Path, opened: Open) -> None:
    folder = tmp_path / "trial-1"
    folder.mkdir()
    with TraceWriter(
        folder,
        sample_hz=1000,
        edge_hz=1000,
        source="t",
        serial="1",
        about={"simulated": True},
    ) as writer:
        writer.analog(np.ones(80, np.float32), np.ones(80, np.float32))
        writer.sync((np.arange(80) < 40).astype(np.uint8))
        writer.gap(Gap(60, 61, "lost"))
    for path in (folder, folder / "trace.jls"):
        result = opened(path)
        assert result.trace.path == folder / "trace.jls"
        assert (
            result.trace.falls_s.tolist() == pytest.approx([0.0395])
            and len(result.trace.gaps) == 1
        )
        assert result.about["simulated"] and result.sync == "digital"
    with pytest.raises(ConfigError, match="rig's own"):
        opened(folder, supply_v=3.3)


def test_an_input_that_is_no_trace_is_refused_with_the_reason(
    tmp_path: Path, opened: Open
) -> None:
    (tmp_path / "text.jls").write_text("time_s,current_a\n0,1\n")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "session" / "trial-1").mkdir(parents=True)
    (tmp_path / "session" / "trial-1" / "trace.jls").write_bytes(b"x")
    for name, message in (
        ("text.jls", "not a JLS file"),
        ("empty.csv", "is empty"),
        ("binary.csv", "neither a JLS file nor a text table"),
        ("missing.jls", "cannot be read"),
        ("session", "folder without a trace.jls"),
    ):
        with pytest.raises(DataError, match=message) as error:
            opened(tmp_path / name)
        assert error.value.try_next
    assert "trial-1" in error.value.evidence


@unprivileged.needed
def test_a_file_without_permission_to_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "trial-1").mkdir()
    path = plain(tmp_path / "trial-1" / "trace.jls")
    words = [*unprivileged.RIG, "measure", str(path.parent)]
    path.chmod(0)
    done = captured(words)
    assert done.returncode == 2 and f"{path} cannot be read" in done.stderr.replace(
        "\n", ""
    )
    assert "Permission denied" in done.stderr and "chmod" in done.stderr


# Tables


def table(
    tmp_path: Path, text: str, name: str = "a.csv", encoding: str = "utf-8"
) -> Path:
    (tmp_path / name).write_bytes(text.encode(encoding))
    return tmp_path / name


NUMBERS = st.floats(-10, 10, allow_nan=False, width=32).filter(
    lambda x: x == 0 or abs(x) > 1e-9
)


@given(
    rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=60),
    hz=st.sampled_from([1.0, 50.0, 1000.0, 3906.25, 48_000.0, 100_000.0]),
    start_s=st.sampled_from([0.0, 5.0, -3.25]),
    form=st.sampled_from(
        [
            (",", ".", "time_s,current_a,voltage_v"),
            (";", ",", "t (s);I (A);U [V]"),
            ("\t", ".", "s\tA\tV"),
        ]
    ),
)
@settings(max_examples=length(60, 20), deadline=None)
def test_any_numbers_written_as_text_and_read_back_give_the_same_energy(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[float, float]],
    hz: float,
    start_s: float,
    form: tuple[str, str, str],
) -> None:
    folder, (delimiter, comma, heading) = tmp_path_factory.mktemp("csv"), form
    stamped = [(start_s + k / hz, i, u) for k, (i, u) in enumerate(rows)]
    lines = [delimiter.join(map(repr, row)).replace(".", comma) for row in stamped]
    trace = open_any(
        table(folder, "\n".join([heading, *lines, ""])), folder / "scratch"
    ).trace
    scale = sum(abs(i * u) for i, u in rows) / hz
    assert trace.length == len(rows) and trace.sample_hz == pytest.approx(hz, rel=1e-7)
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(
        sum(i * u for i, u in rows) / hz, rel=1e-7, abs=scale * 1e-7
    )


def test_units_in_headings_are_understood(tmp_path: Path, opened: Open) -> None:
    for heading, factor in (
        ("Timestamp(ms),I (mA),U (V)", 1e-3),
        ("t_ms,current_ua,voltage_v", 1e-6),
        ("time [ms],Main current (µA),Main voltage (V)", 1e-6),
        ("ms,nA,V", 1e-9),
    ):
        result = opened(
            table(tmp_path, heading + "\n" + "".join(f"{k},5,2\n" for k in range(10)))
        )
        assert result.trace.sample_hz == 1000.0
        assert result.trace.energy_j(0.0, 0.01) == pytest.approx(
            0.1 * factor, rel=1e-6
        ), heading


def test_a_heading_may_be_behind_a_byte_order_mark_in_latin_1_in_utf_16_or_missing(
    tmp_path: Path, opened: Open
) -> None:
    rows = "".join(f"{k / 10},5,2\n" for k in range(10))
    for text, encoding, options in (
        ("time_s,I (µA),U (V)\r\n" + rows.replace("\n", "\r\n"), "utf-8-sig", {}),
        ("time_s,I (µA),U (V)\n" + rows, "latin-1", {}),
        ("time_s,I (µA),U (V)\n" + rows, "utf-16", {}),
        ("sep=,\n\ntime_s,I (µA),U (V)\n\n" + rows, "utf-8", {}),
        ("# made by hand\n# time_s,I (µA),U (V)\n" + rows, "utf-8", {}),
        (rows, "utf-8", {"time": "1:s", "current": "2:uA", "voltage": "3:V"}),
        (rows, "utf-8", {"current": "2:uA", "voltage": "3:V", "rate_hz": 10.0}),
    ):
        result = opened(table(tmp_path, text, encoding=encoding), **options)
        assert result.trace.length == 10 and result.trace.energy_j(
            0.0, 1.0
        ) == pytest.approx(1e-5, rel=1e-6), (text[:30], encoding)


def test_a_table_of_one_column_with_blank_lines_names_the_right_line(
    tmp_path: Path, opened: Open
) -> None:
    text = "power_mw\n1000\n\n1000\n"
    assert opened(table(tmp_path, text), rate_hz=10.0).trace.energy_j(
        0.0, 0.2
    ) == pytest.approx(0.2)
    with pytest.raises(DataError, match="line 5: power_mw is not a number"):
        opened(table(tmp_path, text + "x\n"), rate_hz=10.0)


def test_a_power_profiler_export_with_eight_lines_in_one_column_is_read(
    tmp_path: Path, opened: Open
) -> None:
    # As the application's source writes it: bit 0 first, X for a line that was both
    # within one sample.
    levels = [
        "1",
        "1",
        "1",
        "0",
        "0",
        "0",
        "1",
        "1",
        "1",
        "X",
        "0",
        "0",
        "0",
        "X",
        "0",
        "1",
    ]
    rows = "".join(
        f"{k / 100},{1000.0 + k:.3f},{level}00000X0\n" for k, level in enumerate(levels)
    )
    path = table(tmp_path, "Timestamp(ms),Current(uA),D0-D7\n" + rows)
    with pytest.raises(DataError, match="no voltage"):
        opened(path)
    assert (
        "D0-D7" in " ".join(opened(path, supply_v=3.0).notes)
        and opened(path, supply_v=3.0).sync == "none"
    )
    result = opened(path, supply_v=3.0, sync="D0")
    assert result.trace.sample_hz == 100_000
    assert result.trace.energy_j(0.0, 16e-5) == pytest.approx(
        sum(3.0 * (1000.0 + k) * 1e-6 for k in range(16)) * 1e-5, rel=1e-7
    )
    assert result.trace.falls_s.tolist() == pytest.approx([2.5e-5, 9.5e-5, 13.5e-5])
    assert result.trace.rises_s.tolist() == pytest.approx([5.5e-5, 13.5e-5, 14.5e-5])


def test_a_power_profiler_export_with_a_column_for_each_line_is_read(
    tmp_path: Path, opened: Open
) -> None:
    rows = "".join(
        f"{k / 100},1000.000,0,{int(k < 5)},0,0,0,0,0,0\n" for k in range(10)
    )
    path = table(tmp_path, "Timestamp(ms),Current(uA),D0,D1,D2,D3,D4,D5,D6,D7\n" + rows)
    assert opened(
        path, supply_v=3.0, sync="D1"
    ).trace.falls_s.tolist() == pytest.approx([4.5e-5])


def test_an_otii_export_of_one_channel_is_read_with_its_unit_named(
    tmp_path: Path, opened: Open
) -> None:
    # Heading and form of the numbers as in a file that Otii 3 exported: the channel
    # stands in the file's name alone.
    rows = "".join(f"{k / 50_000:.6f},{0.005 + k * 1e-6:.9g}\n" for k in range(200))
    path = table(tmp_path, '"Timestamp","Value"\n' + rows, name="Main power - Ace.csv")
    with pytest.raises(DataError, match="no column of times") as error:
        opened(path)
    assert "--time COLUMN:UNIT" in error.value.try_next
    result = opened(path, time="Timestamp:s", power="Value:W")
    expected_j = sum(0.005 + k * 1e-6 for k in range(200)) / 50_000
    assert result.trace.sample_hz == 50_000 and result.trace.energy_j(
        0.0, 200 / 50_000
    ) == pytest.approx(expected_j, rel=1e-6)
    current = opened(path, time="Timestamp:s", current="Value:A", supply_v=3.3)
    assert current.trace.energy_j(0.0, 200 / 50_000) == pytest.approx(
        3.3 * expected_j, rel=1e-6
    )


def test_a_missing_row_is_a_gap_and_hides_edges(tmp_path: Path, opened: Open) -> None:
    rows = "".join(
        f"{k},0.5,2,{int(k < 50)}\n" for k in range(100) if k not in (48, 49, 70)
    )
    result = opened(table(tmp_path, "time_ms,current_a,voltage_v,sync\n" + rows))
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(48, 50), (70, 71)]
    assert "before line 50" in result.trace.gaps[0].cause
    assert result.trace.length == 100 and not len(result.trace.falls_s)


def test_an_empty_cell_or_nan_is_a_lost_sample(tmp_path: Path, opened: Open) -> None:
    rows = [f"{k},0.5,2\n" for k in range(20)]
    rows[7], rows[12] = "7,,2\n", "12,nan,2\n"
    result = opened(table(tmp_path, "time_ms,current_a,voltage_v\n" + "".join(rows)))
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(7, 8), (12, 13)]


def test_a_pause_of_any_length_is_a_gap(tmp_path: Path, opened: Open) -> None:
    times = [*range(50), *(1000.4 + k for k in range(50))]
    result = opened(
        table(tmp_path, "time_ms,power_w\n" + "".join(f"{t},1\n" for t in times))
    )
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(50, 1000)]


def test_rounded_times_are_even_and_scattered_ones_are_as_stamped(
    tmp_path: Path, opened: Open
) -> None:
    rounded = [round(k / 3, 2) for k in range(3000)]
    rows = "".join(f"{t},1\n" for t in rounded)
    trace = opened(table(tmp_path, "time_ms,power_w\n" + rows)).trace
    assert trace.length == 3000 and not trace.gaps
    assert trace.sample_hz == pytest.approx(3000.0, rel=1e-4)
    scatter = np.random.default_rng(1).uniform(-0.1, 0.1, 3000)
    times = (np.arange(3000) + scatter).tolist()
    rows = "".join(f"{t},1\n" for t in times)
    trace = opened(table(tmp_path, "time_ms,power_w\n" + rows)).trace
    assert not trace.gaps
    energy_j = trace.energy_j(0.0, trace.duration_s)
    assert energy_j == pytest.approx((times[-1] - times[0]) / 1000)


def test_a_sync_voltage_gives_edges_between_samples(
    tmp_path: Path, opened: Open
) -> None:
    volts = [3.0] * 10 + [0.75] + [0.0] * 10 + [3.0] * 9
    path = table(
        tmp_path,
        "t_ms,current_a,voltage_v,sync_v\n"
        + "".join(f"{k},1,2,{v}\n" for k, v in enumerate(volts)),
    )
    result = opened(path)
    assert result.sync == "voltage" and result.trace.falls_s.tolist() == pytest.approx(
        [0.01025]
    )


def test_a_big_table_is_read_in_pieces_without_a_seam(
    tmp_path: Path, opened: Open
) -> None:
    count = 150_000
    with (tmp_path / "a.csv").open("w") as stream:
        stream.write("time_us,current_ma,voltage_v,sync\n")
        stream.writelines(
            f"{10 * k},{k % 1000},3,{int(k % 50_000 > 100)}\n"
            for k in range(count)
            if k != 100_000
        )
    result = opened(tmp_path / "a.csv")
    assert result.trace.length == count and [
        (gap.start, gap.stop) for gap in result.trace.gaps
    ] == [(100_000, 100_001)]
    expected_j = sum(k % 1000 for k in range(100_000)) * 3e-3 / 100_000
    assert result.trace.energy_j(0.0, 1.0) == pytest.approx(expected_j, rel=1e-6)
    assert result.trace.falls_s.tolist() == pytest.approx([0.499995], abs=1e-9), (
        "the other falls at the gap"
    )
    assert not list((tmp_path / "scratch-0").rglob("*.bin")), (
        "the numbers in between are gone"
    )


HEAD = "time_ms,current_a,voltage_v\n"
GOOD = "".join(f"{k},1,2\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "options", "message", "more"),
    [
        ("", {}, "is empty", ""),
        (HEAD, {}, "heading and no rows", ""),
        (HEAD + "0,1,2\n", {}, "one row", "--rate"),
        (
            HEAD + GOOD + "20,x,2\n21,1,2\n",
            {},
            "line 22: current_a is not a number",
            "'x'",
        ),
        (
            HEAD + GOOD + "20,1\n21,1,2\n",
            {},
            "line 22 has 2 cells where the heading has 3",
            "",
        ),
        (HEAD + "0,0,1,5,2\n1,0,1,5,2\n", {}, "line 2 has 5 cells", "decimal commas"),
        (
            HEAD + '0,"0,1",2\n1,"0,1",2\n',
            {},
            "line 2: current_a is not a number",
            "'0,1'",
        ),
        (
            HEAD + GOOD + "18,1,2\n",
            {},
            "line 22: time runs backwards or stands still",
            "0.018 s after 0.019 s",
        ),
        (
            HEAD + GOOD + "19,1,2\n",
            {},
            "line 22: time runs backwards or stands still",
            "",
        ),
        (HEAD + GOOD + ",1,2\n21,1,2\n", {}, "line 22: there is no time", ""),
        (
            HEAD + "2024-01-01T00:00:00,1,2\n",
            {},
            "line 2: time_ms is not a number",
            "2024",
        ),
        ("current_a,voltage_v\n1,2\n", {}, "no column of times", "--rate"),
        (
            "time_s,u (V)\n1,2\n",
            {},
            "no column of current or power",
            "the columns are time_s, u",
        ),
        (
            "time,current\n0,1\n1,1\n",
            {"supply_v": 1.0},
            "no column of times",
            "--time COLUMN:UNIT",
        ),
        (
            "time_s,current\n0,1\n1,1\n",
            {"supply_v": 1.0, "current": "current"},
            "has no unit of current",
            "current:UNIT",
        ),
        (
            "time_s,current\n0,1\n1,1\n",
            {"supply_v": 1.0, "current": "i:mA"},
            "no columns are called i",
            "time_s, current",
        ),
        (
            "time_s,i1_a,i2_a\n0,1,2\n",
            {"supply_v": 1.0},
            "2 columns in a unit of current: i1_a, i2_a",
            "--current",
        ),
        (HEAD + GOOD, {"sync": "gate"}, "no column is called gate", "--sync none"),
        (
            "time_s,power_w,sync\n0,1,1\n1,1,maybe\n",
            {},
            "line 3: sync is not a level",
            "'maybe'",
        ),
    ],
)
def test_each_fault_of_a_table_is_named_with_its_place(
    tmp_path: Path,
    opened: Open,
    text: str,
    options: dict[str, Any],
    message: str,
    more: str,
) -> None:
    with pytest.raises(DataError, match=message) as error:
        opened(table(tmp_path, text), **options)
    assert more in f"{error.value.cause} {error.value.evidence} {error.value.try_next}"
    assert error.value.try_next


def test_a_last_line_that_was_cut_off_is_left_out_and_reported(
    tmp_path: Path, opened: Open
) -> None:
    result = opened(table(tmp_path, HEAD + GOOD + "20,1"))
    assert (
        result.trace.length == 20
        and "the last line, 22, does not end and may be cut off: it is left out"
        in result.notes
    )


def test_times_that_do_not_begin_at_zero_are_reported(
    tmp_path: Path, opened: Open
) -> None:
    result = opened(
        table(
            tmp_path,
            "time_s,power_w\n" + "".join(f"{5 + k / 100},1\n" for k in range(50)),
        )
    )
    assert (
        "time 0 is the file's 5 s" in result.notes
        and "100 samples a second, from the column time_s" in result.notes
    )


@pytest.mark.parametrize(
    "options",
    [
        {"supply_v": -1.0},
        {"rate_hz": math.nan},
        {"supply_v": 3.0, "voltage": "u"},
        {"power": "p", "current": "i"},
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any],
) -> None:
    with pytest.raises(ConfigError):
        checked(Options(**options), "")


@pytest.mark.parametrize(
    "damage", ["noise", "noise, not closed", "zeros, not closed", "a little noise"]
)
def test_a_damaged_jls_file_is_reported_as_one_in_a_sentence(
    tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "a.jls"
    writer = jls_writer(path, 1000, "current")
    writer.fsr(1, 0, np.ones(100_000, np.float32))
    writer.close()
    content = path.read_bytes()
    # Magic, then the length of the file, which is not there before it is closed.
    magic = content[:16]
    length = content[16:24]
    size_b = len(content) - 24
    noise = np.random.default_rng(1).bytes(size_b)
    kinds = {
        "noise": length + noise,
        "noise, not closed": bytes(8) + noise,
        "zeros, not closed": bytes(8 + size_b),
    }
    path.write_bytes(magic + (kinds | {"a little noise": noise[:400]})[damage])
    with pytest.raises(DataError) as caught:
        open_any(path, tmp_path / "scratch")
    output = str(caught.value)
    assert "Traceback" not in output and "File " not in output and "\n  " not in output
    assert (
        path.name in caught.value.cause
        and caught.value.evidence
        and caught.value.try_next
    )


@pytest.mark.parametrize(
    "rows_before", [2, 20_000], ids=["in the first rows", "far below"]
)
def test_zero_bytes_in_a_table_are_named_and_not_all_shown(
    tmp_path: Path, rows_before: int
) -> None:
    rows = [f"{number / 1000},0.01\n" for number in range(rows_before + 2)]
    path = tmp_path / "a.csv"
    head = "".join(rows[:rows_before])
    path.write_text(
        f"time (s),power (W)\n{head}{chr(0) * 3000}{''.join(rows[rows_before:])}"
    )
    with pytest.raises(DataError) as caught:
        open_any(path, tmp_path / "scratch")
    assert f"line {rows_before + 2}" in str(caught.value)
    assert "zero bytes" in caught.value.try_next and len(str(caught.value)) < 500
