# SPDX-License-Identifier: Apache-2.0
"""`rig check` of sessions with a streaming wake word: the answers to all windows are
computed again, from the signal and the model that the session keeps.
"""

from __future__ import annotations

import json
import shutil
import wave
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from lab.faults import forger
from rig.network.sound.mel import SAMPLE_HZ
from rig.session.session import open_bench
from scenarios.tasks.sww import generate, task
from tests.checking import check
from tests.conftest import ROOT

HOPS = 78
CPU = """[bench]
name = "heard"
trials = 1
seed = 1
[sut.cpu]
program = "integer"
[monitor.virtual]
sample_hz = 100_000
clock_ppm = 0.0
[scenario.events]
idle_s = 0.1
[task.sww]
model = "own.tflite"
audio = "own.wav"
truth = "own.json"
length_s = 2.5
"""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Write a bench with files of its owner: a recording of 5 s and a model."""
    shutil.copyfile(task.EXAMPLE, tmp_path / "own.tflite")
    samples, words = generate.stream(3, 5 * SAMPLE_HZ)
    with wave.open(str(tmp_path / "own.wav"), "wb") as file:
        file.setparams((1, 2, SAMPLE_HZ, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    stated = [[begin / SAMPLE_HZ, end / SAMPLE_HZ] for begin, end in words]
    truth = [{"wav_file": "own.wav", "detection_windows": stated}]
    (tmp_path / "own.json").write_text(json.dumps(truth))
    path = tmp_path / "heard.toml"
    path.write_text(CPU)
    return path


def recorded(bench: Path, folder: Path, *overrides: str) -> Path:
    with open_bench(bench, [*overrides]) as opened:
        return opened.run(1, folder).folder


def change_answer(session: Path, window: int) -> None:
    """Change the least important value of a window's output, where no score sees it,
    and make all derived files and hashes again.
    """

    def changed(_: int, line: dict[str, Any]) -> None:
        if line["kind"] == "stream":
            output = bytearray.fromhex(line["output"])
            output[3 * window + 2] ^= 1
            line["output"] = output.hex()

    forger.edit_lines(session / "trial-1" / "completions.jsonl", changed)
    forger.remake(session)


def said(session: Path) -> tuple[bool, str]:
    found = check(session)
    return found.ok, "\n".join(f"{each.name}: {each.detail}" for each in found.findings)


def test_answers_of_a_kept_model_are_found_again_and_another_one_is_refused(
    bench: Path, tmp_path: Path
) -> None:
    session = recorded(bench, tmp_path / "sessions")
    assert (session / "task" / "model.tflite").is_file()
    # The check needs neither the recording nor the model of the bench's owner.
    for name in ("own.tflite", "own.wav", "own.json"):
        (tmp_path / name).unlink()
    ok, text = said(session)
    assert ok, text
    kept = "outputs are those of the model kept in the session, run again"
    assert f"completions.jsonl: {HOPS} of {HOPS} {kept}" in text
    assert f"catalogue.csv: {HOPS} samples and labels made again" in text
    change_answer(session, 40)
    ok, text = said(session)
    assert not ok
    assert "to window 40, which [sut.cpu] cannot give" in text


def test_a_virtual_devices_answers_are_those_of_the_model(tmp_path: Path) -> None:
    virtual = ROOT / "benches" / "virtual-sww.toml"
    session = recorded(virtual, tmp_path, "task.sww.length_s=8.0")
    ok, text = said(session)
    assert ok, text
    assert "250 of 250 outputs are those of the task's model, run again" in text
    change_answer(session, 249)
    ok, text = said(session)
    assert not ok
    assert "to window 249, which [sut.virtual] cannot give" in text


def test_a_signal_that_is_too_long_to_keep_is_not_run_again(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "_KEPT_B", 1000)
    session = recorded(bench, tmp_path / "sessions")
    ok, text = said(session)
    assert ok, text
    assert "not checked against its data: a signal of more than" in text
    assert "run again" not in text


def test_a_signal_of_another_length_or_content_is_refused(
    bench: Path, tmp_path: Path
) -> None:
    session = recorded(bench, tmp_path / "sessions")
    signal = session / "task" / "inputs.npy"
    content = signal.read_bytes()
    signal.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    forger.rehash(session)
    ok, text = said(session)
    assert not ok
    assert "samples_sha256" in text
    signal.write_bytes(content[: len(content) // 2])
    forger.rehash(session)
    ok, text = said(session)
    assert not ok
