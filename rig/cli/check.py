# SPDX-License-Identifier: Apache-2.0
"""`rig check`: recompute every number of a session, and test a claim on them."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.lazy import LateCommand
from rig.cli.options import (
    EXISTING_FILE,
    PrintedForm,
    explain_option,
    json_option,
    session_argument,
)
from rig.errors import ConfigError


@click.command("check", cls=LateCommand, modules=["rig.cli.check_session"])
@session_argument
@click.option(
    "--claim",
    "claimed",
    type=EXISTING_FILE,
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
@click.option("--wide", is_flag=True, help="Print every finding with its evidence.")
@json_option
@explain_option
@click.option(
    "--signers",
    type=EXISTING_FILE,
    metavar="FILE",
    help="File of trusted signers (ssh-keygen).",
)
@click.option(
    "--witness",
    metavar="HASH|FILE",
    help="The first hash from the time of the run: itself, a list, or a time stamp.",
)
@click.option(
    "--roots",
    type=EXISTING_FILE,
    metavar="FILE",
    help="Root certificates of the time stamp (PEM).",
)
def check(
    path: Path,
    claimed: Path | None,
    replacement: bool,
    wide: bool,
    as_json: bool,
    explain: bool,
    signers: Path | None,
    witness: str | None,
    roots: Path | None,
) -> int:
    """Recompute every number of a session from its raw files and compare; test a claim
    on them."""
    from rig.cli.check_session import OutsideEvidence, check_session

    if replacement and claimed is None:
        raise ConfigError(
            "--replacement is of a claim",
            try_next="--claim FILE beside it: the claim that replaces another",
        )
    if roots is not None and witness is None:
        raise ConfigError(
            "--roots is of a time stamp",
            try_next="--witness FILE beside it: the token of the time stamp",
        )
    form = PrintedForm(wide=wide, as_json=as_json, explain=explain)
    outside = OutsideEvidence(signers=signers, witness=witness, roots=roots)
    return check_session(path, claimed, form, replacement=replacement, outside=outside)
