# SPDX-License-Identifier: Apache-2.0
"""A check of the environment of an SDK: its presence, its versions, its imports."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from rig.errors import RigError
from rig.interfaces.cpu_program import Program
from sut_backends.sdk.kinds import SdkKind
from sut_backends.workers.environments import installed
from sut_backends.workers.inside.imports import Tried
from sut_backends.workers.process import Place, Worker

_ENTRY = "sut_backends.workers.inside.imports:tried"
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of an SDK: its interpreter and that one's version, its problems in
    sentences, the files that its import wrote into its own home folder, and whether all
    packages could be imported, of any version.
    """

    kind: str
    interpreter: str
    python: str
    problems: tuple[str, ...]
    wrote: tuple[str, ...] = ()
    imports: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def examine(sdk: SdkKind, interpreter: str = "") -> Diagnosis:
    """Examine an SDK under an interpreter, its own environment's where none is named.

    Its packages are imported in an isolated worker, for two minutes at most.
    """
    path = interpreter or str(installed(sdk.kind))
    if not Path(path).exists():
        return Diagnosis(sdk.kind, "", "", ("not installed",))
    packages = [*(requirement.name for requirement in sdk.requirements), *sdk.never]
    program = Program(
        _ENTRY, "", "", {"packages": packages, "imports": list(sdk.imports)}
    )
    try:
        with closing(
            Worker(program, Place(path, start_s=_LIMIT_S, isolated=True))
        ) as worker:
            about = worker.about
            wrote = worker.wrote
    except RigError as error:
        problem = error.joined(": ")
        return Diagnosis(sdk.kind, path, "", (problem,))
    tried = Tried(**about.details)
    problems = _problems(sdk, tried.versions, tried.imports)
    python = about.python
    if python.split()[-1] not in sdk.python:
        problems = [f"{python} is not {sdk.python}", *problems]
    works = not any(tried.imports.values())
    return Diagnosis(
        sdk.kind, path, python, tuple(problems), wrote=wrote, imports=works
    )


def _problems(
    sdk: SdkKind, versions: dict[str, str], imports: dict[str, str]
) -> list[str]:
    problems = []
    for requirement in sdk.requirements:
        version = versions.get(requirement.name)
        if version is None:
            problems.append(f"{canonicalize_name(requirement.name)} is missing")
        elif version not in requirement.specifier:
            problems.append(
                f"{requirement.name} {version} is there, tried with"
                f" {requirement.specifier}"
            )
    problems += [f"{name} must not be there" for name in sdk.never if name in versions]
    problems += [f"import {name}: {error}" for name, error in imports.items() if error]
    return problems
