# SPDX-License-Identifier: Apache-2.0
"""The presets of `--as` against the programs whose names they bear: files that each
wrote by its own exporter, with its defaults, and what it fired on random input.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rig.network import graph
from rig.network.conventions import PRESETS, STEPS_S, Reset
from rig.network.interpreter import run
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "nir" / "presets"
NAMES = sorted(path.stem for path in VECTORS.glob("*.npz"))
PROGRAMS = ("snntorch", "norse", "sinabs", "rockpool", "spyx")


def differing(
    folder: Path, name: str, how: str = "", reset: Reset | None = None
) -> int:
    """Return on how many of its outputs a network differs from what its program
    fired."""
    with np.load(folder / f"{name}.npz") as stored:
        values, output = stored["input"][None].astype(float), stored["output"]
        preset = how or str(stored["preset"])
    network = graph.network(graph.read(folder / f"{name}.nir"))
    chosen = PRESETS[preset]
    if reset is not None:
        chosen = replace(chosen, reset=reset, spikes_max=1)
    step_s = None if network.dt_s else STEPS_S[preset]
    done = run(network, values, step_s, chosen)
    assert output.sum() > 20
    return int(np.count_nonzero(done.values[network.outputs[0]][0] != output))


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_gives_every_spike_of_the_program_s_own_export(name: str) -> None:
    assert differing(VECTORS, name) == 0


@pytest.mark.parametrize("name", NAMES)
def test_another_reset_gives_other_spikes(name: str) -> None:
    with np.load(VECTORS / f"{name}.npz") as stored:
        mine = PRESETS[str(stored["preset"])].reset
    other = Reset.NONE if mine is Reset.VALUE else Reset.VALUE
    assert differing(VECTORS, name, reset=other) > 0


def test_every_program_that_pip_installs_has_a_vector_and_says_its_version() -> None:
    told = {}
    for name in NAMES:
        with np.load(VECTORS / f"{name}.npz") as stored:
            told[name.split("-")[0]] = str(stored["versions"])
    assert sorted(told) == sorted(PROGRAMS)
    assert all(program in text for program, text in told.items())


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_installed_program_fires_as_its_preset_says(
    program: str, tmp_path: Path
) -> None:
    python = os.environ.get(f"RIG_{program.upper()}_PYTHON", "")
    if not python:
        pytest.skip(
            f"no {program}: RIG_{program.upper()}_PYTHON names a Python that has it"
        )
    script = VECTORS / "make_presets.py"
    for seed in ("1", "2"):
        subprocess.run(
            [python, script, program, tmp_path, seed], check=True, capture_output=True
        )
        for path in sorted(tmp_path.glob("*.npz")):
            assert differing(tmp_path, path.stem) == 0, (path.stem, seed)
