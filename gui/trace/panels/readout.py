# SPDX-License-Identifier: Apache-2.0
"""Statistics as texts, for the panel and for the clipboard."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gui.trace.picture.lane_numbers import mean_text, uncertainty_of_mean
from gui.widgets.values import digits, with_u
from rig.api.traces.statistics import SignalStatistics, TraceStatistics
from rig.files import table_file

HEADS = ("mean", "±", "std", "rms", "min", "max", "p-p")
_UNKNOWN = "-"
#: Half of the last place of a sample: 32 bits hold 24 of its value.
_RESOLUTION = 2.0**-25
_SIGNALS = (("current", "A"), ("voltage", "V"), ("power", "W"))


@dataclass(frozen=True, slots=True)
class ReadoutLine:
    """A line of the panel: the name of a signal, and a text for each of HEADS."""

    name: str
    values: tuple[str, ...]


def lines(numbers: TraceStatistics) -> tuple[ReadoutLine, ...]:
    """Return a line a signal that the trace has; "±" is of the mean."""
    rows = []
    for name, unit, signal in _signals(numbers):
        mean, *others = (_shown(value, unit, signal) for value in _values(signal))
        half = _UNKNOWN
        if uncertainty_of_mean(numbers, name):
            value, _, half = mean_text(numbers, name).partition(" ± ")
            mean = f"{value} {half.partition(' ')[2]}"
        rows.append(ReadoutLine(name, (mean, half, *others)))
    return tuple(rows)


def headline(numbers: TraceStatistics) -> tuple[tuple[str, str], ...]:
    """Return the totals of the stretch: names and texts, the energy first."""
    energy = with_u(numbers.energy_j, numbers.energy_u_j, "J")
    rows = [
        ("energy", energy),
        ("span", with_u(numbers.span_s, numbers.span_u_s or None, "s")),
        ("samples", f"{numbers.count:,}".replace(",", " ")),
        ("lost", f"{numbers.lost:,}".replace(",", " ")),
    ]
    if numbers.current is not None:
        rows.insert(1, ("charge", with_u(numbers.charge_c, numbers.charge_u_c, "C")))
    return tuple(rows)


def copied(numbers: TraceStatistics, name: str) -> str:
    """Return all numbers as lines with tabs, in SI units with all digits, for a
    table."""
    rows = [
        *([("labels", ", ".join(numbers.labels), "")] if numbers.labels else []),
        ("stretch", name, ""),
        ("start", repr(numbers.start_s), "s"),
        ("stop", repr(numbers.stop_s), "s"),
        ("span", repr(numbers.span_s), "s"),
        ("span, standard uncertainty", _exact(numbers.span_u_s), "s"),
        ("samples", str(numbers.count), ""),
        ("lost samples", str(numbers.lost), ""),
        ("energy", _exact(numbers.energy_j), "J"),
        ("energy, standard uncertainty", _exact(numbers.energy_u_j), "J"),
        ("charge", _exact(numbers.charge_c), "C"),
        ("charge, standard uncertainty", _exact(numbers.charge_u_c), "C"),
    ]
    for signal, unit, statistics in _signals(numbers):
        mean, *others = _values(statistics)
        mean_u = uncertainty_of_mean(numbers, signal)
        rows += [
            (f"{signal} mean", _exact(mean), unit),
            (f"{signal} mean, standard uncertainty", _exact(mean_u), unit),
        ]
        pairs = zip(HEADS[2:], others, strict=True)
        rows += [(f"{signal} {head}", _exact(value), unit) for head, value in pairs]
    if numbers.remark:
        rows.append(("remark", numbers.remark, ""))
    return "\n".join(line.rstrip("\t") for line in table_file.tabbed(rows).split("\n"))


def _signals(numbers: TraceStatistics) -> Iterator[tuple[str, str, SignalStatistics]]:
    for name, unit in _SIGNALS:
        statistics = getattr(numbers, name)
        if statistics is not None:
            yield name, unit, statistics


def _values(statistics: SignalStatistics) -> tuple[float, ...]:
    return (
        statistics.mean,
        statistics.std,
        statistics.rms,
        statistics.least,
        statistics.most,
        statistics.p2p,
    )


def _shown(value: float, unit: str, statistics: SignalStatistics) -> str:
    """Return a value of a signal; 0 where it is less than the samples can tell
    apart."""
    if abs(value) < _RESOLUTION * max(abs(statistics.least), abs(statistics.most)):
        value = 0.0
    return digits(value, unit)


def _exact(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else repr(value)
