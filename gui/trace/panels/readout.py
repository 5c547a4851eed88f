# SPDX-License-Identifier: Apache-2.0
"""Statistics as texts, for the panel and for the clipboard."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gui.widgets.values import digits, with_u
from rig.api.traces.statistics import SignalStatistics, TraceStatistics
from rig.files import table_file

HEADS = ("mean", "std", "rms", "min", "max", "p-p")
#: Half of the last place of a sample: 32 bits hold 24 of its value.
_RESOLUTION = 2.0**-25
_SIGNALS = (("current", "A"), ("voltage", "V"), ("power", "W"))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the panel: the name of a signal, and a text for each of HEADS."""

    name: str
    values: tuple[str, ...]


def lines(found: TraceStatistics) -> tuple[Line, ...]:
    """Return a line a signal that the trace has."""
    rows = []
    for name, unit, signal in _signals(found):
        texts = tuple(_shown(value, unit, signal) for value in _values(signal))
        rows.append(Line(name, texts))
    return tuple(rows)


def headline(found: TraceStatistics) -> tuple[tuple[str, str], ...]:
    """Return the totals of the stretch: names and texts, the energy first."""
    energy = with_u(found.energy_j, found.energy_u_j, "J")
    rows = [
        ("energy", energy),
        ("span", digits(found.span_s, "s")),
        ("samples", f"{found.count:,}".replace(",", " ")),
        ("lost", f"{found.lost:,}".replace(",", " ")),
    ]
    if found.current is not None:
        rows.insert(1, ("charge", with_u(found.charge_c, found.charge_u_c, "C")))
    return tuple(rows)


def copied(found: TraceStatistics, name: str) -> str:
    """Return all numbers as lines with tabs, in SI units with all digits, for a
    table."""
    rows = [
        *([("labels", ", ".join(found.labels), "")] if found.labels else []),
        ("stretch", name, ""),
        ("start", repr(found.start_s), "s"),
        ("stop", repr(found.stop_s), "s"),
        ("span", repr(found.span_s), "s"),
        ("samples", str(found.count), ""),
        ("lost samples", str(found.lost), ""),
        ("energy", _exact(found.energy_j), "J"),
        ("energy, standard uncertainty", _exact(found.energy_u_j), "J"),
        ("charge", _exact(found.charge_c), "C"),
        ("charge, standard uncertainty", _exact(found.charge_u_c), "C"),
    ]
    for signal, unit, one in _signals(found):
        rows += [
            (f"{signal} {head}", _exact(value), unit)
            for head, value in zip(HEADS, _values(one), strict=True)
        ]
    if found.remark:
        rows.append(("remark", found.remark, ""))
    return "\n".join(line.rstrip("\t") for line in table_file.tabbed(rows).split("\n"))


def _signals(found: TraceStatistics) -> Iterator[tuple[str, str, SignalStatistics]]:
    for name, unit in _SIGNALS:
        one = getattr(found, name)
        if one is not None:
            yield name, unit, one


def _values(one: SignalStatistics) -> tuple[float, ...]:
    return one.mean, one.std, one.rms, one.least, one.most, one.p2p


def _shown(value: float, unit: str, one: SignalStatistics) -> str:
    """Return a value of a signal; 0 where it is less than the samples can tell
    apart."""
    if abs(value) < _RESOLUTION * max(abs(one.least), abs(one.most)):
        value = 0.0
    return digits(value, unit)


def _exact(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else repr(value)
