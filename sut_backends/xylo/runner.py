# SPDX-License-Identifier: Apache-2.0
"""Run a network on XyloSim, SynSense's simulator of its chips, inside a worker: a NIR
file through Rockpool's importer, mapper and quantiser.

Only numpy, nir, rockpool and xylosim are needed, each imported inside functions. The
vendor's driver, samna, is replaced by a stand-in: the package of that name on PyPI
calls pip when it is imported, and Rockpool imports it at every turn. Vendor's checks
only warn; ours are made on the host (limits.py) before a worker is started.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

from sut_backends.workers.inside import layers as layers_of
from sut_backends.workers.inside import plain_network
from sut_backends.workers.inside.job import Job
from sut_backends.xylo.mapping_report import (
    ChipNumbers,
    mapping,
    not_as_tried,
    rule_differs,
    versions,
)
from sut_backends.xylo.samna_stand_in import stand_in_for_samna

#: What each chip is called in Rockpool, and how many hidden and output neurons it has.
CHIPS = {"audio2": ("syns61201", 1000, 8), "audio3": ("syns65302", 992, 32)}
CHANNELS = 16
SPIKES_IN_MAX = 15


@dataclass(frozen=True)
class ChipSettings:
    """The chip, and Rockpool's way to round weights for it."""

    chip: str = "audio2"
    quantizer: str = "global"


@dataclass(frozen=True, kw_only=True)
class Specification:
    """Result of Rockpool's mapper and quantiser for a NIR file: its numbers by its
    names, the time step, the lag of the output in steps, the number of outputs, the
    report, and the size of each output membrane's unit in the file, by which their
    thresholds are the same.
    """

    numbers: dict[str, Any]
    dt_s: float
    lag: int
    outputs: int
    about: dict[str, Any]
    membrane_units: Any


def open_network(job: Job) -> XyloSimRunner:
    """Map the network of a job onto a chip's simulator; raises ValueError with what to
    do."""
    chip = job.settings_as(ChipSettings).chip
    stand_in_for_samna()
    specified = specification(job, chip)
    module = importlib.import_module(f"rockpool.devices.xylo.{CHIPS[chip][0]}")
    parameters = {**specified.numbers, "dt": specified.dt_s}
    parameters.pop("mapped_graph")
    simulator = module.XyloSim.from_specification(**parameters)
    return XyloSimRunner(simulator, specified)


class XyloSimRunner:
    """A network on a simulated chip."""

    def __init__(self, simulator: Any, specified: Specification) -> None:
        self._simulator = simulator
        self._lag = specified.lag
        self._outputs = specified.outputs
        self._membrane_units = specified.membrane_units
        self.about = specified.about

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run from rest; returns the output spikes of each step, and the last membranes
        in the file's units.

        The chip hands spikes on one step later a layer: so many silent steps are added,
        and the first of the output are left out.
        """
        import numpy as np

        raster = padded(spikes, self._lag)
        self._simulator.reset_state()
        out, _state, record = self._simulator(raster, record=True)
        values = np.asarray(out, np.int64).reshape(len(raster), self._outputs)[
            self._lag :
        ]
        membranes = np.asarray(record["Vmem_out"], np.int64).reshape(
            len(raster), self._outputs
        )
        return values, membranes[-1] * self._membrane_units

    def close(self) -> None:
        """Release no resource: there is no device."""


def padded(spikes: Any, lag: int) -> Any:
    """Pad spikes (steps, channels) with `lag` silent steps; ValueError for spikes that
    the chip would not take."""
    import numpy as np

    counts = np.asarray(spikes)
    if counts.ndim != 2 or counts.shape[1] > CHANNELS:
        raise ValueError(
            f"spikes of shape {counts.shape}; wanted (steps, up to {CHANNELS})"
        )
    if not np.all(np.isfinite(counts)) or np.any(counts != np.rint(counts)):
        raise ValueError(
            "input spikes are counted: whole numbers, no NaN; look at the codec"
        )
    if counts.size and (counts.min() < 0 or counts.max() > SPIKES_IN_MAX):
        raise ValueError(
            f"{counts.min()} to {counts.max()} input spikes in a step; the chip takes 0"
            f" to {SPIKES_IN_MAX}: limit them in the codec"
        )
    silence = np.zeros((lag, counts.shape[1]), np.int64)
    return np.concatenate([counts.astype(np.int64), silence])


def specification(job: Job, chip: str) -> Specification:
    """Make the specification of the mapper and the quantiser for a NIR file and a
    chip."""
    import numpy as np

    if chip not in CHIPS:
        raise ValueError(f"no chip {chip!r}: one of {', '.join(CHIPS)}")
    name, hidden_max, outputs_max = CHIPS[chip]
    graph, dt_s = prepared(job)
    from_nir = importlib.import_module("rockpool.nn.modules.torch.nir").from_nir
    quantisers = importlib.import_module("rockpool.transform.quantize_methods")
    module = importlib.import_module(f"rockpool.devices.xylo.{name}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph_read = from_nir(graph).as_graph()
        mapped = module.mapper(
            graph_read,
            weight_dtype="float",
            threshold_dtype="float",
            dash_dtype="float",
            max_hidden_neurons=hidden_max,
            max_output_neurons=outputs_max,
        )
    refused = [
        str(one.message) for one in caught if one.category.__name__ == "DRCWarning"
    ]
    if refused:
        raise ValueError(f"Rockpool's design rules: {'; '.join(refused)}")
    method = job.settings_as(ChipSettings).quantizer
    quantised = getattr(quantisers, f"{method}_quantize")(**mapped)
    numbers = {**mapped, **quantised}
    outputs = int(np.asarray(ChipNumbers.of(numbers).weights_out).shape[1])
    lag = layers(graph) - 1
    about = {
        "chip": chip,
        "support_module": name,
        "versions": versions(),
        "mapping": mapping(mapped, numbers, method),
        "quantizer": method,
        "dt_s": dt_s,
        "lag_steps": lag,
        "lag": "a layer's spikes reach the next one step later; taken off the output",
        "not_as_tried": not_as_tried(),
    }
    if differs := rule_differs(job):
        about |= {"rule differs": differs}
    units = membrane_units(job, numbers)
    about |= {"membrane_units": np.ravel(units).tolist()}
    return Specification(
        numbers=numbers,
        dt_s=dt_s,
        lag=lag,
        outputs=outputs,
        about=about,
        membrane_units=units,
    )


def membrane_units(job: Job, numbers: dict[str, Any]) -> Any:
    """Compute the size of a unit of each output's membrane on the chip in the file's
    units: 1, where the file is not there in its plain form or its outputs are not
    neurons.
    """
    import numpy as np

    if not job.plain:
        return 1.0
    last = layers_of.last_neurons(plain_network.read(job.plain))
    held = np.asarray(ChipNumbers.of(numbers).threshold_out, np.float64)
    if last is None or not np.all(held > 0):
        return 1.0
    stated = np.ravel(np.asarray(last.parameters.v_threshold, np.float64))
    if stated.size not in (1, held.size):
        return 1.0
    return stated / held


def prepared(job: Job) -> tuple[Any, float]:
    """Adapt the NIR graph to Rockpool's importer; return it with its time step.

    The importer takes min(tau_mem / (1 + r)) as the time step and ignores w_in: r is
    set by the time step, and the gains of the file go into the thresholds, where the
    conventions let them count. An Affine without a bias becomes a Linear.
    """
    import nir

    graph = nir.read(job.nir, type_check=False)
    dt_s = stated_dt_s(job, graph)
    file_gains = (
        not job.plain or plain_network.read(job.plain).conventions.gains == "file"
    )
    for name, node in list(graph.nodes.items()):
        inner = node.nodes if isinstance(node, nir.NIRGraph) else {}
        for own, nodes in ((name, graph.nodes), *((one, inner) for one in inner)):
            nodes[own] = as_imported(own, nodes[own], dt_s, file_gains)
    for name in [
        name for name, node in graph.nodes.items() if isinstance(node, nir.CubaLIF)
    ]:
        nest_recurrence(graph, name)
    return graph, dt_s


def as_imported(name: str, node: Any, dt_s: float, file_gains: bool) -> Any:
    """Adapt a node to Rockpool's importer."""
    import nir
    import numpy as np

    if isinstance(node, nir.Affine):
        if np.any(node.bias):
            raise ValueError(f"{name} has a bias; the chip's weights have none")
        node = nir.Linear(weight=np.asarray(node.weight))
    if isinstance(node, nir.Linear):
        node.weight = np.asarray(node.weight, np.float32)
    if isinstance(node, nir.CubaLIF):
        tau_syn, tau_mem = np.float64(node.tau_syn), np.float64(node.tau_mem)
        if file_gains:
            gain = node.w_in * (dt_s / tau_syn) * node.r * (dt_s / tau_mem)
            node.v_threshold = np.float32(node.v_threshold / gain)
        else:
            node.v_threshold = np.float32(node.v_threshold)
        node.r = np.float32(tau_mem / dt_s - 1)
        node.w_in = np.ones_like(node.r)
        for field in ("tau_syn", "tau_mem", "v_leak"):
            setattr(node, field, np.asarray(getattr(node, field), np.float32))
    return node


def nest_recurrence(graph: Any, name: str) -> None:
    """Put neurons and the weights from them to themselves into a graph of their own,
    the only form of recurrence that the importer knows.
    """
    import nir
    import numpy as np

    loops = []
    for source, target in graph.edges:
        if source != name or (target, name) not in graph.edges:
            continue
        if isinstance(graph.nodes[target], nir.Linear):
            loops.append(target)
    if not loops:
        return
    if len(loops) > 1 or sum(loops[0] in edge for edge in graph.edges) != 2:
        raise ValueError(
            f"{name} feeds itself through {', '.join(loops)}; Rockpool's importer knows"
            " one matrix from a layer to itself, and no other loop"
        )
    size = np.array([graph.nodes[loops[0]].weight.shape[0]])
    inside = {
        "input": nir.Input(size),
        "lif": graph.nodes[name],
        "w_rec": graph.nodes.pop(loops[0]),
        "output": nir.Output(size),
    }
    ways = [("input", "lif"), ("lif", "w_rec"), ("w_rec", "lif"), ("lif", "output")]
    graph.nodes[name] = nir.NIRGraph(inside, ways, type_check=False)
    graph.edges = [edge for edge in graph.edges if loops[0] not in edge]


def stated_dt_s(job: Job, graph: Any) -> float:
    """Return the time step: of the plain form, else of the file."""
    stated = (
        plain_network.read(job.plain).dt_s if job.plain else graph.metadata.get("dt_s")
    )
    if stated is None or not float(stated) > 0:
        raise ValueError(
            "no time step is stated: dt_s in the graph's metadata, in seconds"
        )
    return float(stated)


def layers(graph: Any) -> int:
    """Count the layers of neurons that the longest way from an input goes through,
    loops left out."""
    following: dict[str, list[str]] = {}
    for source, target in graph.edges:
        following.setdefault(source, []).append(target)

    def longest(name: str, seen: set[str]) -> int:
        layers_here = (
            1 if type(graph.nodes[name]).__name__ in ("CubaLIF", "NIRGraph") else 0
        )
        behind = [one for one in following.get(name, []) if one not in seen]
        return layers_here + max(
            (longest(one, seen | {one}) for one in behind), default=0
        )

    starts = [
        name for name, node in graph.nodes.items() if type(node).__name__ == "Input"
    ]
    return max((longest(name, {name}) for name in starts), default=0)


def map_network(job: Job) -> dict[str, Any]:
    """Describe the mapping of a network to a chip, without a run."""
    stand_in_for_samna()
    return specification(job, job.settings_as(ChipSettings).chip).about
