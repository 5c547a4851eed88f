# SPDX-License-Identifier: Apache-2.0
"""Training: the trained network is the one that runs, the shipped network fits its
target, and torch is asked for by name.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from lab.asc.filters import designed, equalised
from scenarios.tasks.asc.dataset import open_dataset
from scenarios.tasks.asc.generate import ensure
from scenarios.tasks.asc.integer import run_layer, spike_counts
from scenarios.tasks.asc.nirfile import read_model
from tests.scenarios.tasks.asc.conftest import TinySet


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "lab.asc.surrogate", raising=False)
    monkeypatch.delitem(sys.modules, "lab.asc.train", raising=False)
    with pytest.raises(ImportError, match=r"lab/requirements\.txt"):
        import lab.asc.train  # noqa: F401


def test_the_layer_in_training_fires_as_the_integer_layer() -> None:
    torch = pytest.importorskip("torch")
    from lab.asc.train import fresh_layers

    torch.set_num_threads(1)
    torch.manual_seed(4)
    rng = np.random.default_rng(4)
    for layer in fresh_layers((24, 12)):
        layer.weight = layer.weight.detach() + 0.1
        spikes = rng.integers(0, 4, (3, 125, layer.weight.shape[1])).astype(np.uint8)
        trained, membrane = layer.run(
            torch.from_numpy(spikes.astype(np.float32)).transpose(0, 1)
        )
        whole, whole_membrane = run_layer(layer.integers(), spikes)
        assert np.array_equal(trained.transpose(0, 1).numpy(), whole)
        assert np.array_equal(membrane.numpy(), whole_membrane)
        assert 0 < np.count_nonzero(whole) < whole.size


def test_levels_become_the_same_spikes_in_training(cache: Path) -> None:
    torch = pytest.importorskip("torch")
    from lab.asc.train import fired, read_split
    from scenarios.tasks.asc.audio import read_clip

    clips = open_dataset(ensure(cache, 6, 3)).train[::8]
    levels, labels = read_split(designed(), clips, halfway=False)
    bank = equalised(designed(), levels)
    spikes = fired(
        torch.from_numpy(levels.astype(np.float32)),
        torch.from_numpy(bank.offset.astype(np.float32)),
    )
    assert np.array_equal(
        spikes.numpy(),
        spike_counts(bank, np.concatenate([read_clip(clip.path) for clip in clips])),
    )
    assert labels.tolist() == [0] * 10 + [2] * 10
    assert abs(float(spikes.mean()) - 3) < 0.2


def test_a_short_training_writes_a_model_that_can_be_read(
    tiny: TinySet, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from lab.asc.train import main

    main(
        [
            "--data",
            str(tiny.folder),
            "--out",
            str(tmp_path / "quick.nir"),
            "--updates",
            "2",
            "--name",
            "quick",
        ]
    )
    assert read_model(tmp_path / "quick.nir").identity.startswith("quick-")
