# SPDX-License-Identifier: Apache-2.0
"""An SDK as vendors make them, for tests: it prints, writes into the home folder, and
simulates a chip of subtracting neurons, one step and one layer at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__version__ = "3.1.0"

print("ACME SDK 3.1.0 - have a nice day")
(Path.home() / ".acme").write_text("first use\n")


class Chip:
    """A chip that is simulated."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._layers: list[dict[str, Any]] = []
        self.neurons = 0

    def load(self, layers: list[dict[str, Any]]) -> None:
        """Take a network over."""
        self._layers = layers
        self.neurons = sum(len(layer["weights"]) for layer in layers)
        self.reset()

    def reset(self) -> None:
        """Go to rest."""
        self._current = [np.zeros(len(layer["weights"])) for layer in self._layers]
        self._voltage = [np.zeros(len(layer["weights"])) for layer in self._layers]

    def evolve(self, raster: Any) -> tuple[Any, Any]:
        """Return the spikes of the last layer, and its voltages after the last step."""
        out = []
        for spikes in np.asarray(raster, dtype=float):
            for number, layer in enumerate(self._layers):
                drive = self._current[number] + layer["weights"] @ spikes
                self._current[number] = drive * layer["keep_current"]
                voltage = (
                    self._voltage[number] * layer["keep_voltage"]
                    + self._current[number]
                )
                spikes = np.minimum(
                    np.floor(np.maximum(voltage, 0) / layer["threshold"]), 31
                )
                self._voltage[number] = voltage - spikes * layer["threshold"]
            out.append(spikes)
        return np.array(out), self._voltage[-1]

    def close(self) -> None:
        """Let go."""
