# SPDX-License-Identifier: Apache-2.0
"""Usage errors of click as errors of the rig, with a cause and what to try."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from rig.errors import ConfigError, did_you_mean


def as_error(error: click.ClickException) -> ConfigError:
    """Return the error of the rig that says what click's does."""
    context = getattr(error, "ctx", None)
    said = _plain(error.format_message())
    usage = _usage(context)
    match error:
        case click.NoSuchOption():
            cause = f"{_command(context)} has no option {error.option_name}"
            meant = did_you_mean(error.option_name, _options(context))
            return ConfigError(cause, try_next=meant + usage)
        case click.MissingParameter(param=click.Parameter() as parameter):
            return ConfigError(
                f"{_name(parameter, context)} is missing", try_next=usage
            )
        case click.BadParameter(param=click.Parameter() as parameter):
            name = _name(parameter, context)
            said = _plain(error.message)
            if due := _range(parameter.type):
                said = re.sub(r" is not a valid (integer|float)( range)?$", "", said)
                return ConfigError(f"{name} takes {due}", evidence=said, try_next=usage)
            return ConfigError(f"{name}: {said}", try_next=usage)
    return ConfigError(said, try_next=usage)


def _command(context: click.Context | None) -> str:
    return context.command_path if context else "rig"


def _options(context: click.Context | None) -> Iterator[str]:
    for parameter in context.command.get_params(context) if context else ():
        if isinstance(parameter, click.Option):
            yield from (*parameter.opts, *parameter.secondary_opts)


def _name(parameter: click.Parameter, context: click.Context | None) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.make_metavar(context) if context else str(parameter.name).upper()


def _range(kind: click.ParamType[Any]) -> str:
    """Return which numbers are taken; empty where it is no range of numbers."""
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return ""
    what = "a whole number" if isinstance(kind, click.IntRange) else "a number"
    least = f"more than {kind.min}" if kind.min_open else f"{kind.min} or more"
    if kind.max is None:
        return f"{what}, {least}"
    if kind.min_open:
        return f"{what}, {least}, to {kind.max}"
    return f"{what}, {kind.min} to {kind.max}"


def _plain(text: str) -> str:
    """Return a sentence of click's as a cause: without its capital letter and its full
    stop."""
    text = text.strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _usage(context: click.Context | None) -> str:
    """Return how the command is called, and what explains it."""
    path = _command(context)
    if context is None or isinstance(context.command, click.Group):
        return f"{path} --help lists the commands"
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f"{path} {pieces}; {path} --help explains each"
