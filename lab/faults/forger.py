# SPDX-License-Identifier: Apache-2.0
"""A forger of sessions: changes on purpose, after which all hashes are made again.

The hashes and the chain are made by docs/reference/RESULTS.md, without the rig's own
code; derived files by the rig, as a forger would.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rig.report.report import rendered
from rig.results import document, results
from rig.session.turns import seed_of
from rig.store import sample_lines
from rig.store.session_folder import SessionFolder
from rig.trace.trace import CURRENT, SYNC, VOLTAGE, about_of, reading
from rig.trace.writer import TraceWriter


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def chained(events: list[dict[str, Any]]) -> str:
    """Return events.jsonl: each line with the hash of the one before, and its own."""
    lines = []
    before = ""
    for event in events:
        content = {
            name: value
            for name, value in event.items()
            if name not in ("before", "sha256")
        } | {"before": before}
        before = sha256(json.dumps(content).encode()).hexdigest()
        lines.append(json.dumps(content | {"sha256": before}) + "\n")
    return "".join(lines)


def rehash(
    folder: Path, edit: Callable[[list[dict[str, Any]]], Any] | None = None
) -> None:
    """Make every hash and the whole chain again, so that all of them fit what lies in
    the folder now.
    """
    with suppress(
        ValueError, TypeError, AttributeError, RecursionError
    ):  # of a provenance that is none
        edit_json(
            folder / "provenance.json",
            lambda about: about.update(bench_sha256=digest(folder / "bench.toml")),
        )
    path = folder / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        position = folder / f"trial-{event['trial']}" if "trial" in event else folder
        if "files" in event:
            event["files"] = {
                name: digest(position / name)
                for name in event["files"]
                if (position / name).is_file()
            }
    if edit is not None:
        edit(events)
    path.write_text(chained(events))


def edit_lines(path: Path, change: Callable[[int, dict[str, Any]], Any]) -> None:
    """Change the JSON objects of a file of lines in place."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines, start=1):
        change(number, line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def edit_json(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a JSON object in place."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True)
class Forgery:
    """A change on purpose, the kinds of sessions that it can be made to, and the file
    that is to be blamed.
    """

    name: str
    apply: Callable[[Path], Any]
    blamed: str
    sessions: tuple[str, ...] = ("single_stream",)


def remake(folder: Path) -> None:
    """Make all derived files again from what lies in the folder, by the rig itself, and
    then all hashes.
    """
    rehash(folder)
    context = results.Context.of(SessionFolder(folder))
    trials = []
    for number in SessionFolder(folder).trials():
        path = folder / f"trial-{number}"
        seed = seed_of(context.scenario, context.config.bench.seed, number)
        recorded = SessionFolder(folder).recorded(number)
        trial = results.reduce_trial(context, recorded, number, seed)
        (path / "samples.jsonl").write_text(sample_lines.text(trial))
        if trial.lines:
            (path / "results.txt").write_text(
                "".join(line + "\n" for line in trial.lines)
            )
        trials.append(trial)
    (folder / "results.json").write_text(document.text(results.derive(context, trials)))
    output = {}
    for trial in trials:
        output[trial.number] = [
            {"code": problem.code, "detail": problem.detail}
            for problem in trial.problems
        ]

    def problems(events: list[dict[str, Any]]) -> None:
        for event in events:
            if event["event"] == "trial_finished":
                event["problems"] = output[event["trial"]]

    rehash(folder, problems)
    if (folder / "report.html").exists():
        (folder / "report.html").write_text(rendered(folder))
        rehash(folder)


def _right_answers(folder: Path) -> None:
    def right(number: int, line: dict[str, Any]) -> None:
        for score in (line, *line.get("each", ())):
            if "label" in score:
                score["answer"] = score["label"]

    for path in folder.glob("trial-*/completions.jsonl"):
        edit_lines(path, right)


def _better_costs(folder: Path) -> None:
    def better(number: int, line: dict[str, Any]) -> None:
        if "costs" in line:
            line["costs"]["cost"] -= 3
            line["answer"] = str(line["costs"]["cost"])

    for path in folder.glob("trial-*/completions.jsonl"):
        edit_lines(path, better)


def _other_output(folder: Path) -> None:
    """Take the labels' word: the output of a wrong answer becomes that of a right one,
    but its score stays.
    """

    def wrong(number: int, line: dict[str, Any]) -> None:
        if line.get("output") and "label" in line:
            line["output"] = ("00" if line["output"][:2] != "00" else "7f") + line[
                "output"
            ][2:]

    edit_lines(folder / "trial-1" / "completions.jsonl", wrong)


def _then(
    first: Callable[[Path], Any], *more: Callable[[Path], Any]
) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        for step in (first, *more):
            step(folder)

    return apply


def _copy_trial(folder: Path) -> None:
    shutil.rmtree(folder / "trial-2")
    shutil.copytree(folder / "trial-1", folder / "trial-2")


def _copy_trace(folder: Path) -> None:
    for name in ("trace.jls", "completions.jsonl"):
        shutil.copyfile(folder / "trial-1" / name, folder / "trial-2" / name)


def _shifted_trace(folder: Path) -> None:
    """Write trial 2's trace again from trial 1's: other container, other beginning, the
    same samples.
    """
    source = folder / "trial-1" / "trace.jls"
    position = folder / "trial-2"
    (position / "trace.jls").unlink()
    with reading(source) as reader:
        about = about_of(reader)
        length = min(
            int(signal.length)
            for signal in reader.signals.values()
            if signal.signal_id in (CURRENT, VOLTAGE)
        )
        current, voltage = (
            reader.fsr(signal, 0, length) for signal in (CURRENT, VOLTAGE)
        )
        levels = np.unpackbits(
            reader.fsr(SYNC, 0, length).view(np.uint8), bitorder="little"
        )[:length]
    reported = {
        key: value
        for key, value in about.items()
        if key not in ("sample_hz", "edge_hz", "sync")
    }
    rates = {key: about[key] for key in ("sample_hz", "edge_hz")}
    writer = TraceWriter(
        position, source="another", serial="1", about=reported, **rates
    )
    shift = 1237
    writer.analog(
        np.concatenate([current[shift:0:-1], current]),
        np.concatenate([voltage[shift:0:-1], voltage]),
    )
    writer.sync(np.concatenate([np.ones(shift, np.uint8), levels]))
    writer.close()
    shutil.copyfile(
        folder / "trial-1" / "completions.jsonl", position / "completions.jsonl"
    )


def _not_simulated(folder: Path) -> None:
    edit_json(folder / "provenance.json", lambda about: about.update(simulated=False))


def _official_data(folder: Path) -> None:
    facts = {
        "source": "folder",
        "official": True,
        "subset": "all",
        "statement": "official split",
    }
    edit_json(folder / "provenance.json", lambda about: about["task"].update(facts))


def _nothing_simulated(folder: Path) -> None:
    def real(about: dict[str, Any]) -> None:
        about["simulated"] = about["sut"]["simulated"] = False
        for monitor in about["monitors"].values():
            monitor["simulated"] = False

    edit_json(folder / "provenance.json", real)


def _real_kinds(folder: Path) -> None:
    """Name a real device in the bench file, too: then the trace still says what
    recorded it."""
    _nothing_simulated(folder)

    def real(about: dict[str, Any]) -> None:
        about["sut"]["kind"] = "uart"
        about["monitors"][""]["kind"] = "joulescope"

    edit_json(folder / "provenance.json", real)
    text = (folder / "bench.toml").read_text()
    lines = (
        text[: text.index("[sut.")]
        + '[sut.uart]\nport = "/dev/ttyACM0"\n\n[monitor.joulescope]\n\n'
    )
    (folder / "bench.toml").write_text(lines + text[text.index("[scenario.") :])


def _sed(name: str, old: str, new: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text, f"{name} has no {old}"
        (folder / name).write_text(text.replace(old, new, 1))

    return apply


def _old_bench_hash(folder: Path) -> None:
    """Change the bench file, and all hashes but the one in the provenance."""
    about = json.loads((folder / "provenance.json").read_text())
    _sed("bench.toml", "limit_s = 20.0", "limit_s = 20.5")(folder)
    rehash(folder)
    edit_json(
        folder / "provenance.json",
        lambda now: now.update(bench_sha256=about["bench_sha256"]),
    )
    path = folder / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    events[0]["files"]["provenance.json"] = digest(folder / "provenance.json")
    path.write_text(chained(events))


def _events(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Path], None]:
    return lambda folder: rehash(folder, change)


def _empty_files(events: list[dict[str, Any]]) -> None:
    for event in events:
        if "files" in event:
            event["files"] = {}


def _other_seed(events: list[dict[str, Any]]) -> None:
    next(event for event in events if event["event"] == "trial_started")["seed"] += 1


def _line_gone(folder: Path) -> None:
    path = folder / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1] + lines[2:]))


def _step_gone(folder: Path) -> None:
    """Leave out the slowest answer of a trial."""
    path = folder / "trial-1" / "completions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if '"warmup": false' in line)
    path.write_text("".join(lines[:at] + lines[at + 1 :]))


def _order_changed(folder: Path) -> None:
    """Ask for one sample twice instead of for another one."""
    path = folder / "trial-1" / "completions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    item, other = [
        line for line in lines if line["kind"] == "query" and not line["warmup"]
    ][:2]
    other |= {key: item[key] for key in ("indices", "output", "label", "answer")}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _file(name: str, content: bytes = b"x") -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    return apply


def _official(about: dict[str, Any]) -> None:
    about["task"].update(official=True, unofficial="")


def _easier(which: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        edit_json(
            folder / "provenance.json",
            lambda about: about["task"]["workloads"][0].update({which: -1}),
        )

    return apply


def _quiet_link(folder: Path) -> None:
    path = folder / "trial-1" / "uart.log"
    path.write_text(path.read_text() + "1.0 tx 1 00\n")


ALL = ("single_stream", "offline", "tiny", "optimization", "real_time")
#: Everything that issue and experience name; "again" means with all derived files and
#: hashes made again.
FORGERIES: tuple[Forgery, ...] = (
    Forgery(
        "answer set to label", _then(_other_output, _right_answers), "completions.jsonl"
    ),
    Forgery(
        "answer set to label, again",
        _then(_other_output, _right_answers, remake),
        "trial-1/completions.jsonl",
    ),
    Forgery(
        "answers set to labels, again",
        _then(_right_answers, remake),
        "completions.jsonl",
        ("real_time",),
    ),
    Forgery(
        "output changed, score kept, again",
        _then(_other_output, remake),
        "completions.jsonl",
        ("tiny", "single_stream"),
    ),
    Forgery(
        "costs lowered, again",
        _then(_better_costs, remake),
        "completions.jsonl",
        ("optimization",),
    ),
    Forgery(
        "official target raised, again",
        _then(_easier("official"), remake),
        "provenance.json",
        ("optimization",),
    ),
    Forgery(
        "best known target raised, again",
        _then(_easier("best_known"), remake),
        "provenance.json",
        ("optimization",),
    ),
    Forgery(
        "called official, again",
        _then(lambda folder: edit_json(folder / "provenance.json", _official), remake),
        "provenance.json",
        ("optimization",),
    ),
    Forgery(
        "trial 1 copied over trial 2, again",
        _then(_copy_trial, remake),
        "trial-2/",
        ALL,
    ),
    Forgery(
        "trace 1 copied over trace 2, again",
        _then(_copy_trace, remake),
        "trial-2/trace.jls",
        ALL,
    ),
    Forgery(
        "trace 1 shifted and written anew as 2, again",
        _then(_shifted_trace, remake),
        "trial-2/trace.jls",
    ),
    Forgery(
        "simulated set to false, again",
        _then(_not_simulated, remake),
        "provenance.json",
        ALL,
    ),
    Forgery(
        "data called official, again",
        _then(_official_data, remake),
        "provenance.json",
        ALL,
    ),
    Forgery(
        "nothing simulated, again", _then(_nothing_simulated, remake), "provenance.json"
    ),
    Forgery("a real bench named, again", _then(_real_kinds, remake), "trace.jls"),
    Forgery(
        "bench file changed, its hash in the provenance kept",
        _old_bench_hash,
        "provenance.json",
    ),
    Forgery(
        "bench seed changed, again",
        _then(_sed("bench.toml", "seed = 1", "seed = 2"), remake),
        "events.jsonl",
    ),
    Forgery(
        "plan's setting changed, again",
        _then(_sed("bench.toml", "warmup = 2", "warmup = 1"), remake),
        "completions.jsonl",
    ),
    Forgery("a trial's seed changed, again", _events(_other_seed), "events.jsonl", ALL),
    Forgery("empty lists of files, again", _events(_empty_files), "events.jsonl", ALL),
    Forgery("a line of events.jsonl left out", _line_gone, "events.jsonl", ALL),
    Forgery(
        "a step left out, again",
        _then(_step_gone, remake),
        "completions.jsonl",
        ("single_stream", "tiny"),
    ),
    Forgery(
        "one sample asked twice, again",
        _then(_order_changed, remake),
        "completions.jsonl",
    ),
    Forgery(
        "a right answer of the catalogue changed, again",
        _then(_sed("catalogue.csv", "2,", "2,0"), rehash),
        "catalogue.csv",
    ),
    Forgery("a file added", _file("notes.txt"), "notes.txt"),
    Forgery(
        "a file added to a trial", _file("trial-1/trace-2.jls"), "trial-1/trace-2.jls"
    ),
    Forgery("a folder added", lambda folder: (folder / "trial-3").mkdir(), "trial-3"),
    Forgery("a folder trial-²", lambda folder: (folder / "trial-²").mkdir(), "trial-²"),
    Forgery(
        "a trace removed",
        lambda folder: (folder / "trial-2" / "trace.jls").unlink(),
        "trial-2/trace.jls",
    ),
    Forgery(
        "gaps.jsonl removed",
        lambda folder: (folder / "trial-2" / "gaps.jsonl").unlink(),
        "trial-2/gaps.jsonl",
    ),
    Forgery("uart.log changed", _quiet_link, "trial-1/uart.log"),
    Forgery(
        "report.html changed",
        _sed("report.html", "SIMULATED", "measured"),
        "report.html",
        ALL,
    ),
    Forgery(
        "report.html changed, again",
        _then(_sed("report.html", "SIMULATED", "measured"), rehash),
        "report.html",
    ),
)
