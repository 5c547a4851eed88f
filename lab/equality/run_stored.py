# SPDX-License-Identifier: Apache-2.0
"""Stored samples through a backend's runner, in its own interpreter, without a bench:
for vectors and for comparing a whole set at once.

    INTERPRETER -m lab.equality.run_stored RUNNER JOB.json SPIKES.npy OUT.npz

RUNNER is a module with `open_network`; spikes are (samples, steps, channels). OUT.npz
holds `values`, `membranes` where the runner tells them, and `about` as JSON text.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sut_backends.workers.inside.job import Job


def main(arguments: list[str]) -> int:
    """Run all samples one after the other, each from rest."""
    runner, job, spikes, out = arguments
    running = importlib.import_module(runner).open_network(
        Job.of(json.loads(Path(job).read_text(encoding="utf-8")))
    )
    try:
        done = [running.run(sample) for sample in np.load(spikes, allow_pickle=False)]
    finally:
        running.close()
    result: dict[str, Any] = {"values": np.stack([values for values, _ in done])}
    if all(membranes is not None for _, membranes in done):
        result |= {"membranes": np.stack([membranes for _, membranes in done])}
    np.savez_compressed(out, about=np.asarray(json.dumps(running.about)), **result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
