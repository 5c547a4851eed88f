# SPDX-License-Identifier: Apache-2.0
"""Steps of a plan, and the two things that make one: a scenario (what to ask, and when) and a task (what the bytes mean)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rig.catalogue import Entry
from rig.comparison import Compared
from rig.interval import Intervals
from rig.survey import Covered
from rig.sut import Completion, SutInfo
from rig.table import Searcher
from rig.trial import Measured, Metric, Problem

if TYPE_CHECKING:
    from rig.done import Done


@dataclass(frozen=True, slots=True)
class Load:
    """Bring sample `index` into the device's memory; untimed.

    Where it is `optional`, a device may refuse it: the plan is sent a Completion that says why, else None.
    """

    index: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Idle:
    """Let the device stay configured and ready, not asleep, for `duration_s`; measured as idle power."""

    duration_s: float


@dataclass(frozen=True, slots=True)
class Query:
    """Process the loaded samples `indices`, each phase `repeat` times in a row, within `limit_s`; not counted if `warmup`.

    Where it is not `timed` only the answer is wanted: its windows may be shorter than a monitor can resolve. A `batch` has its
    samples processed back to back in one window, with all phases in it, `repeat` rounds over them; its output is theirs, joined.
    """

    indices: tuple[int, ...]
    limit_s: float = 60.0
    repeat: int = 1
    due_s: float | None = None
    warmup: bool = False
    timed: bool = True
    batch: bool = False


@dataclass(frozen=True, slots=True)
class Solve:
    """Search the loaded workload `index` for a vector of low cost, from `seed` on, for `timeout_s` or until `target` is reached.

    `thresholds` are costs, falling: the device marks the moment at which it knows a cost at or below each. Without a `target` it
    goes on until the time-out. `limit_s` is what it may take beyond the time-out; a `warmup` is not counted.
    """

    index: int
    timeout_s: float
    seed: int
    target: int | None = None
    thresholds: tuple[int, ...] = ()
    limit_s: float = 20.0
    warmup: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """A stretch of a stream: the task's samples `indices` one behind the other, cut after `samples` samples of the signal."""

    label: str
    indices: tuple[int, ...]
    samples: int


@dataclass(frozen=True, slots=True)
class Stream:
    """Play `scenes` to the device at `sample_hz`; it answers for a `window` of samples every `hop` samples, while it listens.

    Window k is samples k hop to k hop + window - 1, and is there for the device when the last of them has been played by the
    device's own timer. `preloaded`: all of them are in the device's memory before, and the link is silent meanwhile. `limit_s` is
    what it may take beyond the length of the stream.
    """

    scenes: tuple[Scene, ...]
    hop: int
    window: int
    sample_hz: int
    preloaded: bool = False
    limit_s: float = 20.0

    @property
    def windows(self) -> int:
        """Return how many whole windows the stream has."""
        return max((sum(scene.samples for scene in self.scenes) - self.window) // self.hop + 1, 0)

    def onset(self, scene: int) -> int:
        """Return the number of the first sample of the signal that belongs to a scene."""
        return sum(before.samples for before in self.scenes[:scene])

    def scene_of(self, window: int) -> int:
        """Return the number of the scene in which most of a window's newest hop lies; of two halves, the later scene."""
        end = window * self.hop + self.window
        ends = accumulate(scene.samples for scene in self.scenes)
        return next(number for number, stop in enumerate(ends) if end - (self.hop + 1) // 2 < stop)


Step = Load | Idle | Query | Solve | Stream
Plan = Generator[Step, Completion | None, None]


@dataclass(frozen=True, slots=True)
class Costs:
    """What a vector costs, as the host evaluates it, beside its workload's two targets and what the device claimed.

    `official` is the target that the benchmark publishes, `best_known` the cost of the best vector known; None where there is none.
    """

    cost: int
    official: int | None
    claimed: int
    best_known: int | None = None

    @property
    def met(self) -> bool:
        """Tell whether the target of the result is reached: the official one, the best known one where there is none."""
        target = self.best_known if self.official is None else self.official
        return target is not None and self.cost <= target

    @property
    def beaten(self) -> bool:
        """Tell whether the vector is better than any known."""
        known = [target for target in (self.official, self.best_known) if target is not None]
        return bool(known) and self.cost < min(known)


@dataclass(frozen=True, slots=True)
class Score:
    """What a task makes of one output: `correct`, and the label and answer as the task names them.

    The answer is empty where one output alone gives none; then `scores` are what it said, and all samples of one `case` are judged
    together. Of a search, `case` is the workload's cell, `label` its name and `answer` the vector's cost, as text; `costs` has it
    and the target's as numbers, and it is correct when it is at or below the target's. `fault` says, in words, what makes its
    output unusable, such as a vector of another length: then there are no costs.
    """

    correct: bool
    label: str
    answer: str
    scores: tuple[float, ...] = ()
    case: str = ""
    costs: Costs | None = None
    fault: str = ""


class Task(Protocol):
    """What the bytes mean and how an answer is scored; knows nothing of devices, time or energy."""

    name: str
    phases: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of samples."""

    def payload(self, index: int) -> bytes:
        """Return the bytes that the device gets for sample `index`."""

    def score(self, index: int, output: bytes) -> Score:
        """Score the device's `output` for sample `index`; raise RemoteProtocolError if it has another shape."""

    def provenance(self) -> dict[str, Any]:
        """Return what identifies the data and the model: hashes, counts, split, source; JSON-able.

        What is said of the data becomes the labels of every result (rig/labels.py). `source`: where they come from, beginning with
        "generated" or "random" where they are; `official`: True only where they are the benchmark's own; `unofficial`: what they
        are called otherwise, in a few words; `statement`: the same in a sentence; `subset`: which part of them is measured, or
        "all". Whoever leaves them out has the label DATA NOT STATED.
        """


class Scenario(Protocol):
    """Which samples are asked for, in which order and when; pure: no clock, no thread, no port."""

    name: str

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield the steps of one trial; Completion of each Query is sent back."""

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial to named metrics."""


@runtime_checkable
class Reviewer(Protocol):
    """What a scenario offers besides whose benchmark has rules of its own for a trial, and lines in which it states a result."""

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return which rules a trial does not meet."""

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Return a valid trial's results in the words of the benchmark."""


@runtime_checkable
class Fitter(Protocol):
    """What a scenario offers besides whose plan depends on what the device can do."""

    def fitted(self, info: SutInfo) -> Scenario:
        """Return the scenario for this device; raise ConfigError where it can do none of it."""


@runtime_checkable
class Withholder(Protocol):
    """What a scenario offers besides that leaves out a metric where a trial cannot give it."""

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return the names of the metrics that are left out, each with the reason."""


@runtime_checkable
class Surveyor(Protocol):
    """What a scenario offers besides whose plan is a grid of cells, of which a device or a session may leave some undone."""

    def survey(self, names: Sequence[str], done: Sequence[Done]) -> tuple[Covered, ...]:
        """Return the cells of one trial; `names` are those of the task's samples, `done` is what was done of the trial's plan."""


@runtime_checkable
class Metered(Protocol):
    """Optional hook of a scenario: whether its result is an energy, which a bench without a monitor cannot give."""

    @property
    def needs_energy(self) -> bool:
        """Say so."""


@runtime_checkable
class Pooler(Protocol):
    """Optional hook of a scenario: intervals that it knows better than the general methods, from all trials together."""

    def intervals(self, trials: Sequence[Measured], phases: Sequence[str]) -> Mapping[str, Intervals]:
        """Return both intervals of some of its metrics, by name; every other metric gets those of the general methods."""


@runtime_checkable
class Comparer(Protocol):
    """Optional hook of a scenario: the costs that it found beside the official and the best known ones."""

    def compared(self, trials: Sequence[Measured]) -> Sequence[Compared]:
        """Return the rows of all trials together, those of whole cells first."""


@runtime_checkable
class Gatherer(Protocol):
    """Optional hook of a scenario: values that all trials together tell, and that are no means over trials."""

    def gathered(self, trials: Sequence[Measured], phases: Sequence[str]) -> Mapping[str, float]:
        """Return the values of some of its metrics, by name; of every other metric the mean over trials is stated."""


@runtime_checkable
class Catalogued(Protocol):
    """Optional hook of a task: what each of its samples is, in the task's order."""

    def catalogue(self) -> Sequence[Entry]:
        """Return label, recording and city of every sample."""


@runtime_checkable
class Replicated(Protocol):
    """Optional hook of a task's class: the task once more, without its data, so that `rig check` plans and scores again."""

    @classmethod
    def replica(cls, settings: Any, facts: Mapping[str, Any], entries: Sequence[Entry]) -> Task:
        """Return a stand-in made of the bench file's settings, the task's provenance and its catalogue alone.

        It has what its scenarios' plans ask for and scores as the task does, by the same functions; `payload` raises
        NotInSession where the session does not hold the content. Raise DataError where settings, facts and entries
        contradict each other.
        """


@runtime_checkable
class Played(Protocol):
    """What a task offers besides whose samples are stretches of a signal in time, so that they can be played as a stream.

    `window` is how many samples of the signal one inference takes, `sample_b` how many bytes one of them has in a payload.
    """

    sample_hz: int
    window: int
    sample_b: int

    def recordings(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return for each recording its label and the indices of its samples, one behind the other in time."""


@runtime_checkable
class Optimized(Protocol):
    """What a task offers besides whose samples are workloads to search for a vector of low cost; its phases are ("solve",)."""

    def target(self, index: int) -> int:
        """Return the target cost of workload `index` for the result: the official one, the best known one where there is none."""

    def best_known(self, index: int) -> int | None:
        """Return the lowest cost that is known of workload `index`, None where nobody looked."""

    def cell(self, index: int) -> str:
        """Return the name of the cell that workload `index` is one of, such as "250n_5pct": letters, digits and underscores."""

    def workload(self, index: int) -> str:
        """Return the name of workload `index`, such as "250n_5pct_s0"."""


@runtime_checkable
class Searched(Protocol):
    """What a task offers besides whose workloads a virtual device can really search, in virtual time."""

    def searcher(self, payload: bytes, seed: int) -> Searcher:
        """Return a search of the workload `payload` from `seed` on."""


@runtime_checkable
class Chooser(Protocol):
    """What a task offers besides that devices may run under other names than its own."""

    def accepts(self, info: SutInfo) -> bool:
        """Say whether a device is for this task, by what it says of itself."""
