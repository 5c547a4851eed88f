# SPDX-License-Identifier: Apache-2.0
"""Facts about a mapping on Xylo, of numbers whose rounding is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sut_backends.xylo.mapping_report import mapping

DASHES = ("dash_mem", "dash_syn", "dash_mem_out", "dash_syn_out")


def numbers(**changed: Any) -> dict[str, Any]:
    """Return the numbers of two channels, two hidden neurons and one output."""
    given = {
        "weights_in": np.array([[0.5, -0.25], [0.1, 0.0]]),
        "weights_rec": np.zeros((2, 2)),
        "weights_out": np.array([[2.0], [1.0]]),
        "threshold": np.array([1.0, 2.0]),
        "threshold_out": np.array([4.0]),
    }
    return given | dict.fromkeys(DASHES, np.array([4.0])) | changed


def test_the_changes_by_rescaling_are_stated() -> None:
    # Hidden neurons times 254, outputs times 63.5.
    after = numbers(
        weights_in=np.array([[127, -64], [25, 0]]),
        weights_out=np.array([[127], [64]]),
        threshold=np.array([254, 508]),
        threshold_out=np.array([127]),
    )
    told = mapping(numbers(), after, "global")
    assert told["weights_and_thresholds_multiplied_by"] == [63.5, 254.0]
    # 0.1 became 25 of 25.4, 0.25 became 64 of 63.5, 1 became 64 of 63.5.
    assert told["largest_change_of_a_weight"] == f"{0.5 / 127:.3%} of the largest"
    # 4 became 127, which is half of 254.
    assert told["largest_change_of_a_threshold"] == "50.000% of itself"
    assert told["weights_clipped"] == 0


def test_each_neuron_may_have_a_factor_of_its_own() -> None:
    after = numbers(
        weights_in=np.array([[127, -127], [25, 0]]),
        weights_out=np.array([[127], [64]]),
        threshold=np.array([254, 1016]),
        threshold_out=np.array([254]),
    )
    told = mapping(numbers(), after, "channel")
    assert told["weights_and_thresholds_multiplied_by"] == [63.5, 508.0]
    assert told["largest_change_of_a_threshold"] == "0.000% of itself"
    assert told["quantisation_error_of_largest_weight"] == pytest.approx(0.5 / 127)
