# SPDX-License-Identifier: Apache-2.0
"""All rows of `rig doctor`: of this computer, or of the needs of one bench."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rig.bench import config, packages, plugins
from rig.bench.config import Config, PluginChoice
from rig.bench.doctor.installed import core_rows, extra_rows, name_rows
from rig.bench.doctor.ports import linux_rows, port_rows
from rig.bench.doctor.programs import program_rows
from rig.bench.doctor.row import DoctorRow, LinuxRoot, RowState
from rig.bench.doctor.storage import storage_rows
from rig.bench.doctor.system import display_row, system_rows
from rig.bench.place_settings import LENT, LabgridSettings, is_lent
from rig.errors import ConfigError, RigError
from rig.interfaces.context import BenchContext
from rig.model.need import Need, NeedKind

_BENCH = "bench"


def examine(
    bench: Path | None = None,
    overrides: Sequence[str] = (),
    sessions: Path = Path("sessions"),
) -> Iterator[DoctorRow]:
    """Yield the rows of this computer; of a bench, those of its needs. No device is
    opened, and each wait has a limit.

    Raises ConfigError for a bench file that is wrong.
    """
    place = LinuxRoot()
    needs: list[Need] | None = None
    unmet: list[DoctorRow] = []
    if bench is not None:
        needs, unmet = _of_bench(bench, overrides)
    yield from system_rows(place)
    if needs is None:
        yield display_row()
    yield from storage_rows(sessions)
    yield from core_rows()
    yield from name_rows()
    yield from extra_rows(needs)
    yield from program_rows(needs)
    yield from port_rows(needs)
    if sys.platform == "linux":
        yield from linux_rows(place, needs)
    yield from unmet
    if needs is not None:
        yield from _other_rows(needs)


def _of_bench(
    path: Path, overrides: Sequence[str]
) -> tuple[list[Need], list[DoctorRow]]:
    """Return the needs of a bench, and a row for each part that lacks one."""
    try:
        resolved = config.load(path, overrides)
    except ConfigError as error:
        if not isinstance(error.__cause__, ImportError):
            raise
        return [], [_unmet(_BENCH, error)]
    needs: list[Need] = []
    unmet = [] if resolved.labgrid is None else [_place_row(resolved.labgrid)]
    for section, choice in _parts(resolved):
        context = BenchContext(folder=resolved.folder)
        kind = plugins.find(section, choice.kind)
        try:
            needs += kind.needs(choice.settings, context)
        except RigError as error:
            unmet.append(_unmet(f"{section}.{choice.kind}", error))
    # The ports of a place are known once it is acquired.
    here = [need for need in dict.fromkeys(needs) if not is_lent(need.name)]
    return here, unmet


def _place_row(settings: LabgridSettings) -> DoctorRow:
    name = settings.place or settings.environment
    missing = packages.missing(LENT)
    if missing:
        return DoctorRow(
            _BENCH,
            LENT,
            RowState.MISSING,
            f"{', '.join(missing)} is not installed",
            f"pip install 'neurorig[{LENT}]'",
            needed=True,
        )
    detail = f"the place {name} and its ports are asked for when the bench is opened"
    return DoctorRow(_BENCH, LENT, RowState.OK, detail, needed=True)


def _parts(resolved: Config) -> Iterator[tuple[str, PluginChoice]]:
    yield "sut", resolved.sut
    for choice in resolved.monitors.values():
        yield "monitor", choice
    yield "task", resolved.task


def _unmet(name: str, error: RigError) -> DoctorRow:
    return DoctorRow(
        _BENCH,
        name,
        RowState.MISSING,
        error.with_evidence,
        error.try_next,
        needed=True,
        see=error.see,
    )


def _other_rows(needs: Sequence[Need]) -> Iterator[DoctorRow]:
    """Yield a row for each file."""
    for need in needs:
        if need.kind is NeedKind.FILE:
            is_there = Path(need.name).exists()
            state = RowState.OK if is_there else RowState.MISSING
            detail = need.name if is_there else f"there is no {need.name}"
            hint = "" if is_there else need.try_next
            yield DoctorRow(_BENCH, "file", state, detail, hint, needed=True)
