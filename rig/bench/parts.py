# SPDX-License-Identifier: Apache-2.0
"""Open the parts that a bench file names."""

from __future__ import annotations

from typing import Any

from rig.bench import plugins
from rig.bench.config import Config
from rig.interfaces.context import BenchContext


def open_part(section: str, resolved: Config, context: BenchContext) -> Any:
    """Open the kind that a section of the bench file names."""
    choice = getattr(resolved, section)
    return plugins.find(section, choice.kind).open(choice.settings, context)
