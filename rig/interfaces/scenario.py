# SPDX-License-Identifier: Apache-2.0
"""The scenario: what is asked, in which order and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.model.comparison import Compared
from rig.model.grid import Covered
from rig.model.metric import Metric
from rig.model.picture import Picture
from rig.model.steps import Plan
from rig.model.trial import Measured
from rig.problems import Problem
from rig.stats.interval import Intervals

if TYPE_CHECKING:
    from rig.model.step_record import StepRecord


class Scenario(Protocol):
    """A traffic pattern: which samples are asked for, in which order and when; pure: no
    clock, no thread, no port.
    """

    name: str

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield the steps of one trial; Completion of each Query is sent back."""

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial to named metrics."""


@runtime_checkable
class Reviewer(Protocol):
    """Optional hook of a scenario: benchmark-specific validity checks and result
    lines."""

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return which rules a trial does not meet."""

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Return a valid trial's results in the words of the benchmark."""


@runtime_checkable
class Fitter(Protocol):
    """Optional hook of a scenario: a plan that depends on the device's capabilities."""

    def fitted(self, info: SutInfo) -> Scenario:
        """Return the scenario for this device; raise ConfigError where it can do none
        of it."""


@runtime_checkable
class Interleavable(Protocol):
    """Optional hook of a scenario: whether all trials take turns at each sample, which
    is loaded once for all of them (rig/session/turns.py). Its plan must not depend on
    answers.
    """

    @property
    def interleaved(self) -> bool:
        """Return True where the trials take turns, False where they follow each
        other."""


@runtime_checkable
class Withholder(Protocol):
    """Optional hook of a scenario: reasons why a trial cannot give a metric."""

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return the names of the metrics that are left out, each with the reason."""


@runtime_checkable
class Surveyor(Protocol):
    """Optional hook of a scenario whose plan is a grid of cells: which are done, failed
    or missing.
    """

    def survey(
        self, names: Sequence[str], done: Sequence[StepRecord]
    ) -> tuple[Covered, ...]:
        """Return the cells of one trial; `names` are those of the task's samples,
        `done` is what was done of the trial's plan.
        """


@runtime_checkable
class Metered(Protocol):
    """Optional hook of a scenario: whether its result is an energy, which a bench
    without a monitor cannot give.
    """

    @property
    def needs_energy(self) -> bool:
        """Return True where the scenario cannot do without energy."""


@runtime_checkable
class Pooler(Protocol):
    """Optional hook of a scenario: intervals that it knows better than the general
    methods, from all trials together.
    """

    def intervals(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> Mapping[str, Intervals]:
        """Return both intervals of some of its metrics, by name; every other metric
        gets those of the general methods.
        """


@runtime_checkable
class Comparer(Protocol):
    """Optional hook of a scenario: the costs that it found beside the official and the
    best known ones.
    """

    def compared(self, trials: Sequence[Measured]) -> Sequence[Compared]:
        """Return the rows of all trials together, those of whole cells first."""


@runtime_checkable
class Gatherer(Protocol):
    """Optional hook of a scenario: values of all trials together that are no means over
    trials.
    """

    def gathered(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> Mapping[str, float]:
        """Return the values of some of its metrics, by name; of every other metric the
        mean over trials is stated.
        """


@runtime_checkable
class Illustrated(Protocol):
    """Optional hook of a scenario: pictures of its own for the report."""

    def pictures(self, folder: Path) -> Sequence[Picture]:
        """Draw the finished session in a folder: its results.json, the samples.jsonl of
        its trials.

        Figures are those of matplotlib; rig/report/style.py has the colours that follow
        the page.
        """
