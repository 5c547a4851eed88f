# SPDX-License-Identifier: Apache-2.0
"""`rig probe`: test the bench step by step; name each fault and a remedy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rig.bench.contact_file import ContactWriter
from rig.bench.contact_player import ContactPlayer
from rig.bench.probe import probe as probe_bench
from rig.cli.options import FILE, bench_argument, json_option, set_option
from rig.cli.printed.labels import badge
from rig.cli.printed.terminal import Terminal, escape, print_see, say
from rig.errors import BenchError, ConfigError
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.model.finding import Finding
from rig.results.labels import SIMULATED, Label
from rig.results.verdict import Outcome

_COLOURS = {Outcome.PASS: "green", Outcome.FAIL: "red", Outcome.NOT_TESTED: "yellow"}
_INDENT = " " * 6


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """A finding; when a recording is played, also its text if that differs."""

    finding: Finding
    recorded: str = ""

    @property
    def outcome(self) -> Outcome:
        """Return PASS, FAIL, or NOT TESTED where it could not be decided."""
        if self.finding.passed is None:
            return Outcome.NOT_TESTED
        return Outcome.PASS if self.finding.passed else Outcome.FAIL

    @property
    def labels(self) -> list[str]:
        """Return what must stand beside it."""
        return [SIMULATED] if self.finding.simulated else []

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        return {
            "name": self.finding.name,
            "outcome": self.outcome,
            "labels": self.labels,
            "detail": self.finding.detail,
            "try_next": self.finding.try_next,
            "see": self.finding.see,
            "recorded": self.recorded,
        }


@click.command()
@bench_argument
@set_option
@click.option(
    "--contact",
    metavar="FILE",
    type=FILE,
    help="Write every command and raw answer of the instruments to a new FILE.",
)
@click.option(
    "--replay",
    metavar="FILE",
    type=FILE,
    help="Play the instruments back from a FILE of --contact; print the differences.",
)
@json_option
def probe(
    bench: Path,
    overrides: tuple[str, ...],
    contact: Path | None,
    replay: Path | None,
    as_json: bool,
) -> int:
    """Power the device and talk to it step by step; name each fault and a remedy."""
    if contact and replay:
        raise ConfigError(
            "--contact and --replay are given: a recording that is played is there"
            " already",
            try_next="one of them",
        )
    out = Terminal(stderr=as_json)
    player = ContactPlayer(replay) if replay else None
    either = ContactWriter(contact) if contact else player
    stop = Stop()
    rows: list[ProbeRow] = []
    # Closed also where printing fails: then the supply goes off.
    with (
        stopped_by_signals(stop),
        closing(probe_bench(bench, overrides, stop=stop, contact=either)) as found,
    ):
        for finding in found:
            rows.append(ProbeRow(finding, _other(player, finding) if player else ""))
            print_row(out, rows[-1])
    print_end(out, bench, rows)
    if as_json:
        Terminal().out(json.dumps(document(bench, rows), indent=1))
    return BenchError.exit_code if outcome(rows) is Outcome.FAIL else 0


def outcome(rows: Sequence[ProbeRow]) -> Outcome:
    """Return FAIL where anything is wrong."""
    return (
        Outcome.FAIL
        if any(row.outcome is Outcome.FAIL for row in rows)
        else Outcome.PASS
    )


def document(bench: Path, rows: Sequence[ProbeRow]) -> dict[str, Any]:
    """Return all rows as JSON holds them."""
    labels = sorted(set().union(*(row.labels for row in rows)))
    findings = [row.to_json() for row in rows]
    return {
        "bench": str(bench),
        "outcome": outcome(rows),
        "labels": labels,
        "findings": findings,
    }


def print_row(out: Terminal, row: ProbeRow) -> None:
    """Print a finding and its remedy."""
    finding = row.finding
    word = row.outcome.upper()
    label = f"{badge(Label(SIMULATED, ''))} " if finding.simulated else ""
    say(
        out,
        f"{escape(finding.name)}: {label}{escape(finding.detail)}",
        f"[{_COLOURS[row.outcome]}]{word}[/]" + " " * max(6 - len(word), 2),
    )
    if finding.try_next:
        say(out, escape(finding.try_next), f"{_INDENT}try: ")
    print_see(out, finding.see, _INDENT)
    if row.recorded:
        say(out, escape(row.recorded), f"{_INDENT}recorded: ")


def print_end(out: Terminal, bench: Path, rows: Sequence[ProbeRow]) -> None:
    """Print what all rows come to, and what to do next."""
    failed = [row.finding.name for row in rows if row.outcome is Outcome.FAIL]
    open_ = [row.finding.name for row in rows if row.outcome is Outcome.NOT_TESTED]
    if failed:
        say(out, f"{len(failed)} of {len(rows)} fail: {escape(', '.join(failed))}")
        say(out, "what stands below FAIL, then rig probe again", "next: ")
        return
    beside = f"; NOT TESTED: {escape(', '.join(open_))}" if open_ else ""
    say(out, f"{len(rows) - len(open_)} of {len(rows)} pass{beside}")
    say(out, f"rig run {escape(str(bench))}", "next: ")


def _other(player: ContactPlayer, finding: Finding) -> str:
    """Return the text of a recording for a row; empty if it is the same."""
    was = player.recorded(finding.name)
    if was is None:
        return "no such row"
    if (was.ok, was.detail) == (finding.ok, finding.detail):
        return ""
    return f"{ProbeRow(was).outcome.upper()}, {was.detail}"
