# SPDX-License-Identifier: Apache-2.0
"""Pictures drawn as the report draws them, and the words in them."""

from __future__ import annotations

import re
from typing import Any

import matplotlib.style

from rig.model.picture import Picture
from rig.report.style import STYLE, svg
from rig.results.labels import SIMULATED, Label


def drawn(picture: Picture) -> str:
    """Return a picture as SVG, with the label of a simulated session."""
    assert picture.figure is not None, picture.caption
    with matplotlib.style.context(["default", STYLE]):
        return str(svg(picture.figure, picture.name, [Label(SIMULATED, "")]))


def texts(svg: str) -> list[str]:
    """Return the words of a drawing: each stands in a comment or in a text element."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def window(start_s: float, stop_s: float) -> dict[str, Any]:
    """Return a window as samples.jsonl has it."""
    return {
        "phase": "solve",
        "start_s": start_s,
        "stop_s": stop_s,
        "latency_s": stop_s - start_s,
        "latency_u_s": 0.0,
        "energy_j": 1.0,
        "energy_u_j": 0.0,
    }
