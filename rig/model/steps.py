# SPDX-License-Identifier: Apache-2.0
"""Steps of a plan, which a scenario asks of a device."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import ClassVar

from rig.files import typed
from rig.model.completion import Completion


class Step:
    """One step; each kind is a frozen dataclass with a name."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    def samples_named(self) -> tuple[int, ...]:
        """The task's samples that the step names."""
        return ()


@dataclass(frozen=True, slots=True)
class Sync(Step):
    """Give a burst of SYNC pulses, which attaches the device's clock to the monitors'.
    No plan has it: a trial begins and ends with one.
    """

    kind: ClassVar[str] = "sync"


@dataclass(frozen=True, slots=True)
class Load(Step):
    """Bring sample `index` into the device's memory; untimed.

    Where it is `optional`, a device may refuse it: the plan is sent a Completion that
    says why, else None.
    """

    kind: ClassVar[str] = "load"

    index: int
    optional: bool = False

    @property
    def samples_named(self) -> tuple[int, ...]:
        """The task's samples that the step names."""
        return (self.index,)


@dataclass(frozen=True, slots=True)
class Idle(Step):
    """Let the device stay configured and ready, not asleep, for `duration_s`; measured
    as idle power.
    """

    kind: ClassVar[str] = "idle"

    duration_s: float


@dataclass(frozen=True, slots=True)
class Query(Step):
    """Process the loaded samples `indices`, each phase `repeat` times in a row, within
    `limit_s`; not counted if `warmup`.

    Where it is not `timed` only the answer is wanted: its windows may be shorter than a
    monitor can resolve. A `batch` has its samples processed back to back in one window,
    with all phases in it, `repeat` rounds over them; its output is theirs, joined.
    `window`: the sample is so many windows from the beginning of a stream, and the
    device is in the state that those before it left; 0 begins the stream.
    """

    kind: ClassVar[str] = "query"

    indices: tuple[int, ...]
    limit_s: float = 60.0
    repeat: int = 1
    warmup: bool = False
    timed: bool = True
    batch: bool = False
    window: int | None = None

    @property
    def samples_named(self) -> tuple[int, ...]:
        """The task's samples that the step names."""
        return self.indices


@dataclass(frozen=True, slots=True)
class Solve(Step):
    """Search the loaded workload `index` for a vector of low cost, from `seed` on, for
    `timeout_s` or until `target` is reached.

    `thresholds` are costs, falling: the device marks the moment at which it knows a
    cost at or below each. Without a `target` it goes on until the time-out. `limit_s`
    is what it may take beyond the time-out; a `warmup` is not counted.
    """

    kind: ClassVar[str] = "solve"

    index: int
    timeout_s: float
    seed: int
    target: int | None = None
    thresholds: tuple[int, ...] = ()
    limit_s: float = 20.0
    warmup: bool = False

    @property
    def samples_named(self) -> tuple[int, ...]:
        """The task's samples that the step names."""
        return (self.index,)


@dataclass(frozen=True, slots=True)
class Scene:
    """A stretch of a stream: the task's samples `indices` in order, without the first
    `skip` samples of the signal, cut after `samples` samples.
    """

    label: str
    indices: tuple[int, ...]
    samples: int
    skip: int = typed.optional(0)


@dataclass(frozen=True, slots=True)
class Stream(Step):
    """Play `scenes` to the device at `sample_hz`; it answers for a `window` of samples
    every `hop` samples, while it listens.

    Window k is samples k hop to k hop + window - 1, and is there for the device when
    the last of them has been played by the device's own timer. `preloaded`: all of them
    are in the device's memory before, and the link is silent meanwhile. `limit_s` is
    what it may take beyond the length of the stream.
    """

    kind: ClassVar[str] = "stream"

    scenes: tuple[Scene, ...]
    hop: int
    window: int
    sample_hz: int
    preloaded: bool = False
    limit_s: float = 20.0

    @property
    def samples_named(self) -> tuple[int, ...]:
        """The task's samples that the step names."""
        return tuple(chain.from_iterable(scene.indices for scene in self.scenes))

    @property
    def windows(self) -> int:
        """Number of whole windows of the stream."""
        samples = sum(scene.samples for scene in self.scenes)
        return max((samples - self.window) // self.hop + 1, 0)

    def onset(self, scene: int) -> int:
        """Find the number of the first sample of the signal that belongs to a scene."""
        return sum(before.samples for before in self.scenes[:scene])

    def scene_of(self, window: int) -> int:
        """Find the scene with most of a window's newest hop; of two halves, the later
        scene.
        """
        end = window * self.hop + self.window
        ends = accumulate(scene.samples for scene in self.scenes)
        return next(
            number
            for number, stop in enumerate(ends)
            if end - (self.hop + 1) // 2 < stop
        )


Plan = Generator[Step, Completion | None, None]
