# SPDX-License-Identifier: Apache-2.0
"""The session folder: a subscriber that writes it, functions that read it. Layout and fields: docs/RESULTS.md."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rig import catalogue, inventory, journal, jsontext
from rig.catalogue import Entry
from rig.done import Done
from rig.errors import DataError, DeviceBusy
from rig.events import (
    Event,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StepDone,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.journal import Journal
from rig.plan import Costs, Idle, Load, Query, Scene, Score, Solve, Step, Stream
from rig.provenance import utc_now
from rig.sut import Completion, Mark
from rig.trace import EDGES, GAPS, SAID, TRACE, storage_error
from rig.trial import Crossing, Sample, Streamed, Trial, Window

BENCH, PROVENANCE, EVENTS, RESULTS, REPORT = "bench.toml", "provenance.json", "events.jsonl", "results.json", "report.html"
CATALOGUE = "catalogue.csv"
COMPLETIONS, SAMPLES, UART, LINES = "completions.jsonl", "samples.jsonl", "uart.log", "results.txt"
#: A detached signature of events.jsonl, of which the chain commits to every other file (docs/RESULTS.md).
SIGNATURE = EVENTS + ".sig"
RECORDED = (TRACE, GAPS, EDGES, SAID)
_TRIAL = re.compile(r"trial-([1-9][0-9]{0,5})")
#: What was cut off and could not go on is kept under such a name.
CUT_OFF = re.compile(r"(trial|sitting)-[0-9]+-cut-off-[0-9]+")
#: Longer blocks on the UART are logged by their length and beginning: payloads are the task's, and hashed in the provenance.
_UART_SHOWN_B = 48


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """Names of things in one session folder."""

    path: Path

    @classmethod
    def create(cls, root: Path, bench: str) -> SessionFolder:
        """Make a new, empty folder root/<utc>-<bench>; never an existing one."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        for suffix in ("", *(f"-{count}" for count in range(2, 100))):
            path = root / f"{stamp}-{bench}{suffix}"
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise storage_error(error, root) from error
            return cls(path)
        raise DataError(f"{root} has a hundred sessions of this second")

    def trial(self, number: int) -> Path:
        """Return the folder of a trial."""
        return self.path / f"trial-{number}"

    def trials(self) -> list[int]:
        """Return the numbers of the trials that were begun, in order."""
        return sorted(int(found[1]) for path in self.path.iterdir() if (found := _TRIAL.fullmatch(path.name)))

    def provenance(self) -> dict[str, Any]:
        """Return what is known of how the session came about."""
        content: dict[str, Any] = read_json(self.path / PROVENANCE)
        return content

    def catalogue(self) -> tuple[Entry, ...]:
        """Return the task's samples; none where the task tells nothing of them."""
        path = self.path / CATALOGUE
        return catalogue.parse(path.read_text(encoding="utf-8")) if path.exists() else ()

    def journal(self) -> Journal:
        """Return the lines of events.jsonl and what is wrong with them."""
        return journal.read(self.path / EVENTS)

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return the events that were written completely; raise DataError where they are not as they were written."""
        found = self.journal()
        if found.faults:
            raise DataError(
                f"{self.path / EVENTS} is not as it was written",
                evidence=found.faults[0],
                try_next=f"rig check {self.path}",
            )
        return found.events

    def refuse_other(self) -> None:
        """Raise DataError where this is no session folder of this version, or holds what belongs into none.

        Whoever reads a session that may come from a stranger calls this before anything else.
        """
        inventory.refuse_strange(self.path)
        first = _first_line(self.path / EVENTS)
        try:
            schema = jsontext.parse_object(first.decode()).get("schema")
        except ValueError as error:
            said = f"{EVENTS}, line 1: {error}" if first else f"no {EVENTS}, or an empty one"
            raise no_session(self.path, said) from error
        if schema != journal.SCHEMA:
            raise no_session(self.path, f"{EVENTS}, line 1 has schema {schema!r:.60}, not {journal.SCHEMA!r}")

    def set_aside(self) -> dict[str, str]:
        """Return the SHA-256 of every file of trials that were cut off and begun anew, by its name in the session's folder."""
        apart = [path for path in self.path.iterdir() if CUT_OFF.fullmatch(path.name)]
        return {f"{path.name}/{name}": digest for path in sorted(apart) for name, digest in hashes(path).items()}

    def record_derived(self, name: str) -> None:
        """Note in events.jsonl which bytes a file has that was made of the finished session, unless it has them already.

        Where events.jsonl is not as it was written, nothing is added to it: the check says so.
        """
        try:
            with _opened(self.path / EVENTS) as stream:
                found, digest = self.journal(), sha256(self.path / name)
                derived = [event["files"] for event in found.events if event["event"] == "derived"]
                known = [files[name] for files in derived if name in files]
                if not found.faults and found.events and known[-1:] != [digest]:
                    content = {"event": "derived", "files": {name: digest}}
                    stream.write(journal.line(content, found.last)[0])
        except OSError as error:
            raise storage_error(error, self.path) from error


def _first_line(path: Path) -> bytes:
    """Return the first line of a file, as far as one may be long; empty where there is no file."""
    if not path.exists():
        return b""
    with path.open("rb") as stream:
        return stream.readline(1 << 20)


def no_session(path: Path, found: str) -> DataError:
    """Return the error that says why a folder is no session."""
    return DataError(f"{path} is no session folder of this version", evidence=found, try_next="rig list shows the sessions here")


class Store:
    """Write everything a session says into its folder, line by line, so that a killed process loses at most the line it was in."""

    def __init__(self, folder: SessionFolder, bench_toml: str | None) -> None:
        """Begin a session, or, without the text of a bench file, go on with one that was cut off."""
        self._folder = folder
        self._events: IO[str] | None = None
        self._completions: IO[str] | None = None
        self._uart: IO[str] | None = None
        self._wire_failure: OSError | None = None
        self._started_s = 0.0
        self._before = ""
        if bench_toml is not None:
            write_text(folder.path / BENCH, bench_toml)
        else:
            self._events = _opened(folder.path / EVENTS)
            self._before = folder.journal().last

    def __call__(self, event: Event) -> None:
        """Write one event."""
        try:
            if self._wire_failure is not None:
                raise self._wire_failure
            self._write(event)
        except OSError as error:
            raise storage_error(error, self._folder.path) from error

    def wire(self, direction: str, block: bytes) -> None:
        """Log one block that passed the UART."""
        if self._uart is not None:
            at_s = time.monotonic() - self._started_s
            more = "..." if len(block) > _UART_SHOWN_B else ""
            try:
                self._uart.write(f"{at_s:.6f} {direction} {len(block)} {block[:_UART_SHOWN_B].hex()}{more}\n")
            except OSError as error:
                # Raised with the next event: inside a conversation with a device it would be taken for that device's.
                self._wire_failure = error

    def close(self) -> None:
        """Close all files; closing twice is allowed."""
        try:
            self.end_trial()
        finally:
            events, self._events = self._events, None
            if events is not None:
                events.close()

    def _write(self, event: Event) -> None:
        match event:
            case SessionStarted():
                write_text(self._folder.path / PROVENANCE, json_text(event.provenance))
                if event.catalogue:
                    write_text(self._folder.path / CATALOGUE, catalogue.text(event.catalogue))
                self._events = _opened(self._folder.path / EVENTS)
                begun = (BENCH, PROVENANCE, *([CATALOGUE] if event.catalogue else []))
                files = {name: sha256(self._folder.path / name) for name in begun}
                line = {"schema": journal.SCHEMA, "event": "session_started", "trials": event.trials, "queries": event.queries}
                self._line(line | {"files": files})
            case SessionResumed():
                line = {"event": "session_resumed", "finished": event.finished, "at_utc": utc_now()}
                self._line(line | {"files": self._folder.set_aside()})
            case TrialStarted():
                self._open_trial(event.folder)
                self._line({"event": "trial_started", "trial": event.trial, "seed": event.seed})
            case TrialResumed():
                self._open_trial(event.folder)
                line = {"event": "trial_resumed", "trial": event.trial, "sitting": event.sitting, "step": event.step}
                self._line(line | {"files": event.files})
            case StepDone():
                assert self._completions is not None and self._uart is not None
                self._completions.write(json.dumps(done_to_json(event.done)) + "\n")
                self._completions.flush()
                self._uart.flush()
            case TrialFinished():
                problems = [{"code": problem.code, "detail": problem.detail} for problem in event.trial.problems]
                self._line({"event": "trial_finished", "trial": event.trial.number, "problems": problems, "files": event.files})
            case SessionFinished():
                self._line({"event": "session_finished", "status": event.status, "reason": event.reason, "files": event.files})

    def _open_trial(self, folder: Path) -> None:
        self._completions = (folder / COMPLETIONS).open("a", encoding="utf-8")
        self._uart = (folder / UART).open("a", encoding="utf-8")
        self._started_s = time.monotonic()

    def end_trial(self) -> None:
        """Close the raw files of a trial, so that they can be hashed."""
        try:
            self._end_trial()
        except OSError as error:
            raise storage_error(error, self._folder.path) from error

    def _end_trial(self) -> None:
        streams = [stream for stream in (self._completions, self._uart) if stream is not None]
        self._completions = self._uart = None
        with ExitStack() as stack:
            for stream in streams:
                stack.callback(stream.close)

    def _line(self, content: dict[str, Any]) -> None:
        if self._events is not None:
            text, self._before = journal.line(content, self._before)
            self._events.write(text)
            self._events.flush()


def _opened(path: Path) -> IO[str]:
    """Open the file of events to append to it, and keep others from doing so; what a killed process left of a line is cut off."""
    stream = path.open("a", encoding="utf-8")
    try:
        if sys.platform != "win32":  # where a file that is open for writing is not locked by itself
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        stream.close()
        raise DeviceBusy(f"{path.parent} is being written", try_next="wait until its session has ended, or stop it") from error
    content = path.read_bytes()
    os.truncate(path, content.rfind(b"\n") + 1)
    return stream


def done_to_json(done: Done) -> dict[str, Any]:
    """Return one line of completions.jsonl."""
    completion = done.completion
    line: dict[str, Any] = {"step": done.number}
    match done.step:
        case Query() as query:
            line |= {
                "kind": "query",
                "indices": query.indices,
                "repeat": query.repeat,
                "limit_s": query.limit_s,
                "warmup": query.warmup,
            }
            if not query.timed:
                line["timed"] = False
            if query.batch:
                line["batch"] = True
        case Idle() as idle:
            line |= {"kind": "idle", "duration_s": idle.duration_s}
        case Load() as load:
            line |= {"kind": "load", "index": load.index, "refusal": completion.refusal}
        case Solve() as solve:
            line |= {"kind": "solve"} | dataclasses.asdict(solve)
        case Stream() as stream:
            line |= {"kind": "stream"} | dataclasses.asdict(stream)
        case _:
            line["kind"] = "sync"
    line["marks"] = [[mark.phase, mark.tick] for mark in completion.marks]
    line |= {
        "output": completion.output.hex(),
        "retransmissions": completion.retransmissions,
        "rx_in_window_b": completion.rx_in_window_b,
        "iterations": completion.iterations,
        "restarts": completion.restarts,
    }
    if completion.faults:
        line["faults"] = completion.faults
    if completion.known is not None:
        line["known"] = completion.known
    if done.score is not None:
        line |= _scored(done.score)
    if done.each:
        line["each"] = [_scored(score) for score in done.each]
    return line


def _scored(score: Score) -> dict[str, Any]:
    line: dict[str, Any] = {"label": score.label, "answer": score.answer}
    line |= {"scores": score.scores, "case": score.case} if score.scores else {}
    line |= {"case": score.case, "costs": dataclasses.asdict(score.costs)} if score.costs else {}
    return line | ({"case": score.case, "fault": score.fault} if score.fault else {})


def _score(line: dict[str, Any]) -> Score:
    scores, case = tuple(float(number) for number in line.get("scores", ())), line.get("case", "")
    costs, fault = _costs(line["costs"]) if "costs" in line else None, line.get("fault", "")
    correct = costs.met if costs else line["label"] == line["answer"] and not fault
    return Score(correct, line["label"], line["answer"], scores, case, costs, fault)


def _costs(line: dict[str, Any]) -> Costs:
    """Return the costs of a line; sessions of before there were two targets have the best known one alone."""
    if "target" in line:
        return Costs(line["cost"], None, line["claimed"], line["target"])
    return Costs(**line)


def done_from_json(line: dict[str, Any]) -> Done:
    """Return what one line of completions.jsonl says."""
    step: Step | None = None
    if line["kind"] == "query":
        how = {"warmup": line["warmup"], "timed": line.get("timed", True), "batch": line.get("batch", False)}
        step = Query(tuple(line["indices"]), line["limit_s"], line["repeat"], **how)
    elif line["kind"] == "idle":
        step = Idle(line["duration_s"])
    elif line["kind"] == "load":
        step = Load(line["index"], optional=True)
    elif line["kind"] == "solve":
        limits = {key: line[key] for key in ("target", "limit_s", "warmup")}
        step = Solve(line["index"], line["timeout_s"], line["seed"], thresholds=tuple(line["thresholds"]), **limits)
    elif line["kind"] == "stream":
        scenes = tuple(Scene(scene["label"], tuple(scene["indices"]), scene["samples"]) for scene in line["scenes"])
        step = Stream(scenes, *(line[key] for key in ("hop", "window", "sample_hz", "preloaded", "limit_s")))
    marks = tuple(Mark(phase, tick) for phase, tick in line["marks"])
    counts = line["retransmissions"], line["rx_in_window_b"], line.get("iterations"), line.get("restarts", 0)
    known = tuple(line["known"]) if "known" in line else None
    said = {"faults": tuple(line.get("faults", ())), "refusal": line.get("refusal", ""), "known": known}
    completion = Completion(marks, bytes.fromhex(line["output"]), *counts, **said)
    score, each = _score(line) if "label" in line else None, tuple(map(_score, line.get("each", ())))
    return Done(line["step"], step, completion, score, each)


def read_completions(folder: Path) -> list[Done]:
    """Return what the device said in a trial, as far as it was written completely."""
    try:
        return [done_from_json(line) for line in read_lines(folder / COMPLETIONS)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / COMPLETIONS} has a line of another form", evidence=repr(error)) from error


def sample_line(sample: Sample) -> str:
    """Return one line of samples.jsonl."""
    line: dict[str, Any] = {"step": sample.step, "indices": sample.indices, "repeat": sample.repeat}
    if sample.hop is not None:
        line |= {"window": sample.hop.window, "scene": sample.hop.scene}
        line |= {"response": _window(sample.hop.response), "since_onset": _window(sample.hop.since_onset)}
    line |= {"label": sample.label, "answer": sample.answer, "correct": sample.correct}
    if sample.each:
        line["each"] = [_scored(score) for score in sample.each]
    if sample.scores:
        line |= {"scores": sample.scores, "case": sample.case}
    if sample.solve is not None:
        line |= _search(sample, sample.solve)
    return json.dumps(line | {"windows": [_window(window) for window in sample.windows]})


def _search(sample: Sample, solve: Solve) -> dict[str, Any]:
    how = {key: getattr(solve, key) for key in ("timeout_s", "seed", "target")}
    costs = dataclasses.asdict(sample.costs) if sample.costs else None
    return {"case": sample.case, "solve": how, "costs": costs, "crossings": [_crossing(one) for one in sample.crossings]}


def _crossing(crossing: Crossing) -> dict[str, Any]:
    window = _window(crossing.window) if crossing.window else None
    line: dict[str, Any] = {
        "threshold": crossing.threshold,
        "resolved": crossing.resolved,
        "by_device": crossing.by_device,
        "window": window,
    }
    if crossing.least_s is not None:
        line["least_s"] = crossing.least_s
    if crossing.bounds_j is not None:
        line["bounds_j"] = [_finite(bound) for bound in crossing.bounds_j]
    return line


def samples_text(trial: Trial) -> str:
    """Return samples.jsonl: idle windows first, then streams, then one line a sample."""
    idles = [json.dumps({"idle": _window(window)}) for window in trial.measured.idles]
    streams = [json.dumps({"stream": _stream(stream)}) for stream in trial.measured.streams]
    return "".join(line + "\n" for line in [*idles, *streams, *map(sample_line, trial.measured.samples)])


def _stream(stream: Streamed) -> dict[str, Any]:
    scenes = [{"label": label, "onset_s": onset_s} for label, onset_s in zip(stream.labels, stream.onsets_s, strict=True)]
    line = {"step": stream.step, "due": stream.due, "hop_s": stream.hop_s, "window_s": stream.window_s}
    return line | {"preloaded": stream.preloaded, "scenes": scenes, "whole": _window(stream.whole)}


def _window(window: Window) -> dict[str, Any]:
    return {
        "phase": window.phase,
        "start_s": window.start_s,
        "stop_s": window.stop_s,
        "latency_s": window.latency_s,
        "latency_u_s": _finite(window.latency_u_s),
        "energy_j": _finite(window.energy_j),
        "energy_u_j": _finite(window.energy_u_j),
    }


def _finite(value: float | None) -> float | None:
    """Return None for what JSON cannot say."""
    return value if value is not None and math.isfinite(value) else None


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder and those below it, by its name there."""
    return {name: sha256(path) for name, path in inventory.files(folder).items()}


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def json_text(content: Any) -> str:
    """Return JSON as it is stored: the same content always gives the same bytes."""
    return json.dumps(content, indent=1, sort_keys=False, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise storage_error(error, path) from error


def read_json(path: Path) -> Any:
    """Read a JSON file; raises DataError."""
    try:
        return jsontext.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not readable JSON", evidence=str(error)) from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; an incomplete last line (the writer was killed in it) is left out, any other bad line is a DataError."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    content = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            content.append(jsontext.parse_object(line))
        except ValueError as error:
            if number == len(lines):
                break
            raise DataError(f"{path}, line {number} is not JSON", evidence=f"{error}: {line[:80]}") from error
    return content
