# SPDX-License-Identifier: Apache-2.0
"""One model on several backends: the sessions that are run, the table, and the
files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from rig.api.backends import (
    comparison,
    forms,
    images,
    network_forms,
    networks,
    runs,
    trains,
)
from rig.api.backends.forms import Page
from rig.api.backends.networks import NetworksComparison
from rig.api.backends.rows import (
    BackendRow,
    ComparedBackend,
    Failure,
    ModelComparison,
)
from rig.api.backends.runs import Planned, RequestedRuns, UnknownBackend
from rig.api.comparing import several
from rig.api.sessions.session import open_session
from rig.bench import config
from rig.bench.parts import open_task
from rig.cli import exit_codes
from rig.cli.compare_sessions import outcome_of, print_several
from rig.cli.kept_session import KeptSession
from rig.cli.models.model_kinds import is_int8
from rig.cli.options import SESSIONS_TRY
from rig.cli.printed.failures import print_failure
from rig.cli.printed.progress import RunProgress
from rig.cli.printed.terminal import (
    Terminal,
    escape,
    print_line,
    print_table,
    print_whole,
    table_width,
)
from rig.errors import ConfigError, RigError, storage_error
from rig.host.second_signal import stopped_by_signals
from rig.host.stop import Stop
from rig.interfaces.task import Task
from rig.network import graph
from rig.network.tflite import network
from rig.results.verdict import Outcome
from rig.store.session_folder import refuse_unwritable, write_text

_PARTLY = 1
#: A backend may say a lot of its rule.
_RULE_WIDTH = 34


@dataclass(frozen=True, slots=True)
class _Shown:
    """A comparison as it is printed and written: its page, its other forms, its
    picture, and its rows.
    """

    page: Page
    csv: Callable[[], str]
    json: Callable[[], str]
    draw: Callable[[Path], None]
    rows: Sequence[BackendRow]


def of_models(
    wanted: Sequence[RequestedRuns],
    names: Sequence[str],
    root: Path,
    output: Path | None,
    as_json: bool,
) -> int:
    """Run the missing sessions of each model, print the comparison and write its files;
    return the exit code.
    """
    refuse_unwritable(root, SESSIONS_TRY)
    if output is not None:
        refuse_unwritable(output, "another folder: --output FOLDER")
    out = Terminal(stderr=as_json)
    for each in wanted:
        # A wrong model is one mistake, not one of each backend.
        read = network.read if is_int8(each.model) else graph.read
        read(each.model)
    stems = [each.model.stem for each in wanted]
    if len(set(stems)) < len(stems):
        evidence = ", ".join(str(each.model) for each in wanted)
        raise ConfigError(
            "two models have one name",
            path="MODEL",
            evidence=evidence,
            try_next="other file names: they name the lines",
        )
    found: dict[str, ModelComparison] = {}
    with KeptSession() as kept:
        for each in wanted:
            if len(wanted) > 1:
                _say(out, f"[bold]{escape(each.model.name)}[/]", indent=0)
            found[each.model.stem] = _of_model(out, each, names, root, kept)
    return _told(out, _shown(found), output, as_json=as_json)


def _of_model(
    out: Terminal,
    wanted: RequestedRuns,
    names: Sequence[str],
    root: Path,
    kept: KeptSession,
) -> ModelComparison:
    planned = {Path(name).stem: _plan(name, wanted) for name in names}
    if len(planned) < len(names):
        raise ConfigError(
            "two backends have one name", path="--suts", evidence=", ".join(names)
        )
    benches = [each for each in planned.values() if isinstance(each, Planned)]
    if not benches:
        runs.plan(names[0], wanted)  # raises its error again
    task = _task(benches[0])
    backends = []
    for number, (name, each) in enumerate(planned.items(), start=1):
        _say(out, f"[bold]{escape(name)}[/], {number} of {len(planned)}")
        each = _with_image(out, each, task, root)
        backends.append(
            _run(out, each, root, task, kept) if isinstance(each, Planned) else each
        )
    return comparison.compare(backends, task)


def _shown(found: Mapping[str, ModelComparison]) -> _Shown:
    """Return one model's backends, or several models on the same systems."""
    if len(found) == 1:
        (one,) = found.values()
        return _Shown(
            page=forms.page(one),
            csv=partial(forms.csv_text, one),
            json=partial(forms.json_text, one),
            draw=partial(_draw, one),
            rows=one.rows,
        )
    several = networks.compare(found)
    return _Shown(
        page=network_forms.page(several),
        csv=partial(network_forms.csv_text, several),
        json=partial(network_forms.json_text, several),
        draw=partial(_draw, several),
        rows=[each.row for each in several.rows],
    )


def _draw(found: ModelComparison | NetworksComparison, path: Path) -> None:
    # Imported here: they bring matplotlib.
    from rig.api.backends import network_picture, picture

    if isinstance(found, NetworksComparison):
        network_picture.write(found, path)
    else:
        picture.write(found, path)


def _with_image(
    out: Terminal, each: Planned | ComparedBackend, task: Task | None, root: Path
) -> Planned | ComparedBackend:
    """Return a bench with an image of the network, where it has firmware, or why it has
    none."""
    # Without a task the session itself says why there is none.
    if task is None or not isinstance(each, Planned):
        return each
    workload = images.workload_of(each, task)
    if not workload:
        return each
    _say(out, "  an image of the network is made, where it is not there")
    try:
        return images.with_image(each, workload, task, root)
    except RigError as error:
        failure = Failure.of(error)
        print_failure(out, failure, "[red]did not run[/]")
        return ComparedBackend(each.name, None, failure)


def _plan(name: str, wanted: RequestedRuns) -> Planned | ComparedBackend:
    """Return a backend's bench, or why it has none; a name that is not known is a
    slip."""
    try:
        return runs.plan(name, wanted)
    except UnknownBackend:
        raise
    except RigError as error:
        return ComparedBackend(Path(name).stem, None, Failure.of(error))


def of_sessions(
    places: Sequence[Path],
    names: Sequence[str],
    output: Path | None,
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """Print the comparison of sessions with the first one, after that with the
    reference where all are of one model and one set of samples; return the exit code. A
    session that is named twice counts once.
    """
    once: dict[Path, Path] = {}
    for path in places:
        once.setdefault(path.resolve(), path)
    places = list(once.values())
    sessions = [open_session(path) for path in places]
    differences = several.compare_several(sessions, names, every=everything)
    shown = _of_one_model(places, differences)
    out = Terminal(stderr=as_json)
    if as_json:
        backends = json.loads(shown.json()) if shown is not None else {}
        content = backends | {"differences": several.tree(differences)}
        Terminal().out(forms.json_of(content).rstrip("\n"))
    code = 0
    if shown is not None:
        code = _told(out, shown, output, as_json=False)
        out.print()
    print_several(out, differences)
    if output is not None:
        csv = several.csv_text(differences)
        tree = several.tree(differences)
        texts = {
            "csv": csv,
            "json": forms.json_of(tree),
            "md": several.markdown(differences),
        }
        _write_texts(out, output, "differences", texts)
    if any(one.changed for one in sessions):
        return exit_codes.FAIL
    verdicts = [outcome_of(one)[0] for one in sessions]
    return code or exit_codes.of_outcomes([Outcome.PASS, *filter(None, verdicts)])


def _of_one_model(
    places: Sequence[Path], found: several.SeveralSessions
) -> _Shown | None:
    """Return the comparison with the reference of the model; None where the sessions
    are of several models or sets of samples, or one has no results.
    """
    if not all(each.results and each.results.metrics for each in found.sessions):
        return None
    if not all(one.same_samples for one in found.comparisons):
        return None
    sessions = [each.session for each in found.sessions]
    if any(comparison.about(one) != comparison.about(sessions[0]) for one in sessions):
        return None
    names = [_short(path) for path in places]
    if len(set(names)) < len(names):
        names = [path.name for path in places]
    compared = map(ComparedBackend, names, sessions)
    return _shown({"": comparison.compare(list(compared))})


def _short(path: Path) -> str:
    """Return the name of a session's bench, without the time in front."""
    return path.name.partition("-")[2] or path.name


def _task(planned: Planned) -> Task | None:
    """Return the task with its data, which all backends share; None where it does not
    open: then every session says why.
    """
    with suppress(RigError):
        task, _ = open_task(config.parsed(planned.text, Path.cwd()))
        return task
    return None


def _run(
    out: Terminal, planned: Planned, root: Path, task: Task | None, kept: KeptSession
) -> ComparedBackend:
    facts = runs.facts_of(task)
    before = runs.earlier(planned, root, facts)
    if before is not None and before.status == "success":
        _say(out, f"  is there: {escape(str(before.path))}")
        backend = ComparedBackend(planned.name, before)
    else:
        stop = Stop()
        with stopped_by_signals(stop), RunProgress(out) as progress:
            backend = runs.run(planned, root, facts, (progress, kept), stop)
    if backend.failure is not None:
        print_failure(out, backend.failure, "[red]did not run[/]")
    if backend.session is not None and task is not None:
        stop = Stop()
        try:
            with stopped_by_signals(stop), stop.heard():
                trains.record(backend.session, range(len(task)))
        except RigError as error:
            _say(out, f"  no spike trains: {escape(error.cause)}")
    return backend


def _told(out: Terminal, shown: _Shown, output: Path | None, *, as_json: bool) -> int:
    if as_json:
        Terminal().out(shown.json().rstrip("\n"))
    what, *about = shown.page.about
    _say(out, escape(what))
    _print_table(out, shown.page)
    for line in about:
        _say(out, escape(line))
    _say(out, f"[dim]{escape(shown.page.caption)}[/]")
    for line in shown.page.remarks:
        _say(out, escape(line))
    if output is not None:
        _write(out, shown, output)
    if any(row.failure is not None for row in shown.rows):
        return _PARTLY
    return exit_codes.of_outcomes(
        row.verdict for row in shown.rows if row.verdict is not None
    )


def _print_table(out: Terminal, page: Page) -> None:
    """Print a line a backend; in a terminal that is too narrow a column a backend, in
    as many tables as that takes.
    """
    heads = page.heads
    lines = []
    for row in page.rows:
        if len(row) == len(heads):
            lines.append(list(map(escape, row)))
        else:
            # Why it did not run stands below, where there is room.
            lines.append([*map(escape, row[:-1]), "[red]did not run[/]"])
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in heads[:-1]:
        justify: Literal["left", "right"] = "left" if head == heads[0] else "right"
        table.add_column(escape(head), justify=justify, no_wrap=True)
    table.add_column(escape(heads[-1]), overflow="fold", max_width=_RULE_WIDTH)
    for line in lines:
        table.add_row(*line)
    if not out.is_terminal or table_width(out, table) <= out.width:
        print_whole(out, table)
        return
    while lines:
        count = len(lines)
        while count > 1 and not _fits(out, _upright(heads, lines[:count])):
            count -= 1
        print_table(out, _upright(heads, lines[:count]))
        out.print()
        lines = lines[count:]


def _fits(out: Terminal, table: Table) -> bool:
    return table_width(out, table) <= out.width


def _upright(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(escape(heads[0]), no_wrap=True)
    for line in lines:
        table.add_column(line[0], overflow="fold", max_width=_RULE_WIDTH)
    for number, head in enumerate(heads[1:], start=1):
        cells = [line[number] if number < len(line) else "" for line in lines]
        table.add_row(escape(head), *cells)
    return table


def _write(out: Terminal, shown: _Shown, folder: Path) -> None:
    markdown = forms.markdown(shown.page)
    texts = {"csv": shown.csv(), "json": shown.json(), "md": markdown}
    _write_texts(out, folder, "comparison", texts, shown.draw)


def _write_texts(
    out: Terminal,
    folder: Path,
    name: str,
    texts: Mapping[str, str],
    draw: Callable[[Path], None] | None = None,
) -> None:
    """Write the forms of a comparison into a folder, and its picture."""
    pictures = ("png", "svg") if draw is not None else ()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in texts.items():
            write_text(folder / f"{name}.{ending}", text)
        for ending in pictures:
            assert draw is not None
            draw(folder / f"{name}.{ending}")
    except OSError as error:
        raise storage_error(error, folder) from error
    endings = ", .".join((*texts, *pictures))
    _say(out, f"written: {escape(str(folder))}/{name}.{endings}")


def _say(out: Terminal, text: str, indent: int = 2) -> None:
    print_line(out, text, indent)
