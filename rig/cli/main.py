# SPDX-License-Identifier: Apache-2.0
"""The command line: the group of all commands, what errors print, and exit codes.

Each command is a file of its own; `rig --help` imports none of them.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from rig.cli import plugin_commands
from rig.cli.exit_codes import STOPPED
from rig.cli.lazy import LazyGroup, summary
from rig.cli.usage_errors import as_error
from rig.errors import BenchError, ConfigError, RigError, denied
from rig.files.plain_text import SPELT, one_line, register_spelling, visible
from rig.host.second_signal import handle_once

if TYPE_CHECKING:
    from rig.cli.printed.terminal import Terminal

#: Commands that open a bench, and write no session.
_SUPPLYING = frozenset({"monitor", "probe", "serve"})
#: Name of a command -> where it is, and its summary: at most 64 characters.
COMMANDS = {
    "audit": (
        "rig.cli.audit:audit",
        "Compute a published result again, and measure it again",
    ),
    "bench": (
        "rig.cli.bench:bench",
        "List example benches, or write one to start from",
    ),
    "bundle": (
        "rig.cli.bundle:bundle",
        "Write a support bundle: one zip file without secrets",
    ),
    "campaign": (
        "rig.cli.campaign:campaign",
        "Run a grid of benches, models and settings as sessions",
    ),
    "check": (
        "rig.cli.check:check",
        "Recompute every number of a session; test a claim on it",
    ),
    "compare": (
        "rig.cli.compare:compare",
        "Compare one model on several backends, or sessions",
    ),
    "coverage": (
        "rig.cli.coverage:coverage",
        "Show which cells of a grid are done or missing",
    ),
    "demo": (
        "rig.cli.demo:demo",
        "Classify acoustic scenes, five trials, without hardware",
    ),
    "docs": ("rig.cli.docs:docs", "List the pages of documentation, or read one"),
    "doctor": (
        "rig.cli.doctor:doctor",
        "Examine this computer: ports, libraries, tools, disk",
    ),
    "firmware": (
        "rig.cli.boards.firmware:firmware",
        "Make, build, emulate and flash a board's firmware",
    ),
    "list": (
        "rig.cli.list:list_",
        "List backends, monitors, scenarios, tasks and sessions",
    ),
    "measure": (
        "rig.cli.measure:measure",
        "Print the energy of windows on a trace of any origin",
    ),
    "model": (
        "rig.cli.models.model:model",
        "Look at, check and run a network: NIR, .tflite, ONNX",
    ),
    "monitor": (
        "rig.cli.monitor:monitor",
        "Check an energy monitor; write its calibration file",
    ),
    "plan": ("rig.cli.plan:plan", "Print the steps of a trial; no device is touched"),
    "probe": (
        "rig.cli.probe:probe",
        "Test the bench step by step; name faults and what to try",
    ),
    "report": ("rig.cli.report:report", "Write the report of a session: one HTML page"),
    "results": (
        "rig.cli.results:results",
        "Show metrics of many sessions in one table, or over time",
    ),
    "resume": ("rig.cli.resume:resume", "Resume a session that was cut off"),
    "run": ("rig.cli.run:run", "Run all trials of a bench file; print the verdict"),
    "scan": ("rig.cli.scan:scan", "List attached instruments and serial ports"),
    "sessions": (
        "rig.cli.sessions:sessions",
        "List sessions with verdict and tags; search, tag",
    ),
    "site": (
        "rig.cli.site:site",
        "Write a static site of sessions, with leaderboards",
    ),
    "start": (
        "rig.cli.boards.start:start",
        "Go from a board on the desk to a first result, by questions",
    ),
    "submission": (
        "rig.cli.submission.judged:submission",
        "Judge a folder that was submitted to a benchmark",
    ),
    "submit": (
        "rig.cli.submission.submit:submit",
        "Make a folder of sessions that a benchmark takes",
    ),
}


class RigGroup(LazyGroup):
    """Our commands, and those of tasks, which are found by entry point."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of our commands, then those of tasks."""
        return [*super().list_commands(ctx), *plugin_commands.names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now."""
        command: click.Command | None = super().get_command(ctx, cmd_name)
        return command or plugin_commands.find(cmd_name)

    def summaries(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield the name and the summary of each command; of one that lacks a package,
        that."""
        yield from ((name, text) for name, (_, text) in sorted(self.lazy.items()))
        for name in plugin_commands.names():
            try:
                yield name, summary(plugin_commands.find(name))
            except RigError as error:
                yield name, error.cause


@click.group(
    cls=RigGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="neurorig")
def rig() -> None:
    """Measure accuracy, latency and energy of a device under test.

    Begin with `rig demo`, which needs no hardware, or with `rig start` and a board on
    the desk. `rig gui` opens the window, `rig docs` lists the pages, and every command
    has --help.
    """


def main() -> None:
    """Run the command line; errors become messages and exit codes."""
    _complete_standard_files()
    # Warnings of libraries may quote text from outside.
    warnings.formatwarning = _warning
    try:
        # Killed politely is stopped like by Ctrl-C, once the command is imported: the
        # supply goes off and the files are closed.
        code = rig.main(prog_name="rig", standalone_mode=False, obj=handle_once)
        sys.exit(code if isinstance(code, int) else 0)
    except RigError as error:
        _print_error(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            sys.stderr.write(visible(error.format_message()) + "\n")
        else:
            _print_error(as_error(error))
        sys.exit(ConfigError.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        # click raises Abort from a KeyboardInterrupt.
        _print_stopped(_left(sys.argv[1:], error.__cause__ or error))
        sys.exit(STOPPED)
    except MemoryError as error:
        _print_error(_too_large(error))
        sys.exit(BenchError.exit_code)
    except Exception as error:
        if isinstance(error, PermissionError) and error.filename is not None:
            denial = denied(error)
            _print_error(denial)
            sys.exit(denial.exit_code)
        _terminal().print_exception()
        _print_error(
            BenchError(
                f"a fault of the rig itself: {error!r}",
                try_next="what was measured is kept: rig check SESSION",
            )
        )
        sys.exit(BenchError.exit_code)


def _complete_standard_files() -> None:
    """Open closed standard files, so that no file of the rig gets their numbers, to
    which libraries print; spell characters that the terminal's encoding lacks.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    register_spelling()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELT)


def _warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    return f"{category.__name__}: {one_line(str(message))}\n"


def _left(words: list[str], error: BaseException) -> list[str]:
    """Return the notes of a stopped command about the supply and the session."""
    notes = list(getattr(error, "__notes__", ()))
    return notes or (["the supply is off"] if words and words[0] in _SUPPLYING else [])


def _too_large(error: MemoryError) -> BenchError:
    """Return the error of a command for which the memory does not suffice."""
    return BenchError(
        "this computer has not enough memory for that",
        evidence=str(error) or "no more could be had",
        try_next=(
            "is a file larger than it should be, or damaged, so that it claims to be? "
            "rig check SESSION; else close other programs"
        ),
    )


def _print_error(error: RigError) -> None:
    from rig.cli.printed.terminal import print_error

    print_error(_terminal(), error)


def _print_stopped(left: list[str]) -> None:
    from rig.cli.printed.terminal import print_stopped

    print_stopped(_terminal(), left)


def _terminal() -> Terminal:
    # Here, because it brings rich, which the help need not wait for.
    from rig.cli.printed.terminal import Terminal

    return Terminal(stderr=True)
