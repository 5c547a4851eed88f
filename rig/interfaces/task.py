# SPDX-License-Identifier: Apache-2.0
"""The task: the meaning of the bytes and the score of an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from rig.errors import LocalProtocolError
from rig.interfaces.context import BenchContext, Searcher
from rig.interfaces.cpu_program import Program
from rig.interfaces.network_task import IntegerWorkload, NetworkWorkload
from rig.interfaces.sut import SutInfo
from rig.model.catalogue import Entry
from rig.model.need import Need
from rig.model.scores import Score


@dataclass(frozen=True, slots=True)
class Regeneration:
    """The part of a task that settings alone determine, made a second time.

    `facts` are those keys of the task's provenance that follow from it; `entries` the
    catalogue, None where the data are not known. `task` is the whole task, where data
    and model are known; `unknown` names the missing part, empty where there is none.
    `lasting` names the facts that every version of the rig makes alike. Of more than
    `answered_max` samples not all answers are made again.
    """

    facts: Mapping[str, Any]
    entries: Sequence[Entry] | None = None
    task: Task | None = None
    unknown: str = ""
    lasting: tuple[str, ...] = ()
    answered_max: int = 500


class Task(ABC):
    """A workload: the meaning of the bytes and the score of an answer, without devices,
    time or energy.

    A task overrides the abstract methods; the others have defaults. `Settings` is a
    frozen dataclass whose fields are the keys of the table `[task.KIND]` in a bench
    file. A task whose samples are stretches of a signal derives from SignalTask, one
    whose samples are workloads to search from OptimizationTask.
    """

    Settings: ClassVar[type[Any]]
    name: str
    phases: tuple[str, ...]
    #: Programs that run the workload on this computer's processor, by name.
    programs: Mapping[str, Program] = MappingProxyType({})
    #: The network that backends may run.
    network: NetworkWorkload | None = None
    #: Its network in whole numbers.
    integers: IntegerWorkload | None = None

    @classmethod
    def open(cls, settings: Any, context: BenchContext) -> Task:
        """Load the data; no device is touched."""
        raise NotImplementedError

    @classmethod
    def needs(cls, settings: Any, context: BenchContext) -> Sequence[Need]:
        """Return the files and packages of this computer that it needs, for `rig
        doctor`."""
        return ()

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of samples."""

    @abstractmethod
    def payload(self, index: int) -> bytes:
        """Return the bytes that the device gets for sample `index`."""

    @abstractmethod
    def score(self, index: int, output: bytes) -> Score:
        """Score the device's `output` for sample `index`; raise RemoteProtocolError if
        it has another shape.
        """

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Identify the data and the model: hashes, counts, split, source; JSON-able.

        The labels of every result are made of it (rig/results/labels.py). `source`:
        where the data come from, beginning with "generated" or "random" where they are;
        `official`: True only where they are the benchmark's own; `unofficial`: what
        they are called otherwise, in a few words; `statement`: the same in a sentence;
        `subset`: which part of them is measured, or "all". A task that leaves them out
        has the label DATA NOT STATED.
        """

    def catalogue(self) -> Sequence[Entry]:
        """Return label, recording and city of every sample, in the task's order; empty
        where they are not known.
        """
        return ()

    def accepts(self, info: SutInfo) -> bool:
        """Check whether a device is for this task, by its own description."""
        return info.task in (self.name, "any", "")

    def parts(self, output: bytes) -> Mapping[str, Sequence[float]]:
        """Split an output into named parts, such as spike counts and membranes, so that
        answers of several devices are compared part by part (`rig compare`); raise
        RemoteProtocolError if it has another shape.
        """
        return {}

    def memory_b(self, index: int) -> int | None:
        """Return the memory that a device needs for a sample beside its payload, in
        bytes; None where it is not known.
        """
        return None

    @property
    def score_count(self) -> int:
        """Number of scores in an answer (`Score.scores`); 0 where an answer is a label
        alone.
        """
        return 0

    def firmware_header(self) -> str:
        """Return the text of the header of the task's model in the firmware, for inputs
        as long as the samples; empty where the firmware does not run it.
        """
        return ""

    def in_floating_point(self, payload: bytes) -> bytes | None:
        """Return the answer to a payload by the task's network in floating point, which
        some backends run; None where it has none.
        """
        return None

    @property
    def membrane_unit(self) -> Any:
        """The value of one unit of an output's membranes in the units of the NIR file:
        a number, or one for each; None where outputs have no membranes.
        """
        return None

    def membranes(self, output: bytes) -> Any:
        """Return the last membranes (outputs,) of an output, in the file's units."""
        raise NotImplementedError

    def trains(self, payload: bytes) -> Any:
        """Return the spike trains of the task's own answer to a payload, an array
        (steps, outputs); None where it has none.
        """
        return None

    @classmethod
    def takes(cls, model: Path) -> bool:
        """Check whether a file is a model of this task, which then has the settings
        `model` and `samples`; False for a file that cannot be read.
        """
        return False

    @classmethod
    def replica(
        cls, settings: Any, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> Task | None:
        """Make a stand-in from the bench file's settings, the task's provenance and its
        catalogue alone, so that `rig check` plans and scores without the data; None
        where the task has none.

        It has what its scenarios' plans ask for and scores as the task does, by the
        same functions; `payload` raises NotInSession where the session does not hold
        the content. Raise DataError where settings, facts and entries contradict each
        other.
        """
        return None

    @classmethod
    def regenerated(cls, settings: Any) -> Regeneration | None:
        """Make a second time, for `rig check`, the data and models that the bench
        file's settings determine; None where there are none. No path of theirs is
        opened: they may come from an untrusted source.
        """
        return None

    def kept(self) -> Mapping[str, bytes]:
        """Return the files of the bench's owner that a session keeps as copies, by
        name, so that `rig check` makes the task again from them.
        """
        return {}

    @classmethod
    def reopened(
        cls,
        settings: Any,
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
        folder: Path,
    ) -> Regeneration | None:
        """Make the task a second time, for `rig check`, from the files that a session
        kept, its provenance and its catalogue; None where the task has no way to. The
        files may come from an untrusted source: raise DataError for those that are
        damaged.
        """
        return None

    @classmethod
    def derived(cls, session: Path, name: str, stored: Any) -> Any:
        """Make a second time the content of a JSON file that a command of the task made
        of a finished session; only the time of making is taken from `stored`. None
        where `name` is no such file.

        Raise NotInSession where it was made with data that are not at hand, DataError
        where the session cannot be read.
        """
        return None


class SignalTask(Task):
    """A task whose samples are stretches of a signal in time, so that they can be
    played as a stream.

    `window` is how many samples of the signal one inference takes, `sample_b` how many
    bytes one of them has in a payload.
    """

    sample_hz: int
    window: int
    sample_b: int

    @abstractmethod
    def recordings(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return for each recording its label and the indices of its samples, in the
        order of time.
        """


#: Labels and answers of an EventTask.
EVENT, NO_EVENT = "event", "none"


class EventTask(SignalTask):
    """A task whose samples are one signal from its beginning on; a device detects
    events in it, and an answer says whether it does, EVENT or NO_EVENT.
    """

    @abstractmethod
    def events(self) -> Sequence[tuple[int, int]]:
        """Return of each event its first sample of the signal and the one after its
        last, in the order of time; none lies over another.
        """

    def recordings(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return the signal as one recording."""
        return [(NO_EVENT, tuple(range(len(self))))]


class OptimizationTask(Task):
    """A task whose samples are workloads to search for a vector of low cost; its phases
    are ("solve",).
    """

    @abstractmethod
    def target(self, index: int) -> int | None:
        """Return the target cost of workload `index` for the result: the official one,
        the best known one where there is none; None where there is neither.
        """

    @abstractmethod
    def best_known(self, index: int) -> int | None:
        """Return the lowest cost that is known of workload `index`, None where it was
        never searched.
        """

    def measure(self, index: int) -> str:
        """Return the word for the results of workload `index` in the numbers of its
        file, such as "cut" (rig.model.scores.MEASURES); empty where costs are all.
        """
        return ""

    @abstractmethod
    def cell(self, index: int) -> str:
        """Return the name of the cell that workload `index` is one of, such as
        "250n_5pct": letters, digits and underscores.
        """

    @abstractmethod
    def workload(self, index: int) -> str:
        """Return the name of workload `index`, such as "250n_5pct_s0"."""

    def searcher(self, payload: bytes, seed: int) -> Searcher:
        """Return a search of the workload `payload` from `seed` on, for a virtual
        device in virtual time.
        """
        raise LocalProtocolError(
            f"task {self.name} has no search for a virtual device",
            evidence=f"{type(self).__name__} does not override searcher()",
            try_next="a backend that searches by itself",
        )
