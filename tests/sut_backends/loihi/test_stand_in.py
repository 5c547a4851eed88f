# SPDX-License-Identifier: Apache-2.0
"""The stand-in for Lava takes no call that Lava 0.10 refuses, where an interpreter with
Lava is there. lava-loihi (adapters, the profiler's probes) is not public: the calls are
those of programs that users published.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from tests.contracts import described_by, lacking, looser
from tests.scenarios.tasks.qubo import lava_optimization
from tests.stand_ins import lava_loihi
from tests.sut_backends.loihi.test_rules import PYTHON, with_lava

_LIF = "lava.proc.lif.process"
_DENSE = "lava.proc.dense.process"
_SOURCE = "lava.proc.io.source"
_SINK = "lava.proc.io.sink"
_CONFIGS = "lava.magma.core.run_configs"
_SOLVER = "lava.lib.optimization.solvers.generic.solver"
_PROBLEMS = "lava.lib.optimization.problems.problems"
#: Of Lava, and what stands for it.
CALLS: dict[str, tuple[str, str, Any]] = {
    "LIF": (_LIF, "LIF", lava_loihi.Lif),
    "Dense": (_DENSE, "Dense", lava_loihi.Dense),
    "source": (_SOURCE, "RingBuffer", lava_loihi.Source),
    "sink": (_SINK, "RingBuffer", lava_loihi.Sink),
    "RunSteps": ("lava.magma.core.run_conditions", "RunSteps", lava_loihi.RunSteps),
    "Loihi2SimCfg": (_CONFIGS, "Loihi2SimCfg", lava_loihi.Loihi2SimCfg),
    "Loihi2HwCfg": (_CONFIGS, "Loihi2HwCfg", lambda: None),
    "run": (_LIF, "LIF(shape=(1,)).run", lava_loihi.Source(data=[[0]]).run),
    "stop": (_LIF, "LIF(shape=(1,)).stop", lava_loihi.Source(data=[[0]]).stop),
    "connect": (_LIF, "LIF(shape=(1,)).s_out.connect", lava_loihi.Port(None).connect),
    "set": (_LIF, "LIF(shape=(1,)).v.set", lava_loihi.Variable(0).set),
    "get": (_LIF, "LIF(shape=(1,)).v.get", lava_loihi.Variable(0).get),
    "is_installed": ("lava.utils.loihi", "is_installed", lambda: True),
    "use_ethernet_host": (
        "lava.utils.loihi",
        "use_ethernet_host",
        lambda host_address, /: None,
    ),
    "Profiler.init": ("lava.utils.profiler", "Profiler.init", lava_loihi.Profiler.init),
    "QUBO": (_PROBLEMS, "QUBO", lava_optimization.Qubo),
    "SolverConfig": (_SOLVER, "SolverConfig", lava_optimization.SolverConfig),
    "solver": (_SOLVER, "OptimizationSolver", lava_optimization.OptimizationSolver),
    "solve": (
        _SOLVER,
        "OptimizationSolver.solve",
        lava_optimization.OptimizationSolver.solve,
    ),
}
_NEW = "__import__('numpy').zeros((2, 2))"
#: Attributes of an object that the backend uses.
USED: dict[str, tuple[str, str, Any, tuple[str, ...]]] = {
    "a LIF": (
        _LIF,
        "LIF(shape=(2,))",
        lava_loihi.Lif(shape=(2,), du=1, dv=1, vth=1),
        ("a_in", "s_out", "u", "v"),
    ),
    "a source": (
        _SOURCE,
        f"RingBuffer(data={_NEW})",
        lava_loihi.Source(data=[[0]]),
        ("data",),
    ),
    "a sink": (
        _SINK,
        "RingBuffer(shape=(2,), buffer=3)",
        lava_loihi.Sink(shape=(2,), buffer=3),
        ("a_in", "data"),
    ),
    "a variable": (
        _LIF,
        "LIF(shape=(2,)).v",
        lava_loihi.Variable(0),
        ("get", "set", "init"),
    ),
}


@pytest.fixture(scope="module")
def lavas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Lava's objects are described as, by its own interpreter."""
    wanted = {name: (module, text) for name, (module, text, _) in CALLS.items()}
    wanted |= {name: (module, text) for name, (module, text, _, _) in USED.items()}
    return described_by(PYTHON, wanted, tmp_path_factory.mktemp("home"))


@with_lava
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_lava_refuses_is_refused(name: str, lavas: dict[str, Any]) -> None:
    assert looser(CALLS[name][2], lavas[name]) == []


@with_lava
@pytest.mark.parametrize("name", USED)
def test_what_is_used_of_an_object_is_lavas(name: str, lavas: dict[str, Any]) -> None:
    *_, stand_in, used = USED[name]
    assert lacking(stand_in, lavas[name], used) == []


@with_lava
def test_a_call_of_another_form_would_be_found(lavas: dict[str, Any]) -> None:
    def by_position(shape: Any, du: int, dv: int, vth: int) -> None:
        """As the stand-in had it."""

    assert looser(by_position, lavas["LIF"]) != []


def test_adapters_of_the_chip_are_called_as_published_programs_do() -> None:
    for name in ("PyToNxAdapter", "NxToPyAdapter"):
        with lava_loihi.installed():
            adapter = getattr(import_module("lava.proc.embedded_io.spike"), name)
        item = adapter(shape=(2,), num_message_bits=8)
        assert {"inp", "out"} <= vars(item).keys()
        with pytest.raises(TypeError):
            adapter((2,))
