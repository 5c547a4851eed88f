# SPDX-License-Identifier: Apache-2.0
"""Whether a metric is the same quantity in two sessions, or why it is not.

A difference of energies needs one supply: instruments of two kinds, such as a shunt in
a board's supply and a processor's own counter, measure one only where both bench files
say so. Simulated times and energies compare two programs on one system, and systems
not at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from rig.model.origin import Origin
from rig.results import origins
from rig.results.document import Results

#: The key of [metadata] that names the components that the measured supply feeds.
COMPONENTS = "components_included"


def obstacle(one: Results, other: Results, unit: str) -> str:
    """Return why a metric of two sessions cannot be compared; empty where it can."""
    if one.task != other.task:
        return _differ("tasks", (one.task, other.task))
    if one.scenario != other.scenario:
        return _differ("scenarios", (one.scenario, other.scenario))
    if one.data.source != other.data.source:
        return _differ("data", (one.data.source, other.data.source))
    times, energies = _quantities(unit)
    found = [
        each.origins or origins.of_facts(each.provenance.stored)
        for each in (one, other)
    ]
    if times and found[0].time is not found[1].time:
        return _differ("origins of the times", [each.time.value for each in found])
    if times and found[0].time is Origin.SIMULATED and one.sut != other.sut:
        return _differ("simulated systems", (one.sut, other.sut))
    return _of_energies(one, other, found) if energies else ""


def facts(results: Results) -> tuple[str, ...]:
    """Return all that `obstacle` compares: between sessions with equal facts it finds
    none.
    """
    found = results.origins or origins.of_facts(results.provenance.stored)
    fed = results.provenance.metadata.get(COMPONENTS)
    origin = str(found)
    place = (results.task, results.scenario, results.data.source, results.sut)
    return (*place, origin, _kinds(results), str(fed))


def _of_energies(
    one: Results, other: Results, found: Iterable[origins.SessionOrigins]
) -> str:
    sources = [each.energy.value if each.energy else "none" for each in found]
    if sources[0] != sources[1]:
        return _differ("origins of the energies", sources)
    if sources[0] == Origin.SIMULATED.value and one.sut != other.sut:
        return _differ("systems with simulated energies", (one.sut, other.sut))
    kinds = [_kinds(each) for each in (one, other)]
    if kinds[0] == kinds[1]:
        return ""
    fed = [each.provenance.metadata.get(COMPONENTS) for each in (one, other)]
    if fed[0] and fed[0] == fed[1]:
        return ""
    return f"{_differ('monitors', kinds)}, and not both state one {COMPONENTS}"


def _kinds(results: Results) -> str:
    """Return the kinds of the monitors of a session."""
    return ", ".join(sorted(info.kind for info in results.provenance.monitors.values()))


def _quantities(unit: str) -> tuple[bool, bool]:
    """Return whether a unit is made of a time, and of an energy."""
    parts = unit.split("/")
    energies = any(part in ("J", "W", "A", "V", "C") for part in parts)
    return "s" in parts and unit != "s/s", energies


def _differ(subject: str, values: Iterable[str]) -> str:
    one, other = (value or "none" for value in values)
    return f"the {subject} differ: {one}; {other}"
