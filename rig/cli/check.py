# SPDX-License-Identifier: Apache-2.0
"""`rig check`: recompute every number of a session, and test a claim on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from rig.check import signature
from rig.check.check import UNREAD
from rig.check.check import check as check_session
from rig.cli import exit_codes
from rig.cli.options import explain_option, session_argument
from rig.cli.printed.budget_table import print_budget
from rig.cli.printed.checks import print_check, print_recovery
from rig.cli.printed.labels import of_session, print_labels
from rig.cli.printed.terminal import Terminal
from rig.cli.printed.verdicts import print_claim, print_explained
from rig.errors import ConfigError
from rig.results import claim, results, session_verdicts
from rig.store.session_folder import SessionFolder

_OUT = Terminal()


@click.command("check")
@session_argument
@click.option(
    "--claim",
    "claimed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Test a claim on the session: a TOML file of metric = value, a bench file's [claim], or a "
    "published results.json.",
)
@click.option(
    "--replacement",
    is_flag=True,
    help="The claim replaces one whose audit failed, and the session is the auditor's: test that "
    "it is at most 5 % better.",
)
@explain_option
@click.option(
    "--signers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of trusted signers (ssh-keygen).",
)
def check(
    path: Path, claimed: Path | None, replacement: bool, explain: bool, signers: Path | None
) -> int:
    """Recompute every number of a session from its raw files and compare; test a claim on them."""
    if replacement and claimed is None:
        raise ConfigError(
            "--replacement is of a claim",
            try_next="--claim FILE beside it: the claim that replaces another",
        )
    tested = claim.read(claimed) if claimed else None
    if tested:
        claim.refuse_not_in(tested, SessionFolder(path))
    checked = check_session(path, begun=print_recovery)
    if checked.status != UNREAD:
        vouched = (
            signature.unverified(path) if signers is None else [signature.verified(path, signers)]
        )
        checked = replace(checked, findings=(*checked.findings, *vouched))
        print_labels(_OUT, of_session(path))
    print_check(_OUT, path, checked)
    if not checked.ok:
        if tested:
            _OUT.print(
                "the claim is not tested: the session is not what was measured, or did not finish"
            )
        return exit_codes.FAIL
    measured = results.read(SessionFolder(path), checked.trials)
    if tested is None:
        print_budget(_OUT, measured)
        if explain:
            print_explained(_OUT, measured.verdicts)
        return 0
    # Intervals of an older schema do not state what a claim is tested with.
    measured = results.derive(results.Context.of(SessionFolder(path)), checked.trials)
    claim.refuse_other(tested, measured, checked.trials)
    found = session_verdicts.claim_verdicts(tested, measured)
    stated = {name: one for name, one in found.items() if (name == "replacement") is replacement}
    print_claim(_OUT, tested, stated, measured)
    if explain:
        print_explained(_OUT, stated)
    return exit_codes.of_outcomes(verdict.judged for verdict in stated.values())
