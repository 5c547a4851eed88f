# SPDX-License-Identifier: Apache-2.0
"""Questions about a foreign file: the options that fit it, with the columns, signals
and lines to choose from, and the answers that the file has itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rig.importers.joulescope import jls1, jls2_signals
from rig.importers.open import file_of, is_own, kind_of
from rig.importers.options import Options
from rig.importers.profilers import power_profiler, ppk2
from rig.importers.tables.column_units import UNITS, WRITTEN, Named
from rig.importers.tables.csv_form import form_of
from rig.importers.tables.csv_heading import inputs_of
from rig.importers.viewable import require_convertible, require_recoverable
from rig.settings.fields import SettingField, fields_of
from rig.trace.jls_file import jls_state
from rig.trace.trace import reading
from rig.units import quantity

NONE = "none"
_ROLES = ("current", "voltage", "power")
#: By the name of an option: the choices, and the file's own value.
_Found = Mapping[str, tuple[tuple[str, ...], str]]
#: An option that takes any value.
_FREE: tuple[tuple[str, ...], str] = ((), "")


@dataclass(frozen=True, slots=True)
class Question:
    """An option that fits a file: its field, and words to choose from, other words
    being allowed as well. `said` is the file's own answer, for an option that is left
    empty."""

    field: SettingField
    choices: tuple[str, ...] = ()
    said: str = ""


def questions(path: Path) -> tuple[Question, ...]:
    """Return the options that fit a file, in the order of `Options`; none where it is
    the rig's own. Raises RigError where the file is such that no option opens it.
    """
    path = file_of(path)
    file = _found(path)
    return tuple(
        Question(field, *file[field.name])
        for field in fields_of(Options)
        if field.name in file
    )


def _found(path: Path) -> _Found:
    is_jls, is_closed = jls_state(path)
    if is_jls and not is_closed:
        require_recoverable(path)
        return dict.fromkeys(("source", *_ROLES, "supply_v", "sync", "rate_hz"), _FREE)
    if is_jls:
        with reading(path) as reader:
            return {} if is_own(reader) else _of_signals(reader)
    require_convertible(path)
    kind = kind_of(path)
    if kind == "jls1":
        lines = (*jls1.LINES, NONE)
        return {
            "power": (("power",), ""),
            "supply_v": _FREE,
            "sync": (lines, ""),
            "rate_hz": _FREE,
        }
    if kind == "ppk2":
        return _of_profiler(ppk2.said_hz(path))
    if kind == "ppk1":
        return _of_profiler(0.0)
    if kind == "eembc":
        return {"sync": ((NONE,), ""), "rate_hz": _FREE}
    return _of_table(path) if kind else {}


def _of_profiler(rate_hz: float) -> _Found:
    rate = quantity(rate_hz, "Hz") if rate_hz else ""
    lines = (*power_profiler.LINES, NONE)
    return {"supply_v": _FREE, "sync": (lines, ""), "rate_hz": ((), rate)}


def _of_signals(reader: Any) -> _Found:
    signals = jls2_signals.signals_of(reader)
    sources = [row for row in reader.sources.values() if row.source_id]
    lines = [row.name for row in signals if jls2_signals.is_digital(row)]
    currents = jls2_signals.named_as(signals, "current")
    rates = {int(row.sample_rate) for row in signals if row.name in currents}
    rate = quantity(rates.pop(), "Hz") if len(rates) == 1 else ""
    if len(sources) > 1:
        several = {"source": (tuple(row.name for row in sources), "")}
    else:
        several = {}
    named = {role: jls2_signals.named_as(signals, role) for role in _ROLES}
    roles = {role: (tuple(names), _only(names)) for role, names in named.items()}
    others = {"supply_v": _FREE, "sync": ((*lines, NONE), ""), "rate_hz": ((), rate)}
    return several | roles | others


def _of_table(path: Path) -> _Found:
    form = form_of(path)
    named = Named.of(form.names, form.cells)
    times, stated = _columns(named, "time")
    dated = form.dates.name if form.dates else ""
    lines = chain.from_iterable(map(inputs_of, named.names))
    interval = quantity(1 / form.interval_s, "Hz") if form.interval_s else ""
    return {role: _columns(named, role) for role in _ROLES} | {
        "time": ((*times, NONE), stated or dated),
        "sync": ((*filter(None, named.names), *lines, NONE), ""),
        "supply_v": _FREE,
        "shunt_ohm": _FREE,
        "rate_hz": ((), interval),
    }


def _columns(named: Named, role: str) -> tuple[tuple[str, ...], str]:
    """Return the columns that may have a role, those without a unit with each that
    fits, and the one that has it.
    """
    units = [WRITTEN[key] for key, (of, _) in UNITS.items() if of == role]
    of_role = [named.names[at] for at in named.of_role(role)]
    without: list[str] = []
    for name, has_unit in zip(named.names, named.units, strict=True):
        if name and not has_unit:
            without += [f"{name}:{unit}" for unit in units]
    return (*of_role, *without), _only(of_role)


def _only(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ""
