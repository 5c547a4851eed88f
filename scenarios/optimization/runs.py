# SPDX-License-Identifier: Apache-2.0
"""The searches of one cell on their way to one gap, each with its crossing of the gap's
cost. Pure.

Gaps are those to the official target, or to the best known one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rig.model.trial import Crossing, Sample
from rig.stats.time_to_target import Attempt
from rig.units import quantity
from scenarios.common.cost_gap import KINDS, target_of, threshold_cost
from scenarios.optimization import overrun


def name_to_gap(what: str, gap: float, kind: str, cell: str) -> str:
    """Return the name of a metric of searches to a gap."""
    return "_".join(filter(None, (what, "to", gap_name(gap), kind, cell)))


@dataclass(frozen=True, slots=True)
class Runs:
    """The searches of one cell (of all of them under the empty name) on their way to
    one gap, each with its crossing.

    The gap is to the target of a `kind`, OFFICIAL or BEST_KNOWN.
    """

    kind: str
    cell: str
    gap: float
    samples: tuple[Sample, ...]
    crossings: tuple[Crossing | None, ...]

    @property
    def reached(self) -> list[Crossing]:
        """The crossings of those that got there."""
        return [crossing for crossing in self.crossings if crossing is not None]

    @property
    def energies_j(self) -> list[float]:
        """The energies of those that got there, as far as they are known."""
        energies_j = [
            crossing.window.energy_j for crossing in self.reached if crossing.window
        ]
        return [energy_j for energy_j in energies_j if energy_j is not None]

    @property
    def attempts(self) -> list[Attempt]:
        """The searches as attempts: one that did not get there was ended by its
        limit."""
        attempts = []
        for sample, crossing in zip(self.samples, self.crossings, strict=True):
            time_s = latency_s_of(crossing) if crossing else _limit_s(sample)
            attempts.append(Attempt(time_s, crossing is not None))
        return attempts

    def name(self, what: str) -> str:
        """Return latency_to_10pct_250n_5pct, or latency_to_10pct for all cells;
        latency_to_10pct_best_known_250n_5pct.
        """
        return name_to_gap(what, self.gap, self.kind, self.cell)

    @property
    def unasked(self) -> str:
        """Reason why the share of success is not known: no target, or a threshold that
        was not sent to a search; empty where it is known."""
        return unasked(self.samples, self.kind, (self.gap,))

    @property
    def limit_s(self) -> float:
        """The time after which a search is ended."""
        return max(map(_limit_s, self.samples))

    @property
    def why(self) -> str:
        """Return why there is no mean latency; empty when there is one."""
        if self.unasked:
            return self.unasked
        if len(self.reached) < len(self.crossings):
            return (
                f"no result: {len(self.reached)} of {len(self.crossings)} searches"
                " reached it"
            )
        return ""

    @property
    def late(self) -> str:
        """Return why these searches have no result: one went on beyond its limit; empty
        where none did.
        """
        return overrun.why(self.samples)

    @property
    def early(self) -> str:
        """Number of those that reached it too early for the monitor; their energies are
        bounded, not measured. Empty where none did.
        """
        early = [crossing for crossing in self.reached if not crossing.resolved]
        if not early:
            return ""
        clock = (
            "by the device's own timer"
            if all(crossing.by_device for crossing in early)
            else "by its mark at the latest"
        )
        first_s = min(map(latency_s_of, early))
        most_j = max(
            crossing.bounds_j[1] if crossing.bounds_j else 0.0 for crossing in early
        )
        return (
            f"{len(early)} reached it too early for the monitor, the first after "
            f"{quantity(first_s, 's')} {clock}: "
            f"energy between 0 and {quantity(most_j, 'J')}"
        )


def gap_name(gap: float) -> str:
    """Return a gap as part of a metric's name: 10pct, 0p5pct."""
    return f"{100 * gap:g}pct".replace(".", "p").replace("-", "minus")


def to_target(samples: Sequence[Sample]) -> list[Sample]:
    """Return the searches that went to a target."""
    chosen = []
    for sample in samples:
        if sample.solve is not None and sample.solve.target is not None:
            chosen.append(sample)
    return chosen


def runs(samples: Sequence[Sample], gaps: Sequence[float]) -> Iterator[Runs]:
    """Yield the searches of each cell, and of all, for each gap to the official and to
    the best known target, largest first.
    """
    searches = to_target(samples)
    cells = ["", *(sample.case for sample in searches)] if searches else []
    for cell in dict.fromkeys(cells):
        chosen = tuple(sample for sample in searches if cell in ("", sample.case))
        for kind in KINDS:
            for gap in sorted(gaps, reverse=True):
                yield Runs(
                    kind,
                    cell,
                    gap,
                    chosen,
                    tuple(crossing_of(sample, gap, kind) for sample in chosen),
                )


def threshold_of(sample: Sample, gap: float, kind: str) -> int | None:
    """Return the cost that a gap to the target of a `kind` stands for, None where there
    is no such target.
    """
    target = None if sample.costs is None else target_of(sample.costs, kind)
    return None if target is None else threshold_cost(target, gap)


def _thresholds(sample: Sample, gaps: Sequence[float], kind: str) -> list[int | None]:
    return [threshold_of(sample, gap, kind) for gap in gaps]


def unasked(samples: Sequence[Sample], kind: str, gaps: Sequence[float]) -> str:
    """Give the reason why these gaps are not known; a search without a vector reached
    none of them and does not count here."""
    useful = [sample for sample in samples if sample.costs is not None]
    costs = [_thresholds(sample, gaps, kind) for sample in useful]
    if without := sum(None in row for row in costs):
        return (
            f"{without} of {len(samples)} searches are of a workload without "
            f"{'a best known' if kind else 'an official'} target"
        )
    pairs = zip(useful, costs, strict=True)
    untold = sum(bool({*row} - {*_told(sample)}) for sample, row in pairs)
    return (
        f"{untold} of {len(samples)} searches were not told its cost: the device marks"
        " too few thresholds, or best_known = false"
        if untold
        else ""
    )


def _told(sample: Sample) -> tuple[int, ...]:
    assert sample.solve is not None
    return sample.solve.thresholds


def crossing_of(sample: Sample, gap: float, kind: str) -> Crossing | None:
    """Return the crossing of a gap's cost, None where the device did not mark it, or
    its vector does not cost as little.
    """
    cost = threshold_of(sample, gap, kind)
    if sample.costs is None or cost is None:
        return None
    reached = next(
        (crossing for crossing in sample.crossings if crossing.threshold == cost), None
    )
    return (
        reached
        if reached is not None
        and reached.window is not None
        and sample.costs.cost <= cost
        else None
    )


def latency_s_of(crossing: Crossing) -> float:
    """Return how long after the loaded workload a threshold was reached."""
    assert crossing.window is not None
    return crossing.window.latency_s


def _limit_s(sample: Sample) -> float:
    assert sample.solve is not None
    return sample.solve.timeout_s
