# SPDX-License-Identifier: Apache-2.0
"""The commands `rig gui` and `rig view`.

No Qt is imported here: `rig --help` reads this file, also where the extra is not
installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rig.cli.trace_options import trace_options
from rig.errors import ConfigError, denied
from rig.files.user_folders import expanded
from rig.host.window_needs import LIBRARIES_TRY
from rig.importers.options import Options
from rig.settings.check import checked

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("path", type=_PATH, required=False)
@click.option(
    "--demo", is_flag=True, help="Begin with five finished virtual trials; one drifts."
)
def gui(path: Path | None, demo: bool) -> int:
    """Open the window: bench, run, traces, trials, sessions.

    PATH: a session folder, a bench file or a trace to begin with.
    """
    if path is not None and demo:
        raise ConfigError("PATH and --demo are two beginnings", try_next="one of them")
    return _start(path, trace_only=False, demonstration=demo)


@click.command()
@click.argument("path", type=_PATH)
@trace_options
def view(path: Path, **said: Any) -> int:
    """Look at a trace, or the traces of a session, in a window.

    PATH: a file of the rig, of Joulescope, of Power Profiler, a table, or a session
    folder. What a file does not say itself is said by the options of rig measure, or
    asked for in the window.
    """
    return _start(path, trace_only=True, options=checked(Options(**said), ""))


def _start(
    path: Path | None,
    trace_only: bool,
    demonstration: bool = False,
    options: Options | None = None,
) -> int:
    if path is not None:
        _refuse_closed(path)
    try:
        from gui.application import start
    except ImportError as error:
        raise ConfigError(
            "the window needs what is not installed:"
            f" {error.name or 'a library of the system'}",
            path="gui",
            evidence=str(error),
            try_next=LIBRARIES_TRY,
            see="package-missing",
        ) from error
    return start(sys.argv[:1], path, trace_only, demonstration, options)


def _refuse_closed(path: Path) -> None:
    """Raise DataError for a path below a folder that is closed to this account, before
    Qt and its threads are started. Of other paths the window shows the error.
    """
    try:
        expanded(path).stat()
    except PermissionError as error:
        raise denied(error) from error
    except OSError:
        return
