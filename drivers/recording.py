# SPDX-License-Identifier: Apache-2.0
"""Base class of the recordings of drivers: a thread appends samples to a trace."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from rig.errors import storage_error
from rig.interfaces.monitor import MonitorInfo
from rig.trace.writer import TraceWriter


def trace_writer(
    folder: Path, info: MonitorInfo, about: dict[str, Any], corrected: bool = False
) -> TraceWriter:
    """Open the trace of a monitor in a folder, with remarks about the recording; its
    readings are corrected by the monitor's calibration where the driver has not done
    that.
    """
    calibration = None if corrected else info.accuracy.calibration
    return TraceWriter(
        folder,
        sample_hz=info.sample_hz,
        edge_hz=info.edge_hz,
        source=info.name,
        serial=info.serial,
        about={"monitor": info.kind, "simulated": info.simulated, **about},
        sync_kind=info.sync,
        correct=calibration.corrected_a if calibration else None,
    )


class ThreadRecording(ABC):
    """A recording whose thread does `_record`; `_leave` ends it and closes the trace.

    An error of the thread is kept; `check` raises it, and so does a recording that is
    left without another error.
    """

    def __init__(self, folder: Path, thread_name: str) -> None:
        self._folder = folder
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=thread_name)

    def check(self) -> None:
        """Raise what went wrong in the recording so far."""
        if self._failure is not None:
            raise self._failure

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._leave(kind)
        if kind is None:
            self.check()

    @abstractmethod
    def _leave(self, kind: type[BaseException] | None) -> None:
        """End the thread and close the trace; `kind` is that of an error, if any."""

    @abstractmethod
    def _record(self) -> None:
        """Append samples to the trace until the end of the recording."""

    def _work(self) -> None:
        try:
            self._record()
        except OSError as error:
            self._fail(storage_error(error, self._folder))
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Keep the error that ended the thread."""
        self._failure = error
