# SPDX-License-Identifier: Apache-2.0
"""`rig submit`: a folder that is submitted to a benchmark, from finished sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rig.cli.lazy import LazyGroup
from rig.cli.options import EXISTING_FILE, EXISTING_FOLDER, FILE, to_write
from rig.errors import ConfigError

_Command = Callable[..., Any]


def _sign_option(what: str) -> Callable[[_Command], _Command]:
    """Return the option of a key that signs a file of the folder."""
    return click.option(
        "--sign",
        "key",
        type=EXISTING_FILE,
        metavar="KEY",
        help=f"Sign {what} by this key (ssh-keygen).",
    )


@click.group(cls=LazyGroup)
def submit() -> None:
    """Make a folder of finished sessions that a benchmark takes."""


@submit.command()
@click.argument("file", type=FILE, callback=to_write)
@click.option(
    "--mlperf-tiny",
    "is_system",
    is_flag=True,
    help="The description of a system for MLPerf Tiny, SYSTEM.json.",
)
def about(file: Path, is_system: bool) -> None:
    """Write a template of an author's statements about a submission."""
    from rig.cli.printed.terminal import say_plain
    from rig.store.session_folder import write_text
    from rig.submission import about as about_file
    from rig.submission import mlperf_tiny as tiny

    if file.exists():
        raise ConfigError(
            f"{file} is there already", path="FILE", try_next="another name"
        )
    write_text(file, tiny.template() if is_system else about_file.template())
    then = f"neurobench SESSION --about {file}"
    if is_system:
        then = f"mlperf-tiny SESSION --system {file}"
    say_plain(f"{file}; then rig submit {then} --to FOLDER")


@submit.command()
@click.argument(
    "sessions", nargs=-1, required=True, metavar="SESSION...", type=EXISTING_FOLDER
)
@click.option(
    "--about",
    "stated",
    type=EXISTING_FILE,
    help="A TOML file of your statements; rig submit about FILE writes a template.",
)
@click.option(
    "--to", required=True, metavar="FOLDER", type=FILE, help="The folder to make."
)
@click.option(
    "--raw",
    default="",
    metavar="URL",
    help="Where the raw data are; without it they are in the folder.",
)
@click.option(
    "--largest",
    type=EXISTING_FILE,
    help="QUBO: the evidence of the largest workload (rig qubo largest --out).",
)
@_sign_option("submission.json")
def neurobench(
    sessions: tuple[Path, ...],
    stated: Path | None,
    to: Path,
    raw: str,
    largest: Path | None,
    key: Path | None,
) -> None:
    """Make a submission to NeuroBench's system track.

    The format is that of docs/reference/SUBMISSION.md; rig submission check judges it.
    """
    from rig.cli.printed.submission import print_built
    from rig.submission import about as about_file
    from rig.submission import build, entries

    finished = tuple(entries.read(path) for path in sessions)
    about, beside = about_file.AuthorStatements(), Path()
    if stated:
        about, beside = about_file.read(stated), stated.parent
    request = build.SubmissionRequest(
        sessions=finished, about=about, beside=beside, raw=raw, largest=largest, key=key
    )
    print_built(build.build(request, to), to, is_signed=key is not None)


@submit.command("mlperf-tiny")
@click.argument(
    "sessions", nargs=-1, required=True, metavar="SESSION...", type=EXISTING_FOLDER
)
@click.option(
    "--division",
    type=click.Choice(["closed", "open"]),
    required=True,
    help="The division.",
)
@click.option("--submitter", required=True, metavar="NAME", help="The organisation.")
@click.option(
    "--system",
    type=EXISTING_FILE,
    required=True,
    metavar="SYSTEM.json",
    help="The description of the system, and its name: rig submit about.",
)
@click.option(
    "--to", required=True, metavar="FOLDER", type=FILE, help="The folder to make."
)
@click.option("--code", type=EXISTING_FOLDER, help="A folder of sources to add.")
@click.option(
    "--checker",
    type=EXISTING_FOLDER,
    metavar="CLONE",
    help="A clone of mlcommons/tiny, whose submission checker is then run.",
)
@_sign_option("the list of all files, code/SHA256SUMS,")
def mlperf_tiny(
    sessions: tuple[Path, ...],
    division: str,
    submitter: str,
    system: Path,
    to: Path,
    code: Path | None,
    checker: Path | None,
    key: Path | None,
) -> int:
    """Make a submission to MLPerf Tiny, as its checker v1.4 wants it."""
    from rig.cli.printed.submission import print_tiny
    from rig.submission import entries
    from rig.submission import mlperf_tiny as tiny

    finished = tuple(entries.read(path) for path in sessions)
    made = tiny.TinySubmission(
        sessions=finished,
        division=division,
        submitter=submitter,
        system=system,
        code=code,
        key=key,
    )
    modes = tiny.build(made, to)
    verdict = tiny.checked(to, checker) if checker is not None else None
    signed = made.top(to) / tiny.SUMS_SIGNATURE if key is not None else None
    print_tiny(to, modes, verdict, signed)
    return 0 if verdict is None or verdict.ok else 1
