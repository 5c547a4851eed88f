# SPDX-License-Identifier: Apache-2.0
"""`rig plan`: the steps of a trial."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from rig.bench.simulated import stated
from rig.cli.options import bench_argument, json_option, sessions_option, set_option
from rig.cli.printed.labels import print_labels
from rig.cli.printed.terminal import Terminal, escape, say
from rig.errors import ConfigError
from rig.kinds import registry as kinds
from rig.model.steps import Step
from rig.results import labels
from rig.results.labels import Label
from rig.session import estimate, planning
from rig.session.estimate import Estimate
from rig.units import bytes_text, plural, quantity

#: Number of shown steps.
_STEPS = 12


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
@json_option
def plan(
    bench: Path,
    overrides: tuple[str, ...],
    trial: int,
    sessions: Path,
    whole: bool,
    as_json: bool,
) -> None:
    """Print the steps of a trial, and the time and disk space of all trials; no device
    is touched.

    The exit code is 0 also where the disk has no room: "room" of --json says so, and
    rig run refuses to start.
    """
    scenario, task, resolved = planning.open_plan(bench, overrides)
    if trial > resolved.bench.trials:
        raise ConfigError(
            f"the bench has {plural(resolved.bench.trials, 'trial')}",
            path="--trial",
            evidence=f"asked for trial {trial}",
            try_next=(
                f"--trial 1 to {resolved.bench.trials}; bench.trials is their number"
            ),
        )
    steps = planning.steps(
        scenario, task, planning.trial_seed(resolved.bench.seed, trial)
    )
    estimated = estimate.of_plan(
        scenario, task, resolved, resolved.bench.trials, sessions
    )
    facts = {"task": {"samples": len(task)} | task.provenance()}
    order = {"interleaved": bool(estimated.interleaved)}
    marked = labels.of_provenance(stated(resolved) | order | facts)
    out = Terminal()
    if as_json:
        out.out(json.dumps(document(bench, trial, steps, estimated, marked), indent=1))
    else:
        print_plan(out, steps if whole else steps[:_STEPS], steps, estimated, marked)


def document(
    bench: Path,
    trial: int,
    steps: Sequence[Step],
    estimated: Estimate,
    marked: Sequence[Label],
) -> dict[str, Any]:
    """Return a plan as JSON holds it: all steps, the known seconds and bytes of all
    trials, and the labels. `expected_s` is None where some of the time is unknown.
    """
    stated_steps = []
    for step in steps:
        text = kinds.of(step).describe(step)
        samples = list(step.samples_named)
        stated_steps.append({"kind": step.kind, "samples": samples, "text": text})
    return {
        "bench": str(bench),
        "labels": [label.text for label in marked],
        "task": estimated.task,
        "scenario": estimated.scenario,
        "trials": estimated.trials,
        "trial": trial,
        "steps": stated_steps,
        "expected_s": None if estimated.unknown else estimated.known_s,
        "known_s": estimated.known_s,
        "virtual_time": estimated.virtual,
        "byte_hz": estimated.byte_hz,
        "known_b": estimated.known_b,
        "free_b": estimated.free_b,
        "room": estimated.room,
    }


def print_plan(
    out: Terminal,
    shown: Sequence[Step],
    steps: Sequence[Step],
    estimated: Estimate,
    marked: Sequence[Label],
) -> None:
    """Print labels, what all trials will take, and the steps of one."""
    print_labels(out, marked)
    totals = []
    for kind in kinds.known():
        totals.append(kind.total([step for step in steps if kinds.of(step) is kind]))
    of_trial = ", ".join(filter(None, totals))
    say(out, f"a trial: {escape(of_trial)}; {plural(estimated.trials, 'trial')}")
    for line in _of_estimate(estimated):
        indent = " " * (len(line) - len(line.lstrip()))
        say(out, escape(line.lstrip()), indent)
    for number, step in enumerate(shown, start=1):
        say(out, escape(kinds.of(step).describe(step)), f"{number:>6}  ")
    if len(shown) < len(steps):
        say(out, f"{len(steps) - len(shown)} more steps (--all)", "   ...  ")


def _of_estimate(estimated: Estimate) -> Iterator[str]:
    """Yield the lines about the time of a session, its unknown parts, and the disk
    space.
    """
    yield f"time: {estimated.time_text}"
    if estimated.unknown:
        yield f"  {estimated.unknown_text}"
    for rail in estimated.rails:
        name = f"rail {rail.name}: " if rail.name else ""
        rate = (
            f"{quantity(rail.sampling.sample_hz, 'Hz')}, {bytes_text(rail.byte_hz)} a"
            " second"
            if rail.sampling
            else "only the instrument knows its rate"
        )
        yield f"  {name}{rate}"
    yield f"disk: {estimated.disk_text}"
    if not estimated.room:
        yield "  NO ROOM: rig run would refuse to start"
