# SPDX-License-Identifier: Apache-2.0
"""The uncertainty of a mean voltage is the part that it has in an energy."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from rig.trace.integral import EndPower, Integral
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.mean_voltage import mean_voltage_u_v
from rig.uncertainty.window_effects import of_energy

pytestmark = pytest.mark.computes

HZ = 1000.0
EXACT = (Range(10.0, 0.0, 0.0),)
TWO = (
    Range(2.0, 0.001, 0.002, noise=0.01, lsb=0.015),
    Range(15.0, 0.01, 0.02, noise=0.01, lsb=0.05, lsb_relative=0.02),
)


def constant(volt: float, seconds: float) -> Integral:
    """Return the integral of a constant voltage at a current of 1 A."""
    end = EndPower(volt, volt)
    return Integral(
        start_s=0.0,
        stop_s=seconds,
        energy_j=volt * seconds,
        charge_c=seconds,
        least_w=volt,
        most_w=volt,
        ends=(end, end),
        range_energy_j=(volt * seconds,),
        range_charge_c=(seconds,),
        range_volt_s=(volt * seconds,),
    )


@pytest.mark.parametrize("distribution", ["rectangular", "normal"])
@pytest.mark.parametrize("volt", [1.8, 2.0, 3.3, 12.0])
def test_at_an_exact_current_it_is_that_of_the_energy(
    volt: float, distribution: str
) -> None:
    accuracy = Accuracy(EXACT, TWO, 0.0, "test", distribution=distribution)
    seconds = 0.25
    energy_u_j = of_energy(constant(volt, seconds), accuracy, HZ, (0.0, 0.0)).energy_u_j
    result = mean_voltage_u_v(volt, seconds * HZ, accuracy)
    assert result == pytest.approx(energy_u_j / seconds, rel=1e-9)


def test_lost_samples_add_what_they_may_change() -> None:
    accuracy = Accuracy(EXACT, (Range(10.0, 0.0, 0.003),), 0.0, "test")
    result = mean_voltage_u_v(3.0, 100.0, accuracy, lost_v=0.01)
    assert result == pytest.approx(math.hypot(0.003 / math.sqrt(3), 0.01 / 12**0.5))


def test_beyond_the_ranges_there_is_none() -> None:
    accuracy = Accuracy(EXACT, TWO, 0.0, "test")
    assert mean_voltage_u_v(15.0 * (1 + 1e-9), 1.0, accuracy) is not None
    assert mean_voltage_u_v(15.1, 1.0, accuracy) is None
    assert mean_voltage_u_v(math.nan, 1.0, accuracy) is None
    one = replace(accuracy, voltage=(Range(1.0, 0.5, 0.0),))
    assert mean_voltage_u_v(-0.5, 1.0, one) == pytest.approx(0.25 / math.sqrt(3))
