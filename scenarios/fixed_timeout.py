# SPDX-License-Identifier: Apache-2.0
"""Searches that end at a time-out: gap to the target cost, and average power, for each cell and time-out. Pure.

QUBO.md, fixed time-out: "BKS-gap" and "average power over the run-time", averaged over the seeds of a workload; "no timing metric".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rig.quantity import quantity
from rig.statistics import mean, ratio, standard_error
from rig.trial import Metric, Sample
from scenarios.tasks.qubo.cost import Gap

Groups = Mapping[tuple[str, float], Sequence[Sample]]


def timeout_name(timeout_s: float) -> str:
    """Return a time-out as part of a metric's name: 1s, 10ms, 1500us."""
    for factor, unit in ((1, "s"), (1_000, "ms")):
        if abs(timeout_s * factor - round(timeout_s * factor)) < 1e-9 * factor * timeout_s:
            return f"{round(timeout_s * factor)}{unit}"
    return f"{round(timeout_s * 1_000_000)}us"


def groups(samples: Sequence[Sample]) -> Groups:
    """Return the searches of each cell and time-out, and under the empty name those of all cells."""
    found: dict[tuple[str, float], list[Sample]] = {}
    for sample in samples:
        if sample.solve is not None and sample.solve.target is None:
            for cell in ("", sample.case):
                found.setdefault((cell, sample.solve.timeout_s), []).append(sample)
    return found


def metric_name(what: str, cell: str, timeout_s: float) -> str:
    """Return gap_250n_5pct_10ms, or gap_10ms for all cells."""
    return "_".join(filter(None, (what, cell, timeout_name(timeout_s))))


def metrics(samples: Sequence[Sample]) -> dict[str, Metric]:
    """Return the mean gap and the average power of each cell and time-out."""
    found: dict[str, Metric] = {}
    for (cell, timeout_s), group in groups(samples).items():
        gaps = _gaps(group)
        if not _why_no_gap(group):
            gap = Metric(mean(gaps), "1", standard_error(gaps), len(gaps), higher_is_better=False)
            found[metric_name("gap", cell, timeout_s)] = gap
        found[metric_name("power", cell, timeout_s)] = power(group)
    return found


def absent(samples: Sequence[Sample]) -> dict[str, str]:
    """Return why a gap is missing."""
    whys = {metric_name("gap", *key): _why_no_gap(group) for key, group in groups(samples).items()}
    return {name: why for name, why in whys.items() if why}


def line(cell: str, samples: Sequence[Sample]) -> str:
    """Return what one cell has at each time-out: the gap, by the printed formula in brackets, and the power."""
    said = []
    for (name, timeout_s), group in groups(samples).items():
        if name == cell:
            gaps, printed = _gaps(group), _printed(group)
            gap = f"gap {mean(gaps):.4g} ({mean(printed):.4g})" if not _why_no_gap(group) else "no gap"
            average = power(group)
            drawn = quantity(average.value, "W") if average.n else "no power"
            said.append(f"{timeout_name(timeout_s)} {gap}, {drawn}")
    return f"{cell}: " + "; ".join(said)


def power(samples: Sequence[Sample]) -> Metric:
    """Return the average power over the time of all searches; those whose energy is lost are left out."""
    whole = [sample.windows[0] for sample in samples if sample.windows[0].energy_j is not None]
    value, error = ratio([window.energy_j or 0.0 for window in whole], [window.latency_s for window in whole])
    return Metric(value, "W", error, len(whole), higher_is_better=False)


def _of(sample: Sample) -> Gap:
    assert sample.costs is not None
    return Gap(sample.costs.cost, sample.costs.target)


def _gaps(samples: Sequence[Sample]) -> list[float]:
    gaps = [_of(sample).gap for sample in samples if sample.costs]
    return [gap for gap in gaps if gap is not None]


def _printed(samples: Sequence[Sample]) -> list[float]:
    gaps = [_of(sample).printed for sample in samples if sample.costs]
    return [gap for gap in gaps if gap is not None]


def _why_no_gap(samples: Sequence[Sample]) -> str:
    useless = sum(sample.costs is None for sample in samples)
    if useless:
        return f"{useless} of {len(samples)} searches gave no vector of their workload"
    missing = len(samples) - len(_gaps(samples))
    return f"{missing} of {len(samples)} workloads have a target of 0, which was not met" if missing else ""
