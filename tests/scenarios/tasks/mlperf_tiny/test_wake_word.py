# SPDX-License-Identifier: Apache-2.0
"""`rig tiny sww`: the streaming wake word from a clone to results, with a model and a
recording of ours in the layout of the benchmark's repository, and with the repository
itself where it is at hand.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from rig.errors import ConfigError, DataError
from scenarios.tasks.mlperf_tiny.measuring_command import MadeBenches, run_modes
from scenarios.tasks.mlperf_tiny.references import WAKE_WORD
from scenarios.tasks.sww import data
from tests.checking import check
from tests.scenarios.tasks.mlperf_tiny import fake_clone
from tests.scenarios.tasks.mlperf_tiny.test_command import (
    CLONE,
    needs_compiler,
    page,
    results,
    rig_tiny,
)

LONG = ("sww_long_test.json", "long_wav.wav")
SHORT = ("sww_short_test.json", "short_wav_easy10s.wav")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return fake_clone.clone(tmp_path / "tiny")


def accuracy(text: str) -> tuple[int, ...]:
    """Return true positives, false negatives and false positives of a page."""
    counts = re.search(
        r"(\d+) True positives, (\d+) False negatives, (\d+) False positives", text
    )
    assert counts is not None, text
    return tuple(map(int, counts.groups()))


def test_one_stream_has_detections_throughput_and_power(
    clone: Path, tmp_path: Path
) -> None:
    inputs = tmp_path / "data"
    words = fake_clone.recording(inputs / "sww01", 24.0, *LONG)
    folder = tmp_path / "made"
    rig_tiny(
        *(
            "sww",
            "--from",
            clone,
            "--inputs",
            inputs,
            "--on",
            "virtual",
            "--to",
            folder,
        )
    )
    text = page(folder)
    assert f"{words} words; the benchmark's own is another" in text
    assert accuracy(text) == (words, 0, 0)
    for line in ("Average duty cycle: ", "Average period: ", "Estimated throughput: "):
        assert f"own data: {line}[simulated] " in text
    session, found = results(folder, "energy")
    assert [label.text for label in found.labels] == ["SIMULATED", "OWN DATA"]
    power = re.search(r"Power +: \[simulated\] ([0-9.]+) mW\.", text)
    assert power is not None
    stated_w = found.metrics["power_stream"].value
    assert float(power[1]) == pytest.approx(1e3 * stated_w, rel=1e-4)
    assert "quality target: NOT TESTED: a recording of the bench's owner" in text
    assert check(session).ok
    # The runner has all of it in one run.
    assert len(list((folder / "sessions").iterdir())) == 1


def test_the_benchmarks_own_recording_is_held_to_its_limits(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = tmp_path / "data"
    words = fake_clone.recording(inputs, 24.0, *LONG)
    files = [inputs / LONG[1], inputs / LONG[0]]
    # Git's own ids of both files stand for those of the published ones.
    command = ["git", "hash-object", *map(str, files)]
    ids = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    monkeypatch.setattr(data, "OFFICIAL", tuple(ids.split()))
    for name, more, said in (
        ("right", (), "PASS: 0 false negatives and 0 false positives of a simulated"),
        ("part", ("--minutes", "0.2"), "NOT TESTED: "),
    ):
        folder = tmp_path / name
        words_of = ("sww", "--from", clone, "--inputs", inputs, "--on", "virtual")
        rig_tiny(*words_of, "--to", folder, *more)
        assert f"quality target: {said}" in page(folder)
        session, found = results(folder, "energy")
        assert found.data.official == (name == "right")
        assert check(session).ok
    assert words >= 4
    labels = [label.text for label in found.labels]
    assert labels == ["SIMULATED", "SUBSET"]
    # A device that answers wrongly misses them all, and the exit code says so.
    bench = tmp_path / "right" / "energy.toml"
    text = bench.read_text("utf-8")
    wrong = text.replace("slots = 4", "slots = 4\nerror_rate = 1.0")
    assert wrong != text
    bench.write_text(wrong, "utf-8")
    assert run_modes(MadeBenches(tmp_path / "right", ()), ["energy"], 1) == 1
    assert "quality target: FAIL: " in page(tmp_path / "right")


@needs_compiler
@pytest.mark.posix
@pytest.mark.paced  # a busy host starves a stream in real time
def test_the_firmware_answers_the_stream_and_window_by_window_alike(
    clone: Path, tmp_path: Path
) -> None:
    words = fake_clone.recording(clone / "benchmark/runner/sww_data_dir", 9.0, *SHORT)
    folder = tmp_path / "made"
    modes = ("--mode", "performance", "--mode", "accuracy")
    rig_tiny(
        *(
            "sww",
            "--from",
            clone,
            "--to",
            folder,
            "--minutes",
            "0.1",
            *modes,
        )
    )
    assert words >= 1
    for mode in ("performance", "accuracy"):
        session, found = results(folder, mode)
        assert found.metrics["recall"].value == 1.0
        labels = [label.text for label in found.labels]
        assert labels == ["SIMULATED", "OWN DATA", "SUBSET"]
        ok = check(session)
        assert ok.ok
        again = "187 of 187 outputs are those of the model kept in the session"
        assert any(again in finding.detail for finding in ok.findings)
    assert "one by one over the link" in page(folder)


def test_without_a_recording_a_generated_signal_is_played_and_labelled(
    clone: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    rig_tiny(
        *("sww", "--from", clone, "--on", "virtual", "--to", folder),
        *("--minutes", "0.2"),
    )
    assert "signal: generated tones and noise" in page(folder)
    _, found = results(folder, "energy")
    assert [label.text for label in found.labels] == ["SIMULATED", "GENERATED DATA"]
    assert "quality target: NOT TESTED: generated tones and noise" in page(folder)


def test_errors_say_what_is_missing_and_write_nothing(
    clone: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    to = ("--to", folder, "--on", "cpu")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ConfigError, match="is no clone of mlcommons/tiny"):
        rig_tiny(
            *(
                "sww",
                "--from",
                empty,
                *to,
            )
        )
    with pytest.raises(DataError, match="has no recording of sww01"):
        rig_tiny(
            *(
                "sww",
                "--from",
                clone,
                "--inputs",
                empty,
                *to,
            )
        )
    fake_clone.recording(empty, 6.0, *LONG)
    with pytest.raises(ConfigError, match=r"2 minutes, .* has 0\.09973") as long:
        rig_tiny(
            *(
                "sww",
                "--from",
                clone,
                "--inputs",
                empty,
                *to,
                "--minutes",
                "2",
            )
        )
    assert long.value.path == "--minutes"
    (empty / LONG[1]).write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(ConfigError, match="is no recording for this task"):
        rig_tiny(
            *(
                "sww",
                "--from",
                clone,
                "--inputs",
                empty,
                *to,
            )
        )
    with pytest.raises(ConfigError, match="--files has no effect of a signal"):
        rig_tiny(
            *(
                "sww",
                "--from",
                clone,
                *to,
                "--files",
                "9",
            )
        )
    with pytest.raises(ConfigError, match="--minutes has no effect of tensors"):
        rig_tiny("kws", "--from", clone, *to, "--minutes", "1")
    with pytest.raises(ConfigError, match="energy needs an energy monitor"):
        rig_tiny(
            *(
                "sww",
                "--from",
                clone,
                "--on",
                "/dev/ttyX",
                "--mode",
                "energy",
            )
        )
    (clone / WAKE_WORD.model).unlink()
    with pytest.raises(ConfigError, match="has no model of sww01") as old:
        rig_tiny(
            *(
                "sww",
                "--from",
                clone,
                *to,
            )
        )
    assert "a newer clone" in str(old.value.try_next)
    assert not folder.exists()


def test_bench_files_are_made_without_a_run(clone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    shown = rig_tiny(
        *(
            "sww",
            "--from",
            clone,
            "--on",
            "cpu",
            "--to",
            folder,
            "--no-run",
        )
    )
    assert "accuracy.toml, energy.toml, performance.toml, sww01.tflite" in shown.output
    assert not (folder / "sessions").exists()


@needs_compiler
@pytest.mark.posix
@pytest.mark.paced  # a busy host starves a stream in real time
@pytest.mark.skipif(not CLONE, reason="MLPERF_TINY_CLONE: a clone of mlcommons/tiny")
def test_the_reference_model_finds_two_of_the_three_words_of_the_short_recording(
    tmp_path: Path,
) -> None:
    # "The current model has 2 true positive and 1 false negatives on this file"
    # (benchmark/runner/README.md).
    folder = tmp_path / "made"
    data_dir = Path(CLONE) / "benchmark/runner/sww_data_dir"
    inputs = tmp_path / "short"
    inputs.mkdir()
    for name in SHORT:
        (inputs / name).write_bytes((data_dir / name).read_bytes())
    rig_tiny(
        *(
            "sww",
            "--from",
            CLONE,
            "--inputs",
            inputs,
            "--to",
            folder,
        )
    )
    assert accuracy(page(folder)) == (2, 1, 0)
    session, _ = results(folder, "energy")
    assert check(session).ok
