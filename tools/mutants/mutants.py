# SPDX-License-Identifier: Apache-2.0
"""Change one place of the arithmetic at a time, and count the changes that the tests
notice (`make mutants`).

    python tools/mutants/mutants.py COSMIC_RAY [--sample N] [--seed SEED] [MODULE ...]

COSMIC_RAY is a Python that has cosmic-ray, whose operators are used; MODULE is a file
or a folder, by default all of PACKAGES. The tests of PACKAGES and the golden sessions
run once to find out which of them run which lines. A mutant then meets those that run
its statement, the module's own first and quick ones before slow ones, until one fails.
It is killed if one fails, and survives otherwise; those that exceed the limit of
processor time count apart. The tests are those of tests/PACKAGE and tests/golden that
take less than 2.5 s.

survivors.toml lists mutants without consequences, with the reasons; they count as
survivors, and are not tried again without --listed. A run that was interrupted goes on
where it ended. Exit status 1: significantly fewer than 85 % are killed, or
survivors.toml lists a mutant that does not exist.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "mutants-run"
PACKAGES = (
    "rig/uncertainty",
    "rig/stats",
    "rig/timebase",
    "rig/measure",
    "rig/results",
    "rig/trace",
)
#: Reads the sources, so that no statement is seen to run in it.
OF_SOURCES = "tests/rig/test_values.py"
TESTS = (*(f"tests/{package}" for package in PACKAGES), "tests/golden", OF_SOURCES)
#: Share of the mutants that the tests kill at least. 90 % is the aim; 90 of 100 were
#: killed when it was measured last.
KILLED_MIN = 0.85
#: The probability of a false alarm where the tests kill just this share.
SIGNIFICANCE = 0.01
#: Processor time of the tests that one mutant meets, as measured unchanged.
TESTS_S = 15.0
#: Golden sessions that a mutant meets before the other tests.
GOLDEN = "tests/golden/"
GOLDEN_FIRST = 3
TRACE_LIMIT_S = 600.0
#: Files of tests are traced in so many forks.
PARTS = 6
KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A module with one place changed."""

    module: str
    line: int
    operator: str
    occurrence: int
    source: str
    before: str
    after: str

    def key(self) -> str:
        """Return what names the mutant as long as its module stays as it is."""
        digest = hashlib.sha256(self.source.encode()).hexdigest()[:16]
        return f"{self.module}:{self.operator}:{self.occurrence}:{digest}"

    def text(self) -> str:
        """Return the place, the operator and the difference."""
        place = f"{self.module}:{self.line}: {self.operator.removeprefix('core/')}"
        return f"{place}\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Mutants of a line without consequences."""

    module: str
    line: str
    becomes: tuple[str, ...]
    reason: str

    def holds(self, mutant: Mutant) -> bool:
        """Return whether a mutant is one of these."""
        same = self.module == mutant.module and self.line == mutant.before
        return same and mutant.after in self.becomes


def listed() -> list[Listed]:
    """Read the list of survivors."""
    tree = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))
    return [
        Listed(**row | {"becomes": tuple(row["becomes"])})
        for row in tree.get("survivor", [])
    ]


def outdated(rows: Sequence[Listed]) -> list[str]:
    """Return the listed lines that are in their module no longer."""
    found = []
    for row in rows:
        place = ROOT / row.module
        text = place.read_text(encoding="utf-8") if place.exists() else ""
        if row.line not in [line.strip() for line in text.splitlines()]:
            found.append(f"{row.module}: {row.line}")
    return found


class _WithoutAnnotations(ast.NodeTransformer):
    """Drop what never runs, as annotations are strings here."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def program(source: str) -> str | None:
    """Return the syntax tree of a source without annotations, None for no program."""
    try:
        return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))
    except SyntaxError:
        return None


def modules(names: Sequence[str]) -> list[str]:
    """Return the modules of files and folders, relative to the checkout."""
    found: list[Path] = []
    for name in names:
        place = ROOT / name
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in found if path.stem != "__init__"]


def _listing(python: str, words: Sequence[str], given: str = "") -> list[Any]:
    command = [python, str(HERE / "listing.py"), *words]
    done = subprocess.run(
        command, input=given, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return [json.loads(row) for row in done.stdout.splitlines()]


def sampled(python: str, names: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return a random sample of the mutants whose program differs."""
    places = []
    for module, operator, starts in _listing(python, ["places", *modules(names)]):
        places += [(module, operator, number) for number in range(len(starts))]
    random.Random(seed).shuffle(places)
    sample: list[Mutant] = []
    while places and len(sample) < count:
        missing = count - len(sample)
        some, places = places[: 2 * missing], places[2 * missing :]
        for place, source in zip(
            some, _listing(python, ["changed"], json.dumps(some)), strict=True
        ):
            mutant = _mutant(*place, source)
            if mutant is not None and len(sample) < count:
                sample.append(mutant)
    return sample


def _mutant(module: str, operator: str, occurrence: int, source: str) -> Mutant | None:
    original = (ROOT / module).read_text(encoding="utf-8")
    if program(source) in (program(original), None):
        return None
    pairs = zip(original.splitlines(), source.splitlines(), strict=False)
    for line, (before, after) in enumerate(pairs, start=1):
        if before != after:
            return Mutant(
                module=module,
                line=line,
                operator=operator,
                occurrence=occurrence,
                source=source,
                before=before.strip(),
                after=" ".join(after.split()),
            )
    return None


def statement(source: str, line: int) -> tuple[range, bool]:
    """Return the lines of the innermost statement, or of its head, at a line, and
    whether it runs when the module is imported."""
    lines, imported = range(line, line + 1), True
    nodes: list[tuple[ast.AST, bool]] = [(ast.parse(source), True)]
    while nodes:
        node, outside = nodes.pop()
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            stop = body[0].lineno if body else (node.end_lineno or line) + 1
            head = range(node.lineno, max(stop, node.lineno + 1))
            if line in head:
                lines, imported = head, outside
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        nodes += [
            (child, outside and not inside) for child in ast.iter_child_nodes(node)
        ]
    return lines, imported


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Which tests run which lines, and their processor time."""

    lines: dict[str, dict[int, set[str]]]
    cpu_s: dict[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a mutant's statement, those to try first before."""
        source = (ROOT / mutant.module).read_text(encoding="utf-8")
        around, imported = statement(source, mutant.line)
        lines = self.lines.get(mutant.module, {})
        contexts: set[str] = set()
        for line in around:
            contexts |= lines.get(line, set())
        if imported or not contexts:
            # All that use the module may notice a constant of it; and what no test runs
            # may run in a process of its own.
            contexts = contexts.union(*lines.values())
        tests = [
            name
            for name in self.cpu_s
            if name in contexts
            or name.partition("::")[0] in contexts
            or ("dataclass(" in mutant.before and name.startswith(OF_SOURCES))
        ]
        own = Path("tests", mutant.module)
        named = str(own.with_name(f"test_{own.stem}"))
        tests.sort(key=lambda name: (not name.startswith(named), self.cpu_s[name]))
        golden = [name for name in tests if name.startswith(GOLDEN)][:GOLDEN_FIRST]
        first = [name for name in tests if name.startswith(named)] + golden
        total_s = 0.0
        chosen = []
        for name in dict.fromkeys([*first, *tests]):
            total_s += self.cpu_s[name]
            if total_s <= TESTS_S:
                chosen.append(name)
        return chosen


class Server:
    """A process that runs tests in forks, in a copy of the checkout."""

    def __init__(self, copy: Path, tests: Sequence[str] = (GOLDEN,)) -> None:
        environment = os.environ | {
            "PYTHONPATH": str(copy),
            "OPENBLAS_NUM_THREADS": "1",
            "NEURORIG_TESTS": "short",
        }
        words = [sys.executable, str(HERE / "server.py"), str(copy), *tests]
        self._process = subprocess.Popen(
            words,
            env=environment,
            cwd=copy,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self._read()["code"] != 0:
            raise RuntimeError(f"pytest cannot collect the tests in {copy}")

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def ask(self, **job: Any) -> dict[str, Any]:
        """Return the answer to a job."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _copy(copy: Path) -> None:
    """Copy the files of the checkout, as they are, without those that git ignores."""
    words = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.split("\0"):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)


@contextmanager
def servers(count: int) -> Iterator[list[Server]]:
    """Start servers, each in a copy of its own."""
    with ExitStack() as stack:
        copies = [BUILD / f"copy-{number}" for number in range(count)]
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)
            _copy(copy)
        with ThreadPoolExecutor(count) as pool:
            started = list(pool.map(Server, copies))
        for server in started:
            stack.callback(server.close)
        yield started


def _digest(name: str) -> str:
    """Return what changes with a file."""
    place = ROOT / name
    return hashlib.sha256(place.read_bytes()).hexdigest() if place.exists() else ""


def _holds(part: dict[str, Any], digests: Mapping[str, str]) -> bool:
    """Return whether an earlier trace holds for a file of tests: neither the file nor a
    module that its tests run has changed since."""
    names = [part["file"], *part["lines"]]
    return all(part["digests"][name] == digests.get(name) for name in names)


def _trace(server: Server, files: Sequence[str]) -> dict[str, Any]:
    """Run files of tests unchanged, with the lines of each test noted."""
    job = {"task": "trace", "files": files, "packages": PACKAGES}
    answer = server.ask(**job, limit_s=TRACE_LIMIT_S)
    if "lines" not in answer:
        raise RuntimeError(f"the tests do not run unchanged: {answer}")
    for name in answer["failed"]:
        print(f"fails unchanged, and is not used: {name}", flush=True)
    for name in answer["slow"]:
        print(f"takes too long, and is not used: {name}", flush=True)
    return answer


def _of_file(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the part of an answer about one file, without what ran at imports."""
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for module, rows in answer["lines"].items():
        for line, contexts in rows.items():
            for text in contexts:
                if text.partition("::")[0] == name:
                    lines[module][text].append(int(line))
    tests = answer["cpu_s"].items()
    own_s = {test: cpu_s for test, cpu_s in tests if test.startswith(f"{name}::")}
    digests = {each: _digest(each) for each in [name, *lines]}
    return {"file": name, "digests": digests, "cpu_s": own_s, "lines": lines}


def _test_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("test_*.py"))


def traced(started: Sequence[Server]) -> Traces:
    """Run those files of tests that changed since the last time, and join all."""
    files = []
    for folder in TESTS:
        files += [str(path.relative_to(ROOT)) for path in _test_files(ROOT / folder)]
    digests = {name: _digest(name) for name in [*files, *modules(PACKAGES)]}
    kept = BUILD / "traces.json"
    old = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    new = {part["file"]: part for part in old if _holds(part, digests)}
    missing = [name for name in files if name not in new]
    count = min(len(missing), PARTS)
    parts: list[list[str]] = [missing[number::count] for number in range(count)]
    left: Queue[list[str] | None] = Queue()
    for part in [*parts, *[None] * len(started)]:
        left.put(part)

    def work(server: Server) -> None:
        while (part := left.get()) is not None:
            answer = _trace(server, part)
            for name in part:
                new[name] = _of_file(answer, name)

    with ThreadPoolExecutor(len(started)) as pool:
        list(pool.map(work, started))
    kept.write_text(json.dumps(list(new.values())), encoding="utf-8")
    lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    cpu_s: dict[str, float] = {}
    for part in new.values():
        cpu_s |= part["cpu_s"]
        for module, rows in part["lines"].items():
            for context, numbers in rows.items():
                for line in numbers:
                    lines[module][line].add(context)
    print(f"{len(cpu_s)} tests take {sum(cpu_s.values()):.0f} s of processor time")
    return Traces(lines=lines, cpu_s=cpu_s)


def judged(
    server: Server, mutant: Mutant, traces: Traces, most: int | None = None
) -> dict[str, Any]:
    """Return the row of a mutant: its fate, and the test that killed it; at most so
    many tests are run."""
    tests = traces.tests(mutant)[:most]
    if not tests:
        return {"fate": SURVIVED, "by": None, "ran": 0, "of": 0, "cpu_s": 0.0}
    limit_s = 20 + 5 * sum(traces.cpu_s[name] for name in tests)
    answer = server.ask(
        task="judge",
        module=mutant.module,
        source=mutant.source,
        tests=tests,
        limit_s=limit_s,
    )
    fate = SURVIVED if answer["code"] == 0 else KILLED
    if answer.get("timed_out"):
        fate = TIMED_OUT
    elif answer["code"] not in (0, 1, 2) or not (answer["loaded"] or fate == KILLED):
        raise RuntimeError(f"no tests of {mutant.module} are run: {answer}")
    by = answer["failed"][0] if answer["failed"] else None
    row = {"fate": fate, "by": by, "ran": answer.get("ran", 0), "of": len(tests)}
    return row | {"cpu_s": round(answer["took_cpu_s"], 2), "code": answer["code"]}


def unchanged_passes(server: Server, sample: Sequence[Mutant], traces: Traces) -> None:
    """Let a server judge a module as it is; raises RuntimeError if it does not pass."""
    mutant = sample[0]
    source = (ROOT / mutant.module).read_text(encoding="utf-8")
    same = Mutant(**{**vars(mutant), "source": source})
    row = judged(server, same, traces, most=20)
    if row["fate"] != SURVIVED:
        raise RuntimeError(f"the tests fail unchanged: {row}")


def judge_all(
    sample: Sequence[Mutant], rows: dict[str, dict[str, Any]], jobs: int, log: Path
) -> None:
    """Judge the mutants that have no row yet, and append each row to the log."""
    left: Queue[Mutant | None] = Queue()
    todo = [mutant for mutant in sample if mutant.key() not in rows]
    if not todo:
        return
    for mutant in [*todo, *[None] * jobs]:
        left.put(mutant)
    with servers(jobs) as started, log.open("a", encoding="utf-8") as file:
        traces = traced(started)

        def work(server: Server) -> None:
            unchanged_passes(server, todo, traces)
            while (mutant := left.get()) is not None:
                row = judged(server, mutant, traces)
                rows[mutant.key()] = row
                file.write(json.dumps({"key": mutant.key()} | row) + "\n")
                file.flush()
                print(f"{len(rows)} {row['fate']} {mutant.text()}", flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, started))


def _percent(count: int, of: int) -> str:
    """Return a share with its 95 % interval (Clopper and Pearson)."""
    if not of:
        return "-"
    from scipy.stats import binomtest  # takes a second to import

    interval = binomtest(count, of).proportion_ci(0.95)
    return f"{count / of:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def too_few(killed: int, tried: int) -> bool:
    """Return whether significantly fewer than KILLED_MIN are killed."""
    from scipy.stats import binom

    return bool(binom.cdf(killed, tried, KILLED_MIN) < SIGNIFICANCE)


def table(sample: Sequence[Mutant], fates: Sequence[str]) -> str:
    """Return the table of the packages."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, fate in zip(sample, fates, strict=True):
        for package in (str(Path(mutant.module).parent), "all"):
            counts[package][fate] += 1
    rows = ["package           mutants  killed  survived  timed out  killed of all"]
    for package in [*sorted(counts.keys() - {"all"}), "all"]:
        fate = counts[package]
        total = fate.total()
        numbers = f"{total:7}  {fate[KILLED]:6}  {fate[SURVIVED]:8}"
        numbers += f"  {fate[TIMED_OUT]:9}"
        share = _percent(fate[KILLED], total - fate[TIMED_OUT])
        rows.append(f"{package:16}  {numbers}  {share}")
    return "\n".join(rows)


def stored(log: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of an earlier run, by mutant."""
    if not log.exists():
        return {}
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {row.pop("key"): row for row in rows}


def main() -> int:
    """Print the fate of each mutant, the survivors and the table."""
    parser = argparse.ArgumentParser(description="mutants of the results' arithmetic")
    parser.add_argument("cosmic_ray", help="a Python that has cosmic-ray")
    parser.add_argument("names", nargs="*", help="modules or folders")
    parser.add_argument("--sample", type=int, default=100, help="number of mutants")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--listed", action="store_true", help="try listed ones too")
    parser.add_argument("--survivors", action="store_true", help="try survivors again")
    parser.add_argument("--log", type=Path, help="where a run is kept to go on later")
    asked = parser.parse_intermixed_args()
    known = listed()
    missing = outdated(known)
    for line in missing:
        print(f"survivors.toml lists what is not there: {line}")
    sample = sampled(
        asked.cosmic_ray, asked.names or PACKAGES, asked.sample, asked.seed
    )
    BUILD.mkdir(parents=True, exist_ok=True)
    log = asked.log or BUILD / f"seed-{asked.seed}.jsonl"
    rows = stored(log)
    if asked.survivors:
        rows = {key: row for key, row in rows.items() if row["fate"] == KILLED}
    reasons: dict[str, str] = {}
    for mutant in sample:
        for row in known:
            if row.holds(mutant):
                reasons[mutant.key()] = row.reason
    to_try = [
        mutant for mutant in sample if asked.listed or mutant.key() not in reasons
    ]
    judge_all(to_try, rows, asked.jobs, log)
    fates = [rows.get(mutant.key(), {"fate": SURVIVED})["fate"] for mutant in sample]
    for mutant, fate in zip(sample, fates, strict=True):
        if fate != KILLED:
            reason = reasons.get(mutant.key(), "")
            print(f"{fate}: {mutant.text()}" + (f"\n    {reason}" if reason else ""))
    print(table(sample, fates))
    explained = [
        fate
        for mutant, fate in zip(sample, fates, strict=True)
        if mutant.key() not in reasons
    ]
    killed, total = explained.count(KILLED), len(explained)
    print(
        f"without those listed: {_percent(killed, total - explained.count(TIMED_OUT))}"
    )
    killed = fates.count(KILLED)
    tried = len(fates) - fates.count(TIMED_OUT)
    few = too_few(killed, tried)
    return int(few or bool(missing))


if __name__ == "__main__":
    sys.exit(main())
