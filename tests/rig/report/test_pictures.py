# SPDX-License-Identifier: Apache-2.0
"""Texts of the pictures of the report, read from their SVG; the numbers are made by
hand.
"""

from __future__ import annotations

import matplotlib.style
import numpy as np
import pytest
from matplotlib.figure import Figure

from rig.model.picture import Picture
from rig.report.distributions import distributions
from rig.report.report import _plot
from rig.report.samples import TrialSamples
from rig.report.style import STYLE
from tests.drawings import texts
from tests.results_by_hand import RESULTS


def test_values_that_hardly_differ_stand_at_the_axis_whole() -> None:
    latency_s = np.linspace(79.9920e-9, 79.9921e-9, 40).reshape(-1, 1)
    none = np.zeros_like(latency_s)
    samples = TrialSamples(
        1, True, 1, None, start_s=none, stop_s=none, latency_s=latency_s, energy_j=none
    )
    with matplotlib.style.context(["default", STYLE]):
        svg, _ = distributions("latency", [samples], RESULTS)
    assert any(text.startswith("79.992") for text in texts(svg)) and not any(
        "e1" in text for text in texts(svg)
    )


def test_the_pictures_of_a_scenario_have_the_labels_of_the_session() -> None:
    figure = Figure()
    figure.subplots().set_title("by a scenario")
    with matplotlib.style.context(["default", STYLE]):
        drawing, caption = _plot(Picture("own", "Own", figure, "A caption."), RESULTS)
    assert {"by a scenario", "SIMULATED"} <= set(
        texts(drawing)
    ) and caption == "A caption."
    assert _plot(Picture("own", "Own", None, "Not drawn: why."), RESULTS) == (
        "",
        "Not drawn: why.",
    )


@pytest.mark.parametrize("name", ["", "Own", "a b", "1st", 'x" onload="'])
def test_a_name_that_is_no_name_of_a_section_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a picture"):
        Picture(name, "Own", None, "")
