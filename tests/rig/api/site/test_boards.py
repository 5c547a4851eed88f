# SPDX-License-Identifier: Apache-2.0
"""The ranks of a leaderboard, by simulation: sessions without a difference have none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from rig.api.archive.collected import Collected, collected
from rig.api.site.boards import Leaderboard, boards
from rig.model.metric import Statistic
from rig.results.document import IntervalResult, MetricResult

SESSIONS = 20
DRAWS = 300
NAME = "energy_total"
_FACTOR = 1.959963984540054


@pytest.fixture(scope="module")
def recorded(sessions: Path) -> Collected:
    return collected(next(path for path in sessions.iterdir() if "quick" in path.name))


def interval(value: float, half: float, standard: float | None) -> IntervalResult:
    known = standard is not None
    return IntervalResult(
        low=value - half,
        high=value + half,
        method="",
        units="",
        reason="",
        standard_uncertainty=standard,
        coverage_factor=_FACTOR if known else None,
        expanded_uncertainty=half if known else None,
    )


def board(
    recorded: Collected,
    values: Sequence[float],
    *,
    by_standard: bool = True,
    unknown: Collection[float] = (),
) -> Leaderboard:
    """Return the leaderboard of sessions whose values have the standard uncertainty 1;
    the `unknown` values have no interval.
    """
    assert recorded.results is not None
    first: MetricResult = recorded.results.metrics[NAME]
    made = []
    for value in values:
        own = interval(value, _FACTOR, 1.0 if by_standard else None)
        if value in unknown:
            own = replace(own, low=None, high=None, reason="one trial")
        metric = replace(
            first,
            value=value,
            same_samples=own,
            other_samples=own,
            statistic=Statistic.MEAN,
            binomial=None,
            budget=(),
        )
        results = replace(recorded.results, metrics={NAME: metric})
        made.append(replace(recorded, results=results))
    [found] = boards(made)
    return found


def ranks(found: Leaderboard) -> list[int | None]:
    return [cells[NAME].rank for _, cells in found.rows]


def test_sessions_without_a_difference_have_an_order_in_5_percent_at_most(
    recorded: Collected,
) -> None:
    draw = np.random.default_rng(5)
    ordered = 0
    for _ in range(DRAWS):
        found = board(recorded, draw.normal(100, 1, SESSIONS))
        ordered += set(ranks(found)) != {1}
    assert binom.sf(ordered - 1, DRAWS, 0.05) > 1e-6, f"{ordered} of {DRAWS}"


def test_a_clear_difference_still_has_a_rank(recorded: Collected) -> None:
    found = board(recorded, [100.0] * 19 + [120.0])
    assert ranks(found) == [1] * 19 + [20], "a lower energy is better"
    assert found.metrics[0].is_corrected


def test_a_session_without_an_interval_follows_those_with_a_rank(
    recorded: Collected,
) -> None:
    found = board(recorded, [100.0, 90.0, 120.0], unknown=[90.0])
    assert ranks(found) == [1, 2, None]


def test_two_sessions_need_more_than_intervals_that_do_not_meet(
    recorded: Collected,
) -> None:
    # The 95 % intervals end 1.96 from the value, those at 97.5 % each 2.24.
    assert ranks(board(recorded, [100.0, 104.2])) == [1, 1]
    assert ranks(board(recorded, [100.0, 104.6])) == [1, 2]


def test_the_board_says_where_ranks_are_of_95_percent_intervals_alone(
    recorded: Collected,
) -> None:
    found = board(recorded, [100.0, 104.2], by_standard=False)
    assert not found.metrics[0].is_corrected
    assert ranks(found) == [1, 2]
    assert board(recorded, [100.0], by_standard=False).metrics[0].is_corrected


def of_systems(recorded: Collected, *systems: str) -> list[Collected]:
    """Return a session of each simulated system."""
    assert recorded.results is not None
    made = []
    for system in systems:
        results = replace(recorded.results, sut=system)
        made.append(replace(recorded, results=results))
    return made


def test_simulated_systems_have_no_rank_among_each_other(recorded: Collected) -> None:
    """As `rig compare` does not compare them."""
    [found] = boards(of_systems(recorded, "virtual", "posix"))
    for _, cells in found.rows:
        assert cells[NAME].rank is None
        assert cells["latency_total"].rank is None
        assert "simulated systems differ" in cells["latency_total"].obstacle
        assert cells["accuracy"].rank == 1 and not cells["accuracy"].obstacle
    [found] = boards(of_systems(recorded, "posix", "virtual", "posix"))
    alone = [cells[NAME] for _, cells in found.rows if cells[NAME].rank is None]
    assert sorted(filter(None, ranks(found))) == [1, 1]
    assert [cell.place for cell in alone] == [2], "it is the last one"
    assert "simulated energies differ: posix; virtual" in alone[0].obstacle
