# SPDX-License-Identifier: Apache-2.0
"""The conventions that a NIR file leaves open: time step, scheme, current, reset, spike
rule.

NIR states differential equations. How a simulator steps them decides when neurons fire,
so that a result is one of a network and of conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from rig.errors import ConfigError, DataError, did_you_mean

_Choice = TypeVar("_Choice")


class Scheme(Enum):
    """What share of its distance to the end a state goes in one step."""

    EULER = "euler"  # dt / tau
    # 1 - exp(-dt / tau): exact for an input that is constant within the step
    EXACT = "exact"


class Current(Enum):
    """The synaptic current that drives a membrane in a step: with this step's input, or
    without."""

    NEW = "new"
    LAST = "last"


class Reset(Enum):
    """Effect of a spike on the membrane: it becomes v_reset; v_threshold is subtracted
    at once; v_threshold is subtracted in the next step, without the leak; no effect.
    """

    VALUE = "value"
    SUBTRACT = "subtract"
    SUBTRACT_NEXT = "subtract-next"
    NONE = "none"


class Gains(Enum):
    """Whose gains count: r and w_in of the file; or 1, as chips have it: an input is
    added to the current whole, and decays with it in the same step (unit), or from the
    next step on (whole).
    """

    FILE = "file"
    UNIT = "unit"
    WHOLE = "whole"


class Start(Enum):
    """The membrane before the first step: v_leak, or 0."""

    LEAK = "leak"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class Conventions:
    """How a network is stepped; the defaults are those of the equations: forward Euler,
    the new current, reset to v_reset, a spike above the threshold and not at it.

    `spikes_max`: so many spikes a neuron may fire in one step, more than 1 only where a
    reset subtracts at once. `late`: a spike leaves its neuron in the next step.
    """

    scheme: Scheme = Scheme.EULER
    current: Current = Current.NEW
    reset: Reset = Reset.VALUE
    above: bool = True
    gains: Gains = Gains.FILE
    start: Start = Start.LEAK
    spikes_max: int = 1
    late: bool = False

    def __post_init__(self) -> None:
        several = self.spikes_max > 1 and self.reset is not Reset.SUBTRACT
        if not 1 <= self.spikes_max <= SPIKES_MAX or several:
            raise ValueError(
                f"up to {self.spikes_max} spikes a step with the reset"
                f" {self.reset.value}: 1 to {SPIKES_MAX}, and more than one needs a"
                " reset that subtracts at once"
            )


#: The most spikes of a neuron in one step that can be asked for.
SPIKES_MAX = 255

#: What other programs do with a file that they wrote, by their defaults
#: (docs/reference/MODELS.md says which were compared, and how). "snntorch-zero" is a
#: Leaky whose reset_mechanism is "zero"; of lava-dl the converter of NIR's own
#: repository writes the file.
PRESETS = {
    "nir": Conventions(),
    "norse": Conventions(),
    "snntorch": Conventions(reset=Reset.SUBTRACT_NEXT, start=Start.ZERO),
    "snntorch-zero": Conventions(start=Start.ZERO),
    "sinabs": Conventions(
        scheme=Scheme.EXACT,
        reset=Reset.SUBTRACT,
        above=False,
        start=Start.ZERO,
        spikes_max=SPIKES_MAX,
    ),
    "rockpool": Conventions(
        scheme=Scheme.EXACT,
        reset=Reset.SUBTRACT,
        above=False,
        gains=Gains.UNIT,
        start=Start.ZERO,
        spikes_max=SPIKES_MAX,
    ),
    "spyx": Conventions(
        reset=Reset.SUBTRACT_NEXT, gains=Gains.WHOLE, start=Start.ZERO, late=True
    ),
    "spyx-cubalif": Conventions(
        reset=Reset.SUBTRACT, gains=Gains.WHOLE, start=Start.ZERO, late=True
    ),
    "lava-dl": Conventions(gains=Gains.WHOLE, start=Start.ZERO, late=True),
    "exact": Conventions(scheme=Scheme.EXACT),
    "paper": Conventions(current=Current.LAST, reset=Reset.SUBTRACT, start=Start.ZERO),
    "xylo": Conventions(
        reset=Reset.SUBTRACT,
        above=False,
        gains=Gains.UNIT,
        start=Start.ZERO,
        spikes_max=31,
    ),
}
#: The time step, in the file's unit of time, of what these programs write by their
#: defaults: a sinabs layer counts time in steps, and norse's to_nir multiplies each
#: time constant by its dt.
STEPS_S = {
    "snntorch": 1e-4,
    "snntorch-zero": 1e-4,
    "sinabs": 1.0,
    "spyx": 1.0,
    "spyx-cubalif": 1.0,
    "norse": 1e-6,
    "lava-dl": 1e-4,
}

#: How `--reset` and task.network.reset call the resets.
RESETS = {
    "zero": Reset.VALUE,
    "subtract": Reset.SUBTRACT,
    "subtract-next": Reset.SUBTRACT_NEXT,
    "none": Reset.NONE,
}
_STARTS = {one.value: one for one in Start}
NOT_STATED = "the file does not state the reset"
STATE_IT = (
    f"--as PROGRAM, which wrote it, or --reset {'|'.join(RESETS)}; in a bench file rule"
    " or reset"
)

#: Key in the metadata of a neuron's node: the firing rule of its training.
RULE_KEY = "spike_rule"
SUBTRACTS_EACH = "v >= v_threshold; v -= v_threshold for each spike"
_RULES = {SUBTRACTS_EACH: "xylo"}


def stated(nodes: dict[str, Any]) -> Conventions:
    """Return the conventions that the nodes of a file state, else those of the
    equations; raises DataError for a rule that is not known.
    """
    rules = {
        node.metadata[RULE_KEY]: name
        for name, node in nodes.items()
        if _states_rule(node)
    }
    if len(rules) > 1:
        raise DataError("neurons of one file with different rules", evidence=f"{rules}")
    for rule, name in rules.items():
        if rule not in _RULES:
            raise DataError(
                f"{name} states a rule that is not known",
                evidence=repr(rule),
                try_next=f"--as, in a bench file rule: one of {', '.join(PRESETS)}",
            )
        return PRESETS[_RULES[rule]]
    return Conventions()


def of_rule(rule: str, nodes: dict[str, Any]) -> Conventions:
    """Return the conventions of a rule's text, those that the nodes of a file state
    where it is empty; raises DataError for other texts.
    """
    return of_text(rule) if rule else stated(nodes)


def states_reset(nodes: Mapping[str, Any]) -> bool:
    """Check whether a file states the effect of a spike: by a rule, or a v_reset that
    is not 0; True where none of its nodes spikes.
    """
    spiking = [node for node in nodes.values() if hasattr(node, "v_threshold")]
    return all(_states_rule(node) or _has_reset(node) for node in spiking)


def _states_rule(node: Any) -> bool:
    return isinstance(node.metadata, dict) and RULE_KEY in node.metadata


def _has_reset(node: Any) -> bool:
    voltage = getattr(node, "v_reset", None)
    return voltage is not None and bool(np.any(voltage))


@dataclass(frozen=True, slots=True)
class ConventionChoice:
    """Conventions as a user chooses them: a preset, empty for those of the file, and
    the choices that differ from it; None: as in the preset.
    """

    preset: str = ""
    reset: str | None = None
    spikes_max: int | None = None
    start: str | None = None

    @property
    def says_reset(self) -> bool:
        """Whether it determines the effect of a spike."""
        return bool(self.preset or self.reset)

    def of(self, nodes: dict[str, Any]) -> Conventions:
        """Return the conventions for the nodes of a file; raises ConfigError for a name
        that is not known, and for choices that contradict each other.
        """
        how = _known("rule", self.preset, PRESETS) if self.preset else stated(nodes)
        reset = how.reset if self.reset is None else _known("reset", self.reset, RESETS)
        start = (
            how.start if self.start is None else _known("start", self.start, _STARTS)
        )
        most = how.spikes_max if self.spikes_max is None else self.spikes_max
        if self.spikes_max is None and reset is not Reset.SUBTRACT:
            most = 1
        try:
            return replace(how, reset=reset, start=start, spikes_max=most)
        except ValueError as error:
            raise ConfigError(
                str(error), try_next="reset = subtract, or leave the spike limit out"
            ) from error

    def dt_s(self, stated_s: float | None) -> float | None:
        """Return the time step of a file that states none: that of the preset's
        program, in the unit of time of its files; None where the file states one, or it
        is not known.
        """
        return None if stated_s is not None else STEPS_S.get(self.preset)


#: No choice: as the file states.
AS_STATED = ConventionChoice()


def _known(what: str, name: str, known: Mapping[str, _Choice]) -> _Choice:
    if name not in known:
        hint = f"{did_you_mean(name, known)}one of {', '.join(known)}"
        raise ConfigError(f"no {what} {name!r}", try_next=hint)
    return known[name]


def by_name(how: Conventions) -> dict[str, Any]:
    """Return conventions as JSON has them, each choice by its name; keys added after
    the first files are there only with another value than these had.
    """
    choices = asdict(how)
    if not how.late:
        choices.pop("late")
    for name, value in choices.items():
        if isinstance(value, Enum):
            choices[name] = value.value
    return choices


def from_names(names: Mapping[str, Any]) -> Conventions:
    """Return conventions from their form in JSON; raises DataError where they are
    none."""
    kinds = {
        "scheme": Scheme,
        "current": Current,
        "reset": Reset,
        "gains": Gains,
        "start": Start,
    }
    try:
        choices = dict(names)
        for name in names.keys() & kinds.keys():
            choices[name] = kinds[name](names[name])
        return Conventions(**choices)
    except (TypeError, ValueError) as error:
        raise DataError(
            "conventions that are not known", evidence=f"{names}"[:200]
        ) from error


def text_of(how: Conventions) -> str:
    """Return conventions as one line, which `of_text` reads: a preset's name, else
    every choice."""
    for name, one in PRESETS.items():
        if one == how:
            return name
    return ", ".join(f"{name}={value}" for name, value in by_name(how).items())


def of_text(text: str) -> Conventions:
    """Return the conventions of such a line; raises DataError where it is none."""
    if text in PRESETS:
        return PRESETS[text]
    pairs = [part.partition("=")[::2] for part in text.split(", ")]
    plain = {"True": True, "False": False}
    names: dict[str, Any] = {}
    for name, value in pairs:
        names[name] = int(value) if value.isdigit() else plain.get(value, value)
    return from_names(names)
