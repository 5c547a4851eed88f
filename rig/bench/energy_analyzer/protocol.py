# SPDX-License-Identifier: Apache-2.0
"""labgrid's protocol of energy analyzers, of labgrid itself where it has one.

No release of labgrid has it. Its form is that of pull request 1920 of
labgrid-project/labgrid at d889302920345149356251cd9d38da3e790cf403, of 7 July 2026,
which was open when it was read on 27 November 2026; labgrid 26.0.1 was the newest
release.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Sequence
from typing import Any

try:
    from labgrid.protocol import EnergyAnalyzerProtocol
except ImportError:

    class EnergyAnalyzerProtocol(abc.ABC):  # type: ignore[no-redef]
        """Interface of an instrument that sums energy and charge, and writes samples
        to a file.
        """

        @abc.abstractmethod
        def get_statistics(self) -> dict[str, Any]:
            """Return `current`, `voltage` and `power`, each with `avg`, `std`, `min`
            and `max`, and the sums `charge_C` and `energy_J`.
            """

        @abc.abstractmethod
        def start(self) -> None:
            """Begin a window of energy and charge."""

        @abc.abstractmethod
        def stop(self) -> dict[str, Any]:
            """End the window; return its `energy_J`, `charge_C` and `duration_s`."""

        @abc.abstractmethod
        def capture(
            self,
            filename: str | os.PathLike[str],
            signals: Sequence[str] | None = None,
            duration: float | None = None,
            frequency: float | None = None,
        ) -> None:
            """Write samples of `duration` seconds to a file."""


__all__ = ["EnergyAnalyzerProtocol"]
