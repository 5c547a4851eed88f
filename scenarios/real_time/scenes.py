# SPDX-License-Identifier: Apache-2.0
"""Scenes of a stream, drawn from a task's recordings: lengths, labels and beginnings
follow from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from rig.errors import ConfigError
from rig.interfaces.task import SignalTask
from rig.model.steps import Scene

Recording = tuple[str, tuple[int, ...]]


def draw(
    task: SignalTask, seed: int, duration: int, shortest: int, longest: int
) -> tuple[Scene, ...]:
    """Return scenes of `duration` samples in all, each of `shortest` to `longest`
    samples, no two of one label in a row.

    Every scene is an unbroken part of one recording, from the beginning of one of its
    samples on. `longest` is at least twice `shortest`. Raises ConfigError where the
    task's recordings are too short or all of one label.
    """
    by_label = _by_label(task.recordings())
    refuse_short(by_label, task, longest)
    rng = random.Random(seed)
    scenes = []
    label = ""
    for samples in lengths(rng, duration, shortest, longest):
        label = rng.choice([other for other in by_label if other != label])
        count = -(-samples // task.window)
        indices = rng.choice(
            [indices for indices in by_label[label] if len(indices) >= count]
        )
        first = rng.randrange(len(indices) - count + 1)
        scenes.append(Scene(label, indices[first : first + count], samples))
    return tuple(scenes)


def lengths(
    rng: random.Random, duration: int, shortest: int, longest: int
) -> list[int]:
    """Draw lengths from `shortest` to `longest` that add up to `duration`; the
    remainder is the last length."""
    drawn = []
    left = duration
    while left > longest:
        # The rest is never too short for a scene: it was longer than two of the
        # shortest.
        drawn.append(rng.randint(shortest, min(longest, left - shortest)))
        left -= drawn[-1]
    return [*drawn, left]


def refuse_short(
    by_label: dict[str, list[tuple[int, ...]]], task: SignalTask, longest: int
) -> None:
    """Raise ConfigError where a label has no recording long enough, or there is but one
    label."""
    if len(by_label) < 2:
        raise ConfigError(
            f"the task has recordings of {', '.join(by_label) or 'nothing'}, and no"
            " scene can change",
            path="task",
            try_next="more samples: a stream needs two labels or more",
        )
    for label, recordings in by_label.items():
        have = max(map(len, recordings)) * task.window
        if have < longest:
            raise ConfigError(
                f"scenes of up to {longest / task.sample_hz:g} s, the longest recording"
                f" of {label} has {have / task.sample_hz:g} s in a row",
                path="scenario.real_time.scene_s",
                try_next=(
                    "shorter scenes; or all samples of the task (samples = 0): a subset"
                    " has holes in its recordings"
                ),
            )


def _by_label(recordings: Sequence[Recording]) -> dict[str, list[tuple[int, ...]]]:
    by_label: dict[str, list[tuple[int, ...]]] = {}
    for label, indices in recordings:
        by_label.setdefault(label, []).append(indices)
    return by_label
