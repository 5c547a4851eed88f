# SPDX-License-Identifier: Apache-2.0
"""Edits that contradict the primary records of a session: its bench file, the log of
the line, data that settings determine, and its traces. After each edit everything that
follows is made again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab.faults.forger import digest, edit_json, edit_lines, rehash, remake
from rig.check.replay import Replay
from rig.interfaces.recount import WireBlock
from rig.results import results
from rig.store import completion_lines, wire_lines
from rig.store.session_folder import SessionFolder
from rig.trace.trace import CURRENT, SYNC, VOLTAGE, about_of, reading
from rig.trace.writer import TraceWriter
from sut_backends.shim import messages
from sut_backends.shim.frame import DELIMITER, Frame, decode, encode
from sut_backends.shim.messages import MessageKind

Edit = Callable[[Path], Any]
RECORDS = "trial-1/completions.jsonl"
LOG = "trial-1/uart.log"
#: A clock stated to run this much faster makes every time shorter.
FASTER = 1.25


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An edit, the kind of session that it is made to, and the file that is to be
    blamed."""

    name: str
    session: str
    apply: Edit
    blamed: str


def told(**changes: Any) -> Edit:
    """Change the provenance; a name with dots leads into it, "rail" is the only
    monitor."""

    def change(about: dict[str, Any]) -> None:
        for name, value in changes.items():
            *above, last = name.split("__")
            part: Any = about
            for key in above:
                part = part["monitors"][""] if key == "rail" else part[_place(key)]
            part[_place(last)] = value(part[_place(last)]) if callable(value) else value

    return lambda folder: edit_json(folder / "provenance.json", change)


def _place(key: str) -> Any:
    return int(key) if key.isdigit() else key


def bench(old: str, new: str) -> Edit:
    """Change the text of the bench file."""

    def apply(folder: Path) -> None:
        text = (folder / "bench.toml").read_text()
        assert old in text, old
        (folder / "bench.toml").write_text(text.replace(old, new, 1))

    return apply


def queries(change: Callable[[dict[str, Any]], Any], kind: str = "query") -> Edit:
    """Change the step records of a kind in all trials, and score them again."""

    def apply(folder: Path) -> None:
        for path in folder.glob("trial-*/completions.jsonl"):
            edit_lines(path, lambda number, line: line["kind"] == kind and change(line))
        score(folder)

    return apply


def score(folder: Path) -> None:
    """Score every record again, as the rig does."""
    rehash(folder)
    replay = Replay.of(results.Context.of(SessionFolder(folder)))
    assert replay is not None
    for path in folder.glob("trial-*/completions.jsonl"):
        records = completion_lines.read(path.parent)
        lines = [completion_lines.to_json(replay.score(item)) for item in records]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def faster(line: dict[str, Any]) -> None:
    """Bring the marks of a step closer together."""
    first = line["marks"][0][1]
    line["marks"] = [
        [phase, first + round((tick - first) * 0.8)] for phase, tick in line["marks"]
    ]


def frames(change: Callable[[str, Frame], Frame | None]) -> Edit:
    """Change the frames in the log of the first trial, with new check sums; None leaves
    one out."""

    def apply(folder: Path) -> None:
        blocks = wire_lines.read(folder / LOG)
        lines = [wire_lines.text(_changed(block, change)) for block in blocks]
        (folder / LOG).write_text("".join(lines))

    return apply


def _changed(
    block: WireBlock, change: Callable[[str, Frame], Frame | None]
) -> WireBlock:
    pieces = []
    for piece in block.content.split(DELIMITER):
        try:
            frame = change(block.direction, decode(piece))
        except ValueError:
            pieces.append(piece)
            continue
        pieces.append(encode(frame).strip(DELIMITER) if frame is not None else b"")
    content = DELIMITER.join(pieces)
    return replace(block, content=content + bytes(200) * block.shortened)


def _other_repeat(direction: str, frame: Frame) -> Frame:
    if frame.kind != MessageKind.RUN:
        return frame
    run = messages.RunMessage.unpack(frame.payload)
    return replace(frame, payload=replace(run, repeat=run.repeat - 1).pack())


def _one_content(direction: str, frame: Frame) -> Frame:
    """Load one sample all the time: an easy one."""
    if frame.kind != MessageKind.LOAD:
        return frame
    load = messages.LoadMessage.unpack(frame.payload)
    return replace(frame, payload=replace(load, crc32=1).pack())


def _no_caps(direction: str, frame: Frame) -> Frame | None:
    return None if frame.kind == MessageKind.CAPS else frame


def _no_answers(direction: str, frame: Frame) -> Frame | None:
    return None if frame.kind == MessageKind.DONE else frame


def _spoilt(folder: Path) -> None:
    """Change a byte of an answer in the log, and leave its check sum."""
    blocks = wire_lines.read(folder / LOG)
    at = max(
        position
        for position, block in enumerate(blocks)
        if block.direction == "rx" and len(block.content) > 40
    )
    content = bytearray(blocks[at].content)
    content[30] ^= 1
    blocks[at] = replace(blocks[at], content=bytes(content))
    (folder / LOG).write_text("".join(map(wire_lines.text, blocks)))


def _without_opening(folder: Path) -> None:
    lines = (folder / LOG).read_text().splitlines(keepends=True)
    (folder / LOG).write_text(
        "".join(line for line in lines if not line.startswith("-"))
    )


def _swapped_logs(folder: Path) -> None:
    shutil.copyfile(folder / "trial-2" / "uart.log", folder / LOG)


def _swapped_records(folder: Path) -> None:
    """Give two queries of a trial each other's times."""

    def apply(lines: list[dict[str, Any]]) -> None:
        item, other = [line for line in lines if line["kind"] == "query"][-2:]
        spans = []
        for line in (item, other):
            first = line["marks"][0][1]
            spans.append([tick - first for _, tick in line["marks"]])
        for line, span in zip((item, other), reversed(spans), strict=True):
            first = line["marks"][0][1]
            phases = [phase for phase, _ in line["marks"]]
            line["marks"] = [
                [phase, first + ticks + 1]
                for phase, ticks in zip(phases, span, strict=True)
            ]

    path = folder / RECORDS
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    apply(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _label(folder: Path) -> None:
    """Give a sample another class, its recording as well, and score everything
    again."""
    path = folder / "catalogue.csv"
    lines = path.read_text().splitlines(keepends=True)
    parts = lines[1].split(",")
    other = next(name for name in ("bus", "park", "airport") if name != parts[1])
    parts = [part.replace(parts[1], other) for part in parts]
    lines[1] = ",".join(parts)
    path.write_text("".join(lines))
    score(folder)


def _wrong_class(line: dict[str, Any]) -> None:
    """Return an answer with all classes equally likely."""
    line["output"] = line["output"][8:] + line["output"][:8]


def _later(name: str, change: Edit, event: str = "derived") -> Edit:
    """Change a file, and name its new content in a line after those that named it."""

    def apply(folder: Path) -> None:
        before = digest(folder / name)
        change(folder)
        remake(folder)
        after = {name: digest(folder / name)}

        def rename(events: list[dict[str, Any]]) -> None:
            for each in events:
                position = f"trial-{each['trial']}/" if "trial" in each else ""
                own = name.removeprefix(position)
                if own in each.get("files", {}) and name.startswith(position):
                    each["files"][own] = before
            if event == "derived":
                events.append({"event": "derived", "files": after})
            else:
                next(each for each in events if each["event"] == event)["files"] |= (
                    after
                )

        rehash(folder, rename)

    return apply


def _rescored(change: Callable[[dict[str, Any]], Any]) -> Edit:
    def apply(folder: Path) -> None:
        edit_json(folder / "rescored.json", change)
        rehash(folder)

    return apply


def _stretch_twice(folder: Path) -> None:
    """Write the beginning of a trace over a later part of it."""
    position = folder / "trial-1"
    with reading(position / "trace.jls") as reader:
        about = about_of(reader)
        lengths = [
            int(signal.length) for signal in reader.signals.values() if signal.signal_id
        ]
        length = min(lengths)
        current, voltage = (
            reader.fsr(signal, 0, length) for signal in (CURRENT, VOLTAGE)
        )
        levels = np.unpackbits(
            reader.fsr(SYNC, 0, length).view(np.uint8), bitorder="little"
        )
    (position / "trace.jls").unlink()
    kept = {
        key: about[key] for key in about if key not in ("sample_hz", "edge_hz", "sync")
    }
    rates = {key: about[key] for key in ("sample_hz", "edge_hz")}
    writer = TraceWriter(position, source="another", serial="1", about=kept, **rates)
    part = length // 10
    current = np.array(current)
    current[5 * part : 6 * part] = current[part : 2 * part]
    writer.analog(current, voltage)
    writer.sync(levels[:length])
    writer.close()


def then(*edits: Edit) -> Edit:
    """Make edits one after the other, and then all derived files."""

    def apply(folder: Path) -> None:
        for edit in edits:
            edit(folder)
        remake(folder)

    return apply


_VIRTUAL = "virtual"
_POSIX = "posix"
_ASC = "asc"
_QUBO = "qubo"
_TINY = "tiny"
_ABOUT = "provenance.json"
_RANGE = "rail__accuracy__current__0__"


def _changed_cost(tree: dict[str, Any]) -> None:
    tree["vectors"][0]["cost"] -= 1


def _changed_gap(tree: dict[str, Any]) -> None:
    tree["vectors"][0]["gap_best_known"] = 0.5


def _changed_target(tree: dict[str, Any]) -> None:
    tree["vectors"][0]["best_known"] = 0


SETTINGS: tuple[tuple[str, Edit], ...] = (
    ("rate of the device's clock", told(sut__tick_hz=lambda hz: round(hz * FASTER))),
    ("name of the device", told(sut__name="a fast chip")),
    ("length of a SYNC pulse", told(sut__sync_hold_s=1e-6)),
    ("slots of the device", told(sut__slots=8)),
    ("clock that the ticks count", told(sut__clock="CLOCK_MONOTONIC")),
    ("error of the device's clock", told(sut__details__clock_ppm=0.0)),
    ("limit of gain", told(**{f"{_RANGE}gain": lambda value: value / 10})),
    ("limit of offset", told(**{f"{_RANGE}offset": 0.0})),
    ("limit of the monitor's clock", told(rail__accuracy__clock_ppm=0.1)),
    ("source of the limits", told(rail__accuracy__source="a calibration laboratory")),
    ("rate of the monitor", told(rail__sample_hz=1e6)),
    ("name of the monitor", told(rail__name="a better monitor")),
    ("noise of the monitor", told(rail__details__noise_a=0.0)),
    ("metadata", told(metadata={"board": "another"})),
    (
        "device clock beside a monitor",
        told(device_clock={"limit_ppm": 1.0, "source": "x"}),
    ),
)

LATER: tuple[tuple[str, Edit], ...] = (
    ("bench.toml", _later("bench.toml", bench("limit_s = 20.0", "limit_s = 20.5"))),
    (
        "provenance.json",
        _later("provenance.json", told(created_utc="2020-01-01T00:00:00Z")),
    ),
    ("results.json", _later("results.json", told(created_utc="2020-01-01T00:00:00Z"))),
    ("records", _later(RECORDS, queries(faster))),
    (
        "bench.toml by the end",
        _later(
            "bench.toml", bench("limit_s = 20.0", "limit_s = 20.5"), "session_finished"
        ),
    ),
)

CONTRADICTIONS: tuple[Contradiction, ...] = (
    *(Contradiction(name, _VIRTUAL, then(edit), _ABOUT) for name, edit in SETTINGS),
    *(
        Contradiction(f"later line names {name}", _VIRTUAL, edit, "events.jsonl")
        for name, edit in LATER
    ),
    Contradiction(
        "clock scaled in bench file and provenance",
        _VIRTUAL,
        then(
            bench("tick_hz = 1000000", "tick_hz = 1250000"),
            told(sut__tick_hz=1_250_000),
        ),
        RECORDS,
    ),
    Contradiction(
        "output of a virtual device", _VIRTUAL, then(queries(_wrong_class)), RECORDS
    ),
    Contradiction(
        "stretch of samples twice in a trial",
        _VIRTUAL,
        then(_stretch_twice),
        "trial-1/trace.jls",
    ),
    Contradiction("times shorter than logged", _POSIX, then(queries(faster)), LOG),
    Contradiction(
        "idle times shorter than logged", _POSIX, then(queries(faster, "idle")), LOG
    ),
    Contradiction("answer other than logged", _POSIX, then(queries(_wrong_class)), LOG),
    Contradiction(
        "iterations other than logged",
        _POSIX,
        then(queries(lambda line: line.update(iterations=1))),
        LOG,
    ),
    Contradiction(
        "repeat other than logged",
        _POSIX,
        then(
            bench("repeat = 100", "repeat = 50"),
            queries(lambda line: line.update(repeat=50)),
        ),
        LOG,
    ),
    Contradiction(
        "idle time other than logged",
        _POSIX,
        then(
            bench("idle_s = 0.1", "idle_s = 0.09"),
            queries(lambda line: line.update(duration_s=0.09), "idle"),
        ),
        LOG,
    ),
    Contradiction("two queries exchanged", _POSIX, then(_swapped_records), LOG),
    Contradiction(
        "clock other than CAPS",
        _POSIX,
        then(
            bench("tick_hz = 1000000", "tick_hz = 1050000"),
            told(sut__tick_hz=1_050_000),
        ),
        LOG,
    ),
    Contradiction(
        "name other than CAPS", _POSIX, then(told(sut__name="a fast chip")), LOG
    ),
    Contradiction(
        "firmware other than CAPS", _POSIX, then(told(sut__firmware="9.9")), LOG
    ),
    Contradiction("model other than CAPS", _POSIX, then(told(sut__model="large")), LOG),
    Contradiction("slots other than CAPS", _POSIX, then(told(sut__slots=4)), LOG),
    Contradiction(
        "log emptied", _POSIX, then(lambda folder: (folder / LOG).write_text("")), LOG
    ),
    Contradiction("log without its opening", _POSIX, then(_without_opening), LOG),
    Contradiction("log without CAPS", _POSIX, then(frames(_no_caps)), LOG),
    Contradiction("log without answers", _POSIX, then(frames(_no_answers)), LOG),
    Contradiction("log of another trial", _POSIX, then(_swapped_logs), LOG),
    Contradiction("answer in the log spoilt", _POSIX, then(_spoilt), LOG),
    Contradiction(
        "repeat in the log lowered", _POSIX, then(frames(_other_repeat)), LOG
    ),
    Contradiction("one sample loaded for all", _POSIX, then(frames(_one_content)), LOG),
    Contradiction("label of generated data", _ASC, then(_label), "catalogue.csv"),
    Contradiction(
        "hash of the model", _ASC, then(told(task__model_sha256="0" * 64)), _ABOUT
    ),
    Contradiction("name of the model", _ASC, then(told(task__model="larger")), _ABOUT),
    Contradiction(
        "complexity",
        _ASC,
        then(told(task__complexity=lambda one: _smaller(one))),
        _ABOUT,
    ),
    Contradiction(
        "size of the data", _ASC, then(told(task__train_samples=41_360)), _ABOUT
    ),
    Contradiction(
        "hash of the data", _ASC, then(told(task__file_list_sha256="0" * 64)), _ABOUT
    ),
    Contradiction(
        "what is said of the data",
        _ASC,
        then(told(task__statement="recordings of our own")),
        _ABOUT,
    ),
    Contradiction("output of a batch", _ASC, then(queries(_wrong_class)), RECORDS),
    Contradiction(
        "hash of tensors", _TINY, then(told(task__data_sha256="0" * 64)), _ABOUT
    ),
    Contradiction(
        "version of targets", _QUBO, then(told(task__targets_version=1)), _ABOUT
    ),
    Contradiction(
        "source of targets",
        _QUBO,
        then(told(task__official_targets_source="ours")),
        _ABOUT,
    ),
    Contradiction(
        "cost in rescored.json", _QUBO, _rescored(_changed_cost), "rescored.json"
    ),
    Contradiction(
        "gap in rescored.json", _QUBO, _rescored(_changed_gap), "rescored.json"
    ),
    Contradiction(
        "target in rescored.json", _QUBO, _rescored(_changed_target), "rescored.json"
    ),
)


def _smaller(complexity: dict[str, Any]) -> dict[str, Any]:
    """Halve every number of a network's complexity."""
    return {
        key: value / 2
        if isinstance(value, float)
        else value // 2
        if type(value) is int
        else value
        for key, value in complexity.items()
    }
