# SPDX-License-Identifier: Apache-2.0
"""Locks of open files, which keep processes from writing the same file.

Some network folders have no locks. There every process gets one: the session is
measured, and its user must ensure that no second process writes it.
"""

from __future__ import annotations

import errno
import sys
from typing import IO, Any

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def take(stream: IO[Any], *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; return False where another process has it.

    Raise OSError for any other failure than a file system without locks.
    """
    # Windows locks a file by opening it for writing.
    if sys.platform == "win32":
        return True
    import fcntl

    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(stream, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True
