# SPDX-License-Identifier: Apache-2.0
"""Numbers for people have no powers of ten in them, and an uncertainty larger than its
value is as easy to read.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.units import ends, plural, quantity, share


@pytest.mark.parametrize(
    ("value", "unit", "error", "text"),
    [
        (0.002516, "J", 3e-6, "2.5160 ± 0.0030 mJ"),
        (0.0118840004, "s", 0.57e-6, "11.88400 ± 0.00057 ms"),
        (0.010, "W", 0.0892e-3, "10.000 ± 0.089 mW"),
        (978.83e-6, "J", 0.999e-6, "978.8 ± 1.0 µJ"),
        (0.95, "1", 0.0821, "0.950 ± 0.082"),
        (-130.1e-9, "W", 16.4e-6, "0 ± 16 µW"),
        (593.7e-6, "J", 144e-6, "590 ± 140 µJ"),
        (0.0, "W", 12e-6, "0 ± 12 µW"),
        (1.0, "1", 0.0, "1 ± 0"),
        (0.018, "s", None, "18 ms"),
        (None, "W", None, "-"),
        (2.0371e-18, "V", None, "0 V"),
        (-3e-20, "J", 2e-19, "0 ± 0 J"),
        (2e-15, "J", None, "0.002 pJ"),
        (3.8980e-2, "C", 9.1e-5, "38.980 ± 0.091 mC"),
    ],
)
def test_a_quantity_has_the_prefix_of_the_larger_of_value_and_uncertainty(
    value: float | None, unit: str, error: float | None, text: str
) -> None:
    assert quantity(value, unit, error) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0012, "0.12 %"),
        (48e-6, "48 ppm"),
        (99.9e-6, "100 ppm"),
        (17.3, "1700 %"),
        (5.2e6, ">10000 %"),
        (1e-7, "<1 ppm"),
        (0.0, "0"),
        (None, "-"),
    ],
)
def test_a_share_has_two_digits_and_no_power_of_ten(
    value: float | None, text: str
) -> None:
    assert share(value) == text


@given(
    st.sampled_from(["s", "W", "J", "A", "C", "V", "Hz"]),
    st.floats(-1e12, 1e12),
    st.none() | st.floats(0, 1e6),
)
def test_a_quantity_is_never_written_with_a_power_of_ten(
    unit: str, value: float, error: float | None
) -> None:
    text = quantity(value, unit, error)
    number, _, rest = text.partition(" ")
    assert "e" not in number and rest.endswith(unit)
    if error is None and abs(value) < 1e-15:
        assert text == f"0 {unit}"
    elif error is None:
        prefixes = {
            "p": 1e-12,
            "n": 1e-9,
            "µ": 1e-6,
            "m": 1e-3,
            "": 1,
            "k": 1e3,
            "M": 1e6,
            "G": 1e9,
        }
        shown = float(number) * prefixes[rest.removesuffix(unit)]
        assert shown == pytest.approx(value, rel=1e-3, abs=0)


def test_a_count_of_one_has_a_noun_in_the_singular() -> None:
    assert plural(1, "word") == "1 word"
    assert [plural(count, "trial") for count in (0, 2)] == ["0 trials", "2 trials"]


def test_an_interval_of_no_width_has_no_digits_of_its_rounding() -> None:
    value = -0.36333333333333334
    assert ends(-0.363333333, -0.363333333, value) == "-0.3633 to -0.3633"
    assert ends(value, value, value) == "-0.3633 to -0.3633"
    assert ends(0.0, 70.25, 70.0) == "0 to 70.25"
