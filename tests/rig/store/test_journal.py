# SPDX-License-Identifier: Apache-2.0
"""events.jsonl is a chain: no line can be changed, left out, moved or put in, and a
torn end is no forgery.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.faults.forger import chained
from rig.store import journal
from rig.store.event_file import EventFile
from rig.store.session_folder import EVENTS

#: Fields that a line begins with.
FIRST = ("schema", "event")
STARTED = {
    "schema": journal.SCHEMA,
    "event": "session_started",
    "trials": 1,
    "queries": 3,
    "files": {},
}
TRIAL = {"event": "trial_started", "trial": 1, "seed": 7}
DONE = {"event": "trial_finished", "trial": 1, "problems": [], "files": {}}
END = {"event": "session_finished", "status": "success", "reason": "", "files": {}}
ABORT = END | {"status": "abort", "reason": "stopped by the user"}
RESUMED = {
    "event": "session_resumed",
    "finished": 0,
    "at_utc": "2026-01-31T12:00:00Z",
    "files": {},
}
GOES_ON = {"event": "trial_resumed", "trial": 1, "segment": 2, "step": 5, "files": {}}
DERIVED = {"event": "derived", "files": {"report.html": "0" * 64}}
WHOLE: list[dict[str, Any]] = [STARTED, TRIAL, DONE, END, DERIVED]


def read(events: list[dict[str, Any]], rest: str = "") -> journal.Journal:
    return journal.parse((chained(events) + rest).encode())


def test_a_line_is_written_with_its_fields_in_their_order(tmp_path: Path) -> None:
    lines = (STARTED, TRIAL, GOES_ON, DONE, END, RESUMED, DERIVED)
    with EventFile(tmp_path) as file:
        for line in lines:
            fields = {name: line[name] for name in line if name not in FIRST}
            file.append(str(line["event"]), **fields)
    assert (tmp_path / EVENTS).read_text(encoding="utf-8") == chained(list(lines))
    assert journal.read(tmp_path / EVENTS).faults == ()


def test_lines_made_by_the_documentation_are_those_of_the_rig() -> None:
    text = ""
    before = ""
    for event in WHOLE:
        line, before = journal.line(event, before)
        text += line
    assert text == chained(WHOLE)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        (WHOLE, "success"),
        ([STARTED, TRIAL], "killed"),
        ([STARTED, TRIAL, ABORT], "abort"),
        ([STARTED, TRIAL, ABORT, RESUMED, GOES_ON], "killed"),
        ([STARTED, TRIAL, ABORT, RESUMED, GOES_ON, DONE, END], "success"),
        (
            [STARTED, TRIAL, ABORT, RESUMED, TRIAL, DONE, END, DERIVED, DERIVED],
            "success",
        ),
        ([STARTED, TRIAL, DERIVED, RESUMED, GOES_ON, DONE, END], "success"),
    ],
)
def test_what_a_rig_writes_is_accepted(
    events: list[dict[str, Any]], status: str
) -> None:
    result = read(events)
    assert (
        not result.faults
        and result.status == status
        and len(result.events) == len(events)
    )


def test_the_head_is_that_of_the_end_whatever_was_made_of_it_later() -> None:
    assert read(WHOLE).head == read(WHOLE[:-1]).head == read(WHOLE[:-1]).last != ""
    assert read([STARTED, TRIAL]).head == ""


def test_a_torn_line_is_left_out_and_reported() -> None:
    result = read([STARTED, TRIAL], '{"event": "trial_fin')
    assert result.torn and not result.faults and len(result.events) == 2


@pytest.mark.parametrize("place", range(len(WHOLE)))
def test_a_line_left_out_or_moved_or_repeated_is_reported(place: int) -> None:
    lines = chained(WHOLE).splitlines(keepends=True)
    if place < len(lines) - 1:
        swapped = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
        for changed in (lines[:place] + lines[place + 1 :], swapped):
            assert journal.parse("".join(changed).encode()).faults
    assert journal.parse("".join([*lines[: place + 1], *lines[place:]]).encode()).faults


@pytest.mark.parametrize(
    "events",
    [
        [STARTED, TRIAL | {"trial": 2}, DONE | {"trial": 2}, END],
        [STARTED, DONE, END],
        [STARTED, TRIAL, DONE, DONE, END],
        [STARTED, TRIAL, DONE, END, TRIAL],
        [STARTED, STARTED],
        [TRIAL],
        [STARTED, END | {"status": "perfect"}],
        [STARTED, END | {"reason": "for no reason"}],
        [STARTED | {"note": "more"}],
        [STARTED | {"trials": "1"}],
        [STARTED | {"trials": True}],
        [STARTED | {"files": {"../a": "0" * 64}}],
        [STARTED | {"files": {"a": "0" * 63}}],
        [STARTED, TRIAL, DONE | {"problems": [{"code": 1, "detail": ""}]}],
    ],
)
def test_what_no_rig_writes_is_reported_although_its_hashes_fit(
    events: list[dict[str, Any]],
) -> None:
    assert read(events).faults


def test_another_spacing_of_the_same_content_is_reported() -> None:
    text = chained(WHOLE)
    assert journal.parse(text.replace('": ', '":', 1).encode()).faults
