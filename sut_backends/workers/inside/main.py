# SPDX-License-Identifier: Apache-2.0
"""The start of a worker: it opens a routine, says what it is, and answers requests.

Modules of `rig` and of the backends are found without being installed: only their folders are
known here, and what is imported from them needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import sys
from typing import Any

from rig.interfaces.cpu_program import Routine
from sut_backends.workers.inside.requests import answer, serve
from sut_backends.workers.inside.windows import overhead_ns


def main(order: str) -> None:
    """Do what `order`, JSON, says: `entry`, `arguments`, `core` (-1: any) and `threads` of
    numerical libraries.
    """
    job = json.loads(order)
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
        os.environ[f"{name}_NUM_THREADS"] = str(job["threads"])
    # Whatever the program or an SDK prints goes to standard error: this pipe is for answers alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if job["core"] >= 0:
        os.sched_setaffinity(0, {job["core"]})
    try:
        module, _, function = job["entry"].partition(":")
        routine: Routine = getattr(importlib.import_module(module), function)(**job["arguments"])
    except Exception as error:
        refusal = {
            "error": f"{type(error).__name__}: {error}",
            "refused": isinstance(error, ValueError),
            "python": _python(),
        }
        answer(answers, refusal | {"missing": getattr(error, "name", None)})
        return
    gc.freeze()
    answer(answers, _about(routine))
    # Some programs leave threads or processes of theirs behind; what closes them is theirs to do.
    with contextlib.closing(routine):
        serve(routine, sys.stdin.buffer, answers)


def _about(routine: Routine) -> dict[str, Any]:
    numpy = sys.modules.get("numpy")
    return {
        "python": _python(),
        "numpy": getattr(numpy, "__version__", "not used"),
        "cores": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        "overhead_ns": overhead_ns(len(routine.phases)),
        "phases": len(routine.phases),
        "searches": routine.search is not None,
        "details": dict(routine.about),
    }


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"
