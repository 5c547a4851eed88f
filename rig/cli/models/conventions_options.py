# SPDX-License-Identifier: Apache-2.0
"""Options for the properties that a NIR file leaves open: time step, conventions,
reset, spike limit, initial state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from rig.cli.options import FiniteNumber
from rig.network.conventions import PRESETS, RESETS, SPIKES_MAX, ConventionChoice, Start

dt_option = click.option(
    "--dt",
    "dt_s",
    type=FiniteNumber(),
    metavar="SECONDS",
    help="Time step, if the file states none or another is wanted.",
)
_OPTIONS = (
    click.option(
        "--as",
        "preset",
        type=click.Choice(sorted(PRESETS)),
        help="Conventions of a program or chip [default: those of the file, or nir].",
    ),
    click.option(
        "--reset",
        type=click.Choice(list(RESETS)),
        help=(
            "Effect of a spike on the membrane: zero sets it to v_reset (0 if the file"
            " states none), subtract takes the threshold off at once, subtract-next in"
            " the next step, none leaves it [default: as --as]."
        ),
    ),
    click.option(
        "--spikes-max",
        type=click.IntRange(1, SPIKES_MAX),
        help="Largest number of spikes of a neuron in one step [default: as --as].",
    ),
    click.option(
        "--start",
        type=click.Choice([one.value for one in Start]),
        help="Membranes before the first step: v_leak or 0 [default: as --as].",
    ),
)


def conventions_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the four options; it takes them as `choice`."""

    @functools.wraps(command)
    def chosen(
        *arguments: Any,
        preset: str | None,
        reset: str | None,
        spikes_max: int | None,
        start: str | None,
        **others: Any,
    ) -> Any:
        choice = ConventionChoice(preset or "", reset, spikes_max, start)
        return command(*arguments, choice=choice, **others)

    found: Callable[..., Any] = chosen
    for option in reversed(_OPTIONS):
        found = option(found)
    return found
