# SPDX-License-Identifier: Apache-2.0
"""Searches that exceeded their time-out had more time than others, so their cell is not
valid. Pure.

QUBO.md states time-outs without a tolerance. The only tolerance of the rules is that of
replication, results within 5 %. A search that took longer is not the search that was
requested; 5 % of 1 ms are 50 us, a few polls of the clock on a microcontroller.
"""

from __future__ import annotations

from collections.abc import Sequence

from rig.model.trial import Sample
from rig.units import quantity

#: By this share of its time-out, and no more, a search may be longer than that.
LIMIT = 0.05


def share(sample: Sample) -> float:
    """Compute the excess of a search over its time-out, as a share of it; 0 or below
    where it kept the time-out."""
    assert sample.solve is not None
    return sample.windows[0].latency_s / sample.solve.timeout_s - 1


def why(samples: Sequence[Sample]) -> str:
    """Say why a cell of searches is not valid; empty where each kept its time-out."""
    late = [sample for sample in samples if _is_late(sample)]
    if not late:
        return ""
    worst = max(late, key=share)
    assert worst.solve is not None
    took = quantity(worst.windows[0].latency_s, "s")
    asked = quantity(worst.solve.timeout_s, "s")
    return (
        f"not valid: {len(late)} of {len(samples)} searches went on beyond their"
        f" time-out by more than {LIMIT:.0%}, most in step {worst.step}: {took} where"
        f" {asked} were asked for (+{share(worst):.1%})"
    )


def _is_late(sample: Sample) -> bool:
    """Decide by the ends of the window and not by its length, which is moved to learn
    what an error does to the metrics (rig/uncertainty/propagation.py): that must not
    make a search a late one.
    """
    assert sample.solve is not None
    window = sample.windows[0]
    return (window.stop_s - window.start_s) / sample.solve.timeout_s - 1 > LIMIT
