# SPDX-License-Identifier: Apache-2.0
"""The audit of a folder: replayed, measured again, judged, stored and printed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.audit import audit as verdicts
from rig.audit import bench as own_bench
from rig.audit import claimed, measuring
from rig.audit.claimed import ClaimedPlace, ClaimedSession
from rig.bench.config import Config
from rig.check.written_again import difference_of
from rig.cli import exit_codes
from rig.cli.kept_session import KeptSession
from rig.cli.printed.audit import print_audit, print_replayed
from rig.cli.printed.progress import RunProgress
from rig.cli.printed.terminal import Terminal, print_named
from rig.errors import ConfigError, DataError
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.results import audit_file, results
from rig.results.audit_file import AUDIT, Audit
from rig.store.session_folder import read_json, refuse_unwritable, write_text
from rig.trace import fingerprint

_GO_ON = "try: the same rig audit, which goes on with what was measured"


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """A claim to audit: its folder, the sessions wanted of it, the folder of the audit,
    the auditor's bench with its overrides, and the number of trials.
    """

    folder: Path
    names: tuple[str, ...]
    to: Path
    bench: Path
    overrides: tuple[str, ...]
    trials: int


def audit_sessions(asked: AuditRequest, *, as_json: bool) -> int:
    """Audit each session of a folder; return the exit code.

    Every claim is computed again, and its bench is refused, before a device is opened.
    """
    out = Terminal(stderr=as_json)
    places = claimed.places(asked.folder, asked.names)
    _refuse_in_claim(asked, places)
    found = _replayed(places, out)
    benches = {}
    for one in found:
        if not one.difference:
            workload = results.Context.of(one.folder).config
            benches[one.name] = own_bench.with_workload(
                asked.bench, asked.overrides, workload, asked.trials
            )
    refuse_unwritable(asked.to, "another folder: --to AUDIT")
    asked.to.mkdir(parents=True, exist_ok=True)
    for one in found:
        if one.name in benches:
            _measure(asked.to / one.name, benches[one.name], one, out)
    made = _judged(found, asked.to)
    write_text(asked.to / AUDIT, audit_file.text(made))
    return _finish(made, asked.to, asked.folder, out, as_json=as_json)


def check_audit(folder: Path, names: Sequence[str], to: Path, *, as_json: bool) -> int:
    """Compute a stored audit again from the sessions, and compare; return the exit
    code.
    """
    out = Terminal(stderr=as_json)
    stored = audit_file.read(to)
    wanted = names or [one.name for one in stored.sessions]
    found = _replayed(claimed.places(folder, wanted), out)
    made = _judged(found, to)
    difference = difference_of(read_json(to / AUDIT), json.loads(audit_file.text(made)))
    if difference:
        raise DataError(
            f"{to / AUDIT} is not the audit of these sessions",
            evidence=difference,
            try_next="rig audit FOLDER --bench BENCH makes it again from them",
        )
    return _finish(made, to, folder, out, as_json=as_json)


def _refuse_in_claim(asked: AuditRequest, places: Sequence[ClaimedPlace]) -> None:
    """Raise ConfigError where an audit would be written into its claim."""
    claim = os.path.realpath(asked.folder)
    for folder in (asked.to, *(asked.to / place.name for place in places)):
        # Path.resolve raises RuntimeError for a loop of links.
        if Path(os.path.realpath(folder)).is_relative_to(claim):
            raise ConfigError(
                f"{folder} is in the claim, which an audit leaves as it is",
                path="--to",
                try_next="another folder: --to AUDIT",
            )


def _replayed(places: Sequence[ClaimedPlace], out: Terminal) -> list[ClaimedSession]:
    """Compute each claim again, and print the findings."""
    found = []
    for place in places:
        one = claimed.read(place, fingerprint.read)
        print_replayed(out, one)
        found.append(one)
    return found


def _measure(place: Path, bench: Config, one: ClaimedSession, out: Terminal) -> None:
    """Measure one claim again, with progress."""
    stop = Stop()
    try:
        with (
            KeptSession() as kept,
            stopped_by_signals(stop),
            RunProgress(out) as progress,
        ):
            measuring.measure(place, bench, one, (progress, kept), stop)
    except KeyboardInterrupt as error:
        error.add_note(_GO_ON)
        raise


def _judged(found: Sequence[ClaimedSession], to: Path) -> Audit:
    pairs = [(one, measuring.session_in(to / one.name)) for one in found]
    return verdicts.audit(pairs, to, fingerprint.read)


def _finish(
    made: Audit, to: Path, folder: Path, out: Terminal, *, as_json: bool
) -> int:
    """Print an audit and return the exit code."""
    if as_json:
        tree = {"audit": str(to), "outcome": made.outcome, **audit_file.to_json(made)}
        Terminal().out(json.dumps(tree, indent=1))
    print_audit(out, made, to)
    print_named(out, "audit", str(to / AUDIT))
    print_named(out, "next", f"rig audit {folder} --to {to} --check")
    return exit_codes.of_outcomes([made.outcome])
