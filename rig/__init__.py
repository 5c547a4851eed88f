# SPDX-License-Identifier: Apache-2.0
"""Measure accuracy, latency and energy of a system under test: open a bench, run it,
read the session.

Names are imported when they are first used: the command line needs few of them.
"""

from importlib import import_module

# Not from typing: until rig.__main__ handles Ctrl-C, every import is time during which
# it prints a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from rig.api.archive.results_table import results_table
    from rig.api.bench import OpenBench, open_bench
    from rig.api.sessions.metric import Comparison, Metrics, SessionMetric
    from rig.api.sessions.session import (
        Session,
        SessionProblem,
        open_session,
        sessions,
    )
    from rig.api.sessions.verdict import SessionVerdict
    from rig.api.traces.samples import Cancelled
    from rig.api.traces.trace import SessionTrace, open_trace
    from rig.api.trials.overlay import Overlay, occasions, overlay
    from rig.api.trials.pictures import pictures, save_picture
    from rig.errors import BenchError, ConfigError, DataError, RigError, Stopped
    from rig.host.stop import Stop
    from rig.stats.interval import Interval

__all__ = [
    "BenchError",
    "Cancelled",
    "Comparison",
    "ConfigError",
    "DataError",
    "Interval",
    "Metrics",
    "OpenBench",
    "Overlay",
    "RigError",
    "Session",
    "SessionMetric",
    "SessionProblem",
    "SessionTrace",
    "SessionVerdict",
    "Stop",
    "Stopped",
    "occasions",
    "open_bench",
    "open_session",
    "open_trace",
    "overlay",
    "pictures",
    "results_table",
    "save_picture",
    "sessions",
]

_HOMES = {
    "rig.api.archive.results_table": ("results_table",),
    "rig.api.bench": ("OpenBench", "open_bench"),
    "rig.api.sessions.metric": ("Comparison", "Metrics", "SessionMetric"),
    "rig.api.trials.overlay": ("Overlay", "occasions", "overlay"),
    "rig.api.trials.pictures": ("pictures", "save_picture"),
    "rig.api.sessions.session": (
        "Session",
        "SessionProblem",
        "open_session",
        "sessions",
    ),
    "rig.api.sessions.verdict": ("SessionVerdict",),
    "rig.api.traces.samples": ("Cancelled",),
    "rig.api.traces.trace": ("SessionTrace", "open_trace"),
    "rig.errors": ("BenchError", "ConfigError", "DataError", "RigError", "Stopped"),
    "rig.host.stop": ("Stop",),
    "rig.stats.interval": ("Interval",),
}


def __getattr__(name: str) -> "Any":
    """Import a public name."""
    if name == "__version__":
        return import_module("importlib.metadata").version("neurorig")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
