# SPDX-License-Identifier: Apache-2.0
"""The lines of events.jsonl, each chained to the one before: after a change of one
line, all lines after it must be made again.

The last two fields of a line are `before`, the `sha256` of the line before (empty in
the first), and `sha256`, that of the line's own text without this field. The head of
the chain, the `sha256` of the line that ends the session, stands for the whole session.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.files import foreign_files
from rig.problems import Problem
from rig.store import strict_json
from rig.store.inventory import is_relative

SCHEMA = "neurorig-events-2"
#: How a session stands that did not come to its end: it may go on.
RESUMABLE = ("abort", "fail", "killed")
#: What events of before call a segment.
OLD_SEGMENT = "sitting"
_BEFORE = "before"
_OWN = "sha256"
_HEX = frozenset("0123456789abcdef")
_COUNT_MAX = 1_000_000


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _COUNT_MAX


def _is_seed(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 64


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= _HEX


def _is_files(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(map(is_relative, value)) and all(map(_is_sha256, value.values()))


def _is_problems(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_problem, value))


def _is_problem(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"code", "detail"}:
        return False
    return all(map(_is_text, value.values()))


#: The fields of each event besides `event` and the chain's two.
_FIELDS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "session_started": {
        "schema": _is_text,
        "trials": _is_count,
        "queries": _is_count,
        "files": _is_files,
    },
    "session_resumed": {"finished": _is_count, "at_utc": _is_text, "files": _is_files},
    "trial_started": {"trial": _is_count, "seed": _is_seed},
    "trial_resumed": {
        "trial": _is_count,
        "segment": _is_count,
        "step": _is_count,
        "files": _is_files,
    },
    "trial_finished": {
        "trial": _is_count,
        "problems": _is_problems,
        "files": _is_files,
    },
    "session_finished": {"status": _is_text, "reason": _is_text, "files": _is_files},
    "derived": {"files": _is_files},
}


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """One line of events.jsonl; fields that events of its kind do not have are empty or
    0.

    `word` is the line's name for a segment: older sessions use "sitting".
    """

    event: str
    before: str
    sha256: str
    files: dict[str, str] = field(default_factory=dict)
    trial: int = 0
    trials: int = 0
    queries: int = 0
    finished: int = 0
    seed: int = 0
    segment: int = 0
    step: int = 0
    problems: tuple[Problem, ...] = ()
    status: str = ""
    reason: str = ""
    at_utc: str = ""
    schema: str = ""
    word: str = "segment"

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> JournalEvent:
        """Return the event of a line whose fields are as they are due."""
        fields = dict(line)
        if OLD_SEGMENT in fields:
            fields |= {"segment": fields.pop(OLD_SEGMENT), "word": OLD_SEGMENT}
        problems = tuple(Problem(**each) for each in fields.pop("problems", ()))
        return cls(**fields, problems=problems)


@dataclass(frozen=True, slots=True)
class Journal:
    """The content of events.jsonl: its events, as far as they can be understood, and
    the faults of its lines.

    `torn`: an incomplete line follows the last whole one, as a killed process leaves
    it.
    """

    events: tuple[JournalEvent, ...]
    faults: tuple[str, ...]
    torn: bool = False

    @property
    def status(self) -> str:
        """Return success, abort or fail; "killed" if no line ends the session."""
        end = self._end
        return "killed" if end is None else end.status

    @property
    def head(self) -> str:
        """The hash that stands for the session; empty where it did not end."""
        end = self._end
        return "" if end is None else end.sha256

    @property
    def last(self) -> str:
        """The hash that the next line has to name."""
        return self.events[-1].sha256 if self.events else ""

    @property
    def measured(self) -> tuple[JournalEvent, ...]:
        """The events up to the end of the session, without those of files that
        were made of it later.
        """
        return tuple(event for event in self.events if event.event != "derived")

    @property
    def _end(self) -> JournalEvent | None:
        last = self.measured[-1] if self.measured else None
        return last if last is not None and last.event == "session_finished" else None

    def of_trial(self, kind: str, number: int) -> JournalEvent | None:
        """Return the event of a kind that a trial has."""
        return next(
            (
                event
                for event in self.events
                if event.event == kind and event.trial == number
            ),
            None,
        )


def line(content: Mapping[str, Any], before: str) -> tuple[str, str]:
    """Return a line of events.jsonl, and its hash."""
    text = json.dumps({**content, _BEFORE: before})
    own = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({**content, _BEFORE: before, _OWN: own}) + "\n", own


def read(path: Path) -> Journal:
    """Read events.jsonl; a file that is not there has no lines."""
    try:
        return parse(foreign_files.read_bytes(path, path.parent))
    except FileNotFoundError:
        return Journal((), ())


def parse(content: bytes) -> Journal:
    """Return the events of the lines; a line that cannot be understood is left out of
    the events, and reported.
    """
    *whole, rest = content.split(b"\n")
    events: list[JournalEvent] = []
    faults: list[str] = []
    before: str | None = ""
    for number, text in enumerate(whole, start=1):
        try:
            event = _event(text.decode(), first=number == 1)
        except (ValueError, RecursionError) as error:
            faults.append(f"line {number}: {error}")
            # Which line the next one has to follow is not known any more.
            before = None
            continue
        if fault := _broken(event, text.decode(), before):
            faults.append(f"line {number}: {fault}")
        before = event[_OWN]
        events.append(JournalEvent.of(event))
    if not faults:
        faults += _order(events)
    return Journal(tuple(events), tuple(faults), bool(rest))


def _event(text: str, *, first: bool) -> dict[str, Any]:
    """Return the event of a line; raise ValueError where it is none."""
    event = strict_json.parse_object(text)
    kind = event.get("event")
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is not None and OLD_SEGMENT in event and "segment" in fields:
        # Sessions of before: rig/store/segments.py.
        fields = {
            OLD_SEGMENT if name == "segment" else name: test
            for name, test in fields.items()
        }
    if fields is None:
        raise ValueError(f"no such event: {str(kind)[:40]!r}")
    if set(event) != {*fields, "event", _BEFORE, _OWN}:
        odd = sorted(set(event) ^ {*fields, "event", _BEFORE, _OWN})
        raise ValueError(f"{kind} has other fields: {', '.join(odd)[:80]}")
    for name, is_right in {**fields, _BEFORE: _is_text, _OWN: _is_sha256}.items():
        if not is_right(event[name]):
            raise ValueError(f"{name} is {str(event[name])[:60]!r}")
    if first != (kind == "session_started"):
        raise ValueError(f"{kind} {'is no beginning' if first else 'is there again'}")
    return event


def _broken(event: Mapping[str, Any], text: str, before: str | None) -> str:
    """Return why a line is no link of the chain; empty where it is one."""
    content = {
        name: value for name, value in event.items() if name not in (_BEFORE, _OWN)
    }
    again, own = line(content, event[_BEFORE])
    if event[_OWN] != own or again != text + "\n":
        return "was changed: its text has another SHA-256 than it names"
    if before not in (None, event[_BEFORE]):
        return (
            f"follows another line than the one before it: {event[_BEFORE][:16]}, not "
            f"{before[:16] if before else 'none'}"
        )
    return ""


def _order(events: Sequence[JournalEvent]) -> list[str]:
    """Return what cannot have happened in this order."""
    found = []
    trial = 0
    finished = 0
    ended = False
    for number, event in enumerate(events, start=1):
        kind = event.event
        if kind == "session_resumed":
            ended = False
        elif ended and kind != "derived":
            found.append(f"line {number}: {kind} after the session ended")
        elif kind == "trial_started":
            # A trial that was cut off may begin again.
            if event.trial != finished + 1:
                found.append(
                    f"line {number}: trial {event.trial} begins after trial {finished}"
                )
            trial = event.trial
        elif kind in ("trial_resumed", "trial_finished"):
            if event.trial != trial or trial != finished + 1:
                found.append(
                    f"line {number}: {kind} of trial {event.trial}, not of"
                    f" {finished + 1}"
                )
            finished += kind == "trial_finished"
        elif kind == "session_finished":
            ended = True
            found += _ending(number, event)
    return found


def _ending(number: int, event: JournalEvent) -> list[str]:
    success = event.status == "success"
    if event.status not in ("success", "abort", "fail") or (success and event.reason):
        return [
            f"line {number}: status {event.status[:20]!r}, reason {event.reason[:40]!r}"
        ]
    return []
