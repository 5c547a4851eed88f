# SPDX-License-Identifier: Apache-2.0
"""The start of a worker: it opens a routine, describes it, and answers requests.

Modules of `rig` and of the backends are found without being installed: only their
folders are known here, and modules imported from them need the standard library alone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict

from rig.interfaces.cpu_program import Routine
from sut_backends.workers.inside.protocol import WorkerAbout, WorkerStart
from sut_backends.workers.inside.requests import answer, refusal, serve
from sut_backends.workers.inside.windows import overhead_ns


def main(order: str) -> None:
    """Do what `order` says, a Start as JSON."""
    start = WorkerStart(**json.loads(order))
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
        os.environ[f"{name}_NUM_THREADS"] = str(start.threads)
    # Output of the program or an SDK goes to standard error: this pipe is for answers
    # alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if start.core >= 0 and sys.platform == "linux":
        os.sched_setaffinity(0, {start.core})
    try:
        module, _, function = start.entry.partition(":")
        routine: Routine = getattr(importlib.import_module(module), function)(
            **start.arguments
        )
    except Exception as error:
        answer(answers, asdict(refusal(error, _python())))
        return
    gc.freeze()
    answer(answers, asdict(_about(routine)))
    # Some programs leave threads or processes running; closing them is their own task.
    with contextlib.closing(routine):
        serve(routine, sys.stdin.buffer, answers)


def _about(routine: Routine) -> WorkerAbout:
    numpy = sys.modules.get("numpy")
    state = {} if routine.begin is None else {"stateful": True}
    cores = []
    if hasattr(os, "sched_getaffinity"):
        cores = sorted(os.sched_getaffinity(0))
    return WorkerAbout(
        python=_python(),
        numpy=getattr(numpy, "__version__", "not used"),
        cores=cores,
        overhead_ns=overhead_ns(len(routine.phases)),
        phases=len(routine.phases),
        searches=routine.search is not None,
        details={**routine.about, **state},
    )


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"
