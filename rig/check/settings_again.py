# SPDX-License-Identifier: Apache-2.0
"""Parts of the provenance that repeat the bench file, computed once more: metadata, and
the facts on device and instruments that settings determine.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig.bench import own_calibration, plugins
from rig.bench.config import Config, PluginChoice
from rig.check.reasons import cannot
from rig.check.versions import is_this_revision, is_this_version, shared_numbers
from rig.check.written_again import difference_of
from rig.errors import RigError
from rig.files import typed
from rig.model.finding import Finding
from rig.store.provenance_file import Provenance
from rig.store.session_folder import CALIBRATIONS, PROVENANCE
from rig.uncertainty import accuracy


def findings(config: Config, provenance: Provenance, folder: Path) -> Iterator[Finding]:
    """Yield where the provenance differs from the bench file, and which facts cannot be
    computed; `folder` is that of the session.
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
            yield from _of_calibration(name, choice, provenance, rail, folder)
            yield from _of_part("monitor", choice, name, provenance, rail)


def _of_calibration(
    name: str, choice: PluginChoice, told: Provenance, rail: str, folder: Path
) -> Iterator[Finding]:
    """Compare the limits of error of a monitor with the calibration file that the
    session kept.
    """
    calibration = getattr(choice.settings, "calibration", "")
    if not calibration:
        return
    kept = f"{CALIBRATIONS}/{own_calibration.kept_name(rail)}"
    if not (folder / kept).exists():
        said = (
            f"{name}: its limits of error are those of {calibration!r:.80} and are not"
            f" checked: the session has no copy of it ({kept})"
        )
        yield Finding(PROVENANCE, True, said)
        return
    created = datetime.date.fromisoformat(told.created_utc[:10])
    try:
        again = accuracy.load(folder / kept, created)
    except RigError as error:
        yield Finding(kept, False, cannot(name, error))
        return
    used = told.monitors[rail].accuracy
    for part in ("current", "voltage", "distribution", "source", "calibration"):
        if getattr(again, part) != getattr(used, part):
            yield Finding(PROVENANCE, False, f"{name}: {part} is not as {kept} has it")


def _of_part(
    section: str, choice: PluginChoice, name: str, told: Provenance, rail: str = ""
) -> Iterator[Finding]:
    """Compare the info of a part with what its settings make of it, also where another
    version of the rig wrote it: as far as that can be compared.
    """
    info: Any = told.sut if section == "sut" else told.monitors[rail]
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
