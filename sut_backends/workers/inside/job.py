# SPDX-License-Identifier: Apache-2.0
"""The job of a runner: a network, and how it is to be run.

Both ends import this file: it needs the standard library alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Settings = TypeVar("_Settings")


@dataclass(frozen=True)
class Job:
    """A job: paths of the NIR file and of its plain form (plain_network.py), the
    settings that the backend gives its runner, and the path of spikes (samples, steps,
    channels) for the report of a run.
    """

    nir: str = ""
    plain: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    spikes: str = ""

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Job:
        """Read a job from JSON."""
        return cls(**content)

    def settings_as(self, kind: type[_Settings]) -> _Settings:
        """Return the settings as a dataclass; those that it has not are another
        function's."""
        known = {one.name for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
        return kind(
            **{name: value for name, value in self.settings.items() if name in known}
        )
