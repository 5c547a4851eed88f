# SPDX-License-Identifier: Apache-2.0
"""A report by a backend's SDK in a worker, such as how it maps a network: the report is
the worker's description, without a measurement by the rig."""

from __future__ import annotations

import importlib
from typing import Any

from rig.interfaces.cpu_program import Routine
from sut_backends.workers.inside.job import Job


def open_report(runner: str, function: str, job: dict[str, Any]) -> Routine:
    """Return a routine that answers no request; `function` of the module `runner` makes
    the report."""
    report = getattr(importlib.import_module(runner), function)(Job.of(job))
    return Routine(bytes, (bytes,), bytes, about=report)
