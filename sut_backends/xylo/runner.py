# SPDX-License-Identifier: Apache-2.0
"""Run a network on XyloSim, SynSense's simulator of its chips, inside a worker: a NIR file through
Rockpool's importer, mapper and quantiser.

Only numpy, nir, rockpool and xylosim are needed, each imported inside functions. The vendor's
driver, samna, is replaced by a stand-in: the package of that name on PyPI calls pip when it is
imported, and Rockpool imports it at every turn. Vendor's checks only warn; ours are made on the
host (limits.py) before a worker is started.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

#: What each chip is called in Rockpool, and how many hidden and output neurons it has.
CHIPS = {"audio2": ("syns61201", 1000, 8), "audio3": ("syns65302", 992, 32)}
CHANNELS = 16
SPIKES_IN_MAX = 15
WEIGHT_MAX = 127
THRESHOLD_MAX = 32_767
#: How the chips step a network, in the words of docs/MODELS.md; an output fires once a step.
_RULE = {"reset": "subtract", "above": False, "gains": "unit", "start": "zero", "spikes_max": 31}
_PACKAGES = ("rockpool", "xylosim", "nir", "nirtorch", "torch", "numpy", "bitstruct")


def open_network(job: dict[str, Any]) -> Runner:
    """Map the network of a job onto a chip's simulator; raises ValueError with what to do."""
    chip = job["settings"].get("chip", "audio2")
    stand_in_for_samna()
    found = specification(job, chip)
    module = importlib.import_module(f"rockpool.devices.xylo.{CHIPS[chip][0]}")
    wanted = {**found["numbers"], "dt": found["dt_s"]}
    wanted.pop("mapped_graph")
    simulator = module.XyloSim.from_specification(**wanted)
    return Runner(simulator, found["lag"], found["outputs"], found["about"])


class Runner:
    """A network on a simulated chip."""

    def __init__(self, simulator: Any, lag: int, outputs: int, about: dict[str, Any]) -> None:
        self._simulator = simulator
        self._lag = lag
        self._outputs = outputs
        self.about = about

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run from rest; returns the output spikes of each step, and the last membranes.

        The chip hands spikes on one step later a layer: so many silent steps are added, and the
        first of the output are left out.
        """
        import numpy as np

        raster = padded(spikes, self._lag)
        self._simulator.reset_state()
        out, _state, record = self._simulator(raster, record=True)
        values = np.asarray(out, np.int64).reshape(len(raster), self._outputs)[self._lag :]
        membranes = np.asarray(record["Vmem_out"], np.int64).reshape(len(raster), self._outputs)
        return values, membranes[-1]

    def close(self) -> None:
        """Do nothing: there is no device."""


def padded(spikes: Any, lag: int) -> Any:
    """Return spikes (steps, channels) with `lag` silent steps behind; ValueError where the chip
    would not take them.
    """
    import numpy as np

    counts = np.asarray(spikes)
    if counts.ndim != 2 or counts.shape[1] > CHANNELS:
        raise ValueError(f"spikes of shape {counts.shape}; wanted (steps, up to {CHANNELS})")
    if not np.all(np.isfinite(counts)) or np.any(counts != np.rint(counts)):
        raise ValueError("input spikes are counted: whole numbers, no NaN; look at the codec")
    if counts.size and (counts.min() < 0 or counts.max() > SPIKES_IN_MAX):
        raise ValueError(
            f"{counts.min()} to {counts.max()} input spikes in a step; the chip takes 0 to "
            f"{SPIKES_IN_MAX}: limit them in the codec"
        )
    silence = np.zeros((lag, counts.shape[1]), np.int64)
    return np.concatenate([counts.astype(np.int64), silence])


def specification(job: dict[str, Any], chip: str) -> dict[str, Any]:
    """Return what the mapper and the quantiser make of a NIR file for a chip: {"numbers", "dt_s",
    "lag", "outputs", "about"}.
    """
    import numpy as np

    if chip not in CHIPS:
        raise ValueError(f"no chip {chip!r}: one of {', '.join(CHIPS)}")
    name, hidden_max, outputs_max = CHIPS[chip]
    graph, dt_s = prepared(job)
    from_nir = importlib.import_module("rockpool.nn.modules.torch.nir").from_nir
    quantisers = importlib.import_module("rockpool.transform.quantize_methods")
    module = importlib.import_module(f"rockpool.devices.xylo.{name}")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mapped = module.mapper(
            from_nir(graph).as_graph(),
            weight_dtype="float",
            threshold_dtype="float",
            dash_dtype="float",
            max_hidden_neurons=hidden_max,
            max_output_neurons=outputs_max,
        )
    refused = [str(one.message) for one in said if one.category.__name__ == "DRCWarning"]
    if refused:
        raise ValueError(f"Rockpool's design rules: {'; '.join(refused)}")
    method = job["settings"].get("quantizer", "global")
    quantised = getattr(quantisers, f"{method}_quantize")(**mapped)
    numbers = {**mapped, **quantised}
    outputs = int(np.asarray(numbers["weights_out"]).shape[1])
    lag = layers(graph) - 1
    about = {
        "chip": chip,
        "support_module": name,
        "versions": versions(),
        "mapping": mapping(mapped, numbers),
        "quantizer": method,
        "dt_s": dt_s,
        "lag_steps": lag,
        "lag": "a layer's spikes reach the next one step later; taken off the output",
        "not_as_tried": not_as_tried(),
    }
    if differs := rule_differs(job):
        about["rule differs"] = differs
    return {"numbers": numbers, "dt_s": dt_s, "lag": lag, "outputs": outputs, "about": about}


def prepared(job: dict[str, Any]) -> tuple[Any, float]:
    """Return the NIR graph as Rockpool's importer needs it, and its time step.

    The importer takes min(tau_mem / (1 + r)) as the time step and ignores w_in: r is set by the
    time step, and what the gains of the file come to goes into the thresholds. An Affine without
    a bias becomes a Linear.
    """
    import nir

    graph = nir.read(job["nir"], type_check=False)
    dt_s = stated_dt_s(job, graph)
    for name, node in list(graph.nodes.items()):
        inner = node.nodes if isinstance(node, nir.NIRGraph) else {}
        for own, nodes in ((name, graph.nodes), *((one, inner) for one in inner)):
            nodes[own] = as_imported(own, nodes[own], dt_s)
    for name in [name for name, node in graph.nodes.items() if isinstance(node, nir.CubaLIF)]:
        nest_recurrence(graph, name)
    return graph, dt_s


def as_imported(name: str, node: Any, dt_s: float) -> Any:
    """Return a node as Rockpool's importer wants it."""
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
        gain = node.w_in * (dt_s / tau_syn) * node.r * (dt_s / tau_mem)
        node.v_threshold = np.float32(node.v_threshold / gain)
        node.r = np.float32(tau_mem / dt_s - 1)
        node.w_in = np.ones_like(node.r)
        for field in ("tau_syn", "tau_mem", "v_leak"):
            setattr(node, field, np.asarray(getattr(node, field), np.float32))
    return node


def nest_recurrence(graph: Any, name: str) -> None:
    """Put neurons and the weights from them to themselves into a graph of their own, the only form
    of recurrence that the importer knows.
    """
    import nir
    import numpy as np

    loops = [
        target
        for source, target in graph.edges
        if source == name
        and isinstance(graph.nodes[target], nir.Linear)
        and (target, name) in graph.edges
    ]
    if not loops:
        return
    if len(loops) > 1 or sum(loops[0] in edge for edge in graph.edges) != 2:
        raise ValueError(
            f"{name} feeds itself through {', '.join(loops)}; Rockpool's importer knows one matrix "
            "from a layer to itself, and no other loop"
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


def stated_dt_s(job: dict[str, Any], graph: Any) -> float:
    """Return the time step: of the plain form, else of the file."""
    import numpy as np

    if job.get("plain"):
        with np.load(job["plain"], allow_pickle=False) as plain:
            stated = json.loads(str(plain["network"]))["dt_s"]
    else:
        stated = graph.metadata.get("dt_s")
    if stated is None or not float(stated) > 0:
        raise ValueError("no time step is stated: dt_s in the graph's metadata, in seconds")
    return float(stated)


def layers(graph: Any) -> int:
    """Return how many layers of neurons the longest way from an input goes through, loops left
    out.
    """
    following: dict[str, list[str]] = {}
    for source, target in graph.edges:
        following.setdefault(source, []).append(target)

    def longest(name: str, seen: set[str]) -> int:
        own = 1 if type(graph.nodes[name]).__name__ in ("CubaLIF", "NIRGraph") else 0
        behind = [one for one in following.get(name, []) if one not in seen]
        return own + max((longest(one, seen | {one}) for one in behind), default=0)

    starts = [name for name, node in graph.nodes.items() if type(node).__name__ == "Input"]
    return max((longest(name, {name}) for name in starts), default=0)


def rule_differs(job: dict[str, Any]) -> str:
    """Return in what the chips' rule is another than the file's; empty where it is the same."""
    import numpy as np

    if not job.get("plain"):
        return ""
    with np.load(job["plain"], allow_pickle=False) as plain:
        stated = json.loads(str(plain["network"]))["conventions"]
    names = {"above": "a spike above the threshold and not at it"}
    return "; ".join(
        f"{names.get(name, name)}: {stated[name]} in the file, {held} on the chip"
        for name, held in _RULE.items()
        if stated[name] != held
    )


def map_network(job: dict[str, Any]) -> dict[str, Any]:
    """Return how a chip holds a network, and run nothing."""
    stand_in_for_samna()
    about: dict[str, Any] = specification(job, job["settings"].get("chip", "audio2"))["about"]
    return about


def mapping(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what the chip holds of the network, and what was lost on the way."""
    import numpy as np

    def parts(spec: dict[str, Any]) -> tuple[Any, Any]:
        inner = np.concatenate([np.ravel(spec["weights_in"]), np.ravel(spec["weights_rec"])])
        return inner.astype(float), np.ravel(spec["weights_out"]).astype(float)

    told = {
        "hidden_neurons": int(np.asarray(after["weights_rec"]).shape[0]),
        "output_neurons": int(np.asarray(after["weights_out"]).shape[1]),
        "synapses": int(sum(np.count_nonzero(part) for part in parts(after))),
    }
    lost = zeroed = clipped = 0.0
    for wanted, got in zip(parts(before), parts(after), strict=True):
        largest = np.abs(wanted).max(initial=0.0)
        scale = WEIGHT_MAX / largest if largest else 1.0
        error = np.abs(got - wanted * scale)
        clipped += np.count_nonzero(error > 1.0)
        zeroed += np.count_nonzero((wanted != 0) & (got == 0))
        lost = max(lost, float(error.max(initial=0.0)) / WEIGHT_MAX)
    taus = 0.0
    for name in ("dash_mem", "dash_syn", "dash_mem_out", "dash_syn_out"):
        exact, held = np.ravel(before[name]).astype(float), np.ravel(after[name]).astype(float)
        used = exact > 0
        taus = max(taus, float(np.abs(2.0 ** (held - exact) - 1)[used].max(initial=0.0)))
    limits = np.concatenate([np.ravel(after["threshold"]), np.ravel(after["threshold_out"])])
    return told | {
        "weights_clipped": int(clipped),
        "weights_lost_to_zero": int(zeroed),
        "quantisation_error_of_largest_weight": lost,
        "time_constants_off_by_at_most": taus,
        "thresholds_at_limit": int(np.count_nonzero(limits >= THRESHOLD_MAX)),
    }


def versions() -> dict[str, str]:
    """Return the version of each package that decides the result."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found | {"samna": "stand-in"}


def not_as_tried() -> list[str]:
    """Return the packages of another version than the pinned one, with which this was tried."""
    found = versions()
    differ = []
    for line in Path(__file__).with_name("requirements.txt").read_text().splitlines():
        name, _, pinned = line.partition("==")
        there = found.get(name, pinned).partition("+")[0]
        if pinned and there != pinned:
            differ.append(f"{name} {there}, tried with {pinned}")
    return differ


def stand_in_for_samna() -> None:
    """Put something in place of samna that Rockpool can import: every attribute of it is a class
    that does nothing.
    """
    if "samna" in sys.modules:
        return

    class Hollow(type):
        def __getattr__(cls, name: str) -> Any:
            return hollow(name)

    def hollow(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(name, (), {})

    class Nothing(types.ModuleType):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.__path__: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return hollow(name)

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name.partition(".")[0] != "samna":
                return None
            return importlib.util.spec_from_loader(name, finder)

        @staticmethod
        def create_module(spec: Any) -> Any:
            return Nothing(spec.name)

        @staticmethod
        def exec_module(module: Any) -> None:
            return

    finder: Any = Finder()
    sys.meta_path.insert(0, finder)
