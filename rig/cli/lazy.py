# SPDX-License-Identifier: Apache-2.0
"""Groups of commands that are imported only when they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from rig.errors import ConfigError, did_you_mean


class LazyGroup(click.Group):
    """A group whose help shows whole summaries, and imports no command for it.

    `lazy`: name of a command -> "module:object" and its summary.
    """

    def __init__(
        self,
        *arguments: Any,
        lazy: Mapping[str, tuple[str, str]] | None = None,
        **options: Any,
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; raise ConfigError with similar
        names if there is none. The object of the context is called once the command is
        imported, unless that is a `LateCommand`, which calls it later.
        """
        if args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise ConfigError(
                f"{ctx.command_path} has no command {args[0]}",
                try_next=f"{did_you_mean(args[0], self.list_commands(ctx), 3)}"
                f"{ctx.command_path} --help lists the commands",
            )
        resolved = super().resolve_command(ctx, args)
        if not isinstance(resolved[1], click.Group | LateCommand):
            _call_object(ctx)
        return resolved

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named; a usage error names this command."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if name else None
            if error.ctx is None and command is not None:
                error.ctx = click.Context(command, info_name=name, parent=ctx)
            raise

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
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


class LateCommand(click.Command):
    """A command that imports `modules`, which do its work, only when it is invoked: its
    help needs none of them.
    """

    def __init__(
        self, *arguments: Any, modules: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.modules = tuple(modules)

    def invoke(self, ctx: click.Context) -> Any:
        """Import the modules, call the object of the context, and run the command."""
        for name in self.modules:
            import_module(name)
        _call_object(ctx)
        return super().invoke(ctx)


def _call_object(ctx: click.Context) -> None:
    """Call the object of a context: from then on Ctrl-C ends a command in order."""
    if callable(ctx.obj):
        ctx.obj()


def summary(command: click.Command) -> str:
    """Return a command's own summary, whole."""
    return command.get_short_help_str(limit=1000).rstrip(".")
