# SPDX-License-Identifier: Apache-2.0
"""The complexity of a session's network, as its provenance states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rig.network.complexity_text import Complexity

#: The key in what provenance.json says of the task.
KEY = "complexity"
#: A network without time has none.
_RATE = "execution_rate_hz"


def of_facts(provenance: Mapping[str, Any]) -> Complexity | None:
    """Read it from a provenance as far as possible; None where it is not there."""
    task = provenance.get("task")
    stated = task.get(KEY) if isinstance(task, Mapping) else None
    if not isinstance(stated, Mapping):
        return None
    numbers = {field.name: stated.get(field.name) for field in fields(Complexity)}
    needed = {name: value for name, value in numbers.items() if name != _RATE}
    if not all(isinstance(value, int | float) for value in needed.values()):
        return None
    if not isinstance(numbers[_RATE], int | float | None):
        return None
    return Complexity(**numbers)  # type: ignore[arg-type]
