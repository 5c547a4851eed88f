# SPDX-License-Identifier: Apache-2.0
"""The presets of `--as` against the programs whose names they bear: files that each
wrote by its own exporter, with its defaults, and the spikes that it fired on random
input.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import nir
import numpy as np
import pytest

from rig.network import graph
from rig.network.conventions import PRESETS, STEPS_S, Conventions, Gains, Reset
from rig.network.interpreter import run
from rig.network.neurons import Neurons
from tests.conftest import ROOT

VECTORS = ROOT / "tests" / "vectors" / "nir" / "presets"
#: Its program rounds each state after each decay, so that some spikes of a stretch of
#: 200 steps differ.
ROUNDED = "lava-dl-cuba"
NAMES = sorted(path.stem for path in VECTORS.glob("*.npz") if path.stem != ROUNDED)
PROGRAMS = ("snntorch", "norse", "sinabs", "rockpool", "spyx", "lava-dl")
#: The smallest step of a state in lava-dl by its defaults: 6 bits of a weight, 6 below.
LAVA_DL_STEP = 1 / 4096


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


def beyond_rounding(folder: Path, name: str, how: Conventions) -> list[str]:
    """Return the neurons of a network of lava-dl which differ from the interpreter by
    more than its rounding explains, before their first differing spike and in it.

    Each layer gets the spikes that entered it in lava-dl. A rounding takes less than a
    step off a state, the decay forgets what earlier ones took: a current is off by less
    than 1 / decay steps, and so is a membrane, for its input and for its own state.
    """
    network = graph.network(graph.read(folder / f"{name}.nir"))
    step_s = STEPS_S["lava-dl"]
    wrong = []
    with np.load(folder / f"{name}.npz") as stored:
        entering = (stored["input"], stored["hidden"])
        membranes = (stored["membranes_0"], stored["membranes_1"])
    layers = [
        position
        for position in network.places
        if isinstance(position.node, nir.CubaLIF)
    ]
    for position, spikes_in, theirs in zip(layers, entering, membranes, strict=True):
        neurons = Neurons(position, step_s, how, batch=1)
        weight = network.place(position.sources[0]).node.weight
        current_off = LAVA_DL_STEP * position.node.tau_syn / step_s
        bound = (current_off + LAVA_DL_STEP) * position.node.tau_mem / step_s
        threshold = position.node.v_threshold
        together = np.ones(len(threshold), bool)
        for step, drive in enumerate(spikes_in @ weight.T):
            left = np.empty((1, len(threshold)))
            neurons.step(drive[None], left)
            fired = left[0] > 0
            differ = fired != (theirs[step] > threshold)
            distance = np.abs(neurons.membrane[0] - theirs[step])
            distance[fired] = 0.0
            distance[differ] = np.abs(theirs[step] - threshold)[differ]
            for number in np.flatnonzero(together & (distance > bound)):
                wrong.append(f"{position.name} {number}, step {step}")
            together &= ~differ
    return wrong


@pytest.mark.parametrize("name", ["lava-dl-cuba", "lava-dl-halving"])
def test_lava_dl_differs_by_no_more_than_its_rounding(name: str) -> None:
    assert beyond_rounding(VECTORS, name, PRESETS["lava-dl"]) == []


@pytest.mark.parametrize(
    "changed",
    [{"reset": Reset.NONE}, {"reset": Reset.SUBTRACT}, {"gains": Gains.UNIT}],
)
def test_another_rule_differs_from_lava_dl_by_more(
    changed: dict[str, Reset | Gains],
) -> None:
    other = replace(PRESETS["lava-dl"], **changed)
    names = ("lava-dl-cuba", "lava-dl-halving")
    assert any(beyond_rounding(VECTORS, name, other) for name in names)


def halving(**changed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the output of the interpreter by a changed preset, and that of lava-dl."""
    how = replace(PRESETS["lava-dl"], **changed)
    network = graph.network(graph.read(VECTORS / "lava-dl-halving.nir"))
    with np.load(VECTORS / "lava-dl-halving.npz") as stored:
        values, output = stored["input"][None].astype(float), stored["output"]
    done = run(network, values, STEPS_S["lava-dl"], how)
    return done.values[network.outputs[0]][0], output


def test_spikes_of_lava_dl_leave_a_step_later() -> None:
    fired, output = halving(late=False)
    assert (fired[:-2] == output[2:]).all()
    assert (fired != output).any()


def test_a_membrane_of_lava_dl_that_equals_the_threshold_does_not_fire() -> None:
    fired, output = halving(above=False)
    assert (fired != output).any()


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
    versions = {}
    for name in NAMES:
        program = next(each for each in PROGRAMS if name.startswith(each))
        with np.load(VECTORS / f"{name}.npz") as stored:
            versions[program] = str(stored["versions"])
    assert sorted(versions) == sorted(PROGRAMS)
    assert all(program in text for program, text in versions.items())


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_installed_program_fires_as_its_preset_says(
    program: str, tmp_path: Path
) -> None:
    variable = f"RIG_{program.upper().replace('-', '_')}_PYTHON"
    python = os.environ.get(variable, "")
    if not python:
        pytest.skip(f"no {program}: {variable} names a Python that has it")
    script = VECTORS / "make_presets.py"
    for seed in ("1", "2"):
        subprocess.run(
            [python, script, program, tmp_path, seed], check=True, capture_output=True
        )
        for path in sorted(tmp_path.glob("*.npz")):
            if path.stem == ROUNDED:
                wrong = beyond_rounding(tmp_path, path.stem, PRESETS[program])
                assert wrong == [], seed
            else:
                assert differing(tmp_path, path.stem) == 0, (path.stem, seed)
