# SPDX-License-Identifier: Apache-2.0
"""One-flip tabu search on torch: many chains side by side flip one node a step each, on
a GPU or on the processor.

In a set a chain chooses its flip as if an edge between two chosen nodes cost 1.5 times
the lighter one and not 8 times: the optima are the same, and the path between them is
less steep. Costs are counted as they are, in whole numbers. Flips are recorded, so that
the best vector is computed only when there is a better one. The host reads it after
each piece of flips, which ends in a synchronise of the device.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.interfaces.cpu_program import Routine
from scenarios.tasks.qubo import edges, problem_wire, tuning
from scenarios.tasks.qubo.answer import encode, packed_bits
from scenarios.tasks.qubo.cost import EDGE
from scenarios.tasks.qubo.graph import from_edges
from scenarios.tasks.qubo.problem import SET, Whole

#: An edge between chosen nodes of a set counts so many times its lighter node for the
#: choice of a flip.
WEIGHT = 1.5
#: Less than the least difference between two choices: it decides among equals alone.
NOISE = 0.45
_NOISE_ROWS = 256
#: A node that was taken out stays out for so many steps, and up to so many more at
#: random; other problems than sets hold a node that was taken in as well.
PARAMETERS: Mapping[str, Any] = {"chains": 0, "tenure": 7}
MOST = {"chains": 65_536, "tenure": 1_000_000}
CHAINS = {"cuda": 256, "cpu": 16}
#: The couplings are dense: a byte a pair without weights, up to 4 with them.
NODES_MAX = 16_384
#: Sums up to here leave room in float32 for the noise; larger ones are float64.
SINGLE_MAX = 1 << 20
#: Flips of each chain between two looks of the host.
PIECE = {"cuda": 16, "cpu": 64}
PIECE_S = 5e-3


def one_flip(tables: Sequence[Mapping[str, Any]], device: str = "cpu") -> Routine:
    """Return the search; parameters: chains (0: 256 on a GPU, 16 on a processor),
    tenure."""
    rules = tuning.rules(tables, tuple(PARAMETERS))
    for rule in rules:
        _refuse(rule.values)
    torch = _torch(device)
    pair = edges.encode(from_edges(2, np.array([[0, 1]])))
    tried = Chains(torch, device, pair, PARAMETERS)

    def load(payload: bytes) -> Chains:
        head = problem_wire.head_of(payload)
        own = tuning.values(rules, head.nodes, head.edges)
        return Chains(torch, device, payload, {**PARAMETERS, **own})

    return Routine(
        load,
        (),
        bytes,
        OneFlip,
        about=_about(torch, device) | {"kernels": tried.kernels},
    )


class Chains:
    """The chains on one problem, ready to begin; on a GPU a piece of flips is one
    recorded graph of kernels.
    """

    def __init__(
        self, torch: Any, device: str, payload: bytes, parameters: Mapping[str, Any]
    ) -> None:
        self.problem = problem_wire.decode(payload)
        nodes = self.problem.nodes
        if nodes > NODES_MAX:
            raise ValueError(
                f"the search copies its problem densely: {NODES_MAX} nodes at most, not"
                f" {nodes}"
            )
        self.torch = torch
        self.device = torch.device(device)
        self.piece = PIECE[self.device.type]
        self.chains = int(parameters["chains"]) or CHAINS[self.device.type]
        self._tenure = int(parameters["tenure"])
        self._replay: Any = None
        self.kernels = "started one by one"
        if nodes == 0:
            return
        try:
            self._lay_out(nodes)
            if self.device.type == "cuda":
                self._try_to_record()
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise ValueError(
                f"the device has no memory for {self.chains} chains on {nodes} nodes:"
                " fewer chains"
            ) from error

    def _lay_out(self, nodes: int) -> None:
        torch = self.torch
        problem = self.problem
        self._is_set = problem.kind == SET
        self._unit = EDGE if self._is_set else 1
        self._choice = WEIGHT if self._is_set else 1.0
        couplings = problem.quadratic // self._unit
        kind = _whole_kind(torch, couplings)
        on_device = partial(torch.as_tensor, device=self.device)
        lesser, greater = map(on_device, problem.ends)
        weights = on_device(couplings).to(kind)
        self._couplings = torch.zeros((nodes, nodes), dtype=kind, device=self.device)
        self._couplings[lesser, greater] = weights
        self._couplings[greater, lesser] = weights
        largest = problem.largest_change
        real = torch.float32 if largest < SINGLE_MAX else torch.float64
        self._linear = on_device(problem.linear).to(real)
        zeros = partial(torch.zeros, device=self.device, dtype=real)
        shape = (self.chains, nodes)
        self._chosen = zeros(shape)
        self._begun = zeros(shape)
        self._fields = zeros(shape)
        # float32 counts to 2**24 alone, and a long search flips more often.
        self._free_from = zeros(shape, dtype=torch.float64)
        self._step = zeros((), dtype=torch.float64)
        self._cost = zeros(self.chains, dtype=torch.int64)
        self._flips = zeros((self.piece, self.chains), dtype=torch.int64)
        self._costs = zeros((self.piece, self.chains), dtype=torch.int64)
        self._noise = zeros((_NOISE_ROWS, nodes))

    def begin(self, seed: int) -> None:
        """Choose no node in any chain."""
        if self.problem.nodes == 0:
            return
        self.torch.manual_seed(seed & 0xFFFF_FFFF)
        self._noise.uniform_(0.0, NOISE)
        for state in (
            self._chosen,
            self._fields,
            self._free_from,
            self._step,
            self._cost,
        ):
            state.zero_()

    def advance(self, flips: int) -> int:
        """Flip on, up to the length of a piece; return the least cost on the way."""
        self._begun.copy_(self._chosen)
        if self._replay is not None:
            flips = self.piece
            self._replay()
        else:
            for number in range(flips):
                self._flip(number)
        costs = self._costs[:flips].cpu().numpy()  # waits for the device
        self._least_at = divmod(int(costs.argmin()), self.chains)
        return int(costs.min())

    def best(self) -> NDArray[np.int8]:
        """Return the vector that had the least cost in the last piece."""
        number, chain = self._least_at
        begun = self._begun[chain].to(self.torch.int8)
        vector: NDArray[np.int8] = begun.cpu().numpy()
        flips = self._flips[: number + 1, chain].cpu().numpy()
        np.bitwise_xor.at(vector, flips, np.int8(1))
        return vector

    def _flip(self, number: int) -> None:
        """Flip a node in each chain; no step waits for the device."""
        torch = self.torch
        into = 1 - 2 * self._chosen  # 1: would be taken in, -1: would be taken out
        rows = torch.randint(_NOISE_ROWS, (self.chains,), device=self.device)
        costs = self._choice * self._fields + self._linear
        score = into * costs + self._noise[rows]
        score.masked_fill_(self._free_from > self._step, float("inf"))
        node = score.argmin(1, keepdim=True)
        way = into.gather(1, node)
        field = self._unit * self._fields.gather(1, node)
        change = way * (field + self._linear[node])
        self._cost += change[:, 0].to(torch.int64)
        self._chosen.scatter_add_(1, node, way)
        self._fields += way * self._couplings[node[:, 0]]
        self._step += 1
        more = torch.rand((self.chains, 1), device=self.device, dtype=way.dtype)
        held = (self._tenure * (1 + more)).to(self._step.dtype)
        if self._is_set:
            held = torch.where(way < 0, held, 1.0)
        self._free_from.scatter_(1, node, self._step + held)
        self._flips[number] = node[:, 0]
        self._costs[number] = self._cost

    def _try_to_record(self) -> None:
        try:
            self._record()
        except self.torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = str(error).splitlines()[0][:200]
            self.kernels = f"started one by one, as they cannot be recorded: {why}"
        else:
            self.kernels = "recorded as pieces of 16 flips, and replayed"

    def _record(self) -> None:
        """Record a piece of flips as one graph of kernels, after some flips to warm
        up."""
        torch = self.torch
        aside = torch.cuda.Stream(self.device)
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            for number in range(3):
                self._flip(number)
        torch.cuda.current_stream(self.device).wait_stream(aside)
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded):
            for number in range(self.piece):
                self._flip(number)
        self._replay = recorded.replay
        torch.cuda.synchronize(self.device)


class OneFlip:
    """A search by chains side by side: the best vector of all chains."""

    def __init__(self, chains: Chains, seed: int) -> None:
        self._chains = chains
        self._flip_s = PIECE_S / chains.piece
        self._vector = np.zeros(chains.problem.nodes, np.int8)
        self.cost = 0
        chains.begin(seed)

    def advance(self, left_s: float, until: int | None) -> bool:
        """Flip for some milliseconds, or the rest of the time; False where the graph
        has no nodes."""
        if not len(self._vector):
            return False
        wanted = int(min(left_s, PIECE_S) / self._flip_s)
        flips = min(max(wanted, 1), self._chains.piece)
        start_s = time.monotonic()
        least = self._chains.advance(flips)
        if least < self.cost:
            self.cost = least
            self._vector = self._chains.best()
        self._flip_s = max((time.monotonic() - start_s) / flips, 1e-9)
        return True

    def output(self, met: bool) -> bytes:
        """Return the answer, its cost counted again; raises RuntimeError where the
        device counted another.
        """
        problem = self._chains.problem
        counted = problem.cost(self._vector)
        if counted != self.cost:
            raise RuntimeError(
                f"the device counted a cost of {self.cost}, its vector has {counted}"
            )
        return encode(counted, met, problem.nodes, packed_bits(self._vector))


def _whole_kind(torch: Any, couplings: Whole) -> Any:
    """Return the smallest type that holds these whole numbers."""
    largest = int(np.abs(couplings).max(initial=0))
    for kind in (torch.int8, torch.int16):
        if largest <= torch.iinfo(kind).max:
            return kind
    return torch.int32


def _refuse(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not 0 <= value <= MOST[name]
        ):
            raise ValueError(f"{name} = {value!r}: a whole number, 0 to {MOST[name]}")


def _about(torch: Any, device: str) -> dict[str, Any]:
    about = {
        "torch": torch.__version__,
        "device": device,
        "synchronised": "after each piece",
    }
    if torch.device(device).type == "cuda":
        properties = torch.cuda.get_device_properties(torch.device(device))
        about |= {"device_name": properties.name, "cuda": torch.version.cuda}
        about |= {"uuid": f"GPU-{getattr(properties, 'uuid', 'not readable')}"}
    return about


def _torch(device: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            f"{error.name} is not installed: pip install 'neurorig[gpu]'"
        ) from error
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"torch {torch.__version__} sees no CUDA device")
    if torch.device(device).type == "cuda":
        torch.cuda.set_device(torch.device(device))
    return torch
