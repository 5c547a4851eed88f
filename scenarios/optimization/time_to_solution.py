# SPDX-License-Identifier: Apache-2.0
"""Searches that end at a target: time and energy until the device itself knew a threshold reached,
and how often it did. Pure.

QUBO.md, time to solution: "latency" from the loaded graph until the solver has detected that a gap
is reached, "energy" as average power since then times that latency; where it is not reached, no
result. The gaps of the rules are those to the official target; results to the best known one have
`best_known` in their names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rig.model.metric import Metric, Prominence, Repeatability, Statistic
from rig.model.trial import Crossing, Sample
from rig.stats.summary import NORMAL_95, mean, standard_error
from rig.stats.time_to_target import Attempt, quantile, success, time_to_solution_s
from rig.units import quantity
from scenarios.common.cost_gap import KINDS, OFFICIAL, target_of, threshold_cost
from scenarios.optimization import overrun, wade
from scenarios.optimization.fixed_timeout import headline, prominence


@dataclass(frozen=True, slots=True)
class Runs:
    """The searches of one cell (of all of them under the empty name) on their way to one gap, each
    with its crossing.

    The gap is to the target of a `kind`, OFFICIAL or BEST_KNOWN.
    """

    kind: str
    cell: str
    gap: float
    samples: tuple[Sample, ...]
    crossings: tuple[Crossing | None, ...]

    @property
    def reached(self) -> list[Crossing]:
        """Return the crossings of those that got there."""
        return [crossing for crossing in self.crossings if crossing is not None]

    @property
    def energies_j(self) -> list[float]:
        """Return the energies of those that got there, as far as they are known."""
        energies_j = [crossing.window.energy_j for crossing in self.reached if crossing.window]
        return [energy_j for energy_j in energies_j if energy_j is not None]

    @property
    def attempts(self) -> list[Attempt]:
        """Return the searches as attempts: one that did not get there was ended by its limit."""
        pairs = zip(self.samples, self.crossings, strict=True)
        return [
            Attempt(_latency_s(crossing) if crossing else _limit_s(sample), crossing is not None)
            for sample, crossing in pairs
        ]

    def name(self, what: str) -> str:
        """Return latency_to_10pct_250n_5pct, or latency_to_10pct for all cells;
        latency_to_10pct_best_known_250n_5pct.
        """
        return "_".join(filter(None, (what, "to", gap_name(self.gap), self.kind, self.cell)))

    @property
    def unasked(self) -> str:
        """Return why the share of success is not known: no target, or a threshold that no search
        was told of; empty when it is.
        """
        return _unasked(self.samples, self.kind, (self.gap,))

    @property
    def limit_s(self) -> float:
        """Return the time after which a search is ended."""
        return max(map(_limit_s, self.samples))

    @property
    def why(self) -> str:
        """Return why there is no mean latency; empty when there is one."""
        if self.unasked:
            return self.unasked
        if len(self.reached) < len(self.crossings):
            return f"no result: {len(self.reached)} of {len(self.crossings)} searches reached it"
        return ""

    @property
    def late(self) -> str:
        """Return why these searches have no result: one went on beyond its limit; empty where
        none did.
        """
        return overrun.why(self.samples)

    @property
    def early(self) -> str:
        """Return how many reached it too early for the monitor; their energies are bounded, not
        measured. Empty where none did.
        """
        early = [crossing for crossing in self.reached if not crossing.resolved]
        if not early:
            return ""
        told = (
            "by the device's own timer"
            if all(crossing.by_device for crossing in early)
            else "by its mark at the latest"
        )
        first_s = min(map(_latency_s, early))
        most_j = max(crossing.bounds_j[1] if crossing.bounds_j else 0.0 for crossing in early)
        return (
            f"{len(early)} reached it too early for the monitor, the first after "
            f"{quantity(first_s, 's')} {told}: "
            f"energy between 0 and {quantity(most_j, 'J')}"
        )


def gap_name(gap: float) -> str:
    """Return a gap as part of a metric's name: 10pct, 0p5pct."""
    return f"{100 * gap:g}pct".replace(".", "p").replace("-", "minus")


def runs(samples: Sequence[Sample], gaps: Sequence[float]) -> Iterator[Runs]:
    """Yield the searches of each cell, and of all, for each gap to the official and to the best
    known target, largest first.
    """
    to_target = [
        sample for sample in samples if sample.solve is not None and sample.solve.target is not None
    ]
    for cell in dict.fromkeys(["", *(sample.case for sample in to_target)] if to_target else []):
        chosen = tuple(sample for sample in to_target if cell in ("", sample.case))
        for kind in KINDS:
            for gap in sorted(gaps, reverse=True):
                yield Runs(
                    kind,
                    cell,
                    gap,
                    chosen,
                    tuple(_crossing(sample, gap, kind) for sample in chosen),
                )


def metrics(
    samples: Sequence[Sample],
    gaps: Sequence[float],
    curve: Sequence[float],
    repeatability: Repeatability = Repeatability.REPEATED,
) -> dict[str, Metric]:
    """Return share of success, latency, energy and TTS99 to each of `gaps`, and WADE over those of
    the `curve`.

    `repeatability` is that of means; what few attempts make coarse is compared in no case. Of all
    cells, latency and energy to the smallest gap, and WADE, are headlines.
    """
    found: dict[str, Metric] = {}
    coarse = max(repeatability, Repeatability.COARSE, key=list(Repeatability).index)
    overall: dict[str, dict[str, str]] = {"latency": {}, "energy": {}, "wade": {}}
    for group in runs(samples, gaps):
        if group.unasked or group.late:
            continue
        reached = [crossing is not None for crossing in group.crossings]
        shown = prominence(group.cell)
        success_name = group.name("success")
        found[success_name] = Metric.of_share(reached, True, shown, coarse)
        for what, mean_of in _means(group).items():
            name = group.name(what)
            found[name] = replace(mean_of, prominence=shown, repeatability=repeatability)
            overall[what] |= {} if group.cell else {group.kind: name}
        found |= _spread(group, coarse)
    for kind in KINDS:
        for cell, values in wades(samples, curve, kind).items():
            name = wade_name(kind, cell, curve)
            found[name] = replace(
                _mean(values, "1", True),
                prominence=prominence(cell),
                repeatability=repeatability,
                bounded=True,
            )
            overall["wade"] |= {} if cell else {kind: name}
    for names in overall.values():
        found |= headline(found, names)
    return found


def _means(group: Runs) -> dict[str, Metric]:
    """Return the mean latency and the mean energy to a gap, where there are any."""
    if group.why:
        return {}
    latencies_s = [_latency_s(crossing) for crossing in group.reached]
    found = {"latency": _mean(latencies_s, "s", False)}
    if len(group.energies_j) == len(latencies_s):
        found["energy"] = _mean(group.energies_j, "J", False)
    return found


def absent(
    samples: Sequence[Sample], gaps: Sequence[float], curve: Sequence[float]
) -> dict[str, str]:
    """Return why a mean latency, and an energy, is missing; of searches that were too long, why all
    is.
    """
    found: dict[str, str] = {}
    for group in runs(samples, gaps):
        if group.late or group.unasked:
            found |= dict.fromkeys(
                map(group.name, ("success", "tts99")), group.late or group.unasked
            )
        if curve and (why := group.late or _unasked(group.samples, group.kind, curve)):
            found[wade_name(group.kind, group.cell, curve)] = why
        if group.late:
            found |= dict.fromkeys(map(group.name, ("latency", "energy")), group.late)
        elif group.why:
            found |= dict.fromkeys((group.name("latency"), group.name("energy")), group.why)
        elif len(group.energies_j) < len(group.reached):
            lost = len(group.reached) - len(group.energies_j)
            found[group.name("energy")] = f"{lost} of {len(group.reached)} searches have no energy"
    return found


def line(
    cell: str, samples: Sequence[Sample], gaps: Sequence[float], curve: Sequence[float]
) -> str:
    """Return what one cell needs to each gap, with the intervals of share and median, and its
    WADE.
    """
    said = []
    for group in runs(samples, gaps):
        if group.cell == cell and (group.kind == OFFICIAL or (not group.unasked and _apart(group))):
            said.append(
                f"to {gap_name(group.gap)}{' of the best known' if group.kind else ''} "
                f"{_said(group)}"
            )
    own = wades(samples, curve, OFFICIAL).get(cell)
    title = "WADE" if wade.is_as_published(curve) else f"WADE of {len(curve)} thresholds"
    return f"{cell}: " + "; ".join([*said, *([f"{title} {mean(own):.4g}"] if own else [])])


def _apart(group: Runs) -> bool:
    """Return whether the thresholds of a group are others than those by the official targets."""
    return any(
        _threshold(sample, group.gap, group.kind) != _threshold(sample, group.gap, OFFICIAL)
        for sample in group.samples
    )


def _said(group: Runs) -> str:
    if group.unasked:
        return group.unasked
    share = success(group.attempts)
    attempts = group.attempts
    low, high = share.interval()
    said = f"{len(group.reached)} of {len(attempts)} ({low:.2g} to {high:.2g})"
    if group.late:
        return group.late
    if group.why:
        return f"{said}: {group.why}"
    energy = quantity(mean(group.energies_j), "J") if group.energies_j else "no energy"
    said += f", {quantity(mean([attempt.time_s for attempt in attempts]), 's')}, {energy}"
    said += f" ({group.early})" if group.early else ""
    median = quantile(attempts, 0.5)
    if median.value_s is None or not math.isfinite(median.high_s) or not median.low_s:
        return said
    return (
        f"{said}, median {quantity(median.value_s, 's')} ({quantity(median.low_s, 's')} to "
        f"{quantity(median.high_s, 's')})"
    )


def _spread(group: Runs, repeatability: Repeatability) -> dict[str, Metric]:
    """Return what differs from search to search: the median time, infinite where half of them did
    not get there, and TTS99.

    TTS99 is the time after which searches, each ended and begun again at its limit, have succeeded
    with 99 %; it is no latency to a threshold, and there is one also where some searches failed
    (Ronnow et al. 2014).
    """
    attempts = group.attempts
    found = {}
    median = quantile(attempts, 0.5)
    error_s = None
    # Below six searches there is no interval of 95 % for a median.
    if median.value_s is not None and median.low_s and math.isfinite(median.high_s):
        error_s = max(median.value_s - median.low_s, median.high_s - median.value_s) / NORMAL_95
    value_s = math.inf if median.value_s is None else median.value_s
    found[f"{group.name('latency')}_p50"] = Metric(
        value_s,
        "s",
        error_s,
        len(attempts),
        higher_is_better=False,
        statistic=Statistic.PERCENTILE,
        prominence=Prominence.DETAIL,
        repeatability=repeatability,
    )
    found[group.name("tts99")] = Metric(
        time_to_solution_s(group.limit_s, success(attempts).value),
        "s",
        n=len(attempts),
        higher_is_better=False,
        statistic=Statistic.ESTIMATE,
        prominence=prominence(group.cell),
        repeatability=repeatability,
    )
    return found


def wades(samples: Sequence[Sample], curve: Sequence[float], kind: str) -> dict[str, list[float]]:
    """Return the WADE of each search over the gaps of the `curve`, by cell and for all under the
    empty name.

    There is none where a threshold has no target of this `kind`, or was not told to a search, nor
    where one went on too long.
    """
    found: dict[str, list[Sample]] = {}
    for sample in samples if curve else ():
        if sample.solve is not None and sample.solve.target is not None:
            for cell in ("", sample.case):
                found.setdefault(cell, []).append(sample)
    told = {
        cell: own
        for cell, own in found.items()
        if not overrun.why(own) and not _unasked(own, kind, curve)
    }
    return {cell: [wade_of(sample, curve, kind) for sample in own] for cell, own in told.items()}


def wade_of(sample: Sample, curve: Sequence[float], kind: str) -> float:
    """Return the WADE of one search."""
    crossings = [_crossing(sample, gap, kind) for gap in curve]
    return wade.value(
        [None if crossing is None else _latency_s(crossing) for crossing in crossings], curve
    )


def wade_name(kind: str, cell: str, curve: Sequence[float]) -> str:
    """Return wade_250n_5pct, or wade for all cells; wade_of_4_... where the thresholds are not
    those of the paper.
    """
    return "_".join(filter(None, (wade.name(curve), kind, cell)))


def _threshold(sample: Sample, gap: float, kind: str) -> int | None:
    """Return the cost that a gap to the target of a `kind` stands for, None where there is no such
    target.
    """
    target = None if sample.costs is None else target_of(sample.costs, kind)
    return None if target is None else threshold_cost(target, gap)


def _unasked(samples: Sequence[Sample], kind: str, gaps: Sequence[float]) -> str:
    """Return why nothing is known of these gaps; a search without a vector has reached none of
    them, and does not count here.
    """
    useful = [sample for sample in samples if sample.costs is not None]
    costs = [[_threshold(sample, gap, kind) for gap in gaps] for sample in useful]
    if without := sum(None in row for row in costs):
        return (
            f"{without} of {len(samples)} searches are of a workload without "
            f"{'a best known' if kind else 'an official'} target"
        )
    untold = sum(bool({*row} - {*_told(sample)}) for sample, row in zip(useful, costs, strict=True))
    return (
        f"{untold} of {len(samples)} searches were not told its cost: the device marks too few "
        "thresholds, or best_known = false"
        if untold
        else ""
    )


def _told(sample: Sample) -> tuple[int, ...]:
    assert sample.solve is not None
    return sample.solve.thresholds


def _crossing(sample: Sample, gap: float, kind: str) -> Crossing | None:
    """Return the crossing of a gap's cost, None where the device did not mark it, or its vector
    does not cost as little.
    """
    cost = _threshold(sample, gap, kind)
    if sample.costs is None or cost is None:
        return None
    found = next((crossing for crossing in sample.crossings if crossing.threshold == cost), None)
    return (
        found
        if found is not None and found.window is not None and sample.costs.cost <= cost
        else None
    )


def _latency_s(crossing: Crossing) -> float:
    assert crossing.window is not None
    return crossing.window.latency_s


def _limit_s(sample: Sample) -> float:
    assert sample.solve is not None
    return sample.solve.timeout_s


def _mean(values: Sequence[float], unit: str, higher_is_better: bool) -> Metric:
    return Metric(
        mean(values), unit, standard_error(values), len(values), higher_is_better=higher_is_better
    )
