# SPDX-License-Identifier: Apache-2.0
"""Locks of open files, by which processes keep out of each other's way.

Some network folders know no locks. There every process gets one: a session is measured,
and only its user sees to it that no second process writes it.
"""

from __future__ import annotations

import errno
import sys
from typing import IO, Any

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def take(stream: IO[Any], *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; return False where another process has it.

    OSError where the system says anything else but that it knows no locks.
    """
    # where a file that is open for writing is locked by that
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
