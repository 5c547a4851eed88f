# SPDX-License-Identifier: Apache-2.0
"""`rig plan`: the steps of a trial."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rig.cli.options import bench_argument, sessions_option, set_option
from rig.cli.printed.labels import print_labels
from rig.cli.printed.terminal import Terminal, escape
from rig.errors import ConfigError
from rig.kinds import registry as kinds
from rig.results import labels
from rig.session import estimate, planning
from rig.session.estimate import Estimate
from rig.units import bytes_text, duration, quantity

_OUT = Terminal()


@click.command()
@bench_argument
@set_option
@click.option(
    "--trial",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The trial whose plan is shown.",
)
@sessions_option
@click.option("--all", "whole", is_flag=True, help="Show every step.")
def plan(bench: Path, overrides: tuple[str, ...], trial: int, sessions: Path, whole: bool) -> None:
    """Print the steps of a trial, and what all trials will take; no device is touched."""
    scenario, task, resolved = planning.open_plan(bench, overrides)
    if trial > resolved.bench.trials:
        raise ConfigError(
            f"the bench has {resolved.bench.trials} trials",
            path="--trial",
            evidence=f"asked for trial {trial}",
            try_next=f"--trial 1 to {resolved.bench.trials}; bench.trials is their number",
        )
    steps = planning.steps(scenario, task, planning.trial_seed(resolved.bench.seed, trial))
    shown = steps if whole else steps[:12]
    for number, step in enumerate(shown, start=1):
        _OUT.print(f"{number:>6}  {escape(kinds.of(step).describe(step))}", highlight=False)
    if len(shown) < len(steps):
        _OUT.print(f"   ...  {len(steps) - len(shown)} more steps (--all)")
    totals = (
        kind.total([step for step in steps if kinds.of(step) is kind]) for kind in kinds.known()
    )
    of_trial = ", ".join(filter(None, totals))
    _OUT.print(f"a trial: {of_trial}; {resolved.bench.trials} trials")
    found = estimate.of_plan(scenario, task, resolved, resolved.bench.trials, sessions)
    for line in _of_estimate(found):
        _OUT.print(escape(line), highlight=False, soft_wrap=True)
    marked = labels.of_task({"samples": len(task)} | task.provenance())
    print_labels(_OUT, (*labels.of_order(bool(found.interleaved)), *marked))


def _of_estimate(found: Estimate) -> Iterator[str]:
    """Yield what a session will take: time, what of it is not known, and room on the disk."""
    clock = " of virtual time" if found.virtual else ""
    known = "about" if found.trial.expected_s is not None else "at least"
    all_s = duration(found.session_known_s)
    times = (
        f"{all_s}{clock} in all, {found.trials} trials interleaved"
        if found.interleaved
        else f"{duration(found.known_s)}{clock} a trial, {all_s} in all"
    )
    yield f"time: {known} {times}; {duration(found.session.most_s)} at most"
    if found.interleaved is not None and found.trials > 1:
        other_s = duration(found.known_in_order_s(interleaved=not found.interleaved))
        how = "trial by trial" if found.interleaved else "interleaved, each sample loaded once"
        yield f"  {how}: {known} {other_s}"
    for row in found.unknown:
        yield (
            f"  only a limit is known of {row.count} x {row.group}: "
            f"{duration(row.each.most_s)} each"
        )
    for row in found.rows:
        if row.basis:
            yield f"  {row.count} x {row.group}: {duration(row.each.expected_s)} each, {row.basis}"
    for rail in found.rails:
        name = f"rail {rail.name}: " if rail.name else ""
        rate = (
            f"{quantity(rail.sampling.sample_hz, 'Hz')}, {bytes_text(rail.byte_hz)} a second"
            if rail.sampling
            else "only the instrument knows its rate"
        )
        if rail.spared_hz:
            left_b = rail.byte_hz - rail.spared_hz
            rate += f", {bytes_text(left_b)} while a sample is loaded (means)"
        yield f"  {name}{rate}"
    free = "" if found.free_b is None else f"; {bytes_text(found.free_b)} are free"
    needed = bytes_text(found.known_b)
    if found.rails and found.trial.expected_s is None:
        needed = f"{needed} to {bytes_text(found.most_b)}"
    yield f"disk: about {needed}{free}"
    if not found.room:
        yield "  NO ROOM: rig run would refuse to start"
    elif not found.room_at_most:
        yield f"  no room for {bytes_text(found.most_b)}, as needed where every limit is reached"
