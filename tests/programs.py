# SPDX-License-Identifier: Apache-2.0
"""Programs that a test runs to their end."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LIMIT_S = 600.0


def captured(
    command: Sequence[str | Path],
    *,
    check: bool = False,
    timeout: float = _LIMIT_S,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program with the options of `subprocess.run`; return it with its output as
    text.
    """
    return subprocess.run(
        command, check=check, timeout=timeout, capture_output=True, text=True, **options
    )
