# SPDX-License-Identifier: Apache-2.0
"""A foreign JLS file that is measured where it lies: the numbers of its conversion, and
no copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.importers.open import open_any
from rig.measure import trace_windows
from tests.rig.importers.joulescope.test_jls2 import HZ, joulescope

LONG = 200_000


@pytest.mark.parametrize(
    "form",
    [{}, {"lost": (70_000, 70_400)}, {"voltage_at": 400, "times": 4}],
    ids=["whole", "samples lost", "voltage later and slower"],
)
def test_windows_gaps_and_notes_are_those_of_the_conversion(
    tmp_path: Path, form: dict[str, int]
) -> None:
    path = tmp_path / "a.jls"
    joulescope(path, long=LONG, **form)  # type: ignore[arg-type]
    before = path.read_bytes()
    converted = open_any(path, tmp_path / "1")
    result = open_any(path, tmp_path / "2", in_place=True)
    assert result.trace.path == path and not (tmp_path / "2").exists()
    assert path.read_bytes() == before
    spans = trace_windows.by_edges(result.trace, "fall-fall")
    assert (
        spans == trace_windows.by_edges(converted.trace, "fall-fall") and len(spans) > 5
    )
    rows = [
        trace_windows.tabulate(each.trace, spans, None) for each in (result, converted)
    ]
    assert rows[0] == rows[1]
    assert result.trace.gaps == converted.trace.gaps
    assert (result.notes, result.about, result.trace.sample_hz) == (
        converted.notes,
        converted.about,
        HZ,
    )
