# SPDX-License-Identifier: Apache-2.0
"""Texts of the picture of a stream, read from its SVG; the numbers are made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rig.store.session_folder import SessionFolder
from scenarios.real_time import plots
from tests.drawings import drawn, texts, window
from tests.results_by_hand import trial

TRIALS = [trial(1)]


def hop(
    window_s: float, answer: str, label: str, took_s: float = 0.1
) -> dict[str, Any]:
    line = {
        "step": 2,
        "indices": [0],
        "repeat": 1,
        "answer": answer,
        "label": label,
        "correct": answer == label,
    }
    return line | {"response": window(window_s, window_s + took_s), "windows": []}


def streamed(
    folder: Path, hops: list[dict[str, Any]], stop_s: float = 4.0
) -> SessionFolder:
    scenes = [{"label": "bus", "onset_s": 10.0}, {"label": "park", "onset_s": 12.0}]
    whole = window(10.0, 10.0 + stop_s)
    how = {
        "step": 2,
        "due": len(hops),
        "hop_s": 0.5,
        "window_s": 0.5,
        "preloaded": False,
    }
    line = {"stream": how | {"scenes": scenes, "whole": whole}}
    (folder / "trial-1").mkdir()
    (folder / "trial-1" / "samples.jsonl").write_text(
        "".join(json.dumps(item) + "\n" for item in [line, *hops])
    )
    return SessionFolder(folder)


def test_wrong_decisions_are_hatched_and_right_ones_are_not(tmp_path: Path) -> None:
    right = tmp_path / "right"
    wrong = tmp_path / "wrong"
    drawings = {}
    for folder, answer in ((right, "park"), (wrong, "bus")):
        folder.mkdir()
        hops = [hop(11.0, "bus", "bus"), hop(13.0, answer, "park")]
        svg = drawn(plots.decisions(streamed(folder, hops), TRIALS, 0.0))
        drawings[folder] = svg
        assert {"bus", "park", "played", "decided", "SIMULATED"} <= set(texts(svg))
    assert "<pattern" in drawings[wrong] and "<pattern" not in drawings[right]


def test_a_long_stream_is_shown_by_its_beginning_and_says_so(tmp_path: Path) -> None:
    session = streamed(tmp_path, [hop(11.0, "bus", "bus")], stop_s=100.0)
    picture = plots.decisions(session, TRIALS, 0.0)
    assert "Only the beginning is shown" in picture.caption


def test_a_stream_without_answers_is_not_drawn(tmp_path: Path) -> None:
    picture = plots.decisions(streamed(tmp_path, []), TRIALS, 0.0)
    assert (picture.figure, picture.caption) == (
        None,
        "Not drawn: no stream was answered.",
    )


def test_missed_deadlines_are_counted_and_drawn_large(tmp_path: Path) -> None:
    hops = [
        hop(10.5, "bus", "bus", 0.2),
        hop(11.0, "bus", "bus", 0.4),
        hop(11.5, "bus", "bus"),
    ]
    session = streamed(tmp_path, hops)
    picture = plots.deadlines(session, TRIALS, 0.3)
    assert "trial 1: 1 of 3" in picture.caption
    assert {"trial", "1", "SIMULATED"} <= set(texts(drawn(picture)))
    assert picture.figure is not None
    late = [line for line in picture.figure.axes[0].lines if line.get_markersize() == 5]
    assert [list(line.get_xdata()) for line in late] == [pytest.approx([1.4])]
    by_hop = plots.deadlines(session, TRIALS, 0.0)
    assert "trial 1: 0 of 3" in by_hop.caption, "without a deadline it is a hop"


def test_windows_without_a_decision_have_missed_their_deadline(tmp_path: Path) -> None:
    session = streamed(tmp_path, [hop(10.5, "bus", "bus")])
    file = tmp_path / "trial-1" / "samples.jsonl"
    file.write_text(file.read_text().replace('"due": 1', '"due": 4'))
    assert "trial 1: 3 of 4" in plots.deadlines(session, TRIALS, 1.0).caption


def test_without_a_stream_there_are_no_deadlines(tmp_path: Path) -> None:
    (tmp_path / "trial-1").mkdir()
    (tmp_path / "trial-1" / "samples.jsonl").write_text("")
    picture = plots.deadlines(SessionFolder(tmp_path), TRIALS, 0.3)
    assert picture.figure is None
