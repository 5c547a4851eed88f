# SPDX-License-Identifier: Apache-2.0
"""Texts of the pictures of searches, read from their SVG; the numbers are made by hand."""

from __future__ import annotations

from rig.files import typed
from rig.model.scores import Costs
from rig.store.sample_lines import CrossingLine, SampleLine, SearchLine, WindowLine
from scenarios.optimization import plots
from tests.drawings import drawn, texts, window


def searched(
    case: str,
    cost: int,
    target: int,
    timeout_s: float = 1.0,
    seed: int = 0,
    to_target: bool = False,
) -> plots.DrawnSearch:
    reached = CrossingLine(target // 2, True, False, window_line(0.0, timeout_s / 10))
    line = SampleLine(
        step=1,
        indices=(seed,),
        repeat=1,
        label="",
        answer="",
        correct=True,
        case=case,
        solve=SearchLine(timeout_s, 1, target if to_target else None),
        costs=Costs(cost, target, cost, target),
        crossings=(reached, CrossingLine(target, True, False, None)),
        windows=(window_line(0.0, timeout_s),),
    )
    assert line.solve is not None and line.costs is not None
    return plots.DrawnSearch(
        case=case, index=seed, solve=line.solve, costs=line.costs, line=line
    )


def window_line(start_s: float, stop_s: float) -> WindowLine:
    return typed.from_json(WindowLine, window(start_s, stop_s), "a window")


def test_a_density_that_is_no_whole_percentage_has_its_place_in_the_heat_map() -> None:
    svg = drawn(
        plots.heat(
            [searched("100n_12p5pct", -90, -100), searched("100n_5pct", -80, -100)]
        )
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
    svg = drawn(plots.heat(lines))
    shown = texts(svg)
    # At 1 s: mean of 10 % and 20 %; a beaten target; one that was met; a cell without a
    # search. At 1 ms one cell only.
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
    assert "+90.0" not in shown and {"100", "250", "5 %", "25 %", "SIMULATED"} <= set(
        shown
    )


def test_searches_have_a_panel_for_each_cell_and_what_is_not_drawn_is_reported() -> (
    None
):
    cells = [f"{nodes}n_5pct" for nodes in (10, 25, 50, 100, 250, 500, 1000, 2500)]
    picture = plots.over_time([searched(cell, -9, -10) for cell in cells])
    assert [text for text in texts(drawn(picture)) if text.endswith(" nodes, 5 %")] == [
        f"{nodes} nodes, 5 %" for nodes in (50, 100, 250, 500, 1000, 2500)
    ]
    assert "2 more cells are not drawn" in picture.caption


def test_four_cells_have_four_panels_in_order_and_none_is_empty() -> None:
    cells = ("250n_25pct", "100n_5pct", "250n_5pct", "100n_25pct")
    lines = [searched(cell, -9, -10) for cell in cells]
    svg = drawn(plots.over_time(lines))
    titles = [text for text in texts(svg) if " nodes, " in text]
    assert titles == [
        "100 nodes, 5 %",
        "100 nodes, 25 %",
        "250 nodes, 5 %",
        "250 nodes, 25 %",
    ]
    assert "0.8" not in texts(svg)  # the scale of an empty panel


def test_without_a_search_the_pictures_say_why_there_is_none() -> None:
    none = plots.over_time([])
    assert (none.figure, none.caption) == (
        None,
        "Not drawn: no search gave a vector, or none has a target.",
    )
    none = plots.heat([searched("10n_5pct", -9, -10, to_target=True)])
    assert (none.figure, none.caption) == (
        None,
        "Not drawn: no search had a fixed time-out.",
    )


def test_seeds_are_named_where_they_are_the_same_in_every_panel() -> None:
    names = ["10n_5pct_s0", "10n_5pct_s3", "25n_5pct_s0", "25n_5pct_s3"]
    lines = [
        searched(name.split("_s")[0], -9, -10, seed=position)
        for position, name in enumerate(names)
    ]
    assert {"seed 0", "seed 3"} <= set(texts(drawn(plots.over_time(lines, names))))
    other = [*names[:3], "25n_5pct_s4"]
    assert not any(
        "seed" in text for text in texts(drawn(plots.over_time(lines, other)))
    )
    assert not any("seed" in text for text in texts(drawn(plots.over_time(lines))))
