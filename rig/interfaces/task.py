# SPDX-License-Identifier: Apache-2.0
"""The task: what the bytes mean and how an answer is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rig.interfaces.context import Searcher
from rig.interfaces.sut import SutInfo
from rig.model.catalogue import Entry
from rig.model.scores import Score


class Task(Protocol):
    """A workload: what the bytes mean and how an answer is scored; knows nothing of
    devices, time or energy.
    """

    name: str
    phases: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of samples."""

    def payload(self, index: int) -> bytes:
        """Return the bytes that the device gets for sample `index`."""

    def score(self, index: int, output: bytes) -> Score:
        """Score the device's `output` for sample `index`; raise RemoteProtocolError if
        it has another shape.
        """

    def provenance(self) -> dict[str, Any]:
        """Return what identifies the data and the model: hashes, counts, split, source;
        JSON-able.

        What is said of the data becomes the labels of every result
        (rig/results/labels.py). `source`: where they come from, beginning with
        "generated" or "random" where they are; `official`: True only where they are the
        benchmark's own; `unofficial`: what they are called otherwise, in a few words;
        `statement`: the same in a sentence; `subset`: which part of them is measured,
        or "all". Whoever leaves them out has the label DATA NOT STATED.
        """


@runtime_checkable
class Catalogued(Protocol):
    """Optional hook of a task: what each of its samples is, in the task's order."""

    def catalogue(self) -> Sequence[Entry]:
        """Return label, recording and city of every sample."""


@runtime_checkable
class Replicated(Protocol):
    """Optional hook of a task's class: the task once more, without its data, so that
    `rig check` plans and scores again.
    """

    @classmethod
    def replica(
        cls, settings: Any, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> Task:
        """Return a stand-in made of the bench file's settings, the task's provenance
        and its catalogue alone.

        It has what its scenarios' plans ask for and scores as the task does, by the
        same functions; `payload` raises NotInSession where the session does not hold
        the content. Raise DataError where settings, facts and entries contradict each
        other.
        """


@dataclass(frozen=True, slots=True)
class Regeneration:
    """The part of a task that settings alone determine, made once more.

    `facts` are those keys of the task's provenance that follow from it; `entries` the
    catalogue, None where the data are not known. `task` is the whole task, where data
    and model are known; `unknown` says in words what is not, empty where everything is.
    `lasting` names the facts that no other version of the rig makes otherwise.
    """

    facts: Mapping[str, Any]
    entries: Sequence[Entry] | None = None
    task: Task | None = None
    unknown: str = ""
    lasting: tuple[str, ...] = ()


@runtime_checkable
class Regenerated(Protocol):
    """Optional hook of a task's class: data that are generated, and models that are
    shipped, once more for `rig check`.
    """

    @classmethod
    def regenerated(cls, settings: Any) -> Regeneration:
        """Return what the bench file's settings determine. No path of theirs is opened:
        they may come from an untrusted source.
        """


@runtime_checkable
class Derives(Protocol):
    """Optional hook of a task's class: files that its commands make of a finished
    session."""

    @classmethod
    def derived(cls, session: Path, name: str, stored: Any) -> Any:
        """Return the content of such a JSON file made once more, in which only what
        tells when it was made is taken from `stored`; None where `name` is none of
        them. Raise NotInSession where it was made with what is not at hand, DataError
        where the session cannot be read.
        """


@runtime_checkable
class Played(Protocol):
    """Optional hook of a task whose samples are stretches of a signal in time, so that
    they can be played as a stream.

    `window` is how many samples of the signal one inference takes, `sample_b` how many
    bytes one of them has in a payload.
    """

    sample_hz: int
    window: int
    sample_b: int

    def recordings(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return for each recording its label and the indices of its samples, one
        behind the other in time.
        """


@runtime_checkable
class Optimized(Protocol):
    """Optional hook of a task whose samples are workloads to search for a vector of low
    cost; its phases are ("solve",).
    """

    def target(self, index: int) -> int:
        """Return the target cost of workload `index` for the result: the official one,
        the best known one where there is none.
        """

    def best_known(self, index: int) -> int | None:
        """Return the lowest cost that is known of workload `index`, None where it was
        never searched.
        """

    def cell(self, index: int) -> str:
        """Return the name of the cell that workload `index` is one of, such as
        "250n_5pct": letters, digits and underscores.
        """

    def workload(self, index: int) -> str:
        """Return the name of workload `index`, such as "250n_5pct_s0"."""


@runtime_checkable
class Searched(Protocol):
    """Optional hook of a task whose workloads a virtual device can search, in virtual
    time."""

    def searcher(self, payload: bytes, seed: int) -> Searcher:
        """Return a search of the workload `payload` from `seed` on."""


@runtime_checkable
class Chooser(Protocol):
    """Optional hook of a task that devices may run under other names than its own."""

    def accepts(self, info: SutInfo) -> bool:
        """Return whether a device is for this task, by what it reports about itself."""


@runtime_checkable
class Dissected(Protocol):
    """Optional hook of a task and its replica: the parts of an output, so that answers
    of several devices are compared part by part (`rig compare`).
    """

    def parts(self, output: bytes) -> Mapping[str, Sequence[float]]:
        """Return the parts of an output by name, such as spike counts and membranes;
        raise RemoteProtocolError if it has another shape.
        """
