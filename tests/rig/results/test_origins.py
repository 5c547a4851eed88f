# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a session are: measured, the board's own, modelled or simulated."""

from __future__ import annotations

from itertools import product

import pytest

from rig.model.origin import Origin, Origins
from rig.results import labels, origins

MEASURED, OWN, MODELLED, SIMULATED = Origin


@pytest.mark.parametrize(
    ("sut", "monitor", "time", "energy"),
    [
        ({"simulated": False}, {"simulated": False}, MEASURED, MEASURED),
        ({"simulated": False}, {"simulated": False, "origin": OWN}, MEASURED, OWN),
        ({"simulated": False}, {"simulated": True}, MEASURED, SIMULATED),
        # A simulator beside a true counter: that energy is no device's.
        ({"simulated": True}, {"simulated": False, "origin": OWN}, SIMULATED, SIMULATED),
        (
            {"simulated": False, "origins": {"time": "measured", "energy": "modelled"}},
            {"simulated": False},
            MEASURED,
            MODELLED,
        ),
        ({"simulated": False}, None, MEASURED, None),
        ("nonsense", {"origin": ["measured"]}, MEASURED, MEASURED),
    ],
)
def test_an_energy_is_what_its_weakest_part_is(
    sut: object, monitor: object, time: Origin, energy: Origin | None
) -> None:
    facts = {"sut": sut, "monitors": {} if monitor is None else {"": monitor}}
    assert origins.of_facts(facts) == origins.SessionOrigins(time, energy)


def test_several_rails_are_together_what_the_weakest_is() -> None:
    for one, other in product(Origin, Origin):
        found = origins.of_parts((False, Origins()), [(False, one), (False, other)])
        assert found.energy is max(one, other, key=list(Origin).index)


def test_what_is_neither_measured_nor_simulated_has_a_label() -> None:
    facts = {
        "sut": {"simulated": False, "origins": {"time": "modelled", "energy": "measured"}},
        "monitors": {"": {"simulated": False, "origin": "board's own sensor"}},
        "task": {"official": True, "source": "folder"},
    }
    texts = [label.text for label in labels.of_provenance(facts)]
    assert texts == ["TIME: MODELLED", "ENERGY: BOARD'S OWN SENSOR"]
