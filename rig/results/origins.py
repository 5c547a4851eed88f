# SPDX-License-Identifier: Apache-2.0
"""The origins of a session's times and energies: each that of the weakest part of its
chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import HOST_CLOCK
from rig.model.origin import Origin, Origins, of_part, weakest


@dataclass(frozen=True, slots=True)
class SessionOrigins:
    """The origins of the times of a session, and of its energies; None where there is
    no monitor.
    """

    time: Origin
    energy: Origin | None

    def __str__(self) -> str:
        energies = "no energies" if self.energy is None else f"energies: {self.energy}"
        return f"times: {self.time}; {energies}"


def of_parts(
    sut: tuple[bool, Origins | None], monitors: list[tuple[bool, Origin | None]]
) -> SessionOrigins:
    """Derive the origins from device and monitors: whether they are simulated, and more
    where they state it.
    """
    simulated, stated = sut
    device = stated or Origins(of_part(simulated), of_part(simulated))
    energies = [origin or of_part(unreal) for unreal, origin in monitors]
    return SessionOrigins(
        time=device.time,
        energy=weakest([device.energy, *energies]) if monitors else None,
    )


def of_facts(provenance: Mapping[str, Any]) -> SessionOrigins:
    """Derive the origins from a provenance, of a damaged one as far as it can be
    read.
    """
    sut = provenance.get("sut")
    monitors = provenance.get("monitors")
    rails = list(monitors.values()) if isinstance(monitors, Mapping) else []
    of_sut = (_simulated(sut), _origins(_key(sut, "origins")))
    of_rails = [(_simulated(info), _origin(_key(info, "origin"))) for info in rails]
    return of_parts(of_sut, of_rails)


def times_of_host_simulator(provenance: Mapping[str, Any]) -> bool:
    """Check whether the times of a session are the running times of a simulator on a
    host, from a provenance as far as it can be read; SutInfo.times_of_host_simulator
    has the rule.
    """
    on_host = _key(provenance.get("sut"), "clock") == HOST_CLOCK
    return on_host and of_facts(provenance).time is Origin.SIMULATED


def _simulated(info: Any) -> bool:
    return bool(_key(info, "simulated"))


def _origins(stated: Any) -> Origins | None:
    time = _origin(_key(stated, "time"))
    energy = _origin(_key(stated, "energy"))
    return None if time is None or energy is None else Origins(time, energy)


def _origin(stated: Any) -> Origin | None:
    return Origin(stated) if stated in list(Origin) else None


def _key(info: Any, name: str) -> Any:
    return info.get(name) if isinstance(info, Mapping) else None


def played_back(monitors: Mapping[str, MonitorInfo]) -> str:
    """Return the recording that a monitor plays back; empty where all of them measure.

    A session with it has times of one run and energies of another.
    """
    players = [info for info in monitors.values() if info.kind == "playback"]
    paths = [str(info.details.get("path", "a recording")) for info in players]
    return ", ".join(paths)
