# SPDX-License-Identifier: Apache-2.0
"""`rig compare`: one model on several backends, or two sessions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from rig.api.backends.runs import Wanted
from rig.api.comparing.comparison import MetricPair, Outcome, SessionComparison
from rig.api.comparing.comparison import compare as compare_sessions
from rig.api.comparing.provenance_changes import Change
from rig.api.comparing.text import difference_text, spread_text, value_text
from rig.api.sessions.session import open_session
from rig.cli.compare_backends import of_model, of_sessions
from rig.cli.exit_codes import FAIL
from rig.cli.models.conventions_options import conventions_options
from rig.cli.models.map_model import dt_option
from rig.cli.options import refuse_idle, sessions_option, set_option
from rig.cli.printed.labels import of_session, print_labels
from rig.cli.printed.terminal import Terminal, escape, print_whole
from rig.errors import ConfigError
from rig.model.metric import Prominence
from rig.network.conventions import Choice
from rig.results.stated import Notes

_COLOURS = {Outcome.DIFFERS: "bold", Outcome.IF_UNCHANGED: "yellow", Outcome.UNKNOWN: "dim"}
#: Parameters of what --suts runs.
_OF_SUTS = (
    *("samples", "trials", "bench", "overrides", "inputs", "labels", "sessions"),
    *("dt_s", "preset", "reset", "spikes_max", "start"),
)
_FORMS = "rig compare MODEL.nir --suts A,B,... or two or more session folders"
_PLACE = click.Path(exists=True, path_type=Path)


@click.command()
@click.argument("places", metavar="MODEL.nir | SESSION SESSION...", nargs=-1, type=_PLACE)
@click.option("--all", "everything", is_flag=True, help="Show details and ordinary changes too.")
@click.option("--suts", metavar="A,B,...", default="", help="Backends that are to run MODEL.nir.")
@click.option(
    "--samples", type=click.IntRange(0), help="Samples of each session; 0: all [default: 40]."
)
@click.option(
    "--trials", type=click.IntRange(1), default=5, show_default=True, help="Trials of each session."
)
@click.option(
    "--bench",
    type=click.Path(path_type=Path),
    help="Bench file with [sut.A], [sut.B], ..., monitor, scenario, task.",
)
@set_option
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    metavar="FILE.npy",
    help="Inputs of a model that is no task's own.",
)
@click.option(
    "--labels", type=click.Path(path_type=Path), metavar="FILE", help="What each input is."
)
@dt_option
@conventions_options
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write table (csv, md), data (json) and picture (png, svg) there.",
)
@sessions_option
def compare(
    places: tuple[Path, ...],
    everything: bool,
    suts: str,
    samples: int | None,
    trials: int,
    bench: Path | None,
    overrides: tuple[str, ...],
    inputs: Path | None,
    labels: Path | None,
    dt_s: float | None,
    choice: Choice,
    output: Path | None,
    sessions: Path,
) -> int:
    """Compare one model on several backends, or sessions.

    MODEL.nir with --suts: a session on each backend, of the same samples; those that are there
    already are used, one that was cut off goes on. A backend is a table [sut.NAME] of the bench
    file, an example bench (mps2, cpu-asc), a kind (rig list), or FILE.toml. A backend that cannot
    run is told why, and the others go on. For a backend that runs firmware here, a process or an
    emulated board, an image of the network is built.

    The reference is MODEL.nir in floating point, by --as and --reset; of a task that was trained in
    whole numbers its own answers.

    Two sessions: their metrics, and how they came about. Three or more, of one model: the table of
    a model on several backends.

    The exit code is 1 where a verdict is FAIL or INVALID, a backend did not run, or a session was
    changed after its run: its numbers are shown with a mark. It is 2 where none has results, 4
    where a verdict is NOT TESTED.
    """
    if suts:
        refuse_idle("beside --suts", "everything")
        wanted = _wanted(places, samples, trials, bench, overrides, inputs, labels)
        conventions = {
            "dt_s": dt_s,
            "rule": choice.preset,
            "reset": choice.reset,
            "spikes_max": choice.spikes_max,
            "start": choice.start,
        }
        chosen = {name: value for name, value in conventions.items() if value}
        wanted = replace(wanted, files={**wanted.files, **chosen})
        return of_model(wanted, _names(suts), sessions, output)
    refuse_idle("without --suts", *_OF_SUTS)
    if len(places) == 2 and output is None:
        return two_sessions(*places, everything=everything)
    if not places or any(not path.is_dir() for path in places):
        raise ConfigError("what is to be compared?", try_next=_FORMS)
    refuse_idle("but for two sessions without --output", "everything")
    return of_sessions(places, output)


def _names(suts: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in suts.split(",") if name.strip()))
    if not names:
        raise ConfigError("--suts names no backend", try_next="rig list shows the kinds there are")
    return names


def _wanted(
    places: Sequence[Path],
    samples: int | None,
    trials: int,
    bench: Path | None,
    overrides: tuple[str, ...],
    inputs: Path | None,
    labels: Path | None,
) -> Wanted:
    if len(places) != 1 or places[0].is_dir():
        raise ConfigError("--suts goes with one MODEL.nir", try_next=_FORMS)
    files = {"inputs": inputs, "labels": labels}
    given = {key: str(path.resolve()) for key, path in files.items() if path is not None}
    return Wanted(places[0], samples, trials, bench, overrides, given)


def two_sessions(first: Path, second: Path, *, everything: bool) -> int:
    """Print how the metrics of two sessions differ: the uncertainty of a difference is given twice,
    as if the sessions had nothing in common, and as if the instrument that both used had not
    changed at all. Return the exit code.
    """
    out = Terminal()
    found = compare_sessions(open_session(first), open_session(second))
    for letter, path in (("A", first), ("B", second)):
        out.print(f"[bold]{letter}[/] {escape(str(path))}", soft_wrap=True, highlight=False)
        print_labels(out, of_session(path))
    for note in found.notes:
        out.print(f"note: {escape(note)}", soft_wrap=True, highlight=False)
    pairs = [pair for pair in found.metrics if everything or _prominence(pair)]
    if pairs:
        print_whole(out, _metrics(pairs, found))
    changed = [change for change in found.changes if everything or not change.ordinary]
    if changed:
        print_whole(out, _changes(changed))
    else:
        out.print("nothing differs in how they came about")
    # A difference of numbers that were edited is not one of measurements. They are shown all the
    # same, because what was edited may be what a reader looks for; a script sees the exit code.
    return FAIL if found.first.changed or found.second.changed else 0


def _prominence(pair: MetricPair) -> bool:
    rows = [row for row in (pair.first, pair.second) if row is not None]
    return any(row.prominence is not Prominence.DETAIL for row in rows)


def _metrics(pairs: Sequence[MetricPair], found: SessionComparison) -> Table:
    title = f"B less A, with its uncertainty at 95 %; intervals {found.question}"
    table = Table(box=SIMPLE_HEAD, title=title)
    table.add_column("metric", no_wrap=True)
    for head in ("A", "B", "B - A", "± 95 %"):
        table.add_column(head, justify="right", no_wrap=True)
    if found.shared_rails:
        table.add_column("± 95 %, if unchanged", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    notes = Notes()
    for pair in pairs:
        colour = _COLOURS.get(pair.outcome, "default")
        cells = [
            pair.name,
            value_text(pair, pair.first, notes),
            value_text(pair, pair.second, notes),
            difference_text(pair),
            spread_text(pair, pair.apart),
        ]
        if found.shared_rails:
            cells.append(spread_text(pair, pair.shared))
        table.add_row(*map(escape, cells), f"[{colour}]{escape(pair.outcome.value)}[/]")
    table.caption = "\n".join(map(escape, notes.lines)) or None
    return table


def _changes(changed: Sequence[Change]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="what differs in how they came about")
    for head in ("key", "A", "B"):
        table.add_column(head, overflow="fold", max_width=60)
    for change in changed:
        table.add_row(*map(escape, (change.path, change.before, change.after)))
    return table
