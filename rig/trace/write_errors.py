# SPDX-License-Identifier: Apache-2.0
"""Write errors of the trace library, read from its log: its thread reports them in no
other way."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_LOGGER = "pyjls.c"
#: What pyjls 0.17 logs of a write that failed (src/backend_posix.c), with errno, and of
#: what its thread could not do.
_WRITE_FAILED = re.compile(r"write failed (\d+)|thread msg .* returned ")
#: It says so of reading, too; what follows it tells which.
_CUT_SHORT = re.compile(r"write mismatch (\d+) != (\d+)")


class WriteLog(logging.Handler):
    """Listener to pyjls's log: a thread of the library writes, and reports its errors
    only there.

    Samples that it could not write are filled in later, with NaN or zeros, so that the
    file looks whole. No message names its file: of several traces that are open, one
    that cannot be written ends all.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failed = ""
        self.errno = 0
        self._closing = 0
        self._short = ""
        logger = logging.getLogger(_LOGGER)
        # as logging.config leaves loggers that its user did not name
        logger.disabled = False
        logger.addHandler(self)

    @contextmanager
    def of_this_thread(self) -> Iterator[None]:
        """Take every error of the calling thread for one of writing: while a file is
        closed, that writes.
        """
        self._closing = threading.get_ident()
        try:
            yield
        finally:
            self._closing = 0

    def end(self) -> None:
        """Hear no more."""
        logging.getLogger(_LOGGER).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log; the first that counts is the cause of all
        others."""
        message = record.getMessage()
        if short := _CUT_SHORT.match(message):
            self._short = f"the disk took {short[1]} of {short[2]} bytes"
        match = _WRITE_FAILED.match(message)
        if self.failed or not (
            match
            or (record.thread == self._closing and record.levelno >= logging.ERROR)
        ):
            return
        if match and match[1]:
            self.errno = int(match[1])
            self._short = os.strerror(self.errno)
        self.failed = f"{self._short or 'a write failed'} (pyjls: {message})"


def failed() -> WriteLog | None:
    """Return a listener that heard of a failed write; None where none did."""
    heard = logging.getLogger(_LOGGER).handlers
    return next(
        (each for each in heard if isinstance(each, WriteLog) and each.failed), None
    )


@contextmanager
def completed(writer: Any, log: WriteLog) -> Iterator[None]:
    """Complete a file within, and close it afterwards, also where a call of the library
    raises, as those of pyjls 0.19 do: else it closes the file when the process ends,
    with a message."""
    try:
        yield
    except BaseException:
        with suppress(RuntimeError):
            writer.close()
        raise
    with log.of_this_thread():
        writer.close()
