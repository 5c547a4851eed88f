# SPDX-License-Identifier: Apache-2.0
"""samples.jsonl and results.json -> rows of tables, with the unit in each column's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rig.results.document import Results

_SUFFIXES = {
    "1": "",
    "s": "_s",
    "J": "_j",
    "W": "_w",
    "A": "_a",
    "V": "_v",
    "Hz": "_hz",
    "1/s": "_per_s",
    "s/s": "_s_per_s",
}
_MEASURED = ("start_s", "stop_s", "latency_s", "latency_u_s", "energy_j", "energy_u_j")
_OF_HOP = ("response", "since_onset")

Row = dict[str, Any]


def column(name: str, unit: str) -> str:
    """Return the name of a metric's column: energy_infer in J is energy_infer_j."""
    suffix = _SUFFIXES.get(unit, "_" + unit.lower().replace("/", "_per_"))
    return name if name.endswith(suffix) else name + suffix


def trial_rows(results: Results) -> Iterator[Row]:
    """Yield a row for each trial: how it went, and its value of each metric."""
    for place, trial in enumerate(results.trials):
        row: Row = {
            "trial": trial.number,
            "seed": trial.seed,
            "valid": trial.valid,
            "samples": trial.samples,
            "retransmissions": trial.retransmissions,
            "problems": "; ".join(
                f"{problem.code}: {problem.detail}" for problem in trial.problems
            ),
        }
        yield row | {
            column(name, metric.unit): metric.per_trial[place].value
            for name, metric in results.metrics.items()
        }


def sample_rows(trial: int, lines: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each sample of samples.jsonl, with what each of its phases took."""
    for line in lines:
        if "windows" not in line:
            continue
        row: Row = {"trial": trial, "step": line["step"]}
        row |= {"indices": tuple(line["indices"]), "repeat": line["repeat"]}
        row |= {key: line[key] for key in ("window", "scene", "case") if key in line}
        row |= {key: line[key] for key in ("label", "answer", "correct")}
        if "each" in line:
            row["correct_in_batch"] = sum(one["label"] == one["answer"] for one in line["each"])
        if "solve" in line:
            row |= {
                "timeout_s": line["solve"]["timeout_s"],
                "target": line["solve"]["target"],
                "cost": (line["costs"] or {}).get("cost"),
            }
        for window in _windows(line):
            row |= {f"{window['phase']}_{key}": window[key] for key in _MEASURED}
        yield row


def window_rows(trial: int, lines: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each measured window of samples.jsonl: idle times, streams and samples."""
    for line in lines:
        if "idle" in line:
            yield _window_row(trial, "idle", None, line["idle"])
        elif "stream" in line:
            yield _window_row(trial, "stream", line["stream"]["step"], line["stream"]["whole"])
        else:
            for window in _windows(line):
                yield _window_row(trial, "sample", line["step"], window)
            for crossing in line.get("crossings", ()):
                if crossing["window"]:
                    row = _window_row(trial, "crossing", line["step"], crossing["window"])
                    yield row | {"threshold": crossing["threshold"]}


def _windows(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all windows of a sample; the two of a stream's window by their own names."""
    named = [line[name] | {"phase": name} for name in _OF_HOP if name in line]
    return [*line["windows"], *named]


def _window_row(trial: int, kind: str, step: int | None, window: Mapping[str, Any]) -> Row:
    row: Row = {"trial": trial, "kind": kind, "step": step, "phase": window["phase"]}
    return row | {key: window[key] for key in _MEASURED}
