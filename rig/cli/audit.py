# SPDX-License-Identifier: Apache-2.0
"""`rig audit`: a published result computed again and measured again."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.lazy import LateCommand
from rig.cli.options import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    json_option,
    set_option,
)
from rig.errors import ConfigError
from rig.results.replication import AUDIT_TRIALS


@click.command(cls=LateCommand, modules=["rig.cli.audit_sessions"])
@click.argument("folder", type=EXISTING_FOLDER)
@click.option(
    "--bench",
    type=EXISTING_FILE,
    metavar="BENCH",
    help="Your bench file: device and instruments; the workload is the claim's.",
)
@set_option
@click.option(
    "--session",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this session of a submission; may be repeated.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, AUDIT_TRIALS),
    default=AUDIT_TRIALS,
    show_default=True,
    help="Number of trials; the rule allows 5.",
)
@click.option(
    "--to",
    type=FILE,
    metavar="AUDIT",
    help="Folder of the audit; one that was interrupted goes on.  [default:"
    " audits/NAME]",
)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Measure nothing: compute the audit in --to again and compare.",
)
@json_option
def audit(
    folder: Path,
    bench: Path | None,
    overrides: tuple[str, ...],
    names: tuple[str, ...],
    trials: int,
    to: Path | None,
    is_check: bool,
    as_json: bool,
) -> int:
    """Compute a session or a submission again, then measure it again on your bench."""
    from rig.cli.audit_sessions import AuditRequest, audit_sessions, check_audit

    where = to or Path("audits") / folder.resolve().name
    if is_check:
        if bench is not None:
            raise ConfigError(
                "--check measures nothing",
                path="--bench",
                try_next="leave one of --bench and --check out",
            )
        return check_audit(folder, names, where, as_json=as_json)
    if bench is None:
        raise ConfigError(
            "an audit measures again",
            path="--bench",
            try_next="--bench BENCH with your bench file; or --check, of an audit",
        )
    asked = AuditRequest(
        folder=folder,
        names=names,
        to=where,
        bench=bench,
        overrides=overrides,
        trials=trials,
    )
    return audit_sessions(asked, as_json=as_json)
