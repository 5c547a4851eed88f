# SPDX-License-Identifier: Apache-2.0
"""Groups of commands that are imported only when they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose help shows whole summaries, and imports no command for it.

    `lazy`: name of a command -> "module:object" and its summary.
    """

    def __init__(
        self, *arguments: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *self.lazy])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now; None where there is none of this name."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries of all commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx)))

    def summaries(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the name and the summary of each command."""
        for name in self.list_commands(ctx):
            if name in self.lazy:
                yield name, self.lazy[name][1]
            elif command := self.get_command(ctx, name):
                yield name, summary(command)


def summary(command: click.Command) -> str:
    """Return a command's own summary, whole."""
    return command.get_short_help_str(limit=1000).rstrip(".")
