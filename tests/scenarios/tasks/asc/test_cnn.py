# SPDX-License-Identifier: Apache-2.0
"""The convolutional network on the task's samples: the same features, its answers on a
device, and a comparison with the spiking one.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from click.testing import CliRunner

from examples.make_tflite import Layers
from rig.api.comparing.comparison import compare
from rig.api.sessions.session import open_session
from rig.cli.boards.firmware import firmware
from rig.errors import DataError, LocalProtocolError, NotInSession, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.interfaces.task import SignalTask
from rig.session.session import SessionResult, open_bench
from scenarios.tasks.asc.cnn import SHIPPED_CNN, AscCnnTask
from scenarios.tasks.asc.integer import centred_levels
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask
from scenarios.tasks.tflite.task import EXAMPLE
from tests.builds import built
from tests.checking import check


def opened(**others: Any) -> Any:
    settings = AscTask.Settings(**{"samples": 8, "network": "cnn"} | others)
    return AscTask.open(settings, BenchContext())


def run(folder: Path, sut: str, kind: str, samples: int = 8) -> SessionResult:
    bench = folder / "bench.toml"
    bench.write_text(
        f"{sut}\n[monitor.virtual]\nsample_hz = 100_000\nclock_ppm = 0.0\n"
        "[scenario.single_stream]\nidle_s = 0.1\n"
        f"[task.asc]\nsamples = {samples}\nnetwork = '{kind}'\n",
        encoding="utf-8",
    )
    with open_bench(bench) as opened_bench:
        return opened_bench.run(1, folder / "sessions")


def test_a_payload_is_the_front_ends_levels_of_the_same_second() -> None:
    task, spiking = opened(), opened(network="spiking")
    assert isinstance(task, AscCnnTask)
    assert not isinstance(task, SignalTask)
    assert task.catalogue() == spiking.catalogue()
    bank = read_model(SHIPPED_MODEL).bank
    audio = np.frombuffer(spiking.payload(3), "<i2")[None]
    levels = centred_levels(bank, audio)
    assert np.abs(levels).max() < 128
    assert task.payload(3) == levels.astype(np.int8).tobytes()
    same, other = task.provenance(), spiking.provenance()
    assert {key for key in same if same.get(key) != other.get(key)} == {
        "model",
        "model_sha256",
        "features",
    }


def test_the_shipped_network_is_as_good_as_the_page_says() -> None:
    # The default data of the task: 120 seconds of the generator, seed 0.
    task = opened(samples=0)
    payloads = [task.payload(index) for index in range(len(task))]
    answers = map(task.reference, payloads)
    right = sum(task.score(*each).correct for each in enumerate(answers))
    assert (right, len(task)) == (118, 120)


def test_other_networks_and_answers_are_refused() -> None:
    with pytest.raises(DataError, match=r"example.tflite takes \(1, 12, 12, 1\)"):
        opened(model=str(EXAMPLE))
    with pytest.raises(RemoteProtocolError, match="gives 4 B"):
        opened().score(0, bytes(16))


def test_a_network_over_turned_images_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "turned.tflite"
    for shape, fits in (((1, 16, 125, 1), False), ((1, 125, 16, 1), True)):
        net = Layers(shape, 1)
        net.reshape(1, 2000)
        net.dense(4)
        path.write_bytes(net.content())
        if fits:
            assert opened(model=str(path))
            continue
        with pytest.raises(DataError, match=r"takes \(1, 16, 125, 1\)"):
            opened(model=str(path))


def test_a_replica_scores_as_the_task_and_has_no_samples() -> None:
    task = opened()
    settings = AscTask.Settings(samples=8, network="cnn")
    replica = AscTask.replica(settings, task.provenance(), task.catalogue())
    output = task.reference(task.payload(2))
    assert replica.score(2, output) == task.score(2, output)
    assert replica.parts(output) == task.parts(output)
    with pytest.raises(NotInSession):
        replica.payload(0)
    made = AscTask.regenerated(settings)
    assert made.entries == task.catalogue()
    assert made.facts == task.provenance()


@pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("make") is None,
    reason="needs make and a C compiler",
)
@pytest.mark.posix
def test_both_networks_are_compared_on_one_device_and_the_same_samples(
    tmp_path: Path,
) -> None:
    project = tmp_path / "cnn"
    words = ["build", str(project), "--target", "posix", "--model", str(SHIPPED_CNN)]
    built_cnn = CliRunner().invoke(firmware, words, standalone_mode=False)
    assert built_cnn.exception is None, built_cnn.output
    device = "[sut.posix]\nprogram = '{}'"
    cnn = run(tmp_path, device.format(project / "build" / "posix" / "tflite"), "cnn")
    image = built("posix") / "posix"
    spiking = run(tmp_path, device.format(image / "asc"), "spiking")
    for session in (cnn, spiking):
        assert check(session.folder).ok
    found = compare(open_session(spiking.folder), open_session(cnn.folder))
    assert found.same_samples
    pairs = {pair.name: pair for pair in found.metrics}
    for name in ("accuracy", "latency_infer", "energy_infer"):
        assert pairs[name].first is not None and pairs[name].second is not None
    assert pairs["latency_infer"].difference != 0
    with pytest.raises(LocalProtocolError, match="the device runs model 'tflite-"):
        run(tmp_path, device.format(image / "tflite"), "cnn")


def test_the_processor_runs_it(tmp_path: Path) -> None:
    session = run(tmp_path, "[sut.cpu]", "cnn", samples=4)
    assert check(session.folder).ok
    assert set(session.content["metrics"]) >= {"accuracy", "latency_infer"}
