# SPDX-License-Identifier: Apache-2.0
"""What the pictures of the report say, read from their SVG; the numbers are made by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pytest

from rig.report import search, stream
from rig.report.distributions import distributions
from rig.report.samples import TrialSamples
from rig.report.style import STYLE
from rig.report.throughput import throughput
from rig.results.document import IntervalResult, MetricResult, Results, TrialValue
from rig.store.session_folder import SessionFolder
from tests.results_by_hand import RESULTS


@pytest.fixture(autouse=True)
def style() -> Any:
    with matplotlib.style.context(["default", STYLE]):
        yield


def texts(svg: str) -> list[str]:
    """Return the words of a drawing: each stands in a comment or in a text element."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def window(start_s: float, stop_s: float) -> dict[str, Any]:
    return {
        "phase": "solve",
        "start_s": start_s,
        "stop_s": stop_s,
        "latency_s": stop_s - start_s,
        "energy_j": 1.0,
    }


def searched(
    case: str,
    cost: int,
    target: int,
    timeout_s: float = 1.0,
    seed: int = 0,
    to_target: bool = False,
) -> dict[str, Any]:
    crossings = [
        {"threshold": target // 2, "resolved": True, "window": window(0.0, timeout_s / 10)}
    ]
    crossings.append({"threshold": target, "resolved": True, "window": None})
    how = {"timeout_s": timeout_s, "seed": 1, "target": target if to_target else None}
    costs = {"cost": cost, "official": target, "claimed": cost, "best_known": target}
    line = {"case": case, "indices": [seed], "solve": how, "costs": costs, "crossings": crossings}
    return line | {"windows": [window(0.0, timeout_s)], "trial": 1}


def test_a_density_that_is_no_whole_percentage_has_its_place_in_the_heat_map() -> None:
    svg, _ = search.heat(
        [searched("100n_12p5pct", -90, -100), searched("100n_5pct", -80, -100)], RESULTS
    )
    assert {"12.5 %", "5 %"} <= set(texts(svg))


def test_the_heat_map_has_the_mean_gap_of_each_cell_for_each_time_out() -> None:
    lines = [
        searched("100n_5pct", -90, -100),
        searched("100n_5pct", -80, -100, seed=1),
        searched("250n_5pct", -110, -100),
        searched("250n_25pct", -100, -100),
        searched("250n_25pct", -50, -100, timeout_s=0.001),
        searched(
            "250n_25pct", -10, -100, to_target=True
        ),  # no fixed time-out: it has no place here
    ]
    svg, _ = search.heat(lines, RESULTS)
    shown = texts(svg)
    # At 1 s: mean of 10 % and 20 %; a beaten target; one that was met; a cell without a search. At
    # 1 ms one cell only.
    for text, count in {
        "+15.0": 1,
        "−10.0": 1,
        "0": 1,
        "+50.0": 1,
        "–": 4,
        "1 s": 1,
        "1 ms": 1,
    }.items():
        assert shown.count(text) == count, (text, shown)
    assert "+90.0" not in shown and {"100", "250", "5 %", "25 %", "SIMULATED"} <= set(shown)


def test_searches_have_a_panel_for_each_cell_and_what_is_not_drawn_is_said() -> None:
    cells = [f"{nodes}n_5pct" for nodes in (10, 25, 50, 100, 250, 500, 1000, 2500)]
    svg, caption = search.over_time([searched(cell, -9, -10) for cell in cells], RESULTS)
    assert [text for text in texts(svg) if text.endswith(" nodes, 5 %")] == [
        f"{nodes} nodes, 5 %" for nodes in (50, 100, 250, 500, 1000, 2500)
    ]
    assert "2 more cells are not drawn" in caption


def test_four_cells_have_four_panels_in_order_and_none_is_empty() -> None:
    cells = ("250n_25pct", "100n_5pct", "250n_5pct", "100n_25pct")
    lines = [searched(cell, -9, -10) for cell in cells]
    svg, _ = search.over_time(lines, RESULTS)
    titles = [text for text in texts(svg) if " nodes, " in text]
    assert titles == ["100 nodes, 5 %", "100 nodes, 25 %", "250 nodes, 5 %", "250 nodes, 25 %"]
    assert "0.8" not in texts(svg)  # the scale of an empty panel


def test_without_a_search_the_pictures_say_why_there_is_none() -> None:
    assert search.over_time([], RESULTS) == ("", "Not drawn: no search gave a vector.")
    assert search.heat([searched("10n_5pct", -9, -10, to_target=True)], RESULTS)[0] == ""


def hop(window_s: float, answer: str, label: str, took_s: float = 0.1) -> dict[str, Any]:
    line = {"step": 2, "answer": answer, "label": label, "correct": answer == label}
    return line | {"response": window(window_s, window_s + took_s), "windows": []}


def streamed(folder: Path, hops: list[dict[str, Any]], stop_s: float = 4.0) -> SessionFolder:
    scenes = [{"label": "bus", "onset_s": 10.0}, {"label": "park", "onset_s": 12.0}]
    line = {
        "stream": {"step": 2, "hop_s": 0.5, "scenes": scenes, "whole": window(10.0, 10.0 + stop_s)}
    }
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
        svg, _ = stream.decisions(
            streamed(folder, [hop(11.0, "bus", "bus"), hop(13.0, answer, "park")]), RESULTS, 0.0
        )
        drawings[folder] = str(svg)
        assert {"bus", "park", "played", "decided", "SIMULATED"} <= set(texts(svg))
    assert "<pattern" in drawings[wrong] and "<pattern" not in drawings[right]


def test_a_long_stream_is_shown_by_its_beginning_and_says_so(tmp_path: Path) -> None:
    _, caption = stream.decisions(
        streamed(tmp_path, [hop(11.0, "bus", "bus")], stop_s=100.0), RESULTS, 0.0
    )
    assert "Only the beginning is shown" in caption


def test_a_stream_that_nobody_answered_is_not_drawn(tmp_path: Path) -> None:
    assert stream.decisions(streamed(tmp_path, []), RESULTS, 0.0) == (
        "",
        "Not drawn: no stream was answered.",
    )


def test_throughput_without_a_value_is_not_drawn() -> None:
    assert throughput(with_throughput(None))[0] == ""
    svg, caption = throughput(with_throughput(20.0))
    assert "samples per second" in texts(svg) and "±5% of it" in caption


def with_throughput(value: float | None) -> Results:
    none = IntervalResult(None, None, "", "", "one trial", None, None, None)
    metric = MetricResult(
        value=value,
        unit="1/s",
        higher_is_better=True,
        standard_error_over_samples=None,
        same_samples=none,
        other_samples=none,
        budget=(),
        per_trial=(TrialValue(1, value, None, None, 1),),
    )
    return replace(RESULTS, metrics={"throughput": metric})


def test_values_that_hardly_differ_stand_at_the_axis_whole() -> None:
    latency_s = np.linspace(79.9920e-9, 79.9921e-9, 40).reshape(-1, 1)
    none = np.zeros_like(latency_s)
    svg, _ = distributions(
        "latency", [TrialSamples(1, True, 1, none, none, latency_s, none)], RESULTS
    )
    assert any(text.startswith("79.992") for text in texts(svg)) and not any(
        "e1" in text for text in texts(svg)
    )
