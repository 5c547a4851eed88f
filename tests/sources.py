# SPDX-License-Identifier: Apache-2.0
"""Source files as trees of syntax."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def parsed(path: Path) -> ast.Module:
    """Return the tree of a Python file.

    Its nodes are no garbage: looking for some among so many new objects takes as long
    as parsing.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if looks:
            gc.enable()
