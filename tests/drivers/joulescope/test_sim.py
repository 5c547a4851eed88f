# SPDX-License-Identifier: Apache-2.0
"""The simulated Joulescope driver takes no call that the maker's library refuses."""

from __future__ import annotations

import pytest

from drivers.joulescope.sim.simulator import SimulatedDriver
from tests.contracts import described, lacking, looser

pytest.importorskip(
    "pyjoulescope_driver", reason="the maker's library is not installed"
)
#: Methods that the monitor calls; `attached` is the hand at the cable, which no library
#: has.
CALLS = [
    name for name in described(SimulatedDriver)["attributes"] if name != "attached"
]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_the_library_refuses_is_refused(name: str) -> None:
    from pyjoulescope_driver import Driver

    assert (
        looser(getattr(SimulatedDriver, name), described(getattr(Driver, name))) == []
    )


def test_what_is_used_of_a_driver_is_there() -> None:
    from pyjoulescope_driver import Driver

    assert lacking(SimulatedDriver, described(Driver), tuple(CALLS)) == []
    assert {"open", "publish", "query", "subscribe", "finalize"} <= set(CALLS)
