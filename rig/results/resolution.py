# SPDX-License-Identifier: Apache-2.0
"""Resolution of a window: whether it resolves 5 %, and the length that it needs where
it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from rig.model import component
from rig.model.steps import Solve
from rig.model.trial import Measured, Trial, Window
from rig.results.replication import LIMIT
from rig.stats.summary import mean

#: Two standard uncertainties: about 95 %.
_K = 2.0
#: In a longer window the relative effect of its ends falls with its length, that of
#: noise with the root of it; other effects stay.
_BY_LENGTH = (
    component.EDGES,
    component.EDGE_BIAS,
    component.EDGE_DELAY,
    component.END_SAMPLES,
)
_BY_ROOT = (component.NOISE, component.QUANTISATION)
_LONGEST_S = 3600.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolution of one phase's mean window.

    `window_s` is its length, repetitions included; `energy_u95` the relative half-width
    of the 95 % interval of its energy; `needed_s` the length with which that is 5 %, 0
    where it is already, None where no length is enough; `because` its largest part.
    """

    phase: str
    window_s: float
    energy_u95: float
    needed_s: float | None
    because: str

    @property
    def ok(self) -> bool:
        """Whether the window resolves 5 %."""
        return self.needed_s == 0.0


def resolve(trials: Sequence[Trial], phases: Sequence[str]) -> list[Resolution]:
    """Compute the resolution of each phase that has energies, of streams as a whole,
    and of the idle windows.
    """
    found = []
    samples = list(chain.from_iterable(trial.measured.samples for trial in trials))
    searches = dict.fromkeys(
        _search(phases[0], sample.solve)
        for sample in samples
        if sample.solve is not None
    )
    for number, phase in enumerate([*(searches or phases), "stream", "idle"]):
        known: list[Window] = []
        for trial in trials:
            for window in _windows(trial.measured, number, phase):
                if window.energy_j and window.energy_j > 0:
                    known.append(window)
        if known:
            found.append(_of(phase, known))
    return found


def _windows(measured: Measured, place: int, phase: str) -> Sequence[Window]:
    if phase == "idle":
        return measured.idles
    if phase == "stream":
        return [stream.whole for stream in measured.streams]
    found = [sample for sample in measured.samples if sample.solve is not None]
    if found:
        solved = [(sample.windows[0], sample.solve) for sample in found]
        return [
            window for window, solve in solved if _search(window.phase, solve) == phase
        ]
    return [sample.windows[place] for sample in measured.samples if sample.timed]


def _search(phase: str, solve: Solve | None) -> str:
    """Name the kind of a search: its windows are as long as its time-out, or end at its
    target.
    """
    assert solve is not None
    return (
        f"{phase} {solve.timeout_s:g} s"
        if solve.target is None
        else f"{phase} to target"
    )


def _of(phase: str, windows: Sequence[Window]) -> Resolution:
    # Of the means: a single window's energy is too uncertain to measure its uncertainty
    # by, just where this matters.
    window_s = mean([window.stop_s - window.start_s for window in windows])
    energy_j = mean([abs(window.energy_j or 0.0) for window in windows])
    parts: dict[str, float] = {}
    for window in windows:
        for name, effect in window.effects.of.items():
            if effect.energy_j and name not in parts:
                effects_j = [abs(_effect_j(each, name)) for each in windows]
                parts[name] = mean(effects_j) / energy_j
    now = _K * math.hypot(*parts.values())
    because = max(parts, key=lambda name: parts[name], default="")
    if now <= LIMIT:
        return Resolution(phase, window_s, now, 0.0, because)
    fixed = _size(parts, lambda kind: kind not in (*_BY_LENGTH, *_BY_ROOT))
    if _K * fixed >= LIMIT:
        return Resolution(phase, window_s, now, None, because)
    return Resolution(phase, window_s, now, _needed_s(window_s, parts, fixed), because)


def _effect_j(window: Window, name: str) -> float:
    effect = window.effects.of.get(name)
    return effect.energy_j if effect is not None else 0.0


def _needed_s(window_s: float, parts: dict[str, float], fixed: float) -> float | None:
    """Find the length with which the 95 % interval is 5 % wide, to 1 %: the parts that
    shrink with length shrink monotonically.
    """
    by_length = _size(parts, lambda kind: kind in _BY_LENGTH)
    by_root = _size(parts, lambda kind: kind in _BY_ROOT)
    factor = 1.0
    while (
        _K * math.hypot(fixed, by_length / factor, by_root / math.sqrt(factor)) > LIMIT
    ):
        factor *= 1.01
        if factor * window_s > _LONGEST_S:
            return None
    return factor * window_s


def _size(parts: dict[str, float], counts: Callable[[str], bool]) -> float:
    """Combine the parts whose kind of component counts."""
    sizes = [size for name, size in parts.items() if counts(component.read(name).kind)]
    return math.hypot(*sizes)
