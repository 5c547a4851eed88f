# SPDX-License-Identifier: Apache-2.0
"""Results of an older schema: what of them can be compared with the same made again.

Values are computed as they were. Budgets, and so standard uncertainties, have
components that schemas before 6 had not, and intervals other methods.
"""

from __future__ import annotations

from typing import Any

from rig.model.metric import Statistic

#: From this schema on intervals and verdicts are those of today's methods.
METHODS_SINCE = 6
_OF_METRIC = ("same_samples", "other_samples", "budget", "per_trial")
_OF_TRIAL = ("trial", "value", "standard_error", "n")
_OF_BUDGETS = ("energy_u_j", "latency_u_s", "bounds_j", "bounds_s")
#: Of a verdict: its outcome, not its words.
_OF_VERDICT = ("ok", "rule", "trials")

NOT_COMPARED = (
    "uncertainties, 95 % intervals and the words of the verdict are those of a schema"
    f" before {METHODS_SINCE}, whose methods were others: they are not compared"
)


def comparable(tree: Any) -> Any:
    """Return what does not depend on the methods of a schema: a results.json without
    intervals and without the words of the verdicts.
    """
    if not isinstance(tree, dict):
        return tree
    found = dict(tree)
    metrics = tree.get("metrics")
    if isinstance(metrics, dict):
        rows = {name: _of_metric(row) for name, row in metrics.items()}
        found |= {"metrics": rows}
    found.pop("resolution", None)
    for name in ("replication", "audit"):
        verdict = tree.get(name)
        if isinstance(verdict, dict):
            found[name] = {key: verdict.get(key) for key in _OF_VERDICT}
    return found


def without_settings(stored: Any, again: Any) -> Any:
    """Return stored results with no value where today there is none: a TTS99 that was
    the time limit itself, which is a setting.
    """
    rows = stored.get("metrics") if isinstance(stored, dict) else None
    others = again.get("metrics") if isinstance(again, dict) else None
    if not isinstance(rows, dict) or not isinstance(others, dict):
        return stored
    kept = dict(rows)
    for name, row in rows.items():
        if _has_value(row) and not _has_value(others.get(name)):
            kept[name] = row | {"value": None}
    return stored | {"metrics": kept}


def _has_value(row: Any) -> bool:
    """Check whether a metric is an estimate, such as a TTS99, and has a value."""
    if not isinstance(row, dict) or row.get("statistic") != Statistic.ESTIMATE.value:
        return False
    return row.get("value") is not None


def sample(line: Any) -> Any:
    """Return a line of samples.jsonl without what budgets make: uncertainties, and the
    bounds that they move.
    """
    if isinstance(line, list):
        return [sample(each) for each in line]
    if not isinstance(line, dict):
        return line
    return {key: sample(value) for key, value in line.items() if key not in _OF_BUDGETS}


def _of_metric(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    kept = {key: value for key, value in row.items() if key not in _OF_METRIC}
    trials = row.get("per_trial")
    if isinstance(trials, list):
        kept |= {"per_trial": [_of_trial(trial) for trial in trials]}
    return kept


def _of_trial(trial: Any) -> Any:
    if not isinstance(trial, dict):
        return trial
    return {key: trial.get(key) for key in _OF_TRIAL}
