# SPDX-License-Identifier: Apache-2.0
"""Corrections of a calibration, its dates, and the hash that finds a changed file."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from rig.errors import ConfigError
from rig.uncertainty.calibration import (
    Correction,
    InstrumentCalibration,
    hash_of,
    refuse_changed,
    refuse_past,
)

ROWS = (Correction(1e-3, 2.0, 1e-4), Correction(1.0, 0.5, -0.01))


def content(**changed: str) -> dict[str, Any]:
    table = {"kind": "k", "made": "2026-11-27", "valid_until": "2027-11-27"}
    return {"clock_ppm": 5.0, "calibration": table | changed}


def test_a_reading_has_the_correction_of_the_range_that_it_lies_in() -> None:
    calibration = InstrumentCalibration(correction=ROWS)
    readings_a = np.array([5e-4, -5e-4, 1e-3, 0.1, -0.1, 3.0])
    corrected_a = calibration.corrected_a(readings_a)
    due_a = [8e-4, -1.2e-3, 1.8e-3, 0.055, -0.045, 1.505]
    assert calibration.corrects
    assert corrected_a.tolist() == pytest.approx(due_a)


@pytest.mark.parametrize(
    ("row", "corrects"),
    [
        (Correction(1.0, 1.0), False),
        (Correction(1.0, 1.0, -1e-9), True),
        (Correction(1.0, 0.999), True),
    ],
)
def test_factors_of_one_and_zeros_of_zero_change_no_reading(
    row: Correction, corrects: bool
) -> None:
    calibration = InstrumentCalibration(correction=(row,))
    readings_a = np.array([0.25, -0.5])
    unchanged = calibration.corrected_a(readings_a).tolist() == readings_a.tolist()
    assert calibration.corrects == corrects
    assert unchanged == (not corrects)


def test_the_hash_is_of_all_content_but_itself() -> None:
    known = hash_of(content())
    assert hash_of(content(sha256="any")) == known
    others = [content(kind="l"), content(valid_until="2028-11-27")]
    others.append(content() | {"clock_ppm": 6.0})
    assert len({known, *map(hash_of, others)}) == 4


def test_a_changed_file_is_refused_and_one_without_a_hash_is_not() -> None:
    known = hash_of(content())
    refuse_changed(content(sha256=known), "c.toml")
    refuse_changed(content(), "c.toml")
    refuse_changed({"clock_ppm": 5.0}, "c.toml")
    with pytest.raises(ConfigError, match=r"c\.toml is not as rig monitor check wrote"):
        refuse_changed(content(sha256=known, valid_until="2028-11-27"), "c.toml")


def test_a_calibration_holds_up_to_its_last_day() -> None:
    calibration = InstrumentCalibration(made="2026-11-27", valid_until="2027-11-27")
    last = datetime.date(2027, 11, 27)
    refuse_past(calibration, "c.toml", last)
    with pytest.raises(ConfigError, match="past its date"):
        refuse_past(calibration, "c.toml", last + datetime.timedelta(days=1))
    refuse_past(InstrumentCalibration(), "c.toml", last)
    assert calibration.name == "calibration of 2026-11-27"
    assert InstrumentCalibration().name == ""


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_a_date_or_a_factor_that_is_none_is_refused(factor: float) -> None:
    with pytest.raises(ConfigError, match="a factor is 0"):
        InstrumentCalibration(correction=(Correction(1.0, factor),))
    with pytest.raises(ConfigError, match="no date"):
        InstrumentCalibration(made="27 November")
