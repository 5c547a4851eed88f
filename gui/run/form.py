# SPDX-License-Identifier: Apache-2.0
"""The choices for a run: the bench file, and the settings that differ from it;
no Qt.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from rig.bench import config, plugins
from rig.errors import ConfigError
from rig.results import claim
from rig.session import estimate
from rig.session.estimate import Estimate

#: Sections of a bench file whose kind may be changed.
SECTIONS = ("task", "scenario")


@dataclass(frozen=True, slots=True)
class BenchFacts:
    """The facts of a bench file for the form: its name, its kinds by section, its
    trials.
    """

    name: str
    kinds: dict[str, str]
    trials: int
    claim: dict[str, float]


@dataclass(frozen=True, slots=True)
class RunForm:
    """The choices: `kinds` by section where they are not the bench file's, settings as
    lines KEY=VALUE, a file of claimed values, another number of trials, and the folder
    of sessions.
    """

    bench: Path | None = None
    kinds: dict[str, str] = dataclasses.field(default_factory=dict)
    settings: str = ""
    claim: Path | None = None
    trials: int | None = None
    root: Path = Path("sessions")

    def overrides(self) -> list[str]:
        """Return what differs from the bench file, as `--set` takes it; raise
        ConfigError where the claim cannot be read.
        """
        chosen = [
            _switch(section, kind) for section, kind in self.kinds.items() if kind
        ]
        lines = [line.strip() for line in self.settings.splitlines()]
        typed = [line for line in lines if line and not line.startswith("#")]
        return [*chosen, *typed, *self._claimed()]

    def path(self) -> Path:
        """Return the bench file; raise ConfigError where none is chosen."""
        if self.bench is None:
            raise ConfigError(
                "no bench file is chosen",
                try_next="open one here, or on the Bench screen",
            )
        return self.bench

    def command(self) -> str:
        """Return the command that runs the same."""
        words = ["rig", "run", str(self.path())]
        for override in self.overrides():
            words += ["--set", override]
        if self.trials is not None:
            words += ["--trials", str(self.trials)]
        if self.root != Path("sessions"):
            words += ["--sessions", str(self.root)]
        return shlex.join(words)

    def estimate(self) -> Estimate:
        """Return what would happen; raise RigError where it could not begin. Takes its
        time: the task's data are read.
        """
        return estimate.of_bench(self.path(), self.overrides(), self.trials, self.root)

    def _claimed(self) -> Iterator[str]:
        if self.claim is not None:
            for name, value in claim.read(self.claim).values.items():
                yield f"claim.{name}={value!r}"


def facts(path: Path) -> BenchFacts:
    """Read a bench file; raise ConfigError where it is none."""
    resolved = config.load(path, monitor_needed=False)
    kinds = {section: getattr(resolved, section).kind for section in SECTIONS}
    return BenchFacts(resolved.bench.name, kinds, resolved.bench.trials, resolved.claim)


def known_kinds(section: str) -> list[str]:
    """Return the kinds that may be chosen in a section."""
    return plugins.names(section)


def _switch(section: str, kind: str) -> str:
    """Return the override that chooses a kind with its own defaults: one key of it, as
    it is anyway.
    """
    for field in dataclasses.fields(plugins.find(section, kind).Settings):
        if field.default is not dataclasses.MISSING and field.default is not None:
            return f"{section}.{kind}.{field.name}={_toml(field.default)}"
    raise ConfigError(
        f"{kind} has no setting that may be left out",
        path=f"{section}.{kind}",
        try_next="a bench file that has it",
    )


def _toml(value: Any) -> str:
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
