# SPDX-License-Identifier: Apache-2.0
"""The NIR file: exact both ways, and every corruption of it a DataError that names the
fault.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import nir
import numpy as np
import pytest

from lab.asc.nir_writer import write_model
from rig.errors import DataError
from scenarios.tasks.asc.model import AscModel, NetworkLayer
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL

pytestmark = pytest.mark.usefixtures("read_networks_here")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a copy of the shipped model that may be spoilt."""
    return Path(shutil.copy(SHIPPED_MODEL, tmp_path / "spoilt.nir"))


def overwrite(place: str, change: Callable[[Any], Any]) -> Callable[[h5py.File], None]:
    """Return a change of the values of one data set of the file."""

    def apply(file: h5py.File) -> None:
        values = change(file[f"node/{place}"][()])
        attributes = file[f"node/{place}"].dtype if np.shape(values) == () else None
        del file[f"node/{place}"]
        file.create_dataset(f"node/{place}", data=values, dtype=attributes)

    return apply


def delete(place: str) -> Callable[[h5py.File], None]:
    """Return a deletion."""

    def apply(file: h5py.File) -> None:
        del file[f"node/{place}"]

    return apply


def first(value: float) -> Callable[[Any], Any]:
    """Return a change of the first number of an array."""

    def apply(values: Any) -> Any:
        values.flat[0] = value
        return values

    return apply


SPOILT: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "weight NaN": (
        overwrite("nodes/weight_0/weight", first(np.nan)),
        "layer 0 weight holds NaN",
    ),
    "weight infinite": (
        overwrite("nodes/weight_1/weight", first(np.inf)),
        "layer 1 weight holds NaN or infinity",
    ),
    "weight fractional": (
        overwrite("nodes/weight_0/weight", first(0.5)),
        "layer 0 weight is not of whole numbers",
    ),
    "weight too large": (
        overwrite("nodes/weight_0/weight", first(128)),
        "layer 0 weight is not of whole numbers of int8",
    ),
    "weight changed": (
        overwrite("nodes/weight_0/weight", lambda w: -w),
        "not those the file was written with",
    ),
    "weight of another shape": (
        overwrite("nodes/weight_1/weight", lambda w: w[:, :-1]),
        r"not a NIR file|feeds one of",
    ),
    "tau negative": (
        overwrite("nodes/neurons_0/tau_mem", first(-0.016)),
        "layer 0 tau_mem is not positive",
    ),
    "tau zero": (
        overwrite("nodes/neurons_0/tau_syn", first(0)),
        "layer 0 tau_syn is not positive",
    ),
    "tau NaN": (
        overwrite("nodes/neurons_0/tau_syn", first(np.nan)),
        "layer 0 tau_syn holds NaN",
    ),
    "tau odd": (
        overwrite("nodes/neurons_1/tau_mem", first(0.02)),
        "layer 1 tau_mem is not the time step times a power of two",
    ),
    "threshold negative": (
        overwrite("nodes/neurons_0/v_threshold", first(-5)),
        "a threshold is not positive",
    ),
    "threshold too large": (
        overwrite("nodes/neurons_2/v_threshold", first(40_000)),
        "layer 2 v_threshold is not of whole numbers",
    ),
    "leak": (
        overwrite("nodes/neurons_0/v_leak", first(1)),
        "v_leak and v_reset must be 0",
    ),
    "dash out of range": (
        overwrite("nodes/neurons_0/metadata/dash_mem", first(30)),
        "layer 0 tau_mem",
    ),
    "no dashes": (delete("nodes/neurons_0/metadata/dash_mem"), "no decay shifts"),
    "no scale": (delete("nodes/weight_2/metadata/scale"), "layer 2: no scale"),
    "no filter bank": (delete("nodes/input/metadata/filter_bank"), "no filter bank"),
    "filter unstable": (
        overwrite("nodes/input/metadata/filter_bank/a2", first(1 << 30)),
        "a filter is not stable",
    ),
    "filter of another shape": (
        overwrite("nodes/input/metadata/filter_bank/b0", lambda b: b[:-1]),
        "b0 has shape",
    ),
    "spikes not limited": (delete("nodes/neurons_1/metadata/spikes_max"), "spikes_max"),
    "spike rule unknown": (delete("nodes/neurons_1/metadata/spike_rule"), "spike rule"),
    "another step": (
        overwrite("metadata/dt_s", lambda dt: 0.001),
        "made for a time step of",
    ),
    "another format": (
        overwrite("metadata/format", lambda name: "other"),
        "not a model of format neurorig-asc",
    ),
    "no metadata": (delete("metadata"), "not a model of format"),
    "node missing": (delete("nodes/neurons_1"), r"not a NIR file|missing"),
    "node nameless": (delete("nodes/neurons_0/type"), "not a NIR file"),
    "parameter missing": (delete("nodes/neurons_0/tau_mem"), "not a NIR file"),
    "no graph": (lambda file: file.__delitem__("node"), "not a NIR file"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_file_is_refused_with_the_cause(path: Path, name: str) -> None:
    spoil, cause = SPOILT[name]
    with h5py.File(path, "r+") as file:
        spoil(file)
    with pytest.raises(DataError, match=cause) as caught:
        read_model(path)
    assert "spoilt.nir" in str(caught.value)


def test_what_is_written_is_read_exactly(path: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)

    def layer(neurons: int, inputs: int, spikes_max: int) -> NetworkLayer:
        weight = rng.integers(-127, 128, (neurons, inputs)).astype(np.int8)
        dashes = rng.integers(1, 16, (2, neurons)).astype(np.uint8)
        return NetworkLayer(
            weight,
            dashes[0],
            dashes[1],
            rng.integers(1, 32_768, neurons).astype(np.int16),
            spikes_max,
        )

    model = AscModel("other", read_model(path).bank, (layer(9, 16, 31), layer(4, 9, 1)))
    write_model(model, tmp_path / "other.nir")
    again = read_model(tmp_path / "other.nir")
    assert again.identity == model.identity
    for mine, its in zip(again.layers, model.layers, strict=True):
        for name in ("weight", "dash_syn", "dash_mem", "threshold"):
            assert np.array_equal(getattr(mine, name), getattr(its, name))


@pytest.mark.parametrize("content", [b"", b"not HDF5 at all", b"\x89HDF\r\n\x1a\n"])
def test_what_is_not_hdf5_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a NIR file"):
        read_model(path)


def test_a_truncated_file_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match="is not a NIR file"):
        read_model(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.nir is not a NIR file"):
        read_model(tmp_path / "gone.nir")


def test_neurons_of_another_kind_are_refused(path: Path) -> None:
    graph = nir.read(str(path))
    old = graph.nodes["neurons_0"]
    graph.nodes["neurons_0"] = nir.LIF(
        old.tau_mem, old.r, old.v_leak, old.v_threshold, metadata=old.metadata
    )
    nir.write(str(path), graph)
    with pytest.raises(DataError, match="layer 0: Linear and LIF"):
        read_model(path)


def test_a_recurrent_graph_is_refused(path: Path) -> None:
    graph = nir.read(str(path))
    graph.edges.append(("neurons_1", "neurons_1"))
    nir.write(str(path), graph)
    with pytest.raises(DataError, match="not one chain"):
        read_model(path)


def test_the_largest_weight_is_127_so_that_quantising_by_the_largest_has_no_effect():
    assert (
        max(
            int(np.abs(layer.weight.astype(int)).max())
            for layer in read_model(SHIPPED_MODEL).layers
        )
        == 127
    )


def test_conventions_of_the_nodes_are_those_of_rockpool_and_of_the_specification():
    nodes = nir.read(str(SHIPPED_MODEL)).nodes
    for number in range(3):
        neurons = nodes[f"neurons_{number}"]
        assert np.allclose(neurons.tau_mem / (1 + neurons.r), 0.008), (
            "Rockpool takes min(tau_mem / (1 + r)) as its time step"
        )
        gain = (
            (0.008 / neurons.tau_syn)
            * neurons.w_in
            * (0.008 / neurons.tau_mem)
            * neurons.r
        )
        assert np.allclose(gain, 1), (
            "one spike of weight 1 moves the membrane by 1 in the forward Euler step of"
            " the specification"
        )
