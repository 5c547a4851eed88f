# SPDX-License-Identifier: Apache-2.0
"""samples.jsonl and results.json -> rows of tables, with the unit in each column's
name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rig.results.document import Results
from rig.store.sample_lines import SampleLine, TrialLines, WindowLine

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

Row = dict[str, Any]


def column(name: str, unit: str) -> str:
    """Return the name of a metric's column: energy_infer in J is energy_infer_j."""
    suffix = _SUFFIXES.get(unit, "_" + unit.lower().replace("/", "_per_"))
    return name if name.endswith(suffix) else name + suffix


def trial_rows(results: Results) -> Iterator[Row]:
    """Yield a row for each trial: how it went, and its value of each metric."""
    for place, trial in enumerate(results.trials):
        problems = [f"{problem.code}: {problem.detail}" for problem in trial.problems]
        row: Row = {
            "trial": trial.number,
            "seed": trial.seed,
            "valid": trial.valid,
            "samples": trial.samples,
            "retransmissions": trial.retransmissions,
            "problems": "; ".join(problems),
        }
        for name, metric in results.metrics.items():
            row[column(name, metric.unit)] = metric.per_trial[place].value
        yield row


def sample_rows(trial: int, lines: TrialLines) -> Iterator[Row]:
    """Yield a row for each sample, with what each of its phases took."""
    for line in lines.samples:
        row: Row = {"trial": trial, "step": line.step}
        row |= {"indices": line.indices, "repeat": line.repeat}
        optional = {"window": line.window, "scene": line.scene, "case": line.case}
        row |= {name: value for name, value in optional.items() if value is not None}
        row |= {"label": line.label, "answer": line.answer, "correct": line.correct}
        if line.each:
            row["correct_in_batch"] = sum(one.label == one.answer for one in line.each)
        if line.solve is not None:
            cost = None if line.costs is None else line.costs.cost
            row |= {
                "timeout_s": line.solve.timeout_s,
                "target": line.solve.target,
                "cost": cost,
            }
        for phase, window in _windows(line):
            row |= {
                f"{phase}_{name}": value for name, value in _measured(window).items()
            }
        yield row


def window_rows(trial: int, lines: TrialLines) -> Iterator[Row]:
    """Yield a row for each measured window: idle times, streams and samples."""
    for idle in lines.idles:
        yield _window_row(trial, "idle", None, idle.phase, idle)
    for stream in lines.streams:
        yield _window_row(
            trial, "stream", stream.step, stream.whole.phase, stream.whole
        )
    for line in lines.samples:
        for phase, window in _windows(line):
            yield _window_row(trial, "sample", line.step, phase, window)
        for crossing in line.crossings:
            if crossing.window is not None:
                window = crossing.window
                row = _window_row(trial, "crossing", line.step, window.phase, window)
                yield row | {"threshold": crossing.threshold}


def _windows(line: SampleLine) -> list[tuple[str, WindowLine]]:
    """Return all windows of a sample; the two of a stream's window by their own
    names."""
    windows = [(window.phase, window) for window in line.windows]
    of_hop = {"response": line.response, "since_onset": line.since_onset}
    return windows + [
        (name, window) for name, window in of_hop.items() if window is not None
    ]


def _window_row(
    trial: int, kind: str, step: int | None, phase: str, window: WindowLine
) -> Row:
    return {"trial": trial, "kind": kind, "step": step, "phase": phase} | _measured(
        window
    )


def _measured(window: WindowLine) -> Row:
    return {name: getattr(window, name) for name in _MEASURED}
