# SPDX-License-Identifier: Apache-2.0
"""Kill `rig run` and `rig resume` at random moments, resume and check: how often
anything is lost.

Run it: `python -m lab.faults.kills [--kills N] [--minutes M] [--jobs J] [--seed S]
[--reduced] [--supply]`. It needs the POSIX firmware (`make firmware`) and fork(), so
Linux or macOS. Sessions of two trials of null queries, in turn on the virtual device
and on the firmware as a process of this computer, with the virtual monitor: all
energies are simulated. SIGKILL comes at a moment that is drawn evenly from the
session's first event to the end of an undisturbed one; one resume in three is killed as
well, as often as it is drawn. Then `rig resume` goes on to the end, and `rig check`
recomputes it. Each command is a fork of a process that has imported the rig: a kill in
the second of imports would prove no more, and would cost one.

With --supply the sessions are on the virtual device and a simulated X-NUCLEO-LPM01A in
a process of its own, which the rig takes for a real one. It sees no edge of SYNC, and
the trials say so. Its supply must be off after each command, also a killed one.

A session is lost where one of these fails: resume ends, and its trials are valid; each
query is measured once in each trial; each whole line of a device's answers that a
killed process left is still there, and each file of a finished trial is unchanged; the
check finds no difference. Such folders are kept, and named. Exit code 1 where there is
one. Also reported, as no kill loses data there: queries that were answered and are
asked again, since a recording's last samples were not written; and trials that say
themselves that this computer was too slow for the simulated monitor. Do not change the
rig meanwhile: a resume by another revision is refused, and counted as lost.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from rig.cli.main import main as rig_main
from rig.model.steps import Query
from rig.store import completion_lines, session_folder
from rig.store.session_folder import COMPLETIONS, EVENTS, SAMPLES, SessionFolder

ROOT = Path(__file__).resolve().parents[2]
BENCHES = ["virtual-null", "posix-null"]
#: With --supply.
SUPPLIED = "supplied-null"
SUPPLIED_BENCH = """
[bench]
name = "supplied-null"
[sut.virtual]
[monitor.st_lpm01a]
port = "{port}"
[scenario.single_stream]
[task.null]
"""
BOARD = "import sys; from benchmarks.simulated_lpm01a import serve; serve(sys.stdout)"
#: The process that watches over a supply opens the instrument ten times at most.
OFF_S = 60.0
#: Text of a trial's problem where its monitor saw no edge.
NO_EDGES = "0 falling edges"
TRIALS = 2
QUERIES = 20
SETTINGS = [f"task.null.samples={QUERIES}", "scenario.single_stream.idle_s=0.1"]
#: With --reduced: traces keep means while samples are loaded, and the virtual device
#: takes its time for that.
REDUCED = "bench.between_windows=reduced"
SLOW_LOADS = {"virtual-null": ("sut.virtual.load_s=0.1",)}
#: No command of a session this small takes longer, also on a machine with other work,
#: but for one of low priority: with six others at work, `nice -n 19` has half a percent
#: of a processor. A command's stacks are then in the log (`_DUMP`).
LIMIT_S = 180
#: Signal on which a command prints its stack.
_DUMP = signal.SIGUSR1
_DUMPED_S = 5.0
#: Exit codes of a run that came to its end: two trials are not tested.
_ENDINGS = (0, 1, 4)
POLL_S = 0.002
#: Text of a trial's gap where the virtual monitor could not keep its pace.
TOO_SLOW = "the simulated device reported"
RESUMES_KILLED = 1 / 3
IMPORTED = (
    "rig.cli.run_bench",
    "rig.cli.check_session",
    "rig.report.report",
    "pyjls",
)


@dataclass(frozen=True, slots=True)
class Life:
    """A session from its start to its check, the number of kills, and its losses."""

    bench: str
    folder: Path
    kills: Counter[str] = field(default_factory=Counter)
    lost: tuple[str, ...] = ()
    too_slow: bool = False
    asked_again: int = 0
    set_aside: int = 0
    looks: int = 0
    left_on: int = 0
    peak_b: int = 0


def started(arguments: Sequence[str], log: Path) -> int:
    """Start a command of the rig in a fork; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        faulthandler.register(_DUMP)
        sys.argv = ["rig", *arguments]
        rig_main()
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 98
    finally:
        os._exit(code)


def ended(pid: int, within_s: float) -> int | None:
    """Wait for a process; return its exit code, or None where it is not through by
    then."""
    deadline_s = time.monotonic() + within_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline_s:
            return None
        time.sleep(POLL_S)


def killed(pid: int, after_s: float) -> bool:
    """Kill a process after a while; return False where it came to its end before."""
    if ended(pid, after_s) is not None:
        return False
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@dataclass
class Supply:
    """The supply of a board in another process, from the lines that it says.

    looks: how often it was waited for; left_on: how often in vain
    """

    said: Path | None = None
    looks: int = 0
    left_on: int = 0

    def lines(self) -> list[str]:
        """Return the lines of the board."""
        return [] if self.said is None else self.said.read_text().splitlines()

    def stays_on(self) -> bool:
        """Wait until the supply is off; return whether it still is on after that."""
        if self.said is None:
            return False
        self.looks += 1
        deadline_s = time.monotonic() + OFF_S
        while self.lines()[-1] == "supply on":
            if time.monotonic() > deadline_s:
                self.left_on += 1
                return True
            time.sleep(POLL_S)
        return False


@contextmanager
def supplied(bench: str, root: Path) -> Iterator[tuple[Path, Supply]]:
    """Yield a bench file and its supply; the board is a process that ends on
    leaving."""
    if bench != SUPPLIED:
        yield ROOT / "benches" / f"{bench}.toml", Supply()
        return
    supply = Supply(root / "board.txt")
    with supply.said.open("w") as out:  # type: ignore[union-attr]
        board = subprocess.Popen([sys.executable, "-c", BOARD], stdout=out, cwd=ROOT)
    try:
        deadline_s = time.monotonic() + LIMIT_S
        while not supply.lines():
            if time.monotonic() > deadline_s or board.poll() is not None:
                raise SystemExit("the simulated board does not start")
            time.sleep(POLL_S)
        port = supply.lines()[0].split()[1]
        path = root / "bench.toml"
        path.write_text(SUPPLIED_BENCH.format(port=port))
        yield path, supply
    finally:
        board.terminate()
        board.wait()


def begun(root: Path, bench: str, path: Path, log: Path) -> tuple[int, Path]:
    """Start a session, and wait for its first event; return the process and the
    folder."""
    arguments = ["run", str(path), "--sessions", str(root)]
    slow = SLOW_LOADS.get(bench, ()) if REDUCED in SETTINGS else ()
    for setting in (*SETTINGS, *slow, f"bench.trials={TRIALS}"):
        arguments += ["--set", setting]
    pid = started(arguments, log)
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        for path in root.glob(f"*/{EVENTS}"):
            if b"\n" in path.read_bytes():
                return pid, path.parent
        if ended(pid, 0.0) is not None:
            break
        time.sleep(POLL_S)
    raise SystemExit(f"no session began: {log.read_text()[-500:]}")


def lines_left(folder: Path) -> Counter[bytes]:
    """Return each whole line of answers in a session, with how often it stands
    there."""
    counted: Counter[bytes] = Counter()
    for path in folder.rglob(COMPLETIONS):
        lines = path.read_bytes().splitlines(keepends=True)
        counted.update(line for line in lines if line.endswith(b"\n"))
    return counted


def finished_files(folder: Path) -> dict[Path, str]:
    """Return the files of finished trials with their digests."""
    done = [
        event.trial
        for event in SessionFolder(folder).events()
        if event.event == "trial_finished"
    ]
    trials = ((folder / f"trial-{number}").rglob("*") for number in done)
    files = [path for path in chain.from_iterable(trials) if path.is_file()]
    return {path: session_folder.sha256(path) for path in files}


def _is_known(problem: str, known: Sequence[str]) -> bool:
    return any(text in problem for text in known)


def live(bench: str, seed: int, whole_s: float) -> Life:
    """Run a session, kill it at random moments, resume it to its end, and check it."""
    root = Path(tempfile.mkdtemp(prefix="kills-"))
    with supplied(bench, root) as (path, supply):
        draw = random.Random(seed)
        return lived(path, supply, root, bench=bench, draw=draw, whole_s=whole_s)


def lived(
    path: Path,
    supply: Supply,
    root: Path,
    *,
    bench: str,
    draw: random.Random,
    whole_s: float,
) -> Life:
    """Return the life of one session in a folder, which stays where something is
    lost."""
    log = root / "log.txt"
    kills: Counter[str] = Counter()
    pid, folder = begun(root, bench, path, log)
    lost: list[str] = []
    kills["run"] += killed(pid, draw.uniform(0.0, whole_s))
    if supply.stays_on():
        lost.append("the supply stayed on")
    while not lost and not is_finished(folder):
        lines = lines_left(folder)
        files = finished_files(folder)
        pid = started(["resume", str(folder)], log)
        if draw.random() < RESUMES_KILLED:
            kills["resume"] += killed(pid, draw.uniform(0.0, whole_s))
        elif (code := ended(pid, LIMIT_S)) not in _ENDINGS:
            if code is None:
                os.kill(pid, _DUMP)
                killed(pid, _DUMPED_S)
            lost.append(
                "resume "
                + (f"took {LIMIT_S} s" if code is None else f"ended with {code}")
            )
        elif not is_finished(folder):
            lost.append("resume ended, and the session is not finished")
        if supply.stays_on():
            lost.append("the supply stayed on")
        if gone := lines - lines_left(folder):
            lost.append(f"{gone.total()} lines of answers are gone")
        lost += [
            f"{path} was changed" for path, was in files.items() if changed(path, was)
        ]
    if not lost:
        lost += judged(folder, log)
    problems = problems_of(folder)
    known = (TOO_SLOW, NO_EDGES) if bench == SUPPLIED else (TOO_SLOW,)
    lost += [text for text in problems if not _is_known(text, known)]
    folders = (path.parent for path in folder.rglob(COMPLETIONS))
    steps = chain.from_iterable(map(completion_lines.read, folders))
    answers = [done for done in steps if isinstance(done.step, Query)]
    aside = len([path for path in folder.rglob("*-cut-off-*") if path.is_dir()])
    if not lost:
        shutil.rmtree(root)
    return Life(
        bench,
        folder,
        kills,
        tuple(lost),
        too_slow=any(TOO_SLOW in text for text in problems),
        asked_again=len(answers) - TRIALS * QUERIES,
        set_aside=aside,
        looks=supply.looks,
        left_on=supply.left_on,
        # Of all commands of this process so far: it only rises.
        peak_b=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    )


def is_finished(folder: Path) -> bool:
    """Return whether a session came to its end."""
    return SessionFolder(folder).journal().status == "success"


def changed(path: Path, was: str) -> bool:
    """Return whether a file is missing, or another than it was."""
    return not path.exists() or session_folder.sha256(path) != was


def problems_of(folder: Path) -> list[str]:
    """Return what finished trials say of themselves."""
    texts = []
    for event in SessionFolder(folder).events():
        if event.event == "trial_finished":
            texts += [
                f"trial {event.trial}: {problem.code}: {problem.detail}"
                for problem in event.problems
            ]
    return texts


def judged(folder: Path, log: Path) -> list[str]:
    """Return what does not hold of a session that was resumed to its end."""
    lost = []
    for number in range(1, TRIALS + 1):
        measured = sorted(
            line["indices"][0]
            for line in session_folder.read_lines(folder / f"trial-{number}" / SAMPLES)
            if "indices" in line
        )
        if measured != list(range(QUERIES)):
            lost.append(f"trial {number}: not each query once: {measured}")
    pid = started(["check", str(folder)], log)
    code = ended(pid, LIMIT_S)
    if code is None:
        killed(pid, 0.0)
    if code != 0:
        lost.append(f"rig check ended with {code}")
    return lost


def undisturbed(bench: str) -> float:
    """Return how long a session takes from its first event to the end of its
    process."""
    with tempfile.TemporaryDirectory(prefix="kills-") as root:
        log = Path(root) / "log.txt"
        with supplied(bench, Path(root)) as (path, _):
            pid, _ = begun(Path(root), bench, path, log)
            start_s = time.monotonic()
            if ended(pid, LIMIT_S) not in _ENDINGS:
                raise SystemExit(
                    f"a session that is not killed fails: {log.read_text()[-500:]}"
                )
            return time.monotonic() - start_s


def main() -> int:
    """Kill and resume until there are enough kills, or the time is over; return the
    exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="no session begins after that"
    )
    parser.add_argument("--jobs", type=int, default=2, help="sessions at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--reduced", action="store_true", help="traces keep means while loading"
    )
    parser.add_argument(
        "--supply", action="store_true", help="only the board whose supply is watched"
    )
    asked = parser.parse_args()
    if asked.supply:
        BENCHES[:] = [SUPPLIED]
    if asked.reduced:
        SETTINGS.append(REDUCED)
    start_s = time.monotonic()
    for name in IMPORTED:
        importlib.import_module(name)
    whole_s = {bench: undisturbed(bench) for bench in BENCHES}
    lives: list[Life] = []
    number = 0
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("fork")) as pool:
        running: set[Future[Life]] = set()
        while True:
            kills = sum(life.kills.total() for life in lives)
            in_time = time.monotonic() - start_s < 60 * asked.minutes
            while (
                in_time
                and len(running) < asked.jobs
                and kills + len(running) < asked.kills
            ):
                bench = BENCHES[number % len(BENCHES)]
                running.add(
                    pool.submit(
                        live, bench, asked.seed * 1_000_000 + number, whole_s[bench]
                    )
                )
                number += 1
            if not running:
                break
            future = next(as_completed(running))
            running.remove(future)
            lives.append(life := future.result())
            for text in life.lost:
                print(f"LOST {life.bench} {life.folder}: {text}", flush=True)
    return concluded(lives, asked.kills, time.monotonic() - start_s)


def concluded(lives: Sequence[Life], asked: int, took_s: float) -> int:
    """Print the kills and losses; return the exit code."""
    for bench in BENCHES:
        own = [life for life in lives if life.bench == bench]
        kills = {}
        for where in ("run", "resume"):
            kills[where] = sum(life.kills[where] for life in own)
        print(
            f"{bench}: {len(own)} sessions; killed {kills['run']} times in run,"
            f" {kills['resume']} times in resume;"
            f" {sum(life.asked_again for life in own)} queries asked again,"
            f" {sum(life.set_aside for life in own)} trials or segments set aside,"
            f" {sum(life.too_slow for life in own)} times this computer was too slow"
        )
    looks = sum(life.looks for life in lives)
    if looks:
        left_on = sum(life.left_on for life in lives)
        print(f"the supply was looked at after {looks} commands: left on {left_on}")
    total = sum(life.kills.total() for life in lives)
    lost = [life for life in lives if life.lost]
    print(
        f"{total} kills of {asked} asked for, in {took_s:.0f} s; sessions that lost"
        f" something: {len(lost)} of {len(lives)}"
    )
    early = lives[: max(len(lives) // 10, 1)]
    print(
        "resident memory of a command at most:"
        f" {max(life.peak_b for life in early) / 1e6:.1f} MB in the first tenth,"
        f" {max(life.peak_b for life in lives) / 1e6:.1f} MB in all"
    )
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
