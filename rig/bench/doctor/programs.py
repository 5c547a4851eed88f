# SPDX-License-Identifier: Apache-2.0
"""Compilers, emulators and flashing tools: on PATH, and able to print their version."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rig.bench.doctor.row import DoctorRow, RowState, asked
from rig.firmware.rp2040js import BRIDGE, INSTALL
from rig.firmware.toolchain import PACKAGES, VERSION_WORDS
from rig.model.need import Need, NeedKind

GROUP = "programs"
_INSTALL = "install it, or add its folder to PATH"
_AGAIN = "install it again, or take its folder out of PATH"


def program_rows(needs: Sequence[Need] | None) -> Iterator[DoctorRow]:
    """Yield a row for each program that the rig can use; where `needs` are given, for
    each that they name.
    """
    programs = [Need(NeedKind.PROGRAM, name) for name in PACKAGES]
    programs.append(Need(NeedKind.PROGRAM, "node", INSTALL, (str(BRIDGE),)))
    if needs is not None:
        programs = [need for need in needs if need.kind is NeedKind.PROGRAM]
    with ThreadPoolExecutor() as pool:
        versions = pool.map(_version, programs)
        for need, (state, detail) in zip(programs, versions, strict=True):
            name = Path(need.script[0]).stem if need.script else need.name
            hint = need.try_next or PACKAGES.get(need.name, _INSTALL)
            if state is RowState.WRONG and not need.script:
                hint = _AGAIN
            try_next = "" if state is RowState.OK else hint
            is_needed = needs is not None
            yield DoctorRow(GROUP, name, state, detail, try_next, needed=is_needed)


def _version(need: Need) -> tuple[RowState, str]:
    path = shutil.which(need.name)
    if path is None:
        return (
            RowState.MISSING,
            f"{need.name} is not on PATH" if need.script else "not on PATH",
        )
    words = VERSION_WORDS.get(need.name, ("--version",))
    if not words:
        return RowState.OK, path
    well, line = asked([path, *need.script, *words])
    if well:
        return RowState.OK, line or path
    if need.script:
        return RowState.MISSING, line
    return RowState.WRONG, f"{path} does not print its version: {line}"
