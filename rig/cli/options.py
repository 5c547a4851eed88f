# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands have."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rig.errors import ConfigError, DataError

_SETTING = re.compile(r"[A-Za-z_]\w*[+:?]?=", re.ASCII)


@dataclass(frozen=True, slots=True)
class PrintedForm:
    """Printed form of results: one screen, all of them (`wide`), or JSON; with
    `explain` also the text of the rules.
    """

    wide: bool = False
    as_json: bool = False
    explain: bool = False


class _Finite(click.ParamType[float]):
    """Click takes NaN for a number in any range: a search of so many seconds would
    never end.
    """

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return a finite number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


class FiniteNumber(_Finite, click.types.FloatParamType):
    """A finite number."""


class FiniteRange(_Finite, click.FloatRange):
    """A finite number within limits."""


def make_settings(
    _context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words that are passed to make; raise BadParameter for one that is no
    setting, which make would take for a file to build.
    """
    for word in words:
        if not _SETTING.match(word):
            raise click.BadParameter(
                f"{word!r} is not NAME=VALUE, as in LEAVE_OUT=CLASSIC"
            )
    return words


def refuse_idle(where: str, *names: str) -> None:
    """Raise ConfigError if the command line gives one of the named parameters, which
    have no effect `where`.
    """
    context = click.get_current_context()
    given = []
    for parameter in context.command.get_params(context):
        if parameter.name in names:
            source = context.get_parameter_source(parameter.name)
            if source is ParameterSource.COMMANDLINE:
                given.append(max(parameter.opts, key=len))
    if given:
        options = ", ".join(given)
        raise ConfigError(
            f"{options} {'has' if len(given) == 1 else 'have'} no effect {where}",
            try_next=(
                f"leave out {options}; {context.command_path} --help explains each"
            ),
        )


def has_sessions(folder: Path) -> bool:
    """Check whether a folder of sessions is there; raise DataError where it was named
    and is not.
    """
    context = click.get_current_context()
    is_named = context.get_parameter_source("sessions") is ParameterSource.COMMANDLINE
    if is_named and not folder.is_dir():
        raise DataError(f"there is no folder {folder}", try_next=SESSIONS_TRY)
    return folder.is_dir()


def to_write(
    context: click.Context, option: click.Parameter, path: Path | None
) -> Path | None:
    """Return the file that an option names, before any device is opened. Raise
    ConfigError if it is a folder or its folder does not exist, BenchError if the folder
    is not writable.
    """
    if path is None:
        return None
    name = max(option.opts, key=len)
    if path.is_dir():
        raise ConfigError(
            f"{path} is a folder", path=name, try_next="the name of a file in it"
        )
    if not path.parent.is_dir():
        raise ConfigError(
            f"there is no folder {path.parent}",
            path=name,
            try_next="make it first, or another one",
        )
    # Imported here: the help of a command does without numpy.
    from rig.store.session_folder import refuse_unwritable

    refuse_unwritable(path.parent, f"{name} with a file in another folder")
    return path


FILE = click.Path(path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
bench_argument = click.argument("bench", type=FILE)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=V",
    help="Override a key of the bench file; may be repeated.",
)
sessions_option = click.option(
    "--sessions",
    type=FILE,
    default=Path("sessions"),
    show_default=True,
    help="Where sessions are kept.",
)
#: Message where the default folder of sessions does not exist.
NO_SESSIONS = "there is no folder {} here: --sessions FOLDER names another"
#: Advice where the folder of sessions is not writable.
SESSIONS_TRY = "another folder: --sessions FOLDER"
explain_option = click.option(
    "--explain",
    is_flag=True,
    help="Also print the text of the rules, and why metrics were not tested.",
)
wide_option = click.option(
    "--wide",
    is_flag=True,
    help="Print all main metrics with both intervals, each trial, and all remarks.",
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON; everything else goes to standard error.",
)
session_argument = click.argument("path", metavar="SESSION", type=EXISTING_FOLDER)
