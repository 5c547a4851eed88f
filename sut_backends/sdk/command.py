# SPDX-License-Identifier: Apache-2.0
"""`rig sdk`: environments of vendors' SDKs, made and looked at."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rig.cli.lazy import LazyGroup

if TYPE_CHECKING:
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

    Its packages are those of a pinned list. An environment that is there serves until then.
    """
    from rig.cli.printed.terminal import Terminal, escape
    from sut_backends.sdk.install import install as install_sdk
    from sut_backends.sdk.kinds import named

    out = Terminal()
    chosen = named(kind)
    found = install_sdk(
        chosen, python, lambda text: out.print(escape(text), soft_wrap=True, highlight=False)
    )
    _print([(chosen, found)])
    sys.exit(0 if found.ok else 3)


@sdk.command()
@click.argument("kind", required=False)
@click.option("--python", default="", help="Look at this Python, not at the SDK's environment.")
def doctor(kind: str | None, python: str) -> None:
    """Say which SDKs are there, and what each cannot do."""
    from sut_backends.sdk.doctor import examine
    from sut_backends.sdk.kinds import kinds, named

    chosen = [named(kind)] if kind else list(kinds().values())
    found = [(one, examine(one, python)) for one in chosen]
    _print(found)
    sys.exit(0 if all(diagnosis.ok for _, diagnosis in found) else 3)


def _print(found: list[tuple[SdkKind, Diagnosis]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from rig.cli.printed.terminal import Terminal, escape

    out = Terminal()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for head in ("SDK", "backend", "Python", "state"):
        table.add_column(head)
    for sdk_kind, diagnosis in found:
        state = "\n".join(map(escape, diagnosis.problems)) or "imports, versions as pinned"
        colour = "green" if diagnosis.ok else "yellow"
        table.add_row(
            escape(sdk_kind.title),
            escape(f"[sut.{sdk_kind.kind}]"),
            escape(diagnosis.python or f"wants {sdk_kind.python}"),
            f"[{colour}]{state}[/]",
        )
    out.print(table)
    for sdk_kind, diagnosis in found:
        for sentence in sdk_kind.cannot:
            out.print(escape(f"{sdk_kind.kind}: {sentence}"), soft_wrap=True, highlight=False)
        if diagnosis.wrote:
            wrote = ", ".join(diagnosis.wrote)
            said = f"{sdk_kind.kind}: at import it wrote {wrote} into the folder that it was given"
            out.print(escape(said), soft_wrap=True, highlight=False)
