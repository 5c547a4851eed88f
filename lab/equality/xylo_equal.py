# SPDX-License-Identifier: Apache-2.0
"""Whether the simulators of Xylo Audio 2 and 3 fire as the integer model of the ASC
task does, over 120 generated seconds; exit code 1 where a train differs, or where the
control does not.

Run it: `python -m lab.equality.xylo_equal PYTHON [SLICES [FOLDER]]`; PYTHON is
the interpreter of an environment with sut_backends/xylo/requirements.txt. The control
is the same network with one input weight changed by 1: if that made no difference,
equal trains would say little. With FOLDER the trains are kept there as vectors
(tests/vectors/xylo).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import nir
import numpy as np

from rig.interfaces.context import BenchContext
from scenarios.tasks.asc.integer import run_layer, spike_counts
from scenarios.tasks.asc.model import AscModel
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask

ROOT = Path(__file__).parents[2]
CHIPS = ("audio2", "audio3")
SLICES = 120
#: The input weight that the control changes: channel 3 to the first hidden neuron that
#: hears it.
CHANNEL = 3
_LIMIT_S = 300.0
#: What runs under the other interpreter: every network of a list over the same spikes.
_INSIDE = """
import json, sys
import numpy as np
from sut_backends.workers.inside.job import Job
from sut_backends.xylo import runner
job = json.loads(sys.stdin.read())
spikes = np.load(job["spikes"])
kept = {}
about = {}
for name, one in job["networks"].items():
    opened = runner.open_network(Job.of(one))
    about = opened.about
    both = [opened.run(each) for each in spikes]
    kept[name + "/trains"] = np.stack([values for values, _ in both]).astype(np.uint8)
    membranes = np.stack([membranes for _, membranes in both])
    kept[name + "/membranes"] = membranes.astype(np.int32)
np.savez_compressed(job["out"], **kept)
json.dump(about, open(job["out"] + ".json", "w"))
"""


def slices(count: int) -> np.ndarray[Any, Any]:
    """Return the input spikes (slices, 125, 16) of the default task's first samples,
    evenly drawn from all 120.
    """
    task = AscTask.open(AscTask.Settings(), BenchContext())
    chosen = [index * len(task) // count for index in range(count)]
    audio = np.stack([np.frombuffer(task.payload(index), "<i2") for index in chosen])
    return spike_counts(read_model(SHIPPED_MODEL).bank, audio.astype(np.int16))


def control(folder: Path) -> Path:
    """Write the shipped network with one input weight changed by 1."""
    graph = nir.read(SHIPPED_MODEL)
    weight = np.array(graph.nodes["weight_0"].weight)
    hears = int(np.flatnonzero(np.abs(weight[:, CHANNEL]) < 127)[0])
    weight[hears, CHANNEL] += 1
    graph.nodes["weight_0"].weight = weight
    path = folder / "control.nir"
    nir.write(path, graph)
    return path


def xylo(
    python: str, spikes: np.ndarray[Any, Any], networks: dict[str, Path], out: Path
) -> Any:
    """Run networks on both chips' simulators under another interpreter; returns trains
    and last membranes by "CHIP/NETWORK/trains", and the runner's description.
    """
    np.save(out.with_suffix(".npy"), spikes)
    job = {
        "spikes": str(out.with_suffix(".npy")),
        "out": str(out),
        "networks": {
            f"{chip}/{name}": {"nir": str(networks[name]), "settings": {"chip": chip}}
            for chip, name in product(CHIPS, networks)
        },
    }
    subprocess.run(
        [python, "-c", _INSIDE],
        input=json.dumps(job).encode(),
        check=True,
        timeout=_LIMIT_S,
        cwd=ROOT,
    )
    with np.load(out) as kept:
        result = {name: kept[name] for name in kept.files}
    return result, json.loads(Path(f"{out}.json").read_text())


def integer(
    model: AscModel, spikes: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return output trains (slices, steps, 4) and last membranes of the integer
    model."""
    membranes: Any = None
    for layer in model.layers:
        spikes, membranes = run_layer(layer, spikes)
    return spikes, membranes


def differing(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> int:
    """Return how many slices differ in any value."""
    return int(np.any(one != other, axis=tuple(range(1, one.ndim))).sum())


def main() -> int:
    """Compare, print the results, and keep the trains where a folder is named."""
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    python, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SLICES
    spikes = slices(count)
    wanted, wanted_membranes = integer(read_model(SHIPPED_MODEL), spikes)
    with tempfile.TemporaryDirectory() as folder:
        networks = {"asc": SHIPPED_MODEL, "control": control(Path(folder))}
        began_s = time.monotonic()
        result, about = xylo(python, spikes, networks, Path(folder) / "trains.npz")
        took_s = time.monotonic() - began_s
    good = True
    versions = [f"{name} {version}" for name, version in about["versions"].items()]
    print(", ".join(versions))
    for chip in CHIPS:
        trains = differing(result[f"{chip}/asc/trains"], wanted)
        membranes = differing(result[f"{chip}/asc/membranes"], wanted_membranes)
        changed = differing(result[f"{chip}/control/trains"], wanted)
        print(
            f"{chip}: trains equal in {count - trains} of {count}, last membranes in "
            f"{count - membranes}; control: {changed} trains differ"
        )
        good = good and not trains and not membranes and changed > 0
    print(
        f"{4 * count} slices on two simulated chips in {took_s:.1f} s, with imports and"
        " mapping"
    )
    if len(sys.argv) > 3:
        keep = Path(sys.argv[3])
        np.savez_compressed(keep / "asc.npz", spikes=spikes, **result)
        reported = [f"{name} {version}" for name, version in about["versions"].items()]
        (keep / "VERSIONS").write_text("\n".join(reported) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
