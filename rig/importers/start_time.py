# SPDX-License-Identifier: Apache-2.0
"""When a trace began, in UTC, as its own file says."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rig.errors import DataError
from rig.importers.markers import TIME64_S, Marked, time_stamps
from rig.trace.trace import reading

#: JLS counts from 2018-01-01T00:00:00Z on.
_EPOCH_S = 1_514_764_800
_NS = 1_000_000_000
#: The rig's remark in an exported stretch: its stamps are those of the recording.
DATED = "dated"
_EXPORTED = "exported_from"


def started_ns(marked: Marked | None, about: Mapping[str, Any]) -> int | None:
    """Return when the first sample of a trace was taken, in nanoseconds since 1970 UTC
    by the clock of the host that recorded it; None where its file does not say so.
    """
    if marked is None or (_EXPORTED in about and not about.get(DATED)):
        return None
    with suppress(DataError), reading(marked.path) as reader:
        if len(time_stamps(reader, marked.signal)):
            stamp = int(reader.sample_id_to_timestamp(marked.signal, marked.first))
            return stamp * _NS // TIME64_S + _EPOCH_S * _NS
    return None
