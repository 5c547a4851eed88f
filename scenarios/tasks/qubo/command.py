# SPDX-License-Identifier: Apache-2.0
"""`rig qubo`: the group of its commands, each imported only when it is called."""

from __future__ import annotations

import click

from rig.cli.lazy import LazyGroup

_FILE = "scenarios.tasks.qubo.subcommands"
_PROBLEMS = "scenarios.tasks.qubo.problem_command"
COMMANDS = {
    "inspect": (
        f"{_PROBLEMS}:inspect",
        "Print what a file of a problem is, and the memory it needs",
    ),
    "largest": (
        f"{_FILE}:largest",
        "Find the largest workloads that a device loads and solves",
    ),
    "rescore": (
        f"{_FILE}:rescore",
        "Evaluate a session's vectors against the present targets",
    ),
    "search": (
        f"{_PROBLEMS}:search",
        "Search a problem from a file on this computer",
    ),
    "targets": (
        "scenarios.tasks.qubo.targets_command:targets",
        "Look for better solutions of workloads, and keep them",
    ),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    short_help="QUBO: targets, new scores, largest workload",
)
def qubo() -> None:
    """Maximum independent sets as QUBO: targets, scores against new targets, the
    largest workload of a device; problems from files.
    """
