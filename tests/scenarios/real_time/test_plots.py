# SPDX-License-Identifier: Apache-2.0
"""What the picture of a stream says, read from its SVG; the numbers are made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rig.store.session_folder import SessionFolder
from scenarios.real_time import plots
from tests.drawings import drawn, texts, window
from tests.results_by_hand import trial

TRIALS = [trial(1)]


def hop(window_s: float, answer: str, label: str, took_s: float = 0.1) -> dict[str, Any]:
    line = {
        "step": 2,
        "indices": [0],
        "repeat": 1,
        "answer": answer,
        "label": label,
        "correct": answer == label,
    }
    return line | {"response": window(window_s, window_s + took_s), "windows": []}


def streamed(folder: Path, hops: list[dict[str, Any]], stop_s: float = 4.0) -> SessionFolder:
    scenes = [{"label": "bus", "onset_s": 10.0}, {"label": "park", "onset_s": 12.0}]
    whole = window(10.0, 10.0 + stop_s)
    how = {"step": 2, "due": len(hops), "hop_s": 0.5, "window_s": 0.5, "preloaded": False}
    line = {"stream": how | {"scenes": scenes, "whole": whole}}
    (folder / "trial-1").mkdir()
    (folder / "trial-1" / "samples.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in [line, *hops])
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


def test_a_stream_that_nobody_answered_is_not_drawn(tmp_path: Path) -> None:
    picture = plots.decisions(streamed(tmp_path, []), TRIALS, 0.0)
    assert (picture.figure, picture.caption) == (None, "Not drawn: no stream was answered.")
