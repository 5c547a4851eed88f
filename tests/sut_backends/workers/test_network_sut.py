# SPDX-License-Identifier: Apache-2.0
"""A task's network on a backend's runner, in a worker: front end, network, answer."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rig.errors import ConfigError, DataError
from rig.interfaces.context import BenchContext
from rig.model.origin import Origin, Origins
from rig.model.steps import Load, Query
from rig.network.graph import Network
from scenarios.tasks.asc.integer import spike_counts
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.programs import network
from scenarios.tasks.asc.task import SHIPPED_MODEL
from sut_backends.workers.network_sut import Runner, open_network_sut
from sut_backends.workers.process import Place

SIMULATED = Origins(Origin.SIMULATED, Origin.SIMULATED)
SUMS = Runner(
    "sums", "tests.sut_backends.workers.sdk_by_hand", "sums", SIMULATED, {"of": 4}
)


@pytest.fixture
def asc(context: BenchContext) -> BenchContext:
    """Return a context with the network of the task."""
    return replace(context, network=network(SHIPPED_MODEL, read_model(SHIPPED_MODEL)))


def test_the_tasks_front_end_and_answer_stand_around_the_runner(
    asc: BenchContext,
) -> None:
    audio = np.random.default_rng(1).integers(-3000, 3000, (2, 8000)).astype("<i2")
    counts = spike_counts(read_model(SHIPPED_MODEL).bank, audio)
    with closing(open_network_sut(SUMS, Place(isolated=True), asc)) as sut:
        for number, second in enumerate(audio):
            sut.do(Load(number), [second.tobytes()])
        alone = [sut.do(Query((number,))) for number in (0, 1)]
        batch = sut.do(Query((0, 1), batch=True))
    assert [mark.phase for mark in alone[0].marks] == [1, 2, 0]
    fired = counts[:, :, :4].sum(axis=1)
    due = [(of_one * 65_536 + 32_768).astype("<i4").tobytes() for of_one in fired]
    assert [done.output for done in alone] == due
    assert batch.output == b"".join(due)
    assert (sut.info.simulated, sut.info.origins, sut.info.task) == (
        True,
        SIMULATED,
        "asc",
    )
    assert sut.info.times_of_host_simulator
    details = sut.info.details
    assert details["nodes"] == ["Input", *["Linear", "CubaLIF"] * 3, "Output"]
    assert (details["dt_s"], details["settings"]) == (0.008, {"of": 4})
    assert details["rule"]["reset"] == "subtract"


def test_what_a_chip_cannot_map_is_refused_before_anything_starts(
    asc: BenchContext,
) -> None:
    def refuse(found: Network) -> None:
        raise DataError(f"{found.places[1].name} has too many neurons")

    with pytest.raises(DataError, match="too many neurons"):
        open_network_sut(replace(SUMS, refuse=refuse), Place("/nowhere/python"), asc)


def test_a_task_without_a_network_is_refused(
    context: BenchContext, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"\[sut.sums\] runs networks"):
        open_network_sut(SUMS, Place(), context)
