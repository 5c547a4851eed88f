# SPDX-License-Identifier: Apache-2.0
"""Coverage factors of several comparisons, against printed tables of Student's t and of
the normal distribution.
"""

from __future__ import annotations

import pytest

from rig.stats import simultaneous

#: t(0.975), t(0.995) and t(0.9975) of so many degrees of freedom, as printed tables have
#: them: one comparison, five and ten.
STUDENT = {
    4: (2.776, 4.604, 5.598),
    10: (2.228, 3.169, 3.581),
    30: (2.042, 2.750, 3.030),
}
NORMAL = (1.960, 2.576, 2.807)


def test_all_of_several_comparisons_share_the_chance_of_an_error() -> None:
    levels = [simultaneous.level(count) for count in (1, 2, 5, 50)]
    assert levels == pytest.approx([0.95, 0.975, 0.99, 0.999])


@pytest.mark.parametrize("factors", STUDENT.values(), ids=STUDENT)
def test_a_factor_of_few_trials_widens_as_student_s_t_does(
    factors: tuple[float, float, float],
) -> None:
    one, five, ten = factors
    assert simultaneous.factor(one, 1) == one
    # The table has three decimals, from which the degrees of freedom are found again.
    assert simultaneous.factor(one, 5) == pytest.approx(five, rel=2e-3)
    assert simultaneous.factor(one, 10) == pytest.approx(ten, rel=2e-3)


def test_a_factor_of_a_short_tail_widens_as_the_normal_distribution_does() -> None:
    one, five, ten = NORMAL
    assert simultaneous.factor(one, 5) == pytest.approx(five, rel=5e-4)
    assert simultaneous.factor(1.65, 5) == pytest.approx(1.65 * five / one, rel=5e-4)
    assert simultaneous.factor(1.65, 10) == pytest.approx(1.65 * ten / one, rel=5e-4)
