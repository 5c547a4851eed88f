# SPDX-License-Identifier: Apache-2.0
"""Names of the components of an uncertainty. results.json has each as one text, which
is composed and read here alone.
"""

from __future__ import annotations

from dataclasses import dataclass

# Kinds of errors that the program asks for; the texts are part of results.json.
CLOCK = "clock"
CURRENT_GAIN = "current gain"
CURRENT_OFFSET = "current offset"
VOLTAGE_GAIN = "voltage gain"
VOLTAGE_OFFSET = "voltage offset"
EDGE_DELAY = "edge delay"
EDGES = "edges"
EDGE_BIAS = "edge bias"
END_SAMPLES = "end samples"
#: Errors of the converter's steps: at another current they are others.
STEPS = "steps"
NOISE = "noise"
QUANTISATION = "quantisation"

_WITH_DETAILS = (CURRENT_GAIN, CURRENT_OFFSET, STEPS)
_OF_IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Component:
    """A component: the rail whose instrument errs, empty where there is one instrument
    alone, and the kind of error.
    """

    rail: str
    kind: str


def titled(kind: str, calibration: str = "", up_to: str = "") -> str:
    """Name a component after its kind, the calibration that leaves it, and the upper
    end of its range.
    """
    title = f"{kind}, {calibration}" if calibration else kind
    return f"{title} to {up_to}" if up_to else title


def of_idle(name: str) -> str:
    """Name the effect of a component on idle windows."""
    return f"{name}, {_OF_IDLE}"


def on_rail(title: str, rail: str) -> str:
    """Name a component after the rail of its instrument as well."""
    return f"{rail}: {title}"


def read(name: str) -> Component:
    """Read the name of a component, also of a stored one."""
    rail, colon, title = name.partition(": ")
    # A calibration may have any name, a rail has that of a folder.
    if not colon or not rail.isidentifier():
        rail, title = "", name
    for kind in _WITH_DETAILS:
        if title.startswith((f"{kind}, ", f"{kind} to ")):
            return Component(rail, kind)
    return Component(rail, title)
