# SPDX-License-Identifier: Apache-2.0
"""The command line: rig demo, run, plan, probe, list, check, report, and, in files of their own,
scan, measure and firmware.
"""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import click
from rich.markup import escape

from rig.bench import plugins
from rig.bench.probe import probe as probe_bench
from rig.check import signature
from rig.check.check import UNREAD, check
from rig.cli import tables
from rig.cli.coverage import coverage
from rig.cli.firmware import firmware
from rig.cli.measure import measure
from rig.cli.scan import scan
from rig.errors import BenchError, DataError, RigError
from rig.kinds import registry as kinds
from rig.results import claim, labels, results
from rig.session import planning, session
from rig.store import session_folder
from rig.store.session_folder import SessionFolder

OUT = tables.Terminal()
ERR = tables.Terminal(stderr=True)
#: Exit codes: 0 verdict true, 1 verdict false or a trial invalid, 2 usage or configuration, 3 the
#: bench failed, 130 stopped by Ctrl-C.
FALSE = 1
STOPPED = 130
DEMO = Path(__file__).parent.with_name("demo.toml")

_bench = click.argument("bench", type=click.Path(path_type=Path))
_set = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=V",
    help="Override a key of the bench file; may be repeated.",
)
_sessions = click.option(
    "--sessions",
    type=click.Path(path_type=Path),
    default=Path("sessions"),
    show_default=True,
    help="Where sessions are kept.",
)


def main() -> None:
    """Run the command line; errors become messages and exit codes."""
    # Killed politely is stopped like by Ctrl-C: the supply goes off and the files are closed.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        code = rig.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except RigError as error:
        tables.print_error(ERR, error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        ERR.print("stopped; the supply is off, and what was measured is kept: rig check SESSION")
        sys.exit(STOPPED)
    except Exception as error:
        ERR.print_exception()
        tables.print_error(
            ERR,
            BenchError(
                f"a fault of the rig itself: {error!r}",
                try_next="what was measured is kept: rig check SESSION",
            ),
        )
        sys.exit(BenchError.exit_code)


class _Commands(click.Group):
    """Our commands, and those of tasks: found by entry point and imported only when they are called
    or listed.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *plugins.commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found: click.Command | None = super().get_command(ctx, cmd_name) or plugins.command(
            cmd_name
        )
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("neurorig"))
def rig() -> None:
    """Measure accuracy, latency and energy of a device under test."""


@rig.command()
@click.option(
    "--bench",
    type=click.Path(path_type=Path),
    default=DEMO,
    help="Another bench than the built-in virtual one.",
)
@_sessions
def demo(bench: Path, sessions: Path) -> int:
    """Run acoustic scene classification, five trials, without any hardware."""
    OUT.print("Nothing on this table is hardware: times and energies below are simulated.")
    return _run(bench, (), None, sessions)


@rig.command()
@_bench
@_set
@click.option(
    "--trials", type=click.IntRange(1), help="Another number of trials than the bench file's."
)
@_sessions
def run(bench: Path, overrides: tuple[str, ...], trials: int | None, sessions: Path) -> int:
    """Run all trials of a bench file; print the results and the verdict."""
    return _run(bench, overrides, trials, sessions)


def _run(bench: Path, overrides: Sequence[str], trials: int | None, sessions: Path) -> int:
    with session.open_bench(bench, overrides) as opened, tables.RunProgress(OUT) as progress:
        result = opened.run(trials, sessions, (progress,))
    return _finish(result)


@rig.command()
@click.argument(
    "path", metavar="SESSION", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
def resume(path: Path) -> int:
    """Go on with a session that was cut off, where it stopped; the bench must be the same."""
    with tables.RunProgress(OUT) as progress:
        result = session.resume(path, (progress,))
    return _finish(result)


def _finish(result: session.SessionResult) -> int:
    tables.print_results(OUT, result.content)
    OUT.print(f"report {escape(str(_write_report(result.folder)))}", soft_wrap=True)
    OUT.print(f"chain {SessionFolder(result.folder).journal().head}", soft_wrap=True)
    return 0 if result.ok else FALSE


@rig.command()
@_bench
@_set
@click.option(
    "--trial",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The trial whose plan is shown.",
)
@click.option("--all", "whole", is_flag=True, help="Show every step.")
def plan(bench: Path, overrides: tuple[str, ...], trial: int, whole: bool) -> None:
    """Print the steps of a trial; no device is touched."""
    scenario, task, resolved = planning.open_plan(bench, overrides)
    steps = planning.steps(scenario, task, planning.trial_seed(resolved.bench.seed, trial))
    shown = steps if whole else steps[:12]
    for number, step in enumerate(shown, start=1):
        OUT.print(f"{number:>6}  {escape(kinds.of(step).describe(step))}", highlight=False)
    if len(shown) < len(steps):
        OUT.print(f"   ...  {len(steps) - len(shown)} more steps (--all)")
    totals = (
        kind.total([step for step in steps if kinds.of(step) is kind]) for kind in kinds.known()
    )
    of_trial = ", ".join(filter(None, totals))
    OUT.print(f"a trial: {of_trial}; {resolved.bench.trials} trials")
    tables.print_labels(OUT, labels.of_task({"samples": len(task)} | task.provenance()))


@rig.command()
@_bench
@_set
def probe(bench: Path, overrides: tuple[str, ...]) -> int:
    """Power the device, talk to it, and say what is wrong and what to try."""
    good = True
    # Closed also where printing fails: then the supply goes off.
    with closing(probe_bench(bench, overrides)) as rows:
        for row in rows:
            good = good and row.ok
            OUT.print(
                f"{'[green]ok[/]    ' if row.ok else '[red]failed[/]'} "
                f"{escape(f'{row.name}: {row.detail}')}",
                soft_wrap=True,
            )
            if row.try_next:
                OUT.print(f"       try: {escape(row.try_next)}", soft_wrap=True)
    return 0 if good else 3


@rig.command("list")
@_sessions
def list_(sessions: Path) -> None:
    """List backends, monitors, scenarios, tasks and sessions."""
    titles = {
        "sut": "systems under test",
        "monitor": "monitors",
        "scenario": "scenarios",
        "task": "tasks",
    }
    for section, title in titles.items():
        tables.print_rows(
            OUT, title, [(name, _about(section, name)) for name in plugins.names(section)]
        )
    tables.print_rows(
        OUT,
        f"sessions in {sessions}",
        [(path.name, _status(path)) for path in _session_folders(sessions)],
    )


def _about(section: str, name: str) -> str:
    try:
        return (inspect.getdoc(plugins.find(section, name)) or "").split("\n")[0]
    except RigError as error:
        return f"not usable: {error.cause}"


def _session_folders(root: Path) -> Iterator[Path]:
    return (path.parent for path in sorted(root.glob(f"*/{session_folder.EVENTS}")))


def _status(path: Path) -> str:
    folder = SessionFolder(path)
    try:
        folder.refuse_other()
        folder.events()
        status = folder.journal().status
        status = "killed or running" if status == "killed" else status
        content = (
            session_folder.read_json(path / session_folder.RESULTS)
            if (path / session_folder.RESULTS).exists()
            else None
        )
        verdict = f"verdict {str(content['replication']['ok']).lower()}" if content else ""
    except (DataError, OSError, LookupError, TypeError, ValueError):
        return "not readable"
    return ", ".join(filter(None, (status, verdict, labels.texts(_labels(path)))))


def _labels(path: Path) -> tuple[labels.Label, ...]:
    """Return what must stand beside a session's numbers; also of one that was cut off, or is
    damaged.
    """
    try:
        return labels.of_provenance(SessionFolder(path).provenance())
    except (DataError, OSError, LookupError, TypeError, ValueError):
        return (labels.Label(labels.NOT_STATED, f"{session_folder.PROVENANCE} cannot be read"),)


@rig.command("check")
@click.argument(
    "path", metavar="SESSION", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--claim",
    "claimed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Test a claim on the session: a TOML file of metric = value, a bench file's [claim], or a "
    "published results.json.",
)
@click.option(
    "--signers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Whose signatures to believe.",
)
def check_(path: Path, claimed: Path | None, signers: Path | None) -> int:
    """Recompute every number of a session from its raw files and compare; test a claim on them."""
    tested = claim.read(claimed) if claimed else None
    checked = check(path)
    if checked.status != UNREAD:
        vouched = (
            signature.unverified(path) if signers is None else [signature.verified(path, signers)]
        )
        checked = replace(checked, findings=(*checked.findings, *vouched))
        tables.print_labels(OUT, _labels(path))
    tables.print_check(OUT, path, checked)
    if not checked.ok:
        if tested:
            OUT.print(
                "the claim is not tested: the session is not what was measured, or did not finish"
            )
        return FALSE
    content = session_folder.read_json(path / session_folder.RESULTS)
    if tested is None:
        tables.print_budget(OUT, content)
        return 0
    claim.refuse_other(tested, content, checked.trials)
    found = claim.verdicts(tested.values, checked.trials)
    tables.print_claim(
        OUT, tested, {name: results.verdict_content(one) for name, one in found.items()}, content
    )
    return 0 if all(verdict.ok for verdict in found.values()) else FALSE


@rig.command()
@click.argument(
    "path", metavar="SESSION", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
def report(path: Path) -> int:
    """Write the session's report: one HTML page; say so when the session was changed since."""
    OUT.print(escape(str(_write_report(path))), soft_wrap=True)
    changed = [finding for finding in check(path).findings if not finding.ok]
    if changed:
        ERR.print(
            f"[red]the session was changed since it was measured[/] ({len(changed)} findings): rig "
            f"check {escape(str(path))}",
            soft_wrap=True,
        )
    return FALSE if changed else 0


def _write_report(folder: Path) -> Path:
    # Here, because it brings matplotlib: half a second that the other commands need not wait for.
    from rig.report.report import write_report

    try:
        return write_report(folder)
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise DataError(
            f"a file of {folder} was damaged", evidence=repr(error), try_next=f"rig check {folder}"
        ) from error


rig.add_command(coverage)
rig.add_command(firmware)
rig.add_command(measure)
rig.add_command(scan)
