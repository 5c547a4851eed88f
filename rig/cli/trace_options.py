# SPDX-License-Identifier: Apache-2.0
"""The options of commands that open a trace of any origin: those of
rig/importers/options.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rig.cli.options import FiniteNumber
from rig.importers.options import Options, flag
from rig.settings.fields import fields_of

_F = TypeVar("_F", bound=Callable[..., Any])
#: Metavariable of a number in the help, by its unit.
_NUMBERS = {"V": "VOLTS", "ohm": "OHMS", "Hz": "HZ"}


def trace_options(command: _F) -> _F:
    """Add the options that describe a foreign file, each named after its field."""
    for field in reversed(fields_of(Options)):
        add = click.option(
            flag(field.name),
            field.name,
            type=FiniteNumber() if field.is_number else str,
            default=field.default,
            metavar=_NUMBERS.get(field.unit, "NAME"),
            help=field.help,
        )
        command = add(command)
    return command
