# SPDX-License-Identifier: Apache-2.0
"""Measure accuracy, latency and energy of a system under test: open a bench, run it, read the
result.

What is named here is loaded when it is first used: modules of this package also run as programs of
their own (the supply's watchdog, the reader of traces), which need little of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rig.session.session import Bench, SessionResult, open_bench

__all__ = ["Bench", "SessionResult", "open_bench"]

_MODULES = dict.fromkeys(__all__, "rig.session.session")


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
