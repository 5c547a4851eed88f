# SPDX-License-Identifier: Apache-2.0
"""`rig submission`: the judge of folders that others submit."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rig.cli.lazy import LazyGroup
from rig.cli.options import EXISTING_FILE, EXISTING_FOLDER, json_option


@click.group(cls=LazyGroup)
def submission() -> None:
    """Judge folders that were submitted to a benchmark."""


@submission.command()
@click.argument("folder", type=EXISTING_FOLDER)
@click.option(
    "--signers",
    type=EXISTING_FILE,
    metavar="FILE",
    help="File of trusted signers (ssh-keygen).",
)
@click.option(
    "--seeds",
    metavar="N,N,...",
    default="",
    help="QUBO: the announced seeds of the problems.",
)
@click.option(
    "--official",
    type=EXISTING_FILE,
    metavar="FILE",
    help="QUBO: the announced costs, in NeuroBench's form.",
)
@json_option
def check(
    folder: Path,
    signers: Path | None,
    seeds: str,
    official: Path | None,
    as_json: bool,
) -> int:
    """Judge a submission: each requirement with its verdict and evidence."""
    from rig.cli import exit_codes
    from rig.cli.printed.submission import print_judgement
    from rig.cli.printed.terminal import Terminal
    from rig.files import typed
    from rig.judge.judge import judge

    found = judge(folder, signers=signers, seeds=_numbers(seeds), official=official)
    if as_json:
        rows = typed.to_json(list(found.rows))
        tree = {
            "submission": str(folder),
            "benchmark": found.benchmark,
            "outcome": found.outcome,
            "rows": rows,
        }
        Terminal().out(json.dumps(tree, indent=1))
    print_judgement(Terminal(stderr=as_json), folder, found)
    return exit_codes.of_outcomes([found.outcome])


def _numbers(text: str) -> list[int]:
    """Read the seeds of --seeds; raise BadParameter for anything else."""
    try:
        return [int(word) for word in text.split(",") if word.strip()]
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is no list of numbers", param_hint="--seeds"
        ) from error
