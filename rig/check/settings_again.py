# SPDX-License-Identifier: Apache-2.0
"""Parts of the provenance that repeat the bench file, computed once more: metadata, and
the facts on device and instruments that settings determine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from rig.bench import plugins
from rig.bench.config import Config, PluginChoice
from rig.check.reasons import cannot
from rig.check.versions import is_this_revision, is_this_version, shared_numbers
from rig.check.written_again import difference_of
from rig.files import typed
from rig.model.finding import Finding
from rig.store.provenance_file import Provenance
from rig.store.session_folder import PROVENANCE


def findings(config: Config, provenance: Provenance) -> Iterator[Finding]:
    """Yield where the provenance differs from the bench file, and which facts cannot be
    computed.
    """
    metadata = typed.to_json(config.metadata)
    if text := difference_of(provenance.metadata, metadata):
        yield Finding(PROVENANCE, False, f"metadata, from bench.toml: {text}")
    if config.no_monitor is None and provenance.device_clock is not None:
        yield Finding(
            PROVENANCE, False, "has a device_clock, and bench.toml has a monitor"
        )
    yield from _of_part("sut", config.sut, "sut", provenance)
    for rail, choice in config.monitors.items():
        if rail in provenance.monitors:
            name = f"monitor {rail}".strip()
            yield from _of_part("monitor", choice, name, provenance, rail)


def _of_part(
    section: str, choice: PluginChoice, name: str, told: Provenance, rail: str = ""
) -> Iterator[Finding]:
    """Compare the info of a part with what its settings make of it, also where another
    version of the rig wrote it: as far as that can be compared.
    """
    info: Any = told.sut if section == "sut" else told.monitors[rail]
    if calibration := getattr(choice.settings, "calibration", ""):
        said = (
            f"{name}: its limits of error are those of {calibration!r:.80}, not at hand"
        )
        yield Finding(PROVENANCE, True, said)
    kind = plugins.find(section, choice.kind)
    if not plugins.speaks_for(kind, "restated", "info"):
        return
    try:
        again = kind.restated(choice.settings, info)
    except Exception as error:
        yield Finding(PROVENANCE, False, cannot(name, error))
        return
    stored, due = (typed.to_json(dataclasses.asdict(one)) for one in (info, again))
    if not is_this_revision(told):
        stored, due = shared_numbers(stored, due)
    if text := difference_of(stored, due):
        own = is_this_version(told)
        by = "" if own else f"by another version of the rig ({told.neurorig}), "
        yield Finding(PROVENANCE, not own, f"{name}, {by}from bench.toml: {text}")
