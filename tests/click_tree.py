# SPDX-License-Identifier: Apache-2.0
"""The commands of `rig`, those of its groups and of plug-ins too, from its click tree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

import click

from rig.cli.lazy import LateCommand
from rig.cli.main import rig


@cache
def commands() -> dict[str, click.Command]:
    """Return every command that is no group, by its words after `rig`, imported with
    all that it needs.
    """
    result = dict(_below(rig, click.Context(rig), ()))
    for command in result.values():
        if isinstance(command, LateCommand):
            for name in command.modules:
                import_module(name)
    return result


def _below(
    group: click.Group, context: click.Context, words: tuple[str, ...]
) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            yield from _below(command, inner, (*words, name))
        else:
            yield " ".join((*words, name)), command
