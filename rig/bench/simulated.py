# SPDX-License-Identifier: Apache-2.0
"""Test whether a bench is simulated, and what its numbers are, by the kinds that its
file names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rig.bench import plugins
from rig.bench.config import Config, PluginChoice
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.plugin_classes import Backend, Driver
from rig.interfaces.sut import SutInfo
from rig.store.provenance_file import DeviceClock, Provenance


def is_simulated(section: str, choice: PluginChoice) -> bool:
    """Check whether a part of a bench is simulated; False where its settings do not
    say."""
    kind = plugins.find(section, choice.kind)
    return bool(kind.simulates(choice.settings))


def stated(config: Config) -> dict[str, Any]:
    """Return which parts of a bench are simulated, as far as its settings say, in the
    form of a provenance.
    """
    sut = is_simulated("sut", config.sut)
    rails = {
        rail: is_simulated("monitor", choice)
        for rail, choice in config.monitors.items()
    }
    monitors = {rail: {"simulated": is_one} for rail, is_one in rails.items()}
    return {
        "simulated": sut or any(rails.values()),
        "sut": {"simulated": sut},
        "monitors": monitors,
    }


def contradictions(config: Config, provenance: Provenance) -> Iterator[str]:
    """Yield the differences between provenance and bench file: kinds, rails, and their
    simulated parts.
    """
    sut = provenance.sut
    monitors = provenance.monitors
    yield from _of_part("sut", config.sut, "sut", sut)
    if list(monitors) != list(config.monitors):
        yield (
            f"its monitors are {', '.join(monitors) or 'one'}, those of bench.toml "
            f"{', '.join(config.monitors) or 'one'}"
        )
        return
    if config.no_monitor is not None:
        settings = config.no_monitor.settings
        due = DeviceClock(settings.clock_ppm, settings.clock_source)
        if provenance.device_clock != due:
            yield (
                f"device_clock is {str(provenance.device_clock)[:80]}, bench.toml has "
                f"{str(due)[:80]}"
            )
    for rail, choice in config.monitors.items():
        yield from _of_part(
            "monitor", choice, f"monitor {rail}".strip(), monitors[rail]
        )
    parts = [sut.simulated, *(info.simulated for info in monitors.values())]
    if provenance.simulated is not any(parts):
        yield f"simulated is {provenance.simulated!r}, its parts say {any(parts)!r}"


def _of_part(
    section: str, choice: PluginChoice, name: str, info: SutInfo | MonitorInfo
) -> Iterator[str]:
    if info.kind != choice.kind:
        yield f"{name} is of kind {info.kind!r}, bench.toml names {choice.kind!r}"
    kind = plugins.find(section, choice.kind)
    due = kind.simulates(choice.settings)
    stated: object = info.origins if isinstance(info, SutInfo) else info.origin
    origins = _origins_due(kind, choice.settings)
    if stated != origins:
        yield (
            f"{name}: its origins are {stated}, for [{section}.{choice.kind}] so set"
            f" {origins}"
        )
    if due not in (None, info.simulated):
        yield (
            f"{name}: simulated is {info.simulated!r}, for [{section}.{choice.kind}] so"
            f" set it is {due!r}"
        )


def _origins_due(kind: type[Backend] | type[Driver], settings: Any) -> object:
    if issubclass(kind, Backend):
        return kind.origins(settings)
    return kind.origin(settings)
