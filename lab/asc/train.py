# SPDX-License-Identifier: Apache-2.0
"""Train on the train split of a data set and write the model as a NIR file.

    python -m lab.asc.train --data FOLDER --out FILE

It needs torch. The test split is read only for the figure printed at
the end, never for a choice.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.asc.filters import designed, equalised
from lab.asc.nir_writer import write_model
from lab.asc.surrogate import (
    Dashes,
    SpikingLayer,
)  # says what to install where torch is missing
from scenarios.tasks.asc.audio import read_clip
from scenarios.tasks.asc.dataset import CLASSES, Clip, open_dataset
from scenarios.tasks.asc.integer import centred_levels, outputs
from scenarios.tasks.asc.model import (
    CHANNELS,
    INPUT_SPIKES_MAX,
    SLICE_SAMPLES,
    SPIKE_SHIFT_BITS,
    AscModel,
    FilterBank,
)

import torch  # isort: skip

log = logging.getLogger(__name__)

# Limits of Xylo (rockpool, xylosim): spikes of a neuron in a step.
HIDDEN_SPIKES_MAX = 31
OUTPUT_SPIKES_MAX = 1
# Decay shifts (synapse, membrane) of the neurons of each layer, in turn: 16 ms to 256
# ms at a step of 8 ms.
FIRST_DASHES: Dashes = ((1, 1), (1, 2), (1, 3), (2, 3), (2, 4), (2, 5))
SECOND_DASHES: Dashes = ((1, 3), (2, 4), (2, 5))
OUTPUT_DASHES: Dashes = ((2, 4),)
LOGIT_PER_SPIKE = 0.12
BUSY_SPIKES_PER_STEP = 1.5
# Deviations of the variation of a batch, in sixteenths of an octave of amplitude (0.38
# dB).
TILT = 6.0
RIPPLE = 3.0
REPORT_EVERY = 50


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of a training; with the data they determine the weights."""

    updates: int = 1200
    hidden: tuple[int, int] = (64, 32)
    batch: int = 96
    peak_rate: float = 3e-2
    weight_decay: float = 1e-3
    seed: int = 0
    threads: int = 1


def read_split(
    bank: FilterBank, clips: Sequence[Clip], *, halfway: bool
) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return centred levels (slices, 125, 16) and labels of `clips`; `halfway` adds the
    slices between the slices.
    """
    levels = []
    labels = []
    for clip in clips:
        audio = read_clip(clip.path)
        if halfway:
            between = audio.reshape(-1)[SLICE_SAMPLES // 2 : -SLICE_SAMPLES // 2]
            audio = np.concatenate(
                [audio, between.reshape(len(audio) - 1, SLICE_SAMPLES)]
            )
        levels.append(centred_levels(bank, audio).astype(np.int16))
        labels.append(np.full(len(audio), clip.label))
    return np.concatenate(levels), np.concatenate(labels)


def varied(levels: Any) -> Any:
    """Vary a batch of levels as another microphone and moment would: a tilt, a ripple
    over the channels, a shift in time.
    """
    octaves = torch.linspace(-1, 1, CHANNELS)
    tilt = TILT * torch.randn(len(levels), 1, 1) * octaves
    ripple = RIPPLE * torch.randn(len(levels), 1, CHANNELS)
    shift = int(torch.randint(levels.shape[1], ()))
    return torch.roll(levels, shift, dims=1) + torch.round(tilt + ripple)


def fired(levels: Any, offset: Any) -> Any:
    """Turn levels into spike counts as integer.spike_counts does."""
    whole = torch.floor(
        torch.cumsum((levels + offset).clamp(min=0), dim=1) / 2**SPIKE_SHIFT_BITS
    )
    return torch.diff(whole, dim=1, prepend=torch.zeros_like(whole[:, :1])).clamp(
        max=INPUT_SPIKES_MAX
    )


def fresh_layers(hidden: tuple[int, int]) -> tuple[SpikingLayer, ...]:
    """Make the untrained layers."""
    first, second = hidden
    return (
        SpikingLayer.random(first, CHANNELS, FIRST_DASHES, HIDDEN_SPIKES_MAX, 1.0),
        SpikingLayer.random(second, first, SECOND_DASHES, HIDDEN_SPIKES_MAX, 0.5),
        SpikingLayer.random(
            len(CLASSES), second, OUTPUT_DASHES, OUTPUT_SPIKES_MAX, 0.5
        ),
    )


def batch_loss(layers: Sequence[SpikingLayer], spikes: Any, labels: Any) -> Any:
    """Return cross entropy of the output counts, plus a small price on busy hidden
    layers."""
    busy = 0.0
    for layer in layers:
        spikes, _ = layer.run(spikes)
        busy = busy + (spikes.mean() - BUSY_SPIKES_PER_STEP).clamp(min=0)
    logits = LOGIT_PER_SPIKE * spikes.sum(dim=0)
    return (
        torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.05)
        + 1e-3 * busy
    )


def trained(
    bank: FilterBank,
    levels: NDArray[np.int16],
    labels: NDArray[np.int64],
    settings: Training,
) -> tuple[SpikingLayer, ...]:
    """Train on centred levels (slices, 125, 16); the same settings and thread count
    give the same weights.
    """
    torch.manual_seed(settings.seed)
    torch.set_num_threads(settings.threads)
    layers = fresh_layers(settings.hidden)
    weights = [layer.weight for layer in layers]
    optimizer = torch.optim.AdamW(
        weights, lr=settings.peak_rate, weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.peak_rate, total_steps=settings.updates, pct_start=0.15
    )
    offset = torch.from_numpy(bank.offset.astype(np.float32))
    recent = 0.0
    for update in range(settings.updates):
        chosen = torch.randint(len(levels), (settings.batch,)).numpy()
        batch = varied(torch.from_numpy(levels[chosen].astype(np.float32)))
        loss = batch_loss(
            layers,
            fired(batch, offset).transpose(0, 1),
            torch.from_numpy(labels[chosen]),
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        recent += float(loss.detach()) / REPORT_EVERY
        if update % REPORT_EVERY == REPORT_EVERY - 1:
            log.info("update %d of %d: loss %.3f", update + 1, settings.updates, recent)
            recent = 0.0
    return layers


def accuracy(model: AscModel, clips: Sequence[Clip]) -> tuple[int, int]:
    """Return the numbers of correct and of all samples of `clips`, by the integer
    model."""
    correct = total = 0
    for clip in clips:
        answers = outputs(model, read_clip(clip.path)).argmax(axis=1)
        correct = correct + int((answers == clip.label).sum())
        total = total + len(answers)
    return correct, total


def main(arguments: Sequence[str] | None = None) -> None:
    """Train from the command line."""
    defaults = Training()
    parser = argparse.ArgumentParser(
        description="Train the ASC model and write it as NIR."
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the data set"
    )
    parser.add_argument("--out", type=Path, required=True, help="NIR file to write")
    parser.add_argument(
        "--updates", type=int, default=defaults.updates, help="number of batches"
    )
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument(
        "--name",
        default="asc",
        help="name of the model, part of what the firmware reports",
    )
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    dataset = open_dataset(chosen.data)
    levels, labels = read_split(designed(), dataset.train, halfway=True)
    bank = equalised(designed(), levels)
    log.info("%d slices of %d recordings", len(levels), len(dataset.train))
    layers = trained(
        bank, levels, labels, Training(updates=chosen.updates, seed=chosen.seed)
    )
    model = AscModel(chosen.name, bank, tuple(layer.integers() for layer in layers))
    write_model(model, chosen.out)
    for split, clips in (("train", dataset.train), ("test", dataset.test)):
        correct, total = accuracy(model, clips)
        share = f"{correct} of {total} correct, {correct / total:.2%}"
        log.info("%s: %s (integer model %s)", split, share, model.identity)


if __name__ == "__main__":
    main()
