# SPDX-License-Identifier: Apache-2.0
"""Processor time of the ASC task's own answers, which a virtual device gives: one
second of audio at a time, and as the task finds them.

Run it: `.venv/bin/python benchmarks/asc_reference.py [--samples N]`; twenty seconds,
and once as long again to generate the data. Both in one run, over the same seconds of
generated audio in the same shuffled order, asked for one by one, as Single-stream does;
every answer must be the same.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from rig.interfaces.context import BenchContext
from scenarios.tasks.asc.integer import outputs
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask


def main() -> int:
    """Print both and their ratio; return the exit code: 1 where an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=400)
    task = AscTask.open(AscTask.Settings(files_per_class=40), BenchContext())
    places = (
        np.random.default_rng(1)
        .permutation(len(task))[: parser.parse_args().samples]
        .tolist()
    )
    # audio that was read is kept for a while: for both, or for none
    for place in places:
        task.payload(place)
    model = read_model(SHIPPED_MODEL)
    begun_s = time.process_time()
    alone = [
        outputs(model, np.frombuffer(task.payload(at), "<i2")[None]) for at in places
    ]
    alone_s = time.process_time() - begun_s
    begun_s = time.process_time()
    found = [task.reference(task.payload(at)) for at in places]
    found_s = time.process_time() - begun_s
    each = 1e3 / len(places)
    print(
        f"{len(places)} seconds of audio: {alone_s * each:.1f} ms each one at a time,"
        f" {found_s * each:.1f} ms as the task finds them: {alone_s / found_s:.1f}"
        " times less"
    )
    equal = [answer.astype("<i4").tobytes() for answer in alone] == found
    print("all answers equal" if equal else "ANSWERS DIFFER")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
