# SPDX-License-Identifier: Apache-2.0
"""`rig check`: recompute every number of a session, and test a claim on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from rig.check import signature
from rig.check.check import UNREAD
from rig.check.check import check as check_session
from rig.cli.main import FALSE
from rig.cli.options import session_argument
from rig.cli.printed.budget_table import print_budget
from rig.cli.printed.checks import print_check
from rig.cli.printed.labels import of_session, print_labels
from rig.cli.printed.terminal import Terminal
from rig.cli.printed.verdicts import print_claim
from rig.results import claim, results
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
    "--signers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of trusted signers (ssh-keygen).",
)
def check(path: Path, claimed: Path | None, signers: Path | None) -> int:
    """Recompute every number of a session from its raw files and compare; test a claim on them."""
    tested = claim.read(claimed) if claimed else None
    checked = check_session(path)
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
        return FALSE
    measured = results.read(SessionFolder(path), checked.trials)
    if tested is None:
        print_budget(_OUT, measured)
        return 0
    claim.refuse_other(tested, measured, checked.trials)
    found = claim.verdicts(tested.values, checked.trials)
    order = measured.provenance.interleaved
    stated = {name: results.verdict_result(one, order) for name, one in found.by_rule.items()}
    print_claim(_OUT, tested, stated, measured)
    return 0 if all(verdict.ok for verdict in found.by_rule.values()) else FALSE
