# SPDX-License-Identifier: Apache-2.0
"""A task's network as a routine: the task's codec around a backend's runner.

A runner is a file of a backend, which imports its SDK inside its functions and nothing
of the rig, but for [sut.cpu], whose interpreter is the rig's:

    def open_network(job): ...  # a Job (job.py); returns a runner runner.about  #
    versions, how the network was mapped; JSON-able runner.run(spikes)  # (steps,
    channels) -> values (steps, outputs), membranes or None runner.run_many(list of
    spikes)  # optional: a list of the same, many samples at once runner.close()
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from rig.interfaces.cpu_program import Routine
from rig.network.trains import packed
from sut_backends.workers.inside.job import Job


def open_routine(
    runner: str,
    job: dict[str, Any],
    codec: str,
    codec_arguments: dict[str, Any],
    trains: bool = False,
) -> Routine:
    """Return the routine; `runner` is a module, `codec` "module:function". With
    `trains` its output is all that left the network.
    """
    module, _, function = codec.partition(":")
    coding = getattr(importlib.import_module(module), function)(**codec_arguments)
    running = importlib.import_module(runner).open_network(Job.of(job))
    before = tuple(coding.phases)

    def together(values: Sequence[Any]) -> Sequence[Any]:
        for phase in before:
            values = [phase(value) for value in values]
        outputs: Sequence[Any] = running.run_many(values)
        return outputs

    return Routine(
        load=coding.load,
        phases=(*before, running.run),
        output=lambda result: packed(*result) if trains else coding.output(*result),
        batch=together if hasattr(running, "run_many") else None,
        about=running.about,
        end=running.close,
    )


def open_report(runner: str, function: str, job: dict[str, Any]) -> Routine:
    """Return a routine that answers no request; `function` of the module `runner` makes
    the report."""
    report = getattr(importlib.import_module(runner), function)(Job.of(job))
    return Routine(bytes, (bytes,), bytes, about=report)
