# SPDX-License-Identifier: Apache-2.0
"""`rig check` of a session that the test itself has recorded: its traces are read in
this process.

The command reads traces in a process of its own, as a stranger's may crash their
reader: what that takes to start is most of a check. tests/rig/check and tests/rig/cli
do it as the command does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rig.check import check as command
from rig.errors import RigError
from rig.trace import fingerprint
from rig.trace.fingerprint import Fingerprint


def check(session: Path, **_: object) -> command.Check:
    """Recompute every number of a session."""
    return command.check(session, fingerprints)


def fingerprints(traces: Sequence[Path]) -> Mapping[Path, Fingerprint]:
    """Return the fingerprint of each trace, and the fault of one that cannot be
    read."""
    return {trace: _fingerprint(trace) for trace in traces}


def _fingerprint(trace: Path) -> Fingerprint:
    try:
        return fingerprint.of_trace(trace)
    except RigError as error:
        return Fingerprint(fault=str(error))
