# SPDX-License-Identifier: Apache-2.0
"""A run in words: how far it is, what its numbers are, what to do next; no Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gui.run.record import RunSnapshot, RunStage, TrialRow
from rig.live.running import RunningMetric
from rig.results.labels import INTERLEAVED
from rig.results.replication import deviation
from rig.stats.binomial import Share
from rig.units import (
    duration,
    ends,
    four_digits,
    not_known,
    quantity,
    scale,
    share,
)


def progress(snapshot: RunSnapshot) -> str:
    """Return how far a run is, in one line."""
    match snapshot.stage:
        case RunStage.READY:
            return "ready"
        case RunStage.OPENING:
            return snapshot.doing or "opening the bench"
        case RunStage.STOPPING:
            return "stopping: the supply is switched off, the session is kept"
        case RunStage.FINISHED:
            return f"finished: {snapshot.trials_due} trials"
        case RunStage.STOPPED:
            return f"stopped in {_at_hand(snapshot)}" if snapshot.trial else "stopped"
        case RunStage.FAILED:
            return f"failed in {_at_hand(snapshot)}" if snapshot.trial else "failed"
        case _:
            return _running(snapshot)


def _running(snapshot: RunSnapshot) -> str:
    of_all = "" if _interleaved(snapshot) else f" of {snapshot.trials_due}"
    parts = [f"{_at_hand(snapshot)}{of_all}"] if snapshot.trial else []
    if snapshot.queries_due:
        due = snapshot.queries_due * (
            snapshot.trials_due if _interleaved(snapshot) else 1
        )
        parts.append(f"{snapshot.queries} of {due} queries")
    parts.append(snapshot.doing)
    if snapshot.left_s is None:
        parts.append("time left unknown until the first trial")
    else:
        left = (
            "less than a second"
            if snapshot.left_s < 1
            else duration(math.ceil(snapshot.left_s))
        )
        parts.append(f"{left} left")
    return "   ·   ".join(part for part in parts if part)


def _interleaved(snapshot: RunSnapshot) -> bool:
    return INTERLEAVED in snapshot.labels


def _at_hand(snapshot: RunSnapshot) -> str:
    if _interleaved(snapshot):
        return f"{snapshot.trials_due} interleaved trials"
    return f"trial {snapshot.trial}"


def supply(snapshot: RunSnapshot) -> tuple[str, str]:
    """Return the state of the supply in words, and its colour: "ok", "warn" or ""."""
    if not snapshot.rails:
        return "not switched", ""
    on = [rail or "supply" for rail, is_on in snapshot.rails.items() if is_on]
    if not on:
        return "off", ""
    if not snapshot.stage.busy:
        return "MAY STILL BE ON", "bad"
    return "on" if len(snapshot.rails) == 1 else f"on: {', '.join(on)}", "ok"


def trial_time(row: TrialRow) -> str:
    """Return how long a trial took by the clock on the wall."""
    return "before" if row.took_s is None else duration(row.took_s)


def trial_state(row: TrialRow) -> str:
    """Check whether a trial counts, and why not."""
    return "; ".join(row.problems) if row.problems else "valid"


def metric_mean(row: RunningMetric) -> str:
    """Return a metric of the trials so far with its 95 % interval for the same
    samples."""
    half = row.interval.expanded_uncertainty
    if half is not None and math.isfinite(half):
        return quantity(row.value, row.unit, half)
    value = quantity(row.value, row.unit)
    if not row.interval.known:
        return (
            f"{value}  ({not_known(row.interval.reason)})"
            if row.interval.reason
            else value
        )
    factor, _ = scale(row.value, row.unit)
    return f"{value}  ({ends(row.interval.low, row.interval.high, row.value, factor)})"


def metric_farthest(row: RunningMetric) -> str:
    """Return how far the farthest trial lies from the mean, as the 5 % rule counts it;
    empty for one trial.
    """
    if len(row.values) < 2:
        return ""
    away = [abs(deviation(each, row.value, row.deviation)) for each in row.values]
    farthest = max(away)
    return share(farthest) if math.isfinite(farthest) else ""


def metric_values(row: RunningMetric) -> str:
    """Return the values of the trials, all with the prefix of the mean."""
    factor, _ = scale(row.value, row.unit)
    decimals = four_digits(row.value * factor)
    return "  ".join(f"{value * factor:.{decimals}f}" for value in row.values)


def power_value(row: RunningMetric) -> str:
    """Return a mean power with its 95 % interval, or alone where that is not known."""
    return metric_mean(row) if row.interval.known else quantity(row.value, row.unit)


def powers_unknown(snapshot: RunSnapshot, rows: Sequence[RunningMetric]) -> str:
    """Return the reason for unknown mean powers; empty where all are known."""
    if not rows:
        if snapshot.trials and snapshot.metrics:
            return "The trials have no mean power."
        return "Known when the first trial has ended." if snapshot.stage.busy else ""
    reasons = [row.interval.reason for row in rows if not row.interval.known]
    return f"Uncertainty {not_known(reasons[0])}." if reasons else ""


def right_share(snapshot: RunSnapshot) -> str:
    """Return the share of right answers of the current trial with its 95 % interval for
    other samples; empty before the first."""
    count = snapshot.right.count
    if not count:
        return ""
    mean = snapshot.right.mean
    low, high = Share(round(mean * count), count).interval()
    return f"{mean:.1%} ({ends(low, high, mean, 100)})".replace("%", " %")


def latency(snapshot: RunSnapshot) -> str:
    """Return the mean latency of the current trial's queries; empty before the
    first."""
    mean = snapshot.latency
    return quantity(mean.mean, "s", mean.half) if mean.count else ""


def nothing_so_far(snapshot: RunSnapshot) -> str:
    """Return why the current trial has no preliminary numbers; empty where it has
    some, and after a run."""
    if not snapshot.stage.busy or snapshot.right.count or snapshot.latency.count:
        return ""
    if snapshot.queries:
        return "These steps have no numbers before the trial has ended."
    return "Known when the first query has ended."


def outcome(snapshot: RunSnapshot) -> str:
    """Return the result of a finished run in a sentence; empty while it goes on."""
    done = len(snapshot.trials)
    trials = f"{done or 'no'} finished trial{'s' * (done != 1)}"
    kept = f"the session is kept with {trials}" if snapshot.folder else ""
    match snapshot.stage:
        case RunStage.STOPPED:
            resume = f"; {kept}: Resume goes on where it stopped." if kept else "."
            return f"Stopped. {_switched(snapshot)}{resume}"
        case RunStage.FAILED | RunStage.FINISHED:
            return f"{_switched(snapshot)}{f'; {kept}' if kept else ''}."
        case _:
            return ""


def _switched(snapshot: RunSnapshot) -> str:
    """Return the state of the supply after a run; empty for one that the rig does not
    switch.
    """
    if not snapshot.rails:
        return "Nothing was switched on"
    if snapshot.powered:
        return "THE SUPPLY MAY STILL BE ON: switch it off by hand"
    return "The supply is off"
