# SPDX-License-Identifier: Apache-2.0
"""Origins of a session's numbers: measured, the board's own, modelled or simulated."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import pytest

from rig.interfaces.sut import SutInfo
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
        (
            {"simulated": True},
            {"simulated": False, "origin": OWN},
            SIMULATED,
            SIMULATED,
        ),
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
    for item, other in product(Origin, Origin):
        result = origins.of_parts((False, Origins()), [(False, item), (False, other)])
        assert result.energy is max(item, other, key=list(Origin).index)


def test_what_is_neither_measured_nor_simulated_has_a_label() -> None:
    facts = {
        "sut": {
            "simulated": False,
            "origins": {"time": "modelled", "energy": "measured"},
        },
        "monitors": {"": {"simulated": False, "origin": "board's own sensor"}},
        "task": {"official": True, "source": "folder"},
    }
    texts = [label.text for label in labels.of_provenance(facts)]
    assert texts == ["TIME: MODELLED", "ENERGY: BOARD'S OWN SENSOR"]


@pytest.mark.parametrize(
    ("simulated", "stated", "clock", "due"),
    [
        # XyloSim and Lava on a processor: the host's clock, of a simulator.
        (True, Origins(SIMULATED, SIMULATED), "CLOCK_MONOTONIC", True),
        (True, None, "CLOCK_MONOTONIC", True),
        # An emulator in virtual time, and the virtual device: a clock of their own.
        (True, None, "", False),
        (True, Origins(SIMULATED, SIMULATED), "", False),
        # A program whose system under test is the host, also beside a simulated
        # monitor.
        (False, None, "CLOCK_MONOTONIC", False),
        # A board whose times the host counts, and Loihi 2.
        (False, Origins(MEASURED, OWN), "CLOCK_MONOTONIC", False),
        (False, Origins(MODELLED, MODELLED), "CLOCK_MONOTONIC", False),
    ],
)
def test_a_simulators_time_on_the_host_is_distinguished_from_virtual_time_and_from_a_programs(
    simulated: bool, stated: Origins | None, clock: str, due: bool
) -> None:
    sut = SutInfo("", "some", simulated, 1, "any", clock=clock, origins=stated)
    assert sut.times_of_host_simulator is due
    assert origins.times_of_host_simulator({"sut": asdict(sut), "monitors": {}}) is due


def test_a_damaged_provenance_makes_no_statement_about_a_simulator() -> None:
    for facts in (
        {},
        {"sut": None},
        {"sut": {"clock": ["CLOCK_MONOTONIC"], "simulated": True}},
    ):
        assert origins.times_of_host_simulator(facts) is False
