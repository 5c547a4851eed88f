# SPDX-License-Identifier: Apache-2.0
"""Bending a line where two crystals drift, against numpy's dense algebra and against a
known curve.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.timebase import drift

elements = st.floats(-1.0, 1.0)


@given(st.data(), st.integers(2, 12))
def test_a_tridiagonal_system_is_solved_as_numpy_solves_the_whole_matrix(
    data: st.DataObject, count: int
) -> None:
    beside = data.draw(st.lists(elements, min_size=count - 1, max_size=count - 1))
    right_side = data.draw(st.lists(elements, min_size=count, max_size=count))
    extra = data.draw(st.lists(st.floats(0.1, 2.0), min_size=count, max_size=count))
    rows = np.diag(beside, 1) + np.diag(beside, -1)
    # Diagonally dominant, so positive definite.
    diagonal = np.abs(rows).sum(axis=1) + extra
    matrix = rows + np.diag(diagonal)
    solution = drift.solve_tridiagonal(diagonal.tolist(), beside, right_side)
    inverse = np.linalg.inv(matrix)
    variance = np.diag(inverse)
    np.testing.assert_allclose(
        solution.values, inverse @ right_side, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(solution.variance, variance, rtol=1e-9)
    expected = np.diag(inverse, 1) / np.sqrt(variance[:-1] * variance[1:])
    np.testing.assert_allclose(solution.correlation, expected, rtol=1e-7, atol=1e-10)


def curve(x: np.ndarray) -> np.ndarray:
    return np.where(x < 400, 0.0, 3e-7 * (x - 400))


def test_a_line_with_a_corner_is_bent_to_follow_it() -> None:
    x = np.linspace(0.0, 1000.0, 2001)
    bent = drift.bend(x, curve(x), 1e-6)
    assert bent is not None
    assert np.max(np.abs(bent.at(x) - curve(x))) < 2e-6
    assert bent.range() == pytest.approx(3e-7, rel=0.15)


def test_a_bend_goes_straight_on_beyond_its_outer_knots() -> None:
    x = np.linspace(0.0, 1000.0, 2001)
    bent = drift.bend(x, curve(x), 1e-6)
    assert bent is not None
    beyond = bent.at(np.array([1000.0, 1100.0, 1200.0]))
    assert np.diff(beyond) == pytest.approx([3e-5, 3e-5], rel=0.02)


def test_points_within_half_a_resolution_need_no_bend() -> None:
    x = np.linspace(0.0, 1000.0, 2001)
    steps = np.where(x < 500, 4e-7, -4e-7)
    assert drift.bend(x, steps, 1e-6) is None


def test_noise_is_that_of_neighbours_and_not_of_the_curve() -> None:
    rng = np.random.default_rng(3)
    noise_s = rng.normal(0.0, 5e-6, 20_000)
    slow_s = 1e-3 * np.sin(np.linspace(0.0, 3.0, 20_000))
    assert drift.noise_s(noise_s + slow_s, 1e-9) == pytest.approx(5e-6, rel=0.05)
    assert drift.noise_s(np.zeros(10), 1e-6) == pytest.approx(1e-6 / 12**0.5)
