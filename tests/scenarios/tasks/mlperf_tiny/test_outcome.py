# SPDX-License-Identifier: Apache-2.0
"""The quality target of the closed division against the trials of a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rig.results.verdict import Outcome
from scenarios.tasks.mlperf_tiny.outcome import quality_of


def results(*values: float | None, official: bool = True) -> Any:
    """Return what a verdict reads of results of kws01."""
    target = {"metric": "accuracy", "minimum": 0.9, "division": "closed"}
    trials = [SimpleNamespace(value=value) for value in values]
    return SimpleNamespace(
        provenance=SimpleNamespace(
            task=SimpleNamespace(
                name="mlperf_tiny", stored={"files": 1000, "quality": target}
            ),
            sut=SimpleNamespace(simulated=True),
        ),
        data=SimpleNamespace(official=official, statement="other data"),
        trials=[SimpleNamespace(valid=True) for _ in values],
        metrics={"accuracy": SimpleNamespace(per_trial=trials)},
    )


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ((0.901, 0.9), Outcome.PASS),
        ((0.899, 0.95), Outcome.FAIL),
        ((0.95, 0.899), Outcome.FAIL),
        ((0.95, None), Outcome.NOT_TESTED),
    ],
)
def test_the_lowest_trial_decides(
    values: tuple[float | None, ...], outcome: Outcome
) -> None:
    assert quality_of(results(*values)).outcome is outcome


def test_a_verdict_says_that_the_device_is_simulated_and_what_it_leaves_out() -> None:
    sentence = quality_of(results(0.901)).sentence
    assert sentence.startswith("Top-1 90.1 % of a simulated device over the 1000 files")
    assert sentence.endswith("its other rules are not judged")
    other = quality_of(results(0.95, official=False))
    assert (other.outcome, other.sentence) == (Outcome.NOT_TESTED, "other data")
