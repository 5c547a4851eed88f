# SPDX-License-Identifier: Apache-2.0
"""Lines of completions.jsonl read back as they were written; older forms; refusals."""

from __future__ import annotations

from typing import Any

import pytest

from rig.errors import DataError
from rig.model.completion import Completion, Mark
from rig.model.scores import Costs, Score
from rig.model.step_record import StepRecord
from rig.model.steps import Idle, Load, Query, Scene, Solve, Stream, Sync
from rig.store import completion_lines

TOLD = Completion(
    (Mark(1, 20), Mark(0, 90)), b"\x00\xff", 3, 4, iterations=5, restarts=6
)
RECORDS = [
    StepRecord(0, Sync(), Completion((Mark(80, 3),), iterations=0)),
    StepRecord(1, Idle(0.5), TOLD),
    StepRecord(2, Load(7, optional=True), Completion((), refusal="too large")),
    StepRecord(3, Query((1,), 20, warmup=True), TOLD, Score(True, "a", "a")),
    StepRecord(
        4, Query((1,), 20, timed=False), TOLD, Score(False, "a", "", (0.5, 1.0), "file")
    ),
    StepRecord(
        5,
        Query((1, 2), 20.5, 3, batch=True),
        TOLD,
        each=(Score(True, "a", "a"), Score(False, "b", "a")),
    ),
    StepRecord(
        6,
        Solve(2, 0.1, 77, -5, (-3, -5)),
        Completion(TOLD.marks, b"v", known=(30,)),
        Score(True, "n", "-5", case="c", costs=Costs(-5, None, -5, -4)),
    ),
    StepRecord(
        7, Solve(2, 0.1, 77), TOLD, Score(False, "n", "", case="c", fault="too short")
    ),
    StepRecord(
        8,
        Stream((Scene("bus", (1, 2), 400),), 100, 200, 8000, True),
        Completion(TOLD.marks, faults=("late",)),
        each=(Score(True, "bus", "bus"),),
    ),
]
IDLE: dict[str, Any] = completion_lines.to_json(RECORDS[1])


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.step.kind)
def test_a_line_reads_back_as_it_was_written(record: StepRecord) -> None:
    assert completion_lines.from_json(completion_lines.to_json(record)) == record


def test_a_line_has_its_step_first_and_the_score_last() -> None:
    line = completion_lines.to_json(RECORDS[3])
    assert list(line) == [
        *("step", "kind", "indices", "repeat", "limit_s", "warmup"),
        *(
            "marks",
            "output",
            "retransmissions",
            "rx_in_window_b",
            "iterations",
            "restarts",
        ),
        *("label", "answer"),
    ]
    assert line["output"] == "00ff" and line["marks"] == [[1, 20], [0, 90]]


def test_a_search_of_before_there_were_two_targets_has_the_best_known_one() -> None:
    line = completion_lines.to_json(RECORDS[6])
    line["costs"] = {"cost": -5, "claimed": -5, "target": -4}
    assert completion_lines.from_json(line) == RECORDS[6]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "jump"}, "'jump' is no kind of step"),
        ({"kind": 3}, r"\$\.kind"),
        ({"marks": [[1]]}, r"\$\.marks"),
        ({"output": "0g"}, r"\$\.output"),
        ({"iterations": True}, r"\$\.iterations"),
        ({"more": 1}, "unknown key 'more'"),
        ({"indices": [1]}, "unknown key 'indices'"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        completion_lines.from_json(IDLE | change)
