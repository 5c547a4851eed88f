# SPDX-License-Identifier: Apache-2.0
"""`rig probe`: test the bench step by step, name what is wrong and what to try."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from rig.bench.contact_file import ContactWriter
from rig.bench.contact_player import ContactPlayer
from rig.bench.probe import probe as probe_bench
from rig.cli.options import bench_argument, set_option
from rig.cli.printed.terminal import Terminal, escape
from rig.errors import BenchError, ConfigError
from rig.host.second_signal import stopped_by_signals
from rig.model.finding import Finding
from rig.stop import Stop


@click.command()
@bench_argument
@set_option
@click.option(
    "--contact",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write every command and raw answer of the instruments to FILE, a new one.",
)
@click.option(
    "--replay",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Play the instruments back from a file of --contact, and tell what is different.",
)
def probe(
    bench: Path, overrides: tuple[str, ...], contact: Path | None, replay: Path | None
) -> int:
    """Power the device, talk to it, and say what is wrong and what to try."""
    if contact and replay:
        raise ConfigError(
            "--contact and --replay are given: a recording that is played is there already",
            try_next="one of them",
        )
    out = Terminal()
    good = True
    player = ContactPlayer(replay) if replay else None
    either = ContactWriter(contact) if contact else player
    stop = Stop()
    # Closed also where printing fails: then the supply goes off.
    with (
        stopped_by_signals(stop),
        closing(probe_bench(bench, overrides, stop=stop, contact=either)) as rows,
    ):
        for row in rows:
            good = good and row.ok
            out.print(
                f"{'[green]ok[/]    ' if row.ok else '[red]failed[/]'} "
                f"{escape(f'{row.name}: {row.detail}')}",
                soft_wrap=True,
            )
            if row.try_next:
                out.print(f"       try: {escape(row.try_next)}", soft_wrap=True)
            if player and (was := _other(player, row)):
                out.print(f"       recorded: {escape(was)}", soft_wrap=True)
    return 0 if good else BenchError.exit_code


def _other(player: ContactPlayer, row: Finding) -> str:
    """Return what the recording says in a row's place; empty where that is the same."""
    was = player.recorded(row.name)
    if was is None:
        return "no such row"
    if (was.ok, was.detail) == (row.ok, row.detail):
        return ""
    return f"{'ok' if was.ok else 'failed'}, {was.detail}"
