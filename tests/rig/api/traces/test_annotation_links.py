# SPDX-License-Identifier: Apache-2.0
"""Markers of a session's trial: written where Joulescope UI looks for them, outside the
session."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyjls
import pytest

import rig
from rig.annotations import Annotations, SingleMarker
from rig.trace.trace import CURRENT
from tests.rig.annotations.test_annotation_file import as_joulescope_ui


def found_by_joulescope_ui(path: Path) -> list[Path]:
    """The annotation files of a trace, as joulescope_ui/jls_source.py 1.7.1 looks for
    them."""
    return list(path.parent.glob(f"{path.stem}.anno*{path.suffix}"))


def test_joulescope_ui_finds_the_markers_of_a_session_with_the_link_beside_it(
    copied: Callable[[int], Path],
) -> None:
    session = copied(2)
    for _ in range(2):
        with rig.open_session(session).trace(2) as trace:
            written = trace.annotate(Annotations((SingleMarker(0.25, "here"),)))
            shown = trace.joulescope_path
    assert shown == session.with_name(f"{session.name}.trial-2.jls")
    assert found_by_joulescope_ui(shown) == [written]
    [(kind, signal, utc, label, _, _)] = as_joulescope_ui(written)
    assert (kind, signal, label) == ("single", "current", "here")
    with pyjls.Reader(str(shown)) as reader:
        at = reader.timestamp_to_sample_id(CURRENT, utc)
        current = reader.signals[CURRENT]
        assert at / current.sample_rate == pytest.approx(0.25, abs=2e-6)
        assert current.name == "current" and current.length > at
    # The annotation file itself can be opened there: its name leads to the trace.
    assert str(shown) == re.sub(r"(.+)\.anno[^\.]*\.jls", r"\1.jls", str(written))
    assert rig.open_session(session).check().ok
    # What Joulescope UI writes beside the link is read again.
    other = shown.with_name(f"{session.name}.trial-2.anno_mine.jls")
    written.rename(other)
    with rig.open_session(session).trace(2) as trace:
        assert trace.annotations().markers == (SingleMarker(0.25, "here"),)
    assert not found_by_joulescope_ui(session / "trial-2" / "trace.jls")
