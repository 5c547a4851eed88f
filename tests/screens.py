# SPDX-License-Identifier: Apache-2.0
"""Printed screens beside the tests, so that a person sees each change of one in the
diff.

`RIG_SCREENS=write` in the environment writes them again; look at them before you
commit.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from unittest import mock

from rig.cli.main import main
from rig.cli.printed.terminal import Terminal
from tests import click_tree

WIDTHS = (80, 100, 140)


def screen(show: Callable[[Terminal], None], width: int, *, piped: bool = False) -> str:
    """Return the output in a terminal of a width, or for a program that reads it,
    without colours or trailing blanks.
    """
    out = io.StringIO()
    show(Terminal(file=out, width=width, force_terminal=not piped, color_system=None))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n"


def every(show: Callable[[int, bool], str]) -> str:
    """Return a screen in each width, and as a program gets it, under headings; `show`
    is called with the width, and whether it is a program's.
    """
    result = [f"===== {width} columns\n{show(width, False)}" for width in WIDTHS]
    return "\n".join([*result, f"===== piped\n{show(WIDTHS[0], True)}"])


def of_command(width: int, piped: bool, *words: str) -> str:
    """Return what `rig` prints in a terminal of a width, and its exit code, without
    what hangs on this computer: a session's hashes, which commit to it, and times of a
    run are zeros.
    """
    # Modules imported first under these patches would keep their width.
    click_tree.commands()
    out = io.StringIO()
    environment = {
        "COLUMNS": str(width),
        "TTY_COMPATIBLE": "0" if piped else "1",
        "TTY_INTERACTIVE": "0",
        "NO_COLOR": "1",
    }
    handlers = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["rig", *words]),
        _main_module(ModuleType("__main__")),
        mock.patch.object(warnings, "formatwarning", warnings.formatwarning),
        redirect_stdout(out),
        redirect_stderr(out),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    hashes = r"\b(?:[0-9a-f]{64}|[0-9a-f]{16}(?=\.\.\.))"
    text = re.sub(hashes, lambda found: "0" * len(found[0]), text)
    text = re.sub(r"\d:\d\d:\d\d|-:--:--", "0:00:00", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([f"$ rig {' '.join(words)}", *lines, f"exit code {code}"]) + "\n"


@contextmanager
def _main_module(module: ModuleType) -> Iterator[None]:
    """Replace the main module, from which click derives the program's name.

    `mock.patch.dict` would also forget the modules that a command imports, and NumPy
    cannot be imported twice.
    """
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def wider(screens: str) -> list[str]:
    """Return the lines of a stored screen that are wider than the terminal of their
    heading."""
    result = []
    width = 0
    for line in screens.splitlines():
        heading = re.fullmatch(r"===== (?:(\d+) columns|piped)", line)
        if heading is not None:
            width = int(heading[1] or 0)
        elif width and len(line) > width and not line.startswith("$ rig"):
            result.append(line)
    return result


def compare(path: Path, found: str) -> None:
    """Compare a screen with the stored one."""
    if os.environ.get("RIG_SCREENS") == "write":
        path.write_text(found, encoding="utf-8")
    assert path.exists(), f"{path.name} is new: RIG_SCREENS=write"
    assert found == path.read_text(encoding="utf-8"), (
        "look at it, then RIG_SCREENS=write"
    )
