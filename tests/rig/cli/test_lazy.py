# SPDX-License-Identifier: Apache-2.0
"""The help of `rig` and of its groups: whole summaries, and no slow import."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rig.cli.lazy import LazyGroup
from rig.cli.main import COMMANDS, rig
from scenarios.tasks.qubo.command import COMMANDS as QUBO_COMMANDS
from scenarios.tasks.qubo.command import qubo
from tests.programs import captured

HEAVY = {
    *("cattrs", "h5py", "jinja2", "matplotlib", "nir", "numpy", "pandas", "pyjls"),
    *("rich", "scipy", "serial", "soundfile", "soxr", "torch"),
}
#: What runs the command line and then prints which modules that has imported.
_IMPORTS = """
import json, sys
from rig.cli.main import rig
rig.main(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def groups() -> list[click.Group]:
    """Return `rig` and all groups below it."""
    result: list[click.Group] = [rig]
    for group in result:
        context = click.Context(group)
        below = (
            group.get_command(context, name) for name in group.list_commands(context)
        )
        result += [command for command in below if isinstance(command, click.Group)]
    return result


def test_the_first_lines_name_commands_that_exist() -> None:
    text = CliRunner().invoke(rig, ["--help"]).output
    before, _, _ = text.partition("Options:")
    named = re.findall(r"`rig (\w+)`", " ".join(before.split()))
    assert named[:2] == ["demo", "start"], "a beginner has them first"
    context = click.Context(rig)
    assert set(named) <= set(rig.list_commands(context))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--help", set()),
        ("--version", set()),
        ("check --help", set()),
        ("demo --help", set()),
        ("qubo --help", set()),
        ("report --help", set()),
        ("resume --help", set()),
        ("run --help", set()),
        ("compare --help", {"numpy"}),
        ("list", {"rich"}),
    ],
)
def test_a_command_imports_no_other_heavy_module(
    words: str, expected: set[str], tmp_path: Path
) -> None:
    done = captured(
        [sys.executable, "-c", _IMPORTS, *words.split()], cwd=tmp_path, check=True
    )
    imported = set(json.loads(done.stdout.splitlines()[-1]))
    assert "click" in imported
    assert imported & HEAVY == expected


def test_every_summary_is_whole_and_takes_one_line() -> None:
    assert {group.name for group in groups()} >= {"rig", "firmware", "qubo"}
    for group in groups():
        shown = CliRunner().invoke(group, ["--help"]).output
        listed = shown.partition("Commands:\n")[2].splitlines()
        context = click.Context(group)
        assert [line.split()[0] for line in listed] == group.list_commands(context)
        assert all(len(line) <= 80 and "..." not in line for line in listed), shown
        assert all(len(line.split()) > 3 for line in listed), shown


@pytest.mark.parametrize(
    ("group", "commands"), [(rig, COMMANDS), (qubo, QUBO_COMMANDS)]
)
def test_every_command_is_where_its_group_says(
    group: LazyGroup, commands: dict[str, tuple[str, str]]
) -> None:
    assert group.lazy == commands
    for name in commands:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert command.name == name
        assert command.help


def test_an_unknown_command_is_none() -> None:
    assert rig.get_command(click.Context(rig), "bogus") is None
