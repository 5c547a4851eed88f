# SPDX-License-Identifier: Apache-2.0
"""What a task offers besides so that this computer's processor can be a system under test: its workload as a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Program:
    """One implementation of a task's workload: where its code is. It runs in a process of its own.

    `entry` is "module:function"; called there with `arguments` (JSON-able), the function returns a Routine. `task` and `model` are
    what the SUT then says that it runs.
    """

    entry: str
    task: str
    model: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Routine:
    """A workload, ready to run: `load` is untimed, as is `output`; each of `phases` is timed, in the order of the task's.

    The first phase gets what `load` made of a payload, each further one what the phase before returned, `output` what the last
    returned. A phase may be run many times on the same value, so it must not change it. ValueError from `load` refuses a payload.
    """

    load: Callable[[bytes], Any]
    phases: tuple[Callable[[Any], Any], ...]
    output: Callable[[Any], bytes]


@runtime_checkable
class Programmed(Protocol):
    """What a task offers besides whose workload this computer can run."""

    programs: Mapping[str, Program]
