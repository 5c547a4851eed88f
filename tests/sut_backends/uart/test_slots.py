# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from rig.errors import LocalProtocolError
from sut_backends.uart.slots import SlotMap


def load(slots: SlotMap, index: int) -> int:
    slot = slots.take(index)
    slots.keep(slot, index)
    return slot


def test_the_least_recently_used_slot_is_taken() -> None:
    slots = SlotMap(2)
    assert [load(slots, 10), load(slots, 11)] == [0, 1]
    assert slots.find(10) == 0
    assert load(slots, 12) == 1
    assert slots.find(10) == 0


def test_a_sample_is_loaded_again_into_its_own_slot() -> None:
    slots = SlotMap(3)
    load(slots, 5)
    load(slots, 6)
    assert load(slots, 5) == 0


def test_a_missing_sample_and_one_whose_load_failed_are_named() -> None:
    slots = SlotMap(1)
    with pytest.raises(LocalProtocolError, match="sample 3 is not loaded"):
        slots.find(3)
    load(slots, 3)
    slots.take(4)
    with pytest.raises(LocalProtocolError, match="sample 3"):
        slots.find(3)
