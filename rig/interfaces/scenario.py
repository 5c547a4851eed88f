# SPDX-License-Identifier: Apache-2.0
"""The scenario: the samples that are asked for, their order and their times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.model.comparison import Compared
from rig.model.declaration import DeclaredMetrics
from rig.model.grid import Covered
from rig.model.metric import Metric
from rig.model.picture import Picture
from rig.model.steps import Plan, Step
from rig.model.trial import Measured
from rig.problems import Problem
from rig.stats.interval import Intervals

if TYPE_CHECKING:
    from rig.model.step_record import StepRecord


class Scenario(ABC):
    """A traffic pattern: the samples that are asked for, their order and their times;
    pure: no clock, no thread, no port.

    A scenario overrides `open`, `plan` and `summarise`; the other methods have
    defaults. `Settings` is a frozen dataclass whose fields are the keys of the table
    `[scenario.KIND]` in a bench file.
    """

    Settings: ClassVar[type[Any]]
    name: str
    #: Whether `lines` states results in the words of the scenario's benchmark.
    states_lines: ClassVar[bool] = False
    #: Sentences of a report's method: the content of a timed window, and how metrics
    #: are made of the windows. The default is true of queries that are no batch.
    method: ClassVar[str] = (
        "The device marks the start of each phase and the end of the last one. The"
        " sample is in its memory before the first mark, so neither its transfer nor"
        " the scoring of the answer lies in a window. Where a window has several runs"
        " of a phase, its time and its energy are divided by their number."
    )

    @classmethod
    def open(cls, settings: Any, context: BenchContext) -> Scenario:
        """Check the settings; no device is touched."""
        raise NotImplementedError

    @abstractmethod
    def plan(self, task: Task, seed: int) -> Plan:
        """Yield the steps of one trial; Completion of each Query is sent back."""

    @abstractmethod
    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial to named metrics."""

    def summarise_variation(
        self, measured: Measured, phases: Sequence[str]
    ) -> dict[str, Metric]:
        """Reduce a trial with windows that were moved, or without some of its samples.

        An uncertainty budget does so some hundred times and uses the metrics' values
        and counts alone: a scenario may leave out their standard errors.
        """
        return self.summarise(measured, phases)

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics | None:
        """Declare the metrics that trials of these steps may give, so that a claim that
        no trial can meet is refused before a run; None: claims are judged afterwards.
        """
        return None

    def fitted(self, info: SutInfo) -> Scenario:
        """Adapt the plan to the abilities of the device (slots, batches); raise
        ConfigError where it has none of them.
        """
        return self

    @property
    def interleaved(self) -> bool | None:
        """True where the trials take turns at each sample, which is loaded once for all
        of them (rig/session/turns.py), False where they follow each other, None where
        the scenario has no such choice. A plan of interleaved trials must not depend on
        answers.
        """
        return None

    @property
    def windows_s(self) -> float | None:
        """Least time of all windows of a trial, where its plan measures first how many
        runs they need; None: its steps state the known times.
        """
        return None

    def query_s(self, claim: Mapping[str, float]) -> float | None:
        """Return the claimed time of a query; None where the claim states none."""
        return None

    @property
    def needs_energy(self) -> bool:
        """True where the result is an energy: a bench without a monitor is refused."""
        return False

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """List the rules of the benchmark that a trial does not meet."""
        return ()

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """State a valid trial's results in the words of the benchmark; called where
        `states_lines` is true.
        """
        return ()

    def absent(self, measured: Measured) -> Mapping[str, str]:
        """Name the metrics that a trial cannot give, each with the reason."""
        return {}

    def survey(
        self, names: Sequence[str], done: Sequence[StepRecord]
    ) -> tuple[Covered, ...]:
        """List the cells of one trial as done, failed or missing, where the plan is a
        grid; `names` are those of the task's samples, `done` are the step
        records of the trial.
        """
        return ()

    def intervals(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> Mapping[str, Intervals]:
        """Compute both intervals of metrics, by name, from all trials; every other
        metric gets those of the general methods.
        """
        return {}

    def pooled_metrics(
        self, trials: Sequence[Measured], phases: Sequence[str]
    ) -> Mapping[str, float]:
        """Compute metrics over all trials pooled, by name; of every other metric the
        mean over trials is stated.
        """
        return {}

    def comparisons(self, trials: Sequence[Measured]) -> Sequence[Compared] | None:
        """Compare the costs of all trials with the official and the best known ones,
        rows of whole cells first; None where the scenario searches for no costs.
        """
        return None

    def pictures(self, folder: Path) -> Sequence[Picture]:
        """Draw the finished session in a folder: its results.json, the samples.jsonl of
        its trials.

        Figures are those of matplotlib; rig/report/style.py has the colours that follow
        the page.
        """
        return ()
