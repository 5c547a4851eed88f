# SPDX-License-Identifier: Apache-2.0
"""A network on torch, in the worker of a [sut.gpu]: numpy and torch alone, nothing of the rig.

A run copies the spikes to the device, steps the network, synchronises the device, and copies what
came out back: a mark behind it says that the device is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sut_backends.gpu.fitness import input_max, sound, states_integers, unscaled
from sut_backends.gpu.neurons import KINDS, Board, FloatNeurons, IntegerNeurons
from sut_backends.gpu.stages import has_state, stage
from sut_backends.workers.inside.plain_network import PlainNetwork, PlainNode, read

_CHECKED = (8, 50)


def open_network(job: Mapping[str, Any]) -> TorchRunner:
    """Return what runs the network of a job; its settings: `device` ("cuda", "cuda:1", "cpu"),
    `dtype` ("float32", "float64"), `arithmetic` ("stated", "float", "integer") and `threads`.
    """
    settings = job["settings"]
    board = open_board(
        settings.get("device", "cuda"),
        settings.get("dtype", "float32"),
        int(settings.get("threads", 1)),
    )
    return TorchRunner(board, read(job["plain"]), settings.get("arithmetic", "stated"))


def open_board(device: str, dtype: str, threads: int) -> Board:
    """Return where tensors go; raises RuntimeError where torch sees no such device."""
    import torch

    wanted = torch.device(device)
    if wanted.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (wanted.index or 0) >= count:
            built = "" if torch.version.cuda else ", which was built without CUDA"
            raise RuntimeError(
                f"no device {device}: torch {torch.__version__}{built}, sees {count} of CUDA; "
                'device = "cpu" runs on the processor'
            )
    # Without these a product or a convolution keeps 10 bits of a float32.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_num_threads(threads)
    return Board(torch, wanted, {"float32": torch.float32, "float64": torch.float64}[dtype])


class TorchRunner:
    """A network on one device; `about` is what it says of itself."""

    def __init__(self, board: Board, network: PlainNetwork, arithmetic: str) -> None:
        sound(network)
        stated = states_integers(network)
        if arithmetic == "integer" and not stated:
            raise ValueError('this file states no shifts and scales: arithmetic = "float" runs it')
        self._integer = stated if arithmetic == "stated" else arithmetic == "integer"
        self._network = unscaled(network) if self._integer else network
        self._input_max = input_max(self._network) if self._integer else float("inf")
        self._nodes = {node.name: node for node in self._network.nodes}
        self._board = board
        self.about: dict[str, Any] = {
            "torch": board.torch.__version__,
            "device": str(board.device),
            "arithmetic": "whole numbers of 16 bits, as the file's shifts say"
            if self._integer
            else str(board.dtype).removeprefix("torch."),
            "timed": "copy of the spikes to the device, the steps, a synchronise of the device, "
            "copy of the outputs back",
            **_of_device(board),
        }
        if not self._integer and board.dtype == board.torch.float32:
            self.about["float32_against_float64"] = self._difference()

    def run(self, spikes: Any) -> tuple[Any, Any]:
        """Run one sample: spikes (steps, channels) -> values (steps, outputs) and the membranes
        (outputs,) behind the last step, or None.
        """
        return self.run_many([spikes])[0]

    def run_many(self, samples: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Run samples of one length side by side; return what `run` does, of each."""
        torch = self._board.torch
        given = self._given(samples)
        try:
            values, membranes = self._stepped(self._board.tensor(given))
            self.synchronise()
            found = values.cpu().numpy()
            last = None if membranes is None else membranes.cpu().numpy()
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise ValueError(
                f"the device has no memory for {len(samples)} samples at once: {_short(error)}; "
                "take fewer, or free it (nvidia-smi lists who holds it)"
            ) from error
        if not (np.isfinite(found).all() and (last is None or np.isfinite(last).all())):
            raise ValueError("the network's outputs are not finite: its states went out of range")
        return [(found[n], None if last is None else last[n]) for n in range(len(samples))]

    def synchronise(self) -> None:
        """Wait until the device has done all that it was given."""
        if self._board.device.type == "cuda":
            self._board.torch.cuda.synchronize(self._board.device)

    def close(self) -> None:
        """Give the device's memory back."""
        if self._board.device.type == "cuda":
            self._board.torch.cuda.empty_cache()

    def _given(self, samples: Sequence[Any]) -> Any:
        """Return samples as one array (batch, steps, *shape); raises ValueError."""
        shape = self._nodes[self._network.inputs[0]].shape_out
        rows = [np.asarray(sample) for sample in samples]
        if len({row.shape for row in rows}) != 1 or rows[0][:1].size != np.prod(shape):
            wrong = ", ".join(map(str, sorted({row.shape for row in rows})))
            raise ValueError(f"spikes of the shape {wrong}, the network takes (steps, *{shape})")
        given = np.stack(rows).reshape(len(rows), -1, *shape)
        if not np.isfinite(given).all():
            raise ValueError("the spikes hold NaN or infinity")
        if np.abs(given).max(initial=0) > self._input_max:
            raise ValueError(f"more than {self._input_max} spikes in a step are not exact here")
        return given

    def _stepped(self, given: Any) -> tuple[Any, Any]:
        """Return the output's values (batch, steps, outputs) and the last membranes (batch,
        outputs), on the device.
        """
        batch, steps = given.shape[:2]
        with self._board.torch.inference_mode():
            neurons, stages = self._ready(batch)
            if any(node.late_sources for node in self._network.nodes):
                values = self._step_by_step(given, stages)
            else:
                values = self._node_by_node(given, stages)
            last = neurons.get(self._last_neurons())
            membranes = None if last is None else last.membrane.reshape(batch, -1)
            return values.reshape(batch, steps, -1), membranes

    def _ready(self, batch: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return neurons at rest, and every node's step."""
        board = self._board
        how, dt_s = self._network.conventions, self._network.dt_s
        neurons: dict[str, Any] = {}
        stages: dict[str, Any] = {}
        for node in self._network.nodes:
            if node.type in KINDS:
                neurons[node.name] = (
                    IntegerNeurons(board, node, batch)
                    if self._integer
                    else FloatNeurons(board, node, how, dt_s, batch)
                )
                stages[node.name] = neurons[node.name].step
            else:
                stages[node.name] = stage(board, node, dt_s, batch)
        return neurons, stages

    def _node_by_node(self, given: Any, stages: Mapping[str, Any]) -> Any:
        """Take a node through all steps before the next one begins; nodes without a state take all
        steps at once.
        """
        batch, steps = given.shape[:2]
        left: dict[str, Any] = {}
        for node in self._network.nodes:
            own = stages[node.name]
            entered = _sum([left[name] for name in node.sources]) if node.sources else given
            if has_state(node):
                rows = [own(entered[:, step]) for step in range(steps)]
                left[node.name] = self._board.torch.stack(rows, dim=1)
            else:
                values = own(entered.reshape(batch * steps, *node.shape_in))
                left[node.name] = values.reshape(batch, steps, *node.shape_out)
        return left[self._network.outputs[0]]

    def _step_by_step(self, given: Any, stages: Mapping[str, Any]) -> Any:
        """Take every node through a step before the next one begins, as cycles need it."""
        batch, steps = given.shape[:2]
        zero = self._board.tensor(0.0)
        now = {node.name: zero.expand(batch, *node.shape_out) for node in self._network.nodes}
        rows = []
        for step in range(steps):
            before = now
            now = {}
            for node in self._network.nodes:
                parts = [now[name] for name in node.sources]
                parts += [before[name] for name in node.late_sources]
                now[node.name] = stages[node.name](_sum(parts) if parts else given[:, step])
            rows.append(now[self._network.outputs[0]])
        return self._board.torch.stack(rows, dim=1)

    def _last_neurons(self) -> str:
        """Return the neurons whose values leave the network unchanged; empty where something else
        stands before the output.
        """
        node: PlainNode = self._nodes[self._network.outputs[0]]
        while node.type in ("Output", "Flatten") and len(node.sources) == 1:
            node = self._nodes[node.sources[0]]
        return node.name if node.type in KINDS else ""

    def _difference(self) -> dict[str, Any]:
        """Return how far the outputs of float32 lie from those of float64 on random spikes."""
        shape = self._nodes[self._network.inputs[0]].shape_out
        spikes = (np.random.default_rng(1).random((*_CHECKED, *shape)) < 0.3).astype(np.float64)
        board = self._board
        coarse, _ = self._stepped(board.tensor(spikes))
        self._board = replace(board, dtype=board.torch.float64)
        try:
            fine, _ = self._stepped(self._board.tensor(spikes))
        finally:
            self._board = board
        apart = (coarse.double() - fine).abs().cpu().numpy()
        trains, steps = _CHECKED
        return {
            "largest": float(apart.max()),
            "share_that_differs_by_half_or_more": float((apart >= 0.5).mean()),
            "of": f"the outputs of {trains} random trains of {steps} steps, on this device",
        }


def _sum(parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _of_device(board: Board) -> dict[str, Any]:
    torch = board.torch
    if board.device.type != "cuda":
        return {"threads": torch.get_num_threads()}
    properties = torch.cuda.get_device_properties(board.device)
    return {
        "title": f"{properties.name}, torch",
        "device_name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "memory_b": properties.total_memory,
        "uuid": f"GPU-{getattr(properties, 'uuid', 'not readable')}",
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "tf32": False,
    }


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0][:200]
