# SPDX-License-Identifier: Apache-2.0
"""Completed, failed and missing runs, over trials and over sessions."""

from __future__ import annotations

from rig.model.grid import Coverage, Covered, summed, united


def test_a_cell_is_done_when_all_trials_have_done_it() -> None:
    item = Covered("a", "1s", 2, 2)
    none = Covered("a", "1s", 2)
    assert [cell.state for cell in summed([[item], [item]])] == ["done"]
    (cut_off,) = summed([[item], [none]])
    assert (cut_off.state, cut_off.asked, cut_off.done) == ("missing", 4, 2)


def test_a_cell_that_was_tried_as_often_as_asked_and_not_always_done_failed() -> None:
    (cell,) = summed(
        [[Covered("a", "1s", 1, 0, ("too large",))], [Covered("a", "1s", 1, 1)]]
    )
    assert cell.state == "failed" and cell.failures == ("too large",)


def test_of_several_sessions_each_cell_is_as_in_the_one_that_has_most_of_it() -> None:
    first = [Covered("a", "1s", 5, 5), Covered("b", "1s", 5, 1)]
    second = [Covered("a", "1s", 5), Covered("b", "1s", 5, 3), Covered("c", "1s", 1, 1)]
    cells = united([first, second])
    assert [(cell.workload, cell.done, cell.state) for cell in cells] == [
        ("a", 5, "done"),
        ("b", 3, "missing"),
        ("c", 1, "done"),
    ]


def test_a_shorter_session_that_is_whole_counts_more_than_a_longer_one_that_is_not():
    (cell,) = united([[Covered("a", "1s", 100, 50)], [Covered("a", "1s", 5, 5)]])
    assert cell.state == "done"


def test_the_coverage_names_each_reason_once() -> None:
    cells = [
        Covered("a", "1s", 2, 0, ("too large", "too large")),
        Covered("b", "1s", 1, 1),
    ]
    coverage = Coverage.of(cells)
    assert (coverage.done, coverage.failed, coverage.missing) == (1, 1, 0)
    assert (
        coverage.cells[0].failures == ("too large",)
        and coverage.cells[0].state == "failed"
    )
