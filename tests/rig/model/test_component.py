# SPDX-License-Identifier: Apache-2.0
"""The name of a component is read as it was composed, with any name of a
calibration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.model import component
from rig.model.component import Component

KINDS = (component.CURRENT_GAIN, component.CURRENT_OFFSET)
RAILS = st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True)


@given(
    kind=st.sampled_from(KINDS),
    calibration=st.text(max_size=12),
    up_to=st.sampled_from(("", "10 mA")),
    rail=RAILS,
)
def test_kind_and_rail_are_read_from_a_composed_name(
    kind: str, calibration: str, up_to: str, rail: str
) -> None:
    title = component.titled(kind, calibration, up_to)
    assert component.read(title) == Component("", kind)
    assert component.read(component.on_rail(title, rail)) == Component(rail, kind)


@pytest.mark.parametrize(
    ("name", "rail", "kind"),
    [
        ("current gain, Lab: of May to 10 mA", "", component.CURRENT_GAIN),
        ("core: steps, idle", "core", component.STEPS),
        ("core: clock", "core", component.CLOCK),
        ("device clock", "", "device clock"),
        ("edges", "", component.EDGES),
        ("edge delay", "", component.EDGE_DELAY),
        ("scatter of trials", "", "scatter of trials"),
    ],
)
def test_a_stored_name_is_read(name: str, rail: str, kind: str) -> None:
    assert component.read(name) == Component(rail, kind)
