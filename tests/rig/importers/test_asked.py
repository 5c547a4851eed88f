# SPDX-License-Identifier: Apache-2.0
"""Questions about a foreign file: the options that fit it, the choices, and its
properties.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rig.errors import DataError
from rig.importers.asked import questions
from rig.importers.open import open_any
from rig.importers.options import Options
from tests.rig.importers.joulescope import test_jls1 as jls1
from tests.rig.importers.profilers.test_ppk2 import archive, frame
from tests.rig.importers.test_open import F32, U1, Jls
from tests.traces import trace_writer

D_LINES = (*(f"D{number}" for number in range(8)), "none")
TABLE = "t,I,U (V),P (mW),D0-D3\n0,1,3,3,0000\n1,2,3,6,0001\n2,1,3,3,0000\n"


def asked(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    return {each.field.name: (each.choices, each.said) for each in questions(path)}


def test_a_recording_of_power_profiler_is_asked_for_volts_line_and_rate(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.ppk2"
    path.write_bytes(archive(frame(1.0) * 10))
    assert asked(path) == {
        "supply_v": ((), ""),
        "sync": (D_LINES, ""),
        "rate_hz": ((), "100 kHz"),
    }
    path.write_bytes(archive(frame(1.0) * 10, about="{}"))
    assert asked(path)["rate_hz"] == ((), "")
    (tmp_path / "a.ppk").write_bytes(b"x")
    assert set(asked(tmp_path / "a.ppk")) == {"supply_v", "sync", "rate_hz"}


def test_each_choice_of_a_column_opens_the_table(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(TABLE)
    result = asked(path)
    assert list(result) == [
        "current", "voltage", "supply_v", "shunt_ohm", "power", "sync", "time", "rate_hz"
    ]  # fmt: skip
    others = product(("t", "I", "D0-D3"), ("V", "mV", "uV", "nV"))
    names = ("U (V)", *map(":".join, others))
    assert result["voltage"] == (names, "U (V)")
    assert result["power"][1] == "P (mW)" and "I:uA" in result["current"][0]
    assert result["sync"][0] == (
        "t",
        "I",
        "U (V)",
        "P (mW)",
        "D0-D3",
        "D0",
        "D1",
        "D2",
        "D3",
        "none",
    )
    times = [choice for choice in result["time"][0] if choice.startswith("t:")]
    currents = [choice for choice in result["current"][0] if choice.startswith("I:")]
    assert len(times) == len(currents) == 4
    energies = {}
    for time, current in product(times, currents):
        options = Options(time=time, current=current)
        opened = open_any(path, tmp_path / f"{time}{current}", options)
        energies[time, current] = opened.trace.energy_j(0.0, 1e-12)
    assert energies["t:ms", "I:A"] == pytest.approx(
        1e3 * energies["t:ms", "I:mA"], rel=1e-6
    )


def test_a_current_of_otii_without_its_voltage_is_opened_by_what_is_asked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "Main current - Ace.csv"
    path.write_text(
        '"Timestamp","Value"\n' + "".join(f"{k / 1e3},0.01\n" for k in range(100))
    )
    with pytest.raises(DataError, match="no voltage of Otii"):
        open_any(tmp_path, tmp_path / "1")
    assert "supply_v" in asked(path) and asked(tmp_path) == asked(path)
    assert open_any(tmp_path, tmp_path / "2", Options(supply_v=3.0)).trace.length == 100


def test_a_rate_or_date_that_a_table_says_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("date,I (A)\n2026-03-01T12:00:00.1,1\n2026-03-01T12:00:00.2,1\n")
    assert asked(path)["time"][1] == "date"


def test_a_recording_of_joulescope_is_asked_for_its_signals(tmp_path: Path) -> None:
    path = tmp_path / "a.jls"
    rows = {
        "current": (F32, 1000, "A", 1),
        "other": (F32, 1000, "A", 1),
        "gpi[0]": (U1, 1000, "", 1),
    }
    file = Jls(path, rows)
    for name in ("current", "other"):
        file.put(name, 0, np.ones(100, np.float32))
    file.put("gpi[0]", 0, np.ones(13, np.uint8))
    file.close()
    result = asked(path)
    assert "source" not in result
    assert result["current"] == (("current", "other"), "")
    assert result["sync"] == (("gpi[0]", "none"), "") and result["rate_hz"] == (
        (),
        "1 kHz",
    )
    with pytest.raises(DataError, match="no voltage"):
        open_any(path, tmp_path / "1")
    open_any(path, tmp_path / "2", Options(current="other", supply_v=3.0))


def test_several_sources_are_offered_and_a_cut_file_takes_any_name(
    tmp_path: Path,
) -> None:
    rows = {"a/current": (F32, 1000, "A", 1), "b/current": (F32, 1000, "A", 2)}
    file = Jls(tmp_path / "two.jls", rows, ("A", "B"))
    for name in rows:
        file.put(name, 0, np.ones(100, np.float32))
    whole = file.close().read_bytes()
    assert asked(tmp_path / "two.jls")["source"] == (("A", "B"), "")
    cut = tmp_path / "cut.jls"
    cut.write_bytes(whole[:-100])
    os.utime(cut, (0, 0))
    assert all(
        answer == ((), "") for answer in asked(cut).values()
    ) and "source" in asked(cut)


def test_other_kinds_are_asked_for_what_they_can_take(tmp_path: Path) -> None:
    (tmp_path / "old.jls").write_bytes(jls1.file(jls1.config()))
    assert set(asked(tmp_path / "old.jls")) == {"supply_v", "power", "sync", "rate_hz"}
    (tmp_path / "a-energy.bin").write_bytes(b"\xf1")
    assert set(asked(tmp_path / "a-energy.bin")) == {"sync", "rate_hz"}


def test_of_what_no_option_opens_nothing_is_asked(tmp_path: Path) -> None:
    with trace_writer(tmp_path, 1e3, sync_kind="none") as writer:
        writer.analog([1.0], [1.0])
    assert asked(tmp_path / "trace.jls") == {} == asked(tmp_path)
    (tmp_path / "b.jls").write_text("a text")
    assert asked(tmp_path / "b.jls") == {}
    (tmp_path / "c.ppk2").write_bytes(archive(frame(1.0))[:40])
    with pytest.raises(DataError, match="damaged"):
        asked(tmp_path / "c.ppk2")
