# SPDX-License-Identifier: Apache-2.0
"""A network on torch, in the worker of a [sut.gpu]: numpy and torch alone.

A run copies the spikes to the device, steps the network, synchronises the device, and
copies the output back: a mark after it proves that the device has finished.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sut_backends.gpu.fitness import input_max, sound, states_integers, unscaled
from sut_backends.gpu.layers import Layers
from sut_backends.gpu.neurons import TorchDevice
from sut_backends.workers.inside import processor_counter
from sut_backends.workers.inside.job import Job
from sut_backends.workers.inside.plain_network import PlainNetwork, read

_CHECKED = (8, 50)


@dataclass(frozen=True)
class TorchSettings:
    """Device ("cuda", "cuda:1", "cpu"), numbers ("float32", "float64"), arithmetic
    ("stated", "float", "integer") and threads.
    """

    device: str = "cuda"
    dtype: str = "float32"
    arithmetic: str = "stated"
    threads: int = 1


def open_network(job: Job) -> SpikingRunner:
    """Return what runs the network of a job."""
    settings = job.settings_as(TorchSettings)
    board = open_board(settings.device, settings.dtype, settings.threads)
    return SpikingRunner(board, read(job.plain), settings.arithmetic)


def open_board(device: str, dtype: str, threads: int) -> TorchDevice:
    """Choose the device of tensors; raises RuntimeError where torch sees no such
    device."""
    import torch

    board = torch.device(device)
    if board.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (board.index or 0) >= count:
            built = "" if torch.version.cuda else ", which was built without CUDA"
            raise RuntimeError(
                f"no device {device}: torch {torch.__version__}{built}, sees {count} of"
                ' CUDA; device = "cpu" runs on the processor'
            )
        torch.cuda.set_device(board)
    # Without these a product or a convolution keeps 10 bits of a float32.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_num_threads(threads)
    return TorchDevice(
        torch, board, {"float32": torch.float32, "float64": torch.float64}[dtype]
    )


class SteppedLayers(Protocol):
    """A network on a device."""

    def run(self, given: Any) -> tuple[Any, Any]:
        """Return what leaves the network for samples side by side, and the membranes
        after the last step, None where it has none.
        """


class TorchRunner:
    """A network on one device; `about` is its own description, `probe` the shape of
    an input on which the recording of kernels is tried.
    """

    def __init__(
        self, board: TorchDevice, layers: SteppedLayers, probe: tuple[int, ...]
    ) -> None:
        self._board = board
        self._layers = layers
        self._recorded: dict[tuple[int, ...], Any] = {}
        self.about: dict[str, Any] = {
            "torch": board.torch.__version__,
            "device": str(board.device),
            "kernels": self._kernels(probe),
            "processor_energy_counter": processor_counter.availability(),
            **_of_device(board),
        }

    def run(self, sample: Any) -> tuple[Any, Any]:
        """Run one sample; return what leaves the network and the membranes (outputs,)
        after the last step, or None."""
        return self.run_many([sample])[0]

    def run_many(self, samples: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Run samples of one length side by side; return what `run` does, of each."""
        torch = self._board.torch
        given = self.given(samples)
        try:
            values, membranes = self._stepped(given)
            self.synchronise()
            outputs = values.cpu().numpy()
            last = None if membranes is None else membranes.cpu().numpy()
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise ValueError(
                f"the device has no memory for {len(samples)} samples at once:"
                f" {_short(error)}; take fewer, or free it (nvidia-smi lists who"
                " holds it)"
            ) from error
        last_is_finite = last is None or np.isfinite(last).all()
        if not (np.isfinite(outputs).all() and last_is_finite):
            raise ValueError(
                "the network's outputs are not finite: its states went out of range"
            )
        answers = []
        for n in range(len(samples)):
            answers.append((outputs[n], None if last is None else last[n]))
        return answers

    @abstractmethod
    def given(self, samples: Sequence[Any]) -> Any:
        """Stack samples in one array; raises ValueError."""

    def synchronise(self) -> None:
        """Wait until the device has done all that it was given."""
        if self._board.device.type == "cuda":
            self._board.torch.cuda.synchronize(self._board.device)

    def close(self) -> None:
        """Give the device's memory back."""
        self._recorded.clear()
        if self._board.device.type == "cuda":
            self._board.torch.cuda.empty_cache()

    def _stepped(self, given: Any) -> tuple[Any, Any]:
        """Compute the output's values and the last membranes of samples, on the device.

        On a GPU the kernels of a run are recorded, once for each shape of the samples,
        and replayed: started one by one they would take several times as long.
        """
        if not self._records:
            return self._layers.run(self._board.tensor(given))
        if given.shape not in self._recorded:
            self._recorded[given.shape] = _recorded(
                self._board, self._layers, given.shape
            )
        entered, replay, values, membranes = self._recorded[given.shape]
        entered.copy_(self._board.torch.as_tensor(given, dtype=self._board.dtype))
        replay()
        return values, membranes

    def _kernels(self, probe: tuple[int, ...]) -> str:
        """Choose how kernels are started; recording is tried on one sample."""
        self._records = self._board.device.type == "cuda"
        if not self._records:
            return "started one by one"
        try:
            self._stepped(np.zeros(probe))
        except RuntimeError as error:
            self._records = False
            return f"started one by one, as they cannot be recorded: {_short(error)}"
        return "recorded once for each number of samples, and replayed"


class SpikingRunner(TorchRunner):
    """A NIR network, stepped."""

    def __init__(
        self, board: TorchDevice, network: PlainNetwork, arithmetic: str
    ) -> None:
        sound(network)
        stated = states_integers(network)
        if arithmetic == "integer" and not stated:
            raise ValueError(
                'this file states no shifts and scales: arithmetic = "float" runs it'
            )
        self._integer = stated if arithmetic == "stated" else arithmetic == "integer"
        self._network = unscaled(network) if self._integer else network
        self._input_max = input_max(self._network) if self._integer else float("inf")
        entry = self._network.inputs[0]
        self._shape = next(
            one.shape_out for one in self._network.nodes if one.name == entry
        )
        layers = Layers(board, self._network, self._integer)
        super().__init__(board, layers, (1, 2, *self._shape))
        self.about |= {
            "arithmetic": (
                "whole numbers of 16 bits, as the file's shifts say"
                if self._integer
                else str(board.dtype).removeprefix("torch.")
            ),
            "timed": (
                "copy of the spikes to the device, the steps, a synchronise of the"
                " device, copy of the outputs back"
            ),
        }
        if not self._integer and board.dtype == board.torch.float32:
            self.about |= {"float32_against_float64": self._difference()}

    def given(self, samples: Sequence[Any]) -> Any:
        """Stack samples in one array (batch, steps, *shape); raises ValueError."""
        shape = self._shape
        rows = [np.asarray(sample) for sample in samples]
        shapes = {row.shape for row in rows}
        if len(shapes) != 1 or rows[0][:1].size != np.prod(shape):
            wrong = ", ".join(map(str, sorted(shapes)))
            raise ValueError(
                f"spikes of the shape {wrong}, the network takes (steps, *{shape})"
            )
        given = np.stack(rows).reshape(len(rows), -1, *shape)
        if not np.isfinite(given).all():
            raise ValueError("the spikes hold NaN or infinity")
        if np.abs(given).max(initial=0) > self._input_max:
            raise ValueError(
                f"more than {self._input_max} spikes in a step are not exact here"
            )
        return given

    def _difference(self) -> dict[str, Any]:
        """Measure how far the outputs of float32 lie from those of float64 on random
        spikes."""
        shape = self._shape
        drawn = np.random.default_rng(1).random((*_CHECKED, *shape))
        spikes = (drawn < 0.3).astype(np.float64)
        board = self._board
        coarse, _ = self._layers.run(board.tensor(spikes))
        wide = replace(board, dtype=board.torch.float64)
        fine, _ = Layers(wide, self._network, integer=False).run(wide.tensor(spikes))
        apart = (coarse.double() - fine).abs().cpu().numpy()
        trains, steps = _CHECKED
        sum_of_outputs = float(fine.abs().sum())
        share_that_differs_by_half_or_more = float((apart >= 0.5).mean())
        return {
            "largest": float(apart.max()),
            "sum_of_outputs": sum_of_outputs,
            "share_that_differs_by_half_or_more": share_that_differs_by_half_or_more,
            "of": (
                f"the outputs of {trains} random trains of {steps} steps, on this"
                " device"
            ),
        }


def _recorded(
    board: TorchDevice, layers: SteppedLayers, shape: tuple[int, ...]
) -> tuple[Any, Any, Any, Any]:
    """Record the kernels of a run; return its samples, what replays it, its values and
    membranes."""
    torch = board.torch
    given = torch.zeros(shape, dtype=board.dtype, device=board.device)
    aside = torch.cuda.Stream(board.device)
    aside.wait_stream(torch.cuda.current_stream(board.device))
    with torch.cuda.stream(aside):  # the libraries set themselves up
        layers.run(given)
    torch.cuda.current_stream(board.device).wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values, membranes = layers.run(given)
    return given, graph.replay, values, membranes


def _of_device(board: TorchDevice) -> dict[str, Any]:
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
