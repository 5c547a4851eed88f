# SPDX-License-Identifier: Apache-2.0
"""Base class of drivers of instruments, most at a serial port, that supply the DUT."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self

from drivers.stream_recording import StreamRecording
from rig.errors import BenchError, RigError
from rig.interfaces.context import BenchContext
from rig.interfaces.plugin_classes import Driver
from rig.model.need import Need, NeedKind

SIMULATOR = "simulator"
#: Section of docs/how-to/TROUBLESHOOTING.md of errors that say so themselves.
MAY_BE_ON = "supply-may-be-on"


@contextmanager
def closed_after_error(close: Callable[[], None]) -> Iterator[None]:
    """Close an instrument after an error; where that fails too, the first error stays
    the one to report, with a note.
    """
    try:
        yield
    except BaseException as error:
        try:
            close()
        except RigError as failure:
            if getattr(error, "see", "") != MAY_BE_ON:
                error.add_note(f"the supply may still be on: {failure.cause}")
        raise


class SerialInstrument(Driver, ABC):
    """One instrument at the `port` of its settings, or its simulator.

    `_stack` closes the port and the simulator. An instrument that has `_answered` is
    left with its supply off.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._answered = False
        self._recording: StreamRecording | None = None

    def _ready(self, stack: ExitStack) -> Self:
        """Set the instrument up and return it; it closes the contents of the stack,
        also after an error.
        """
        self._stack = stack.pop_all()
        with closed_after_error(self.close):
            self._set_up()
        return self

    @abstractmethod
    def _set_up(self) -> None:
        """Make all settings; the supply is off."""

    @abstractmethod
    def _switch(self, on: bool) -> None:
        """Switch the DUT's supply."""

    @abstractmethod
    def _leave_off(self) -> None:
        """Switch the supply off, and give the instrument back; raises BenchError where
        the instrument is there and does not switch off.
        """

    @staticmethod
    def needs(settings: Any, context: BenchContext) -> Sequence[Need]:
        """Return the port."""
        if settings.port == SIMULATOR:
            return ()
        return (Need(NeedKind.PORT, settings.port),)

    @staticmethod
    def simulates(settings: Any) -> bool:
        """Check whether the bench file names the simulator."""
        return bool(settings.port == SIMULATOR)

    def power(self, on: bool) -> None:
        """Switch the DUT's supply; raises BenchError during a recording, whose voltage
        would no longer be known, and where the instrument does not switch it.
        """
        if self._recording is not None and self._recording.running:
            raise BenchError(
                "the supply is switched between recordings only",
                try_next="leave the recording first",
            )
        self._switch(on)

    def close(self) -> None:
        """End a recording, leave the supply off and close the port; closing twice is
        allowed.

        Raises BenchError where the instrument is there and does not switch off.
        """
        with self._stack as stack:
            if self._answered:
                stack.callback(self._leave_off)
            self._answered = False
            if self._recording is not None:
                self._recording.end()
