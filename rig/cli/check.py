# SPDX-License-Identifier: Apache-2.0
"""`rig check`: recompute every number of a session, and test a claim on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rig.check import signature
from rig.check.check import UNREAD, Check
from rig.check.check import check as check_session
from rig.cli import exit_codes
from rig.cli.options import explain_option, json_option, session_argument
from rig.cli.printed.budget_table import print_budget
from rig.cli.printed.checks import (
    print_answer,
    print_findings,
    print_recovery,
    print_session_verdict,
)
from rig.cli.printed.labels import of_session
from rig.cli.printed.terminal import Terminal, print_line
from rig.cli.printed.verdicts import print_claim, print_explained
from rig.errors import ConfigError
from rig.files import typed
from rig.results import claim, results, session_verdicts
from rig.results.document import VerdictResult
from rig.results.labels import Label
from rig.store.session_folder import SessionFolder


@click.command("check")
@session_argument
@click.option(
    "--claim",
    "claimed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=(
        "Test a claim on the session: a TOML file of metric = value, a bench file's"
        " [claim], or a published results.json."
    ),
)
@click.option(
    "--replacement",
    is_flag=True,
    help=(
        "The claim replaces one whose audit failed, and the session is the auditor's:"
        " test that it is at most 5 % better."
    ),
)
@click.option("--wide", is_flag=True, help="Print every finding with what it rests on.")
@json_option
@explain_option
@click.option(
    "--signers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of trusted signers (ssh-keygen).",
)
def check(
    path: Path,
    claimed: Path | None,
    replacement: bool,
    wide: bool,
    as_json: bool,
    explain: bool,
    signers: Path | None,
) -> int:
    """Recompute every number of a session from its raw files and compare; test a claim
    on them."""
    if replacement and claimed is None:
        raise ConfigError(
            "--replacement is of a claim",
            try_next="--claim FILE beside it: the claim that replaces another",
        )
    tested = claim.read(claimed) if claimed else None
    if tested:
        claim.refuse_not_in(tested, SessionFolder(path))
    checked = check_session(path, begun=print_recovery)
    marked: tuple[Label, ...] = ()
    if checked.status != UNREAD:
        vouched = (
            signature.unverified(path)
            if signers is None
            else [signature.verified(path, signers)]
        )
        checked = replace(checked, findings=(*checked.findings, *vouched))
        marked = of_session(path)
    out = Terminal(stderr=as_json)
    measured, verdicts = None, {}
    if checked.ok and tested is None:
        measured = results.read(SessionFolder(path), checked.trials)
    elif checked.ok and tested is not None:
        # Intervals of an older schema do not state what a claim is tested with.
        measured = results.derive(
            results.Context.of(SessionFolder(path)), checked.trials
        )
        claim.refuse_other(tested, measured, checked.trials)
        found = session_verdicts.claim_verdicts(tested, measured)
        verdicts = {
            name: one
            for name, one in found.items()
            if (name == "replacement") is replacement
        }
    if as_json:
        tree = _tree(path, checked, marked, verdicts)
        Terminal().out(json.dumps(tree, indent=1))
    if tested and measured:
        print_claim(out, tested, verdicts, measured)
        out.print()
    print_answer(out, checked, marked, wide=wide)
    if tested and measured is None:
        print_line(
            out, " the claim is not tested: the session is not what was measured", 1
        )
    out.print()
    if measured and not tested:
        print_session_verdict(out, measured)
    print_findings(out, path, checked, wide=wide)
    if measured and not tested:
        print_budget(out, measured)
    if measured and explain:
        print_explained(out, verdicts or measured.verdicts)
    if verdicts:
        return exit_codes.of_outcomes(verdict.judged for verdict in verdicts.values())
    return exit_codes.of_outcomes([checked.outcome])


def _tree(
    path: Path,
    checked: Check,
    marked: Sequence[Label],
    verdicts: Mapping[str, VerdictResult],
) -> dict[str, Any]:
    """Return the check as JSON; a claim that is not tested has no verdicts."""
    return {
        "session": str(path),
        "outcome": checked.outcome,
        "status": checked.status,
        "chain": checked.head,
        "labels": typed.to_json(list(marked)),
        "findings": typed.to_json(list(checked.findings)),
        "claim": {name: typed.to_json(verdict) for name, verdict in verdicts.items()},
    }
