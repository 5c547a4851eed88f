# SPDX-License-Identifier: Apache-2.0
"""The conventions that a NIR file leaves open: time step, scheme, current, reset, spike rule.

NIR states differential equations. How a simulator steps them decides when neurons fire, so that a
result is one of a network and of conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from rig.errors import DataError


class Scheme(Enum):
    """What share of its distance to the end a state goes in one step."""

    EULER = "euler"  # dt / tau
    EXACT = "exact"  # 1 - exp(-dt / tau): exact for an input that is constant within the step


class Current(Enum):
    """The synaptic current that drives a membrane in a step: with this step's input, or without."""

    NEW = "new"
    LAST = "last"


class Reset(Enum):
    """What a spike does to the membrane: to v_reset, or v_threshold less."""

    VALUE = "value"
    SUBTRACT = "subtract"


class Gains(Enum):
    """Whose gains count: r and w_in of the file, or 1, as chips have it: an input is added to the
    current whole, and decays with it in the same step.
    """

    FILE = "file"
    UNIT = "unit"


class Start(Enum):
    """The membrane before the first step: v_leak, or 0."""

    LEAK = "leak"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class Conventions:
    """How a network is stepped; the defaults are those of the equations: forward Euler, the new
    current, reset to v_reset, a spike above the threshold and not at it.

    `spikes_max`: so many spikes a neuron may fire in one step, more than 1 only where a reset
    subtracts.
    """

    scheme: Scheme = Scheme.EULER
    current: Current = Current.NEW
    reset: Reset = Reset.VALUE
    above: bool = True
    gains: Gains = Gains.FILE
    start: Start = Start.LEAK
    spikes_max: int = 1

    def __post_init__(self) -> None:
        if self.spikes_max < 1 or (self.spikes_max > 1 and self.reset is Reset.VALUE):
            raise ValueError(
                f"{self.spikes_max} spikes a step with a reset to a {self.reset.value}: more than "
                "one needs a reset that subtracts"
            )


#: What other programs do with a file. Each was compared where tests/vectors/nir says so; the others
#: were read in their source (the names are those of `rig model run --as`).
PRESETS = {
    "nir": Conventions(),
    "norse": Conventions(),
    "snntorch": Conventions(start=Start.ZERO),
    "exact": Conventions(scheme=Scheme.EXACT),
    "paper": Conventions(current=Current.LAST, reset=Reset.SUBTRACT, start=Start.ZERO),
    "xylo": Conventions(
        reset=Reset.SUBTRACT, above=False, gains=Gains.UNIT, start=Start.ZERO, spikes_max=31
    ),
}

#: In the metadata of a neuron's node: the rule by which it was trained to fire.
RULE_KEY = "spike_rule"
SUBTRACTS_EACH = "v >= v_threshold; v -= v_threshold for each spike"
_RULES = {SUBTRACTS_EACH: "xylo"}


def stated(nodes: dict[str, Any]) -> Conventions:
    """Return the conventions that the nodes of a file state, else those of the equations; raises
    DataError for a rule that is not known.
    """
    rules = {
        node.metadata[RULE_KEY]: name
        for name, node in nodes.items()
        if isinstance(node.metadata, dict) and RULE_KEY in node.metadata
    }
    if len(rules) > 1:
        raise DataError("neurons of one file with different rules", evidence=f"{rules}")
    for rule, name in rules.items():
        if rule not in _RULES:
            raise DataError(
                f"{name} states a rule that is not known",
                evidence=repr(rule),
                try_next=f"--as, one of {', '.join(PRESETS)}",
            )
        return PRESETS[_RULES[rule]]
    return Conventions()
