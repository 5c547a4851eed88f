# SPDX-License-Identifier: Apache-2.0
"""Check of one session: findings, verdicts of a claim, and how they are printed."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.check import signature, witness
from rig.check.check import UNREAD, Check
from rig.check.check import check as recompute
from rig.cli import exit_codes
from rig.cli.options import PrintedForm
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
from rig.files import typed
from rig.model.finding import Finding
from rig.results import claim, results, session_verdicts
from rig.results.claim import Claim
from rig.results.document import Results, VerdictResult
from rig.results.labels import Label
from rig.store.session_folder import SessionFolder


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no reference cycles meanwhile: a check keeps millions of values, none in
    a cycle, and to search them again and again takes a sixth of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class OutsideEvidence:
    """Evidence from outside of a session's folder: a file of trusted signers, and a
    witness of its first hash with the root certificates of a time stamp.
    """

    signers: Path | None = None
    witness: str | None = None
    roots: Path | None = None

    def findings(self, path: Path) -> list[Finding]:
        """Compare a session with it."""
        found = (
            signature.unverified(path)
            if self.signers is None
            else [signature.verified(path, self.signers)]
        )
        if self.witness is None:
            return found
        return [*found, witness.verified(path, self.witness, self.roots)]


def check_session(
    path: Path,
    claimed: Path | None,
    form: PrintedForm,
    *,
    replacement: bool,
    outside: OutsideEvidence,
) -> int:
    """Recompute a session, test the claim in the file `claimed`, print both, and return
    the exit code.

    `replacement`: the claim replaces one whose audit failed.
    """
    tested = claim.read(claimed) if claimed else None
    if tested:
        claim.refuse_not_in(tested, SessionFolder(path))
    with _uncollected():
        checked = recompute(path, begun=print_recovery)
    marked: tuple[Label, ...] = ()
    if checked.status != UNREAD:
        signed = outside.findings(path)
        checked = replace(checked, findings=(*checked.findings, *signed))
        marked = of_session(path)
    measured = _measured(path, checked, tested)
    verdicts: dict[str, VerdictResult] = {}
    if tested and measured:
        verdicts = _claim_verdicts(tested, measured, replacement=replacement)
    out = Terminal(stderr=form.as_json)
    if form.as_json:
        tree = _tree(path, checked, marked, verdicts)
        Terminal().out(json.dumps(tree, indent=1))
    if tested and measured:
        print_claim(out, tested, verdicts, measured)
        out.print()
    print_answer(out, checked, marked, wide=form.wide)
    if tested and measured is None:
        print_line(
            out, " the claim is not tested: the session is not what was measured", 1
        )
    out.print()
    own_verdict = measured if not tested else None
    if own_verdict:
        print_session_verdict(out, own_verdict)
    print_findings(out, path, checked, wide=form.wide)
    if own_verdict:
        print_budget(out, own_verdict)
    if measured and form.explain:
        print_explained(out, verdicts or measured.verdicts)
    if verdicts:
        return exit_codes.of_outcomes(verdict.judged for verdict in verdicts.values())
    return exit_codes.of_outcomes([checked.outcome])


def _measured(path: Path, checked: Check, tested: Claim | None) -> Results | None:
    """Return the results of a session that is as it was measured, otherwise None."""
    if not checked.ok:
        return None
    folder = SessionFolder(path)
    if tested is None:
        return results.read(folder, checked.trials)
    # Intervals of an older schema lack the values that a claim is tested with.
    measured = results.derive(results.Context.of(folder), checked.trials)
    claim.refuse_other(tested, measured, checked.trials)
    return measured


def _claim_verdicts(
    tested: Claim, measured: Results, *, replacement: bool
) -> dict[str, VerdictResult]:
    """Return the verdict of a replacement, or all others."""
    verdicts = session_verdicts.claim_verdicts(tested, measured)
    return {
        name: verdict
        for name, verdict in verdicts.items()
        if (name == "replacement") is replacement
    }


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
