# SPDX-License-Identifier: Apache-2.0
"""A submission to MLPerf Tiny: the layout of the submission checker v1.4 of
mlcommons/tiny, with three files of each mode.

Their checker takes lines that say "simulated"; here such sessions are refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rig.check import signature
from rig.errors import BenchError, ConfigError
from rig.files import small_text
from rig.host.program import run_program
from rig.results import labels, origins, results
from rig.store import inventory, provenance_file
from rig.store.session_folder import (
    BENCH,
    EVENTS,
    LINES,
    PROVENANCE,
    RESULTS,
    UART,
    hashes,
    write_text,
)
from rig.submission import power_picture
from rig.submission.entries import FinishedSession
from rig.submission.whole_folder import copy, new_folder

#: Their names of the benchmarks, by those of the data.
_MODELS = {"ad01": "ad", "ic01": "ic", "ic02": "ic2", "kws01": "kws", "vww01": "vww"}
_TASK = "mlperf_tiny"
#: The streaming wake word: one session has accuracy, duty cycle and, where an energy
#: monitor was there, the power.
_STREAM_TASK = "sww"
#: Of "extra_required_files" of the checker: the power while the device listens.
_PICTURE = "energy_inf_000.png"
#: The checker takes further files below code alone.
SUMS = "code/SHA256SUMS"
SUMS_SIGNATURE = SUMS + signature.SUFFIX
#: "required_tests" of the checker, of each of these models.
_REQUIRED = ("accuracy", "performance")
#: "VALID_AVAILABILITIES" of the checker.
_STATUSES = ("available", "preview", "rdi")
_CHECKER = "tools/submission/submission_checker.py"
_CHECKER_S = 300.0
_ERROR = re.compile(r"(?:ERROR|WARNING):main:(.*)")
_SUMMARY = "SUMMARY: submission looks OK"
#: The checker's own names begin no path.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TinySubmission:
    """Finished sessions for MLPerf Tiny, the division, the submitter's name, and the
    file that describes the system, by whose name it is called; `code` is a folder of
    sources, `key` signs.
    """

    sessions: tuple[FinishedSession, ...]
    division: str
    submitter: str
    system: Path
    code: Path | None = None
    key: Path | None = None

    def top(self, folder: Path) -> Path:
        """Return the submitter's folder in that of a submission."""
        return folder / self.division / self.submitter


@dataclass(frozen=True, slots=True)
class CheckerVerdict:
    """The verdict of their checker, and its errors and warnings."""

    ok: bool
    lines: tuple[str, ...]


def template() -> str:
    """Return the description of a system to fill in."""
    page = files("rig.submission").joinpath("system.json")
    return page.read_text(encoding="utf-8")


def build(made: TinySubmission, to: Path) -> list[str]:
    """Write a submission into a new folder; return its modes, `kws/accuracy`. Raises
    ConfigError where something cannot be submitted.
    """
    if not _NAME.fullmatch(made.submitter):
        raise ConfigError(
            f"{made.submitter!r} is no name of a folder",
            path="--submitter",
            try_next="letters, digits, dots, dashes and underscores",
        )
    _refuse_wrong_system(made.system)
    modes: dict[str, FinishedSession] = {}
    for session in made.sessions:
        place = _place(session)
        _refuse_labels(session, made.division)
        if place in modes:
            raise ConfigError(
                f"two sessions are of {place}",
                path="SESSION",
                evidence=f"{modes[place].name}, {session.name}",
                try_next="one of them",
            )
        modes[place] = session
    _refuse_incomplete(modes)
    with new_folder(to) as folder:
        top = made.top(folder)
        name = made.system.stem
        copy(made.system, top / "systems" / f"{name}.json")
        for place, session in modes.items():
            path = session.folder.path
            result = top / "results" / name / place
            copy(path / "trial-1" / LINES, result / "results.txt")
            copy(path / "trial-1" / UART, result / "log.txt")
            copy(path / RESULTS, result / "results.json")
            if place == f"{_STREAM_TASK}/energy":
                power_picture.draw(session, result / _PICTURE)
            for file in (BENCH, PROVENANCE, EVENTS):
                copy(path / file, top / "code" / name / place / file)
        if made.code is not None:
            inventory.refuse_strange(made.code)
            for below, path in inventory.files(made.code).items():
                copy(path, top / "code" / made.code.name / below)
        if made.key is not None:
            _sign(top, made.key)
    return sorted(modes)


def _sign(top: Path, key: Path) -> None:
    """Write the SHA-256 of each file, as `sha256sum --check` reads them, and the
    signature of that list.
    """
    lines = [f"{digest}  {name}\n" for name, digest in sorted(hashes(top).items())]
    content = "".join(lines)
    write_text(top / SUMS, content)
    signed = signature.made(content.encode(), key)
    write_text(top / SUMS_SIGNATURE, signed)


def _place(session: FinishedSession) -> str:
    """Return the folder of a session's results: `kws/performance`."""
    if session.results.task == _STREAM_TASK:
        return _place_of_stream(session)
    facts = session.results.provenance.task
    benchmark = str(facts.details.get("benchmark", ""))
    if session.results.task != _TASK or benchmark not in _MODELS:
        raise ConfigError(
            f"{session.name} is of no benchmark of MLPerf Tiny that is submitted here",
            path="SESSION",
            evidence=f"task {session.results.task}, benchmark {benchmark or 'none'}",
            try_next=f"sessions of {', '.join(_MODELS)}, sww: rig tiny",
        )
    settings = results.Context.of(session.folder).config.scenario.settings
    return f"{_MODELS[benchmark]}/{settings.mode}"


def _place_of_stream(session: FinishedSession) -> str:
    """Return the folder of a streaming wake word; its duty cycle needs the times of a
    stream.
    """
    settings = results.Context.of(session.folder).config.scenario.settings
    if getattr(settings, "mode", "") != "stream":
        raise ConfigError(
            f"{session.name} has no duty cycle and no throughput",
            path="SESSION",
            evidence=f"scenario {session.results.scenario} without mode = stream",
            try_next="a session of the signal played in real time: rig tiny sww",
        )
    is_metered = bool(session.results.provenance.monitors)
    return f"{_STREAM_TASK}/{'energy' if is_metered else 'performance'}"


def _refuse_labels(session: FinishedSession, division: str) -> None:
    """Raise ConfigError where a session's numbers are no result: simulated, modelled
    or of generated data, and in the closed division of any but the whole data.
    """
    if played := origins.played_back(provenance_file.read(session.folder).monitors):
        raise ConfigError(
            f"{session.name} is no measurement for the {division} division",
            path="SESSION",
            evidence=f"its power was played back from {played}, not measured",
            try_next="the session that was recorded then",
        )
    facts = session.folder.provenance()
    found = labels.of_no_result(facts)
    if division == "open":
        made_up = labels.of_made_up(facts)
        kept = []
        for label in found:
            if label in made_up or label.text == labels.GENERATED:
                kept.append(label)
        found = tuple(kept)
    if found:
        raise ConfigError(
            f"{session.name} is no measurement for the {division} division",
            path="SESSION",
            evidence=f"{found[0].text}: {found[0].statement}",
            try_next="a session of a device, with the benchmark's own data",
        )


def _refuse_incomplete(modes: Mapping[str, FinishedSession]) -> None:
    models = {place.partition("/")[0] for place in modes}
    missing = []
    for model in sorted(models - {_STREAM_TASK}):
        for mode in _REQUIRED:
            if f"{model}/{mode}" not in modes:
                missing.append(f"{model}/{mode}")
    if "ic2" in models and "ic" not in models:
        missing.append("ic, which ic2 needs")
    if missing:
        raise ConfigError(
            f"there is no session of {', '.join(missing)}",
            path="SESSION",
            evidence=f"there are {', '.join(sorted(modes))}",
            try_next="rig tiny measures all modes of a benchmark",
        )


def _refuse_wrong_system(path: Path) -> None:
    """Raise ConfigError where the description lacks what the checker cannot do
    without.
    """
    hint = "rig submit about FILE --mlperf-tiny writes a template"
    try:
        tree: Any = json.loads(small_text.read(path))
        status = tree.get("Status")
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"{path} is no description of a system",
            path="--system",
            evidence=str(error),
            try_next=hint,
        ) from error
    if status not in _STATUSES:
        raise ConfigError(
            f"{path} has Status {str(status)[:40]!r}",
            path="--system",
            try_next=f"{', '.join(_STATUSES)}; {hint}",
        )
    if not _NAME.fullmatch(path.stem):
        raise ConfigError(
            f"{path.name} is no name of a system",
            path="--system",
            try_next="letters, digits, dots, dashes and underscores, then .json",
        )


def checked(folder: Path, clone: Path) -> CheckerVerdict:
    """Run the submission checker of a clone of mlcommons/tiny in a process of its own.

    It ends with an exception on folders that have only errors; that is told from its
    last lines. Raises ConfigError where the clone has no checker.
    """
    program = clone / _CHECKER
    if not program.is_file():
        raise ConfigError(
            f"{clone} has no {_CHECKER}",
            path="--checker",
            try_next="git clone https://github.com/mlcommons/tiny",
        )
    said: list[str] = []
    with TemporaryDirectory() as scratch:
        words = ["--input", str(folder.absolute()), "--csv", f"{scratch}/summary.csv"]
        command = [sys.executable, "-P", str(program.absolute()), *words]
        end = run_program(
            command,
            _CHECKER_S,
            said.append,
        )
    lines = [match[1] for line in said if (match := _ERROR.search(line))]
    is_ok = any(_SUMMARY in line for line in said)
    if end.code:
        lines.append(_crash(said))
    elif not is_ok and not lines:
        raise BenchError(
            "the submission checker gave no verdict", evidence=end.evidence
        )
    return CheckerVerdict(is_ok and not end.code, tuple(lines))


def _crash(said: Sequence[str]) -> str:
    """Translate the exception with which the checker ended."""
    last = said[-1].strip() if said else "no output"
    if last.startswith(("UnboundLocalError", "TypeError: float()")):
        return f"no mode has a result: the checker ended with {last}"
    if last.startswith("ModuleNotFoundError"):
        return f"the checker needs a package: {last}"
    return f"the checker ended with {last}"
