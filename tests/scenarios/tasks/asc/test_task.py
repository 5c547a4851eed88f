# SPDX-License-Identifier: Apache-2.0
"""The task: samples, scoring and provenance."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rig.errors import ConfigError, DataError, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.interfaces.task import Task
from scenarios.tasks.asc.audio import read_clip
from scenarios.tasks.asc.dataset import open_dataset
from scenarios.tasks.asc.generate import ensure
from scenarios.tasks.asc.integer import outputs
from scenarios.tasks.asc.model import AscModel
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL, AscTask, cache_folder

from .conftest import TinySet


def opened(cache: Path, **settings: object) -> AscTask:
    """Open the task on the generated set of the tests."""
    return AscTask.open(
        AscTask.Settings(files_per_class=6, seed=3, cache=str(cache), **settings),
        BenchContext(),
    )  # type: ignore[arg-type]


def test_it_is_a_task(cache: Path) -> None:
    task: Task = opened(cache)
    assert (task.name, task.phases, len(task)) == ("asc", ("preprocess", "infer"), 80)
    assert {len(task.payload(index)) for index in (0, 40, 79)} == {16_000}


def test_the_model_recognises_places_it_has_never_heard(cache: Path) -> None:
    task = opened(cache)
    clips = open_dataset(ensure(cache, 6, 3)).test
    answers = np.concatenate(
        [outputs(read_model(SHIPPED_MODEL), read_clip(clip.path)) for clip in clips]
    ).astype("<i4")
    correct = sum(
        task.score(index, answer.tobytes()).correct
        for index, answer in enumerate(answers)
    )
    assert correct >= 64, (
        f"{correct} of {len(task)}; docs/reference/ASC.md states the figure of a larger held-out"
        " split"
    )


def test_answers_that_are_expected_are_found_together_and_are_those_of_one_by_one(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = opened(cache)
    monkeypatch.setattr(task, "_answers", {})
    together: list[int] = []

    def counted(model: AscModel, audio: NDArray[np.int16]) -> NDArray[np.int32]:
        together.append(len(audio))
        return outputs(model, audio)

    monkeypatch.setattr("scenarios.tasks.asc.spiking.outputs", counted)
    payloads = [task.payload(index) for index in range(70)]
    task.expect([*payloads, *payloads])
    asked = {index: task.reference(payloads[index]) for index in (0, 31, 69)}
    assert together == [64, len(set(payloads)) - 64]
    model = read_model(SHIPPED_MODEL)
    for index, answer in asked.items():
        alone = outputs(model, np.frombuffer(payloads[index], "<i2")[None])
        assert answer == alone.astype("<i4").tobytes()


def test_most_spikes_win_then_the_membrane_then_the_lowest_index(cache: Path) -> None:
    task = opened(cache)

    def answer(*spikes_and_membranes: tuple[int, int]) -> str:
        packed = [
            spikes * 65_536 + membrane + 32_768
            for spikes, membrane in spikes_and_membranes
        ]
        return task.score(0, struct.pack("<4i", *packed)).answer

    assert answer((3, 0), (4, -32_768), (3, 32_767), (0, 0)) == "street_traffic"
    assert answer((3, 5), (3, -1), (3, 6), (0, 32_767)) == "bus"
    assert answer((0, 1), (2, 7), (2, 7), (2, 7)) == "street_traffic"
    assert answer((0, 0), (0, 0), (0, 0), (0, 0)) == "airport"


def test_a_score_names_label_and_answer(cache: Path) -> None:
    score = opened(cache).score(0, struct.pack("<4i", 0, 0, 0, 9))
    assert (score.correct, score.label, score.answer) == (False, "airport", "park")


@pytest.mark.parametrize("length_b", [0, 15, 17])
def test_an_output_of_another_length_is_refused(cache: Path, length_b: int) -> None:
    with pytest.raises(RemoteProtocolError, match=f"{length_b} B"):
        opened(cache).score(0, bytes(length_b))


def test_a_subset_is_balanced_seeded_and_stated(cache: Path) -> None:
    task = opened(cache, samples=10)
    labels = [task.score(index, bytes(16)).label for index in range(10)]
    assert [
        labels.count(name) for name in ("airport", "street_traffic", "bus", "park")
    ] == [3, 3, 2, 2]
    assert [task.payload(n) for n in range(10)] == [
        opened(cache, samples=10).payload(n) for n in range(10)
    ]
    assert task.provenance()["subset"] == "10 of 80, class-balanced, seed 3"


@pytest.mark.parametrize("samples", [-1, 81])
def test_a_subset_that_cannot_be_is_refused(cache: Path, samples: int) -> None:
    with pytest.raises(ConfigError, match=r"task\.asc\.samples"):
        opened(cache, samples=samples)


def test_a_subset_larger_than_a_class_is_refused(tiny: TinySet) -> None:
    with pytest.raises(ConfigError, match="1 sample of street_traffic, there are 0"):
        AscTask.open(AscTask.Settings(data=str(tiny.folder), samples=4), BenchContext())


def test_provenance_of_generated_data_says_so(cache: Path) -> None:
    facts = opened(cache).provenance()
    assert json.loads(json.dumps(facts)) == facts
    assert (
        facts["source"],
        facts["official"],
        facts["subset"],
        facts["extra_files"],
    ) == ("generated", False, "all", 4)
    assert facts["generator"] == {"version": 1, "files_per_class": 6, "seed": 3}
    assert facts["model"].startswith("asc-")
    assert facts["model_sha256"].startswith(facts["model"].removeprefix("asc-"))
    assert len(facts["file_list_sha256"]) == 64


def test_a_folder_that_the_generator_wrote_is_generated_data_under_any_name(
    cache: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(ensure(cache, 6, 3), tmp_path / "recordings")
    task = AscTask.open(AscTask.Settings(data=str(copy)), BenchContext())
    facts = task.provenance()
    assert (facts["source"], facts["official"], facts["statement"]) == (
        "generated",
        False,
        "generated data, not the data set",
    )
    entries = task.catalogue()
    assert len(AscTask.replica(task._settings, facts, entries)) == len(task)
    for lie in (
        {"source": "folder"},
        {"official": True},
        {"subset": "80 of 80, all of it"},
        {"test_samples": 16_240},
    ):
        with pytest.raises(DataError, match=r"provenance\.json"):
            AscTask.replica(task._settings, facts | lie, entries)


def test_a_folder_is_found_beside_the_bench_file(tiny: TinySet) -> None:
    task = AscTask.open(
        AscTask.Settings(data=tiny.folder.name), BenchContext(folder=tiny.folder.parent)
    )
    facts = task.provenance()
    assert (facts["source"], facts["official"], facts["unofficial"]) == (
        "folder",
        False,
        "NOT THE DATA SET",
    )
    assert (
        facts["statement"]
        == "not the data set: 8/6 samples, with recordings of oslo, where it has none"
    )
    assert (facts["data"], facts["test_samples"], facts["extra_files"]) == (
        tiny.folder.name,
        6,
        1,
    )


@pytest.mark.parametrize("order", ["forwards", "shuffled"])
def test_samples_asked_for_one_by_one_are_found_together_with_the_next_ones(
    cache: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    task = opened(cache)
    monkeypatch.setattr(task, "_answers", {})
    together: list[int] = []

    def counted(model: AscModel, audio: NDArray[np.int16]) -> NDArray[np.int32]:
        together.append(len(audio))
        return outputs(model, audio)

    monkeypatch.setattr("scenarios.tasks.asc.spiking.outputs", counted)
    places = np.arange(len(task))
    if order == "shuffled":
        np.random.default_rng(1).shuffle(places)
    answers = {index: task.reference(task.payload(index)) for index in places.tolist()}
    assert len(together) <= 3 and sum(together) <= len(task)
    for index in (0, 41, 79):
        audio = np.frombuffer(task.payload(index), "<i2")[None]
        alone = outputs(read_model(SHIPPED_MODEL), audio).astype("<i4").tobytes()
        assert answers[index] == alone


def test_a_model_that_cannot_be_read_stops_the_task(tiny: TinySet) -> None:
    (tiny.folder / "broken.nir").write_bytes(b"no")
    with pytest.raises(DataError, match=r"broken\.nir"):
        AscTask.open(
            AscTask.Settings(data=".", model="broken.nir"),
            BenchContext(folder=tiny.folder),
        )


def test_the_cache_is_the_users_unless_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = BenchContext(folder=tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder("", context) == tmp_path / "xdg" / "neurorig"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder("", context) == tmp_path / "home" / ".cache" / "neurorig"
    assert cache_folder("kept", context) == tmp_path / "kept"


@pytest.mark.parametrize("samples", [0, 30])
def test_the_task_without_its_audio_has_the_same_recordings_and_scores(
    cache: Path, samples: int
) -> None:
    settings = AscTask.Settings(
        files_per_class=6, seed=3, cache=str(cache), samples=samples
    )
    task = AscTask.open(settings, BenchContext())
    facts = {"samples": len(task)} | task.provenance()
    replica = AscTask.replica(settings, facts, task.catalogue())
    assert replica.recordings() == task.recordings()
    text = [bytes(16), b"\x01" * 4 + bytes(12), bytes(8) + b"\x7f" * 4 + bytes(4)]
    for index in (0, len(task) - 1):
        assert [replica.score(index, output) for output in text] == [
            task.score(index, output) for output in text
        ]
    with pytest.raises(DataError, match="classes, or another number"):
        AscTask.replica(settings, facts | {"samples": 3}, task.catalogue())
