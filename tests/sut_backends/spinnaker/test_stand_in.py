# SPDX-License-Identifier: Apache-2.0
"""The stand-in for sPyNNaker takes no call that sPyNNaker 7.4.1 refuses, where an
interpreter with it is there. Of py-spinnaker2 no registry has a package: its fake takes
what published programs say.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contracts import described, described_by, lacking, looser
from tests.stand_ins import spinnaker2, spynnaker
from tests.sut_backends.spinnaker.test_backend import PYTHON

needs_spynnaker = pytest.mark.skipif(
    not Path(PYTHON).exists(),
    reason="no sPyNNaker: rig sdk install spinnaker, or RIG_SPINNAKER_PYTHON",
)
_SIM = "pyNN.spiNNaker"
_VERTEX = "spynnaker.pyNN.models.neuron.population_vertex"
_ENERGY = "spinn_front_end_common.interface.interface_functions"
CALLS: dict[str, tuple[str, str, Any]] = {
    "setup": (_SIM, "setup", spynnaker.setup),
    "run": (_SIM, "run", spynnaker.run),
    "end": (_SIM, "end", spynnaker.end),
    "Population": (_SIM, "Population", spynnaker.population),
    "Projection": (_SIM, "Projection", spynnaker.projection),
    "FromListConnector": (_SIM, "FromListConnector", spynnaker.connections),
    "initialize": (_SIM, "Population.initialize", spynnaker.Population.initialize),
    "record": (_SIM, "Population.record", spynnaker.Population.record),
    "get_data": (_SIM, "Population.get_data", spynnaker.Population.get_data),
    "shifts": (
        _VERTEX,
        "PopulationVertex.get_ring_buffer_shifts",
        spynnaker.Vertex.get_ring_buffer_shifts,
    ),
    "scales": (
        _VERTEX,
        "PopulationVertex.get_weight_scales",
        spynnaker.Vertex.get_weight_scales,
    ),
    "idle energy": (
        "spinn_machine.version.version_5",
        "Version5.get_idle_energy",
        spynnaker.Version.get_idle_energy,
    ),
    "energy": (_ENERGY, "compute_energy_used", lambda: None),
}
_VIEW = "spynnaker.pyNN.data"
_POWER = "spinn_front_end_common.utilities.utility_objs.power_used"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What sPyNNaker's objects are described as, by its own interpreter."""
    home = tmp_path_factory.mktemp("home")
    (home / ".spynnaker.cfg").write_text(
        "[Machine]\nversion = 5\nvirtual_board = True\n"
    )
    wanted = {name: (module, text) for name, (module, text, _) in CALLS.items()}
    for kind in spynnaker.KINDS:
        names = f"type('Names', (), dict({kind}.default_parameters))"
        wanted |= {kind: (_SIM, names)}
    wanted |= {"view": (_VIEW, "SpynnakerDataView"), "power": (_POWER, "PowerUsed")}
    return described_by(PYTHON, wanted, home)


@needs_spynnaker
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_spynnaker_refuses_is_refused(
    name: str, theirs: dict[str, Any]
) -> None:
    assert looser(CALLS[name][2], theirs[name]) == []


@needs_spynnaker
@pytest.mark.parametrize("kind", spynnaker.KINDS)
def test_cells_take_the_parameters_of_their_kind(
    kind: str, theirs: dict[str, Any]
) -> None:
    assert set(spynnaker.KINDS[kind]) <= set(theirs[kind]["attributes"])


@needs_spynnaker
def test_what_is_read_of_placement_and_energy_is_there(theirs: dict[str, Any]) -> None:
    used = ("iterate_placemements", "get_machine", "get_machine_version")
    assert set(used) <= set(theirs["view"]["attributes"])
    with spynnaker.installed():
        spynnaker.setup(timestep=1.0, min_delay=1.0)
        energies = sys.modules[_ENERGY].compute_energy_used()
    assert lacking(energies, theirs["power"], tuple(vars(energies))) == []


def test_cells_refuse_a_parameter_of_another_kind() -> None:
    with spynnaker.installed():
        sim = sys.modules[_SIM]
        with pytest.raises(TypeError, match="IF_curr_delta takes no tau_syn_E"):
            sim.IF_curr_delta(tau_syn_E=5.0)


def test_the_fake_of_py_spinnaker2_takes_the_calls_of_published_programs_alone():
    with pytest.raises(TypeError):
        spinnaker2.Chip("192.168.240.1")  # type: ignore[misc]
    wrong = {"dt": 1e-3, "delay": 1}
    with pytest.raises(TypeError):
        spinnaker2.ConversionConfig(**wrong)  # type: ignore[arg-type]
    names = [name for name, *_ in described(spinnaker2.ConversionConfig)["parameters"]]
    assert names == [
        "output_record",
        "dt",
        "conn_delay",
        "scale_weights",
        "reset",
        "integrator",
    ]


_OTHER_TIMES = """
import json, sys
import pyNN.spiNNaker as sim
sim.setup(timestep=1.0, min_delay=1.0)
kind = sim.SpikeSourceArray(spike_times=[[1.0, 3.0], [2.0]])
source = sim.Population(2, kind, label="source")
cells = sim.Population(1, sim.IF_curr_exp(), label="cells")
listed = [(0, 0, 1.0, 1.0), (1, 0, 1.0, 1.0)]
sim.Projection(source, cells, sim.FromListConnector(listed))
sim.run(20)
sim.reset()
refused = ""
try:
    source.set(spike_times=[[7.0], [8.0, 9.0]])
except TypeError as error:
    refused = type(error).__name__
source[0:1].set(spike_times=[7.0])
source[1:2].set(spike_times=[8.0, 9.0])
(behind,) = source._vertex.machine_vertices
sent = [int(time) for time in behind.send_buffer_times]
sim.end()
print("\\n" + json.dumps([refused, sent]))
"""


@needs_spynnaker
def test_spynnaker_does_not_take_other_times_for_each_mapped_source(
    tmp_path: Path,
) -> None:
    # Why each sample is mapped again: the page says what was seen.
    (tmp_path / ".spynnaker.cfg").write_text(
        "[Machine]\nversion = 5\nvirtual_board = True\n"
    )
    done = subprocess.run(
        [PYTHON, "-c", _OTHER_TIMES],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    refused, sent = json.loads(done.stdout.splitlines()[-1])
    assert refused == "TypeError"
    assert sent == [8, 9]
