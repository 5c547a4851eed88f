# SPDX-License-Identifier: Apache-2.0
"""Everything that one file of a session repeats of another, derived once more from the
primary records: the bench file, the logs of the line, and the data that settings
determine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rig.check import data_again, idle_times, settings_again
from rig.check.data_again import DataAgain
from rig.check.uart_again import UartAgain
from rig.model.finding import Finding
from rig.results.results import Context
from rig.store.session_folder import COMPLETIONS, SessionFolder


@dataclass(frozen=True, slots=True)
class Again:
    """A session's primary records, and what follows from its settings."""

    folder: SessionFolder
    context: Context
    data: DataAgain
    uart: UartAgain

    @classmethod
    def of(cls, folder: SessionFolder, context: Context) -> Again:
        """Make the data once more."""
        data = DataAgain.of(folder, context)
        return cls(
            folder, context, data, UartAgain(folder.path, context, data.contents)
        )

    def of_session(self) -> Iterator[Finding]:
        """Yield where settings, data and files of the whole session contradict each
        other.
        """
        yield from settings_again.findings(
            self.context.config, self.context.provenance, self.folder.path
        )
        yield from self.data.findings()
        yield from data_again.of_derived(self.folder, self.context)

    def of_trial(self, trial: Path) -> Iterator[Finding]:
        """Yield where the log of a trial, its idle times and its answers contradict the
        session.
        """
        yield from self.uart.findings(trial)
        name = f"{trial.name}/{COMPLETIONS}"
        records = list(chain.from_iterable(self.context.recordings.steps(trial)))
        clock = self.context.provenance.device_clock
        limit_ppm = 0.0 if clock is None else clock.limit_ppm
        sut = self.context.provenance.sut
        for text in idle_times.differences(records, sut, limit_ppm):
            yield Finding(name, False, text)
        yield from self.data.answers(name, records)
