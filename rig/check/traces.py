# SPDX-License-Identifier: Apache-2.0
"""The traces of a session against each other: a trial whose samples another has already
is no further measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

from rig.interfaces.monitor import MonitorInfo
from rig.model.finding import Finding
from rig.trace.fingerprint import Fingerprint

#: A monitor that plays one recording in every trial: the same samples are no forgery,
#: and no further measurement either.
_PLAYBACK = "playback"


def findings(
    session: Path,
    monitors: Mapping[str, MonitorInfo],
    traces: Mapping[int, Sequence[Path]],
    prints: Mapping[Path, Fingerprint],
    may_be_reduced: bool = False,
) -> Iterator[Finding]:
    """Yield the traces that are copies, those that contradict the provenance on being
    simulated, and those that lack samples which the bench file wants kept.
    """
    for (one, ones), (_, others) in combinations(traces.items(), 2):
        copies = []
        for early, late in product(ones, others):
            if prints[early].copies(prints[late]):
                copies.append(late)
        for late in dict.fromkeys(copies):
            name = str(late.relative_to(session))
            info = _info(late, monitors)
            if info is not None and info.kind == _PLAYBACK:
                said = (
                    f"plays the same recording as trial {one}: one measurement, not two"
                )
                yield Finding(name, True, said)
            else:
                said = (
                    f"holds the same samples as the trace of trial {one}: no instrument"
                    " gives them twice"
                )
                yield Finding(name, False, said)
    for path, found in prints.items():
        info = _info(path, monitors)
        told = None if info is None else info.simulated
        if found.simulated is not None and found.simulated is not told:
            said = f"says simulated {found.simulated}, provenance.json says {told}"
            yield Finding(str(path.relative_to(session)), False, said)
        if found.repeat is not None and (info is None or info.kind != _PLAYBACK):
            said = (
                f"holds a stretch twice, at samples {found.repeat.first} and "
                f"{found.repeat.second}: no instrument gives the same samples again"
            )
            yield Finding(str(path.relative_to(session)), False, said)
        if (
            found.reduced
            and not may_be_reduced
            and (info is None or info.kind != _PLAYBACK)
        ):
            said = (
                "keeps means in place of samples, and bench.toml has between_windows"
                " full"
            )
            yield Finding(str(path.relative_to(session)), False, said)


def _info(trace: Path, monitors: Mapping[str, MonitorInfo]) -> MonitorInfo | None:
    """Return the facts on the monitor of a trace in the provenance; the trace of a rail
    lies in a folder of its name.
    """
    return monitors.get(trace.parent.name, monitors.get(""))
