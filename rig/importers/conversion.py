# SPDX-License-Identifier: Apache-2.0
"""The trace of the rig's own that a file of another program is converted into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.importers.opened import Opened
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The trace of the file `name`, as its writer takes it, in a folder of `scratch`.

    `sync` is how edges come (rig/trace/writer.py), `edge_hz` their resolution: that of
    the samples where it is 0.
    """

    name: str
    scratch: Path
    sample_hz: float
    source: str
    sync: str
    edge_hz: float = 0.0
    serial: str = ""
    simulated: bool = False

    @property
    def about(self) -> dict[str, Any]:
        """Metadata of the trace."""
        return {"converted_from": self.name, "simulated": self.simulated}

    @property
    def folder(self) -> Path:
        """Folder of the trace."""
        return self.scratch / "converted"

    def writer(self) -> TraceWriter:
        """Begin the trace."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return TraceWriter(
            self.folder,
            sample_hz=self.sample_hz,
            edge_hz=self.edge_hz or self.sample_hz,
            source=self.source,
            serial=self.serial,
            about=self.about,
            sync_kind=self.sync,
        )

    def opened(self, origin: str, notes: Sequence[str], **more: Any) -> Opened:
        """Open the trace that was written; `more` are other fields of Opened."""
        trace = Trace.open(self.folder / TRACE)
        about = self.about | {"sync": self.sync}
        return Opened(trace, origin, tuple(notes), about=about, **more)
