# SPDX-License-Identifier: Apache-2.0
"""`rig sdk`: environments of vendors' SDKs, made and looked at."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rig.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from rig.cli.printed.terminal import Terminal
    from sut_backends.sdk.doctor import Diagnosis
    from sut_backends.sdk.kinds import SdkKind


@click.group(cls=LazyGroup)
def sdk() -> None:
    """Install vendors' SDKs; see which are there."""


@sdk.command()
@click.argument("kind")
@click.option("--python", default="", help="Python to make the environment of.")
def install(kind: str, python: str) -> None:
    """Make the environment of an SDK, try it, take it in use.

    Its packages are those of a pinned list. An environment that is there serves until
    then.
    """
    from rig.cli.printed.terminal import Terminal, escape
    from sut_backends.sdk.install import install as install_sdk
    from sut_backends.sdk.kinds import named

    out = Terminal()
    chosen = named(kind)
    diagnosis = install_sdk(
        chosen,
        python,
        lambda text: out.print(escape(text), soft_wrap=True, highlight=False),
    )
    _print([(chosen, diagnosis)])
    sys.exit(0 if diagnosis.ok else 3)


@sdk.command()
@click.argument("kind", required=False)
@click.option(
    "--python", default="", help="Look at this Python, not at the SDK's environment."
)
def doctor(kind: str | None, python: str) -> None:
    """Say which SDKs are there, and what each cannot do."""
    from sut_backends.sdk.doctor import examine
    from sut_backends.sdk.kinds import kinds, named

    chosen = [named(kind)] if kind else list(kinds().values())
    diagnoses = [(one, examine(one, python)) for one in chosen]
    _print(diagnoses)
    sys.exit(0 if all(diagnosis.ok for _, diagnosis in diagnoses) else 3)


def _print(diagnoses: list[tuple[SdkKind, Diagnosis]]) -> None:
    from rig.cli.printed.terminal import Terminal

    print_diagnoses(Terminal(), diagnoses)


def print_diagnoses(
    out: Terminal, diagnoses: Sequence[tuple[SdkKind, Diagnosis]]
) -> None:
    """Print the state of each SDK, what makes those that are missing, and what each
    cannot do."""
    from rig.cli.printed.terminal import escape, say

    width = max(len(sdk_kind.kind) for sdk_kind, _ in diagnoses)
    say(out, "[bold]SDKs[/]")
    for sdk_kind, diagnosis in diagnoses:
        lead = f"  {escape(f'{sdk_kind.kind:<{width}}')}  "
        about = f"{sdk_kind.title}; {diagnosis.python or f'Python {sdk_kind.python}'}"
        state = "[green]ok[/]" if diagnosis.ok else f"[yellow]{_state(diagnosis)}[/]"
        say(out, f"{state}: {escape(about)}", lead)
        for problem in () if _is_missing(diagnosis) else diagnosis.problems:
            say(out, escape(problem), " " * (width + 4))
    if any(_is_missing(diagnosis) for _, diagnosis in diagnoses):
        say(out, "next: rig sdk install KIND makes the environment of one")
    if any(sdk_kind.cannot for sdk_kind, _ in diagnoses):
        say(out, "[bold]what each cannot do[/]")
    for sdk_kind, _ in diagnoses:
        for number, sentence in enumerate(sdk_kind.cannot):
            name = "" if number else sdk_kind.kind
            say(out, escape(sentence), f"  {escape(f'{name:<{width}}')}  ")
    for sdk_kind, diagnosis in diagnoses:
        if diagnosis.wrote:
            wrote = ", ".join(diagnosis.wrote)
            warning = f"at import it wrote {wrote} into the folder that it was given"
            say(out, escape(warning), f"{escape(sdk_kind.kind)}: ")


def _is_missing(diagnosis: Diagnosis) -> bool:
    return not diagnosis.interpreter


def _state(diagnosis: Diagnosis) -> str:
    if _is_missing(diagnosis):
        return "not installed"
    return "not as pinned" if diagnosis.imports else "does not work"
