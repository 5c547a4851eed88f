# SPDX-License-Identifier: Apache-2.0
"""`rig compare`: one model on several backends, or sessions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rig.cli.lazy import LateCommand
from rig.cli.models.conventions_options import conventions_options, dt_option
from rig.cli.options import (
    EXISTING_FOLDER,
    FILE,
    FiniteNumber,
    json_option,
    refuse_idle,
    sessions_option,
    set_option,
)
from rig.errors import ConfigError
from rig.network.conventions import ConventionChoice
from rig.units import plural

#: Parameters of the sessions that --suts runs.
_OF_SUTS = (
    *("samples", "trials", "bench", "overrides", "inputs", "labels", "sessions"),
    *("dt_s", "preset", "reset", "spikes_max", "start"),
)
_FORMS = "rig compare MODEL... --suts A,B,... or two or more session folders"
_PLACE = click.Path(exists=True, path_type=Path)


@click.command(
    cls=LateCommand,
    modules=["rig.cli.compare_backends", "rig.cli.compare_sessions"],
)
@click.argument(
    "places", metavar="MODEL... | SESSION SESSION...", nargs=-1, type=_PLACE
)
@click.option(
    "--all", "everything", is_flag=True, help="Also show details and ordinary changes."
)
@click.option("--suts", metavar="A,B,...", default="", help="Backends that run MODEL.")
@click.option(
    "--samples",
    type=click.IntRange(0),
    help="Samples of each session; 0 takes all [default: 40].",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Trials of each session.",
)
@click.option(
    "--bench",
    type=FILE,
    help="Bench file with [sut.A], [sut.B], ..., monitor, scenario, task.",
)
@set_option
@click.option(
    "--inputs",
    type=FILE,
    metavar="FILE.npy",
    multiple=True,
    help="Inputs of a model that belongs to no task; of several once for each MODEL.",
)
@click.option(
    "--labels",
    type=FILE,
    metavar="FILE",
    help="Label of each input.",
)
@dt_option
@conventions_options
@click.option(
    "--output",
    type=FILE,
    metavar="FOLDER",
    help="Write a table (csv, md), data (json) and a picture (png, svg) there.",
)
@click.option(
    "--baseline",
    type=EXISTING_FOLDER,
    metavar="FOLDER",
    help="Tell whether each SESSION is worse than this one, or those of this folder.",
)
@click.option(
    "--false-alarms",
    type=FiniteNumber(),
    default=0.01,
    show_default=True,
    help="With --baseline: rate at which a session without a change may fail.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Sessions: compare this metric [default: the headline ones].",
)
@sessions_option
@json_option
def compare(
    places: tuple[Path, ...],
    everything: bool,
    suts: str,
    samples: int | None,
    trials: int,
    bench: Path | None,
    overrides: tuple[str, ...],
    inputs: tuple[Path, ...],
    labels: Path | None,
    dt_s: float | None,
    choice: ConventionChoice,
    output: Path | None,
    baseline: Path | None,
    false_alarms: float,
    metrics: tuple[str, ...],
    sessions: Path,
    as_json: bool,
) -> int:
    """Compare one model on several backends, or sessions with each other.

    With --suts, MODEL, a NIR, .tflite or ONNX file, runs on each backend with the same
    samples. Sessions that exist already are used, and one that was cut off is resumed.
    A backend is a table [sut.NAME] of the bench file, an example bench (mps2,
    cpu-asc), a kind (rig list), or FILE.toml. If a backend cannot run, the reason is
    printed and the others continue. For firmware that runs on this computer, as a
    process or on an emulated board, an image with the network is built.

    Several models are compared with each other on each backend. If one of them belongs
    to a task, all get its samples; else each has its own --inputs, and --labels are
    those of all.

    The reference is a NIR file in floating point, with the conventions of --as and
    --reset. For a task that was trained in whole numbers it is the task's own answers;
    for a .tflite or ONNX file those of tflite-micro's arithmetic.

    With --baseline, each SESSION is compared with earlier ones of the same bench: the
    exit code is 1 if a metric is worse by more than the stated rate of false alarms
    allows, and 4 if a session is not comparable with any of them.

    Two sessions are compared by their metrics and by how they came about. Of three or
    more, each is compared with the first: a table a metric, with intervals that hold
    for all differences of it together. Sessions of one model are first shown as the
    table of several backends.

    The exit code is 1 if a verdict is FAIL or INVALID, a backend did not run, or a
    session was changed after its run (its numbers are marked), 2 if no backend has
    results, and 4 if a verdict is NOT TESTED. Of two sessions without --output it is 1
    only if one was changed.
    """
    from rig.api.backends.runs import RequestedRuns, settings_of, shared_task
    from rig.cli.compare_backends import of_models, of_sessions
    from rig.cli.compare_sessions import two_sessions

    if baseline is None:
        refuse_idle("without --baseline", "false_alarms")
    else:
        refuse_idle("beside --baseline", *_OF_SUTS, "suts", "everything", "output")
        from rig.cli.compare_baseline import against

        return against(places, baseline, false_alarms, metrics, as_json=as_json)
    if suts:
        refuse_idle("beside --suts", "everything", "metrics")
        models = _models(places)
        files = _files(labels, dt_s, choice)
        shared = shared_task(models)
        wanted = []
        for model, given in zip(models, _inputs(models, inputs), strict=True):
            settings = settings_of(models, files, model) | given
            requested = RequestedRuns(
                model=model,
                samples=samples,
                trials=trials,
                bench=bench,
                overrides=overrides,
                files=settings,
                task=shared,
            )
            wanted.append(requested)
        return of_models(wanted, _names(suts), sessions, output, as_json)
    refuse_idle("without --suts", *_OF_SUTS)
    if len(places) == 2 and output is None:
        return two_sessions(*places, metrics, everything=everything, as_json=as_json)
    if not places or any(not path.is_dir() for path in places):
        raise ConfigError("what is to be compared?", try_next=_FORMS)
    return of_sessions(places, metrics, output, everything=everything, as_json=as_json)


def _names(suts: str) -> list[str]:
    names = list(
        dict.fromkeys(name.strip() for name in suts.split(",") if name.strip())
    )
    if not names:
        raise ConfigError(
            "--suts names no backend", try_next="rig list shows the kinds there are"
        )
    return names


def _models(places: Sequence[Path]) -> Sequence[Path]:
    if not places or any(place.is_dir() for place in places):
        raise ConfigError("--suts goes with one MODEL or several", try_next=_FORMS)
    return places


def _inputs(models: Sequence[Path], inputs: Sequence[Path]) -> Sequence[dict[str, str]]:
    """Return the inputs of each model as a setting: in the order of the models, or none
    at all.
    """
    if not inputs:
        return [{}] * len(models)
    if len(inputs) != len(models):
        raise ConfigError(
            f"{len(inputs)} --inputs for {plural(len(models), 'model')}",
            try_next="--inputs FILE once for each MODEL, in their order",
        )
    return [{"inputs": str(path.resolve())} for path in inputs]


def _files(
    labels: Path | None,
    dt_s: float | None,
    choice: ConventionChoice,
) -> dict[str, Any]:
    """Collect the settings of the task that the command line gives."""
    settings = {
        "labels": labels and str(labels.resolve()),
        "dt_s": dt_s,
        "rule": choice.preset,
        "reset": choice.reset,
        "spikes_max": choice.spikes_max,
        "start": choice.start,
    }
    return {name: value for name, value in settings.items() if value}
