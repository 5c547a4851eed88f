# SPDX-License-Identifier: Apache-2.0
"""Compilers, emulators and flashing tools: on PATH, and able to print their version."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from rig.bench.doctor.row import DoctorRow, RowState, asked
from rig.firmware.toolchain import PACKAGES
from rig.model.need import Need, NeedKind

GROUP = "programs"
_INSTALL = "install it, or add its folder to PATH"
_AGAIN = "install it again, or take its folder out of PATH"


def program_rows(needs: Sequence[Need] | None) -> Iterator[DoctorRow]:
    """Yield a row for each program that the rig can use; where `needs` are given, for
    each that they name.
    """
    hints = dict(PACKAGES)
    if needs is not None:
        named = [need.name for need in needs if need.kind is NeedKind.PROGRAM]
        hints = {name: PACKAGES.get(name, _INSTALL) for name in named}
    needed = needs is not None
    with ThreadPoolExecutor() as pool:
        found = pool.map(_version, hints)
        for (name, hint), (state, detail) in zip(hints.items(), found, strict=True):
            lead = _AGAIN if state is RowState.WRONG else hint
            try_next = "" if state is RowState.OK else lead
            yield DoctorRow(GROUP, name, state, detail, try_next, needed=needed)


def _version(name: str) -> tuple[RowState, str]:
    path = shutil.which(name)
    if path is None:
        return RowState.MISSING, "not on PATH"
    well, line = asked([path, "--version"])
    if not well:
        return RowState.WRONG, f"{path} does not print its version: {line}"
    return RowState.OK, line or path
