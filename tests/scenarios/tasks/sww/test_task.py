# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word as a task: recordings and truth files of users, and their
accepted forms.
"""

from __future__ import annotations

import json
import os
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from examples import make_sww
from examples.make_tflite import Layers
from rig.errors import ConfigError, DataError, NotInSession, RemoteProtocolError
from rig.interfaces.context import BenchContext
from scenarios.tasks.sww.task import EXAMPLE, SwwTask

CLONE = "MLPERF_TINY_CLONE"


def wav(path: Path, frames: Any, rate_hz: int = 16000, width_b: int = 2) -> Path:
    channels = 1 if frames.ndim == 1 else frames.shape[1]
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width_b, rate_hz, 0, "NONE", ""))
        file.writeframes(frames.astype("<i2").tobytes())
    return path


def truth(path: Path, windows: Any, name: str = "a.wav") -> Path:
    path.write_text(json.dumps([{"wav_file": name, "detection_windows": windows}]))
    return path


def opened(folder: Path, **settings: Any) -> SwwTask:
    return SwwTask.open(SwwTask.Settings(**settings), BenchContext(folder=folder))


def test_the_example_is_the_file_that_the_script_writes() -> None:
    assert make_sww.network().content() == EXAMPLE.read_bytes()


def test_the_first_channel_of_a_recording_is_played_in_hops(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frames = rng.integers(-32768, 32768, (1700, 2))
    wav(tmp_path / "a.wav", frames)
    truth(tmp_path / "t.json", [[0.03, 0.06]])
    task = opened(tmp_path, audio="a.wav", truth="t.json")
    assert len(task) == 3
    played = b"".join(task.payload(index) for index in range(3))
    assert played == frames[:1536, 0].astype("<i2").tobytes()
    assert task.events() == ((480, 960),)
    assert [entry.label for entry in task.catalogue()] == ["event", "event", "none"]
    assert task.provenance()["source"] == "a recording of the bench's owner"
    assert task.provenance()["official"] is False


def test_a_recording_is_found_by_its_name_among_several(tmp_path: Path) -> None:
    wav(tmp_path / "b.wav", np.zeros(16000))
    entries = [
        {"wav_file": "a.wav", "detection_windows": [[0.1, 0.2]]},
        {"wav_file": "sd/b.wav", "detection_windows": [[0.5, 0.6], [0.3, 0.4]]},
    ]
    (tmp_path / "t.json").write_text(json.dumps(entries))
    task = opened(tmp_path, audio="b.wav", truth="t.json")
    assert task.events() == ((4800, 6400), (8000, 9600))
    entries.append(entries.pop(0))
    entries[0]["wav_file"] = "c.wav"
    (tmp_path / "t.json").write_text(json.dumps(entries))
    with pytest.raises(ConfigError, match=r"does not state the words of b\.wav"):
        opened(tmp_path, audio="b.wav", truth="t.json")


def test_words_of_another_recording_are_refused(tmp_path: Path) -> None:
    wav(tmp_path / "b.wav", np.zeros(16000))
    truth(tmp_path / "t.json", [[0.1, 0.2]], "a.wav")
    with pytest.raises(ConfigError, match=r"does not state the words of b\.wav") as no:
        opened(tmp_path, audio="b.wav", truth="t.json")
    assert "no entry has the wav_file b.wav; it lists a.wav" in no.value.evidence


@pytest.mark.parametrize("cut_b", [1, 2, 20_000, 32_000])
def test_a_recording_with_less_than_its_header_states_is_refused(
    tmp_path: Path, cut_b: int
) -> None:
    path = wav(tmp_path / "a.wav", np.zeros(16000))
    truth(tmp_path / "t.json", [])
    path.write_bytes(path.read_bytes()[:-cut_b])
    with pytest.raises(ConfigError, match=r"a\.wav is not whole") as cut:
        opened(tmp_path, audio="a.wav", truth="t.json")
    assert f"states 32,000 B of samples, and it has {32_000 - cut_b:,}" in (
        cut.value.evidence
    )
    assert "copy the file" in cut.value.try_next


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("{}", "does not state"),
        ("[1]", "does not state"),
        ('[{"wav_file": "a.wav"}]', "does not state"),
        ('[{"wav_file": "a.wav", "detection_windows": [[1]]}]', "does not state"),
        ('[{"wav_file": "a.wav", "detection_windows": [["x", 1]]}]', "does not state"),
        ('[{"wav_file": "a.wav", "detection_windows": [[0.2, 0.1]]}]', "has a word"),
        ('[{"wav_file": "a.wav", "detection_windows": [[0.2, 9.1]]}]', "has a word"),
        (
            '[{"wav_file": "a.wav", "detection_windows": [[0.1, 0.3], [0.2, 0.4]]}]',
            "has a word",
        ),
        ("[", "does not state"),
        ('[{"wav_file": "a.wav", "detection_windows": [[1e999, 2]]}]', "does not"),
    ],
)
def test_other_truth_files_are_refused(
    tmp_path: Path, content: str, cause: str
) -> None:
    wav(tmp_path / "a.wav", np.zeros(16000))
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(ConfigError, match=cause):
        opened(tmp_path, audio="a.wav", truth="t.json")


@pytest.mark.parametrize(
    ("rate_hz", "width_b", "count"), [(8000, 2, 9000), (16000, 1, 9000), (16000, 2, 9)]
)
def test_other_recordings_are_refused(
    tmp_path: Path, rate_hz: int, width_b: int, count: int
) -> None:
    wav(tmp_path / "a.wav", np.zeros(count), rate_hz, width_b)
    truth(tmp_path / "t.json", [])
    with pytest.raises(ConfigError, match=r"a\.wav"):
        opened(tmp_path, audio="a.wav", truth="t.json")


def test_damaged_recordings_are_refused(tmp_path: Path) -> None:
    whole = wav(tmp_path / "a.wav", np.zeros(4000)).read_bytes()
    truth(tmp_path / "t.json", [])
    rng = np.random.default_rng(3)
    for _ in range(200):
        spoilt = bytearray(whole[: int(rng.integers(0, 60))])
        if spoilt and rng.random() < 0.7:
            spoilt = bytearray(whole)
            spoilt[int(rng.integers(0, 44))] = int(rng.integers(0, 256))
        (tmp_path / "a.wav").write_bytes(spoilt)
        try:
            opened(tmp_path, audio="a.wav", truth="t.json")
        except (ConfigError, DataError):
            continue


def test_audio_and_truth_go_together(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", np.zeros(16000))
    with pytest.raises(ConfigError, match="go together"):
        opened(tmp_path, audio="a.wav")


def test_a_model_over_other_rows_is_refused(tmp_path: Path) -> None:
    net = Layers((1, 5, 1, 12), 1)
    net.mean((1, 2), 0.1, 0)
    (tmp_path / "m.tflite").write_bytes(net.content())
    with pytest.raises(DataError, match="a row of its input has 12 values"):
        opened(tmp_path, model="m.tflite")


def test_detection_is_above_115_of_output_0() -> None:
    task = SwwTask.open(SwwTask.Settings(), BenchContext())
    decided = [task.score(0, bytes([share, 0, 0])).answer for share in (115, 116, 255)]
    assert decided == ["none", "event", "none"]
    with pytest.raises(RemoteProtocolError):
        task.score(0, bytes(4))


def test_a_replica_scores_as_the_task_and_has_no_sound() -> None:
    settings = SwwTask.Settings(length_s=20.0)
    task = SwwTask.open(settings, BenchContext())
    facts = json.loads(json.dumps(task.provenance()))
    replica = SwwTask.replica(settings, facts, task.catalogue())
    assert replica.events() == task.events()
    output = bytes([120, 0, 0])
    assert replica.score(3, output) == task.score(3, output)
    with pytest.raises(NotInSession):
        replica.payload(0)
    for key, value in (
        ("words", [[0, 10**9]]),
        ("words", [[0, 600]]),
        ("samples", 3),
        ("outputs", 0),
    ):
        with pytest.raises(DataError):
            SwwTask.replica(settings, {**facts, key: value}, task.catalogue())


@pytest.mark.skipif(CLONE not in os.environ, reason=f"{CLONE} names no clone")
def test_the_reference_model_on_the_benchmarks_short_recording() -> None:
    clone = Path(os.environ[CLONE]) / "benchmark"
    data = clone / "runner" / "sww_data_dir"
    models = clone / "training" / "streaming_wakeword" / "trained_models"
    task = opened(
        clone,
        model=str(models / "str_ww_ref_model.tflite"),
        audio=str(data / "short_wav_easy10s.wav"),
        truth=str(data / "sww_short_test.json"),
    )
    assert len(task.events()) == 3
    outputs = task.listening()([task.payload(index) for index in range(len(task))])
    heard = [int.from_bytes(output[:1], signed=True) for output in outputs]
    # Found with numpy's features and tflite-micro: the first word from 1.41 to 2.14 s,
    # the second one at the threshold, the third one below.
    assert [hop for hop, share in enumerate(heard) if share > 115][:2] == [43, 44]
    assert max(heard[140:170]) in range(112, 120)
    assert max(heard[220:]) <= 115
