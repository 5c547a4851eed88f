# SPDX-License-Identifier: Apache-2.0
"""Several networks on the same systems and samples: for each system the figures that
all networks have, and how each network does there against the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rig.api.backends.comparison import about, figure_of
from rig.api.backends.rows import (
    SETTING,
    BackendRow,
    Figure,
    ModelComparison,
)
from rig.api.sessions.session import Session
from rig.errors import DataError
from rig.model.origin import Origin
from rig.results.document import Results

#: What sessions of one model say of it, and what differs where networks take another
#: form of the same samples.
_OF_MODEL = ("model", "model_sha256", "model_file_sha256")
_OF_FORM = ("name", "inputs_sha256", "data")


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """A network on a system: its line in the comparison of its backends, and its
    figures of the metrics that are compared, None where it has none.
    """

    system: str
    network: str
    row: BackendRow
    figures: tuple[Figure | None, ...]
    per_operation: float | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """A metric of a network against the first one, on one system.

    `difference` is its value less that of the first, `factor` the same as a ratio; None
    where one of them is not known. `apart`: the intervals of the two do not meet.
    `reason` says why the two do not compare; empty where they do.
    """

    system: str
    network: str
    first: str
    metric: str
    unit: str
    difference: float | None = None
    factor: float | None = None
    apart: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NetworksComparison:
    """Several networks on the same systems and samples.

    `networks` are their comparisons with their references, by name. `metrics` are those
    that all have: where the networks' phases are not the same, those of the last phase,
    which all have.
    """

    networks: Mapping[str, ModelComparison]
    metrics: tuple[str, ...]
    rows: tuple[NetworkRow, ...]
    contrasts: tuple[Contrast, ...]
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems in their order."""
        return tuple(dict.fromkeys(row.system for row in self.rows))

    def contrasts_on(self, system: str, network: str) -> list[Contrast]:
        """Return the contrasts of a network on a system."""
        pair = system, network
        return [one for one in self.contrasts if (one.system, one.network) == pair]


def compare(networks: Mapping[str, ModelComparison]) -> NetworksComparison:
    """Compare networks, by their names, that were compared with their references each;
    raises DataError where they did not get the same samples.
    """
    sessions = {name: _sessions(found) for name, found in networks.items()}
    first, *others = sessions
    base = next(iter(sessions[first].values()))
    for name in others:
        _refuse_others(base, next(iter(sessions[name].values())))
    every: dict[Path, Results] = {}
    for found in sessions.values():
        every |= {path: session.results for path, session in found.items()}
    metrics, note = _metrics(list(every.values()))
    rows: list[NetworkRow] = []
    for system in _systems(networks.values()):
        for name, model in networks.items():
            for row in model.rows:
                if row.name != system:
                    continue
                figures = _figures(row, metrics, every)
                count = model.per_operation(row)
                rows.append(
                    NetworkRow(system, name, row, figures=figures, per_operation=count)
                )
    contrasts = tuple(_contrasts(rows, metrics, first))
    return NetworksComparison(
        networks=networks,
        metrics=metrics,
        rows=tuple(rows),
        contrasts=contrasts,
        notes=note,
    )


def _systems(networks: Iterable[ModelComparison]) -> Iterable[str]:
    rows = chain.from_iterable(model.rows for model in networks)
    return dict.fromkeys(row.name for row in rows)


def _sessions(comparison: ModelComparison) -> dict[Path, Session]:
    paths = [row.session for row in comparison.rows if row.session is not None]
    return {path: Session(path) for path in paths}


def _refuse_others(first: Session, other: Session) -> None:
    """Raise DataError for networks of several sets of samples: of one task all facts on
    its data are the same, of two the labels, which the user states.
    """
    one, two = about(first), about(other)
    kinds = first.results.task, other.results.task
    ignored = {*_OF_MODEL, *(_OF_FORM if kinds[0] != kinds[1] else ())}
    keys = [key for key in {**one, **two} if key not in ignored]
    differing = [key for key in keys if one.get(key) != two.get(key)]
    labelled = one.get("labels_sha256") and two.get("labels_sha256")
    if kinds[0] != kinds[1] and not labelled:
        raise DataError(
            "networks of two tasks are compared by labels, and there are none",
            evidence=f"tasks: {kinds[0]}, {kinds[1]}",
            try_next="--labels FILE, the right output of each sample",
        )
    if differing:
        key = differing[0]
        raise DataError(
            "these networks did not get the same samples",
            evidence=(
                f"{key}: {one.get(key)!r:.80} in {first.path.name},"
                f" {two.get(key)!r:.80} in {other.path.name}"
            ),
            try_next="one set of samples, one scenario, and as many of them for all",
        )


def _metrics(results: Sequence[Results]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the metrics that compare, and the note why they are not the totals."""
    phases = {tuple(each.provenance.task.phases) for each in results}
    last = {each[-1] for each in phases}
    span = "total"
    note: tuple[str, ...] = ()
    if len(phases) > 1 and len(last) == 1:
        (span,) = last
        words = "; ".join(sorted(", ".join(each) for each in phases))
        note = (f"the networks' phases differ ({words}), so {span} is compared",)
    shares = []
    for name, metric in results[0].metrics.items():
        if metric.unit == "1" and metric.higher_is_better:
            shares.append(name)
    names = [*shares[:1], f"latency_{span}", f"energy_{span}"]
    there = set().union(*(each.metrics for each in results))
    return tuple(name for name in names if name in there), note


def _figures(
    row: BackendRow, metrics: Sequence[str], every: Mapping[Path, Results]
) -> tuple[Figure | None, ...]:
    if row.session is None:
        return (None,) * len(metrics)
    results = every[row.session]
    return tuple(
        figure_of(name, results.metrics[name], results)
        if name in results.metrics
        else None
        for name in metrics
    )


def _contrasts(
    rows: Sequence[NetworkRow], metrics: Sequence[str], first: str
) -> Iterator[Contrast]:
    """Yield each metric of each network but the first against the first, on the systems
    that ran both.
    """
    firsts = {row.system: row for row in rows if row.network == first}
    for row in rows:
        base = firsts.get(row.system)
        if base is None or row.network == first or row.row.failure or base.row.failure:
            continue
        for place, metric in enumerate(metrics):
            figures = base.figures[place], row.figures[place]
            yield _contrast(row, base, metric, figures)


def _contrast(
    row: NetworkRow,
    base: NetworkRow,
    metric: str,
    figures: tuple[Figure | None, Figure | None],
) -> Contrast:
    one, two = figures
    names = row.system, row.network, base.network, metric
    if one is None or two is None or one.value is None or two.value is None:
        return Contrast(*names, "", reason="not measured of both")
    reason = next(filter(None, map(_no_result, (row, base), (two, one))), "")
    factor = two.value / one.value if one.value else None
    are_apart = apart(one, two) and not reason
    return Contrast(
        *names,
        one.unit,
        difference=two.value - one.value,
        factor=factor,
        apart=are_apart,
        reason=reason,
    )


def _no_result(row: NetworkRow, figure: Figure) -> str:
    """Return why a figure is no result of a system; empty where it is one."""
    if row.row.counts == SETTING:
        return "a setting of the simulated device"
    if figure.unit == "J" and figure.origin == Origin.SIMULATED:
        return "its power is a setting"
    if not row.row.valid:
        return "a trial is invalid"
    return ""


def apart(one: Figure, two: Figure) -> bool:
    """Check whether the intervals of two figures do not meet; two without an interval
    are not shown to differ.
    """
    (low, high), (other_low, other_high) = one.interval, two.interval
    if low is None or high is None or other_low is None or other_high is None:
        return False
    return high < other_low or other_high < low
