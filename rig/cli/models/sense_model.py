# SPDX-License-Identifier: Apache-2.0
"""`rig model sense`: readings of a board's own sensors while it runs a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rig.bench import plugins
from rig.bench.config import settings_of
from rig.cli.models.conventions_options import conventions_options, dt_option
from rig.cli.models.map_model import (
    asked,
    json_option,
    kinds_with,
    print_report,
    set_option,
)
from rig.cli.models.quantize import array_of
from rig.cli.options import FILE
from rig.errors import ConfigError
from rig.interfaces.plugin_classes import SensesItself
from rig.network.conventions import ConventionChoice


@click.command("sense")
@click.argument("path", metavar="MODEL.nir", type=FILE)
@click.argument("inputs", metavar="INPUT.npy", type=FILE)
@click.option(
    "--on", "kind", required=True, metavar="KIND", help="The backend, as in [sut.KIND]."
)
@dt_option
@conventions_options
@set_option
@json_option
def sense_model(
    path: Path,
    inputs: Path,
    kind: str,
    dt_s: float | None,
    choice: ConventionChoice,
    changes: Sequence[str],
    as_json: bool,
) -> None:
    """Print the readings of a board's own sensors while it runs a network.

    Times and energies are means over runs, without SYNC, each with its label. A monitor
    of the rig measures the energy of each window instead.
    """
    backend: object = plugins.find("sut", kind)
    if not isinstance(backend, SensesItself):
        raise ConfigError(
            f"[sut.{kind}] has no sensors of its own",
            path="--on",
            try_next=f"one of {', '.join(kinds_with(SensesItself))}",
        )
    values = array_of(inputs)
    values = values[None] if values.ndim == 2 else values
    step_s, rule = asked(path, dt_s, choice)
    settings = settings_of("sut", kind, changes)
    print_report(backend.sense(settings, path, step_s, values, *rule), as_json)
