# SPDX-License-Identifier: Apache-2.0
"""Step records and samples, to and from JSON lines."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from rig.errors import DataError
from rig.kinds import registry as kinds
from rig.model.completion import Completion, Mark
from rig.model.scores import Costs, Score
from rig.model.step_record import StepRecord
from rig.model.steps import Solve
from rig.model.trial import Crossing, Sample, Streamed, Trial, Window
from rig.store.session_folder import COMPLETIONS, read_lines


def done_to_json(done: StepRecord) -> dict[str, Any]:
    """Return one line of completions.jsonl."""
    completion = done.completion
    line: dict[str, Any] = {"step": done.number}
    line["kind"] = done.step.kind
    line |= kinds.of(done.step).to_json(done.step, completion)
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
    scores = tuple(float(number) for number in line.get("scores", ()))
    case = line.get("case", "")
    costs = _costs(line["costs"]) if "costs" in line else None
    fault = line.get("fault", "")
    correct = costs.met if costs else line["label"] == line["answer"] and not fault
    return Score(correct, line["label"], line["answer"], scores, case, costs, fault)


def _costs(line: dict[str, Any]) -> Costs:
    """Return the costs of a line; sessions of before there were two targets have the best known one
    alone.
    """
    if "target" in line:
        return Costs(line["cost"], None, line["claimed"], line["target"])
    return Costs(**line)


def done_from_json(line: dict[str, Any]) -> StepRecord:
    """Return what one line of completions.jsonl says."""
    step = kinds.named(line["kind"]).from_json(line)
    marks = tuple(Mark(phase, tick) for phase, tick in line["marks"])
    counts = (
        line["retransmissions"],
        line["rx_in_window_b"],
        line.get("iterations"),
        line.get("restarts", 0),
    )
    known = tuple(line["known"]) if "known" in line else None
    said = {
        "faults": tuple(line.get("faults", ())),
        "refusal": line.get("refusal", ""),
        "known": known,
    }
    completion = Completion(marks, bytes.fromhex(line["output"]), *counts, **said)
    score = _score(line) if "label" in line else None
    each = tuple(map(_score, line.get("each", ())))
    return StepRecord(line["step"], step, completion, score, each)


def read_completions(folder: Path) -> list[StepRecord]:
    """Return what the device said in a trial, as far as it was written completely."""
    try:
        return [done_from_json(line) for line in read_lines(folder / COMPLETIONS)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{folder / COMPLETIONS} has a line of another form", evidence=repr(error)
        ) from error


def sample_line(sample: Sample) -> str:
    """Return one line of samples.jsonl."""
    line: dict[str, Any] = {"step": sample.step, "indices": sample.indices, "repeat": sample.repeat}
    if sample.hop is not None:
        line |= {"window": sample.hop.window, "scene": sample.hop.scene}
        line |= {
            "response": _window(sample.hop.response),
            "since_onset": _window(sample.hop.since_onset),
        }
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
    return {
        "case": sample.case,
        "solve": how,
        "costs": costs,
        "crossings": [_crossing(one) for one in sample.crossings],
    }


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
    return "".join(
        line + "\n" for line in [*idles, *streams, *map(sample_line, trial.measured.samples)]
    )


def _stream(stream: Streamed) -> dict[str, Any]:
    scenes = [
        {"label": label, "onset_s": onset_s}
        for label, onset_s in zip(stream.labels, stream.onsets_s, strict=True)
    ]
    line = {
        "step": stream.step,
        "due": stream.due,
        "hop_s": stream.hop_s,
        "window_s": stream.window_s,
    }
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
