# SPDX-License-Identifier: Apache-2.0
"""Sessions of `rig tiny` keep model and tensors, and `rig check` computes the answers
again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from click.testing import CliRunner

from lab.faults.forger import edit_lines, rehash, remake
from rig.interfaces.context import BenchContext
from scenarios.tasks.mlperf_tiny.command import tiny
from scenarios.tasks.mlperf_tiny.labels import LabelRow, read_labels
from scenarios.tasks.mlperf_tiny.references import REFERENCES
from scenarios.tasks.mlperf_tiny.task import MlperfTiny
from scenarios.tasks.tflite import kept
from tests.commands import rig
from tests.scenarios.tasks.mlperf_tiny import fake_clone

FILES = 6
#: Windows of a generated file of ad01.
WINDOWS = 6
Measured = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Return what measures a benchmark in a mode, once, with a model and tensors that
    are gone afterwards.
    """

    @cache
    def session(name: str, mode: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        return run(folder, name, mode, "--files", str(FILES))

    return session


def run(folder: Path, name: str, mode: str, *more: str) -> Path:
    clone = fake_clone.clone(folder / "tiny")
    made = folder / "made"
    words = (name, "--from", clone, "--to", made, "--on", "virtual", "--mode", mode)
    done = CliRunner().invoke(tiny, [*map(str, words), *more], standalone_mode=False)
    assert done.exception is None, done.output
    (session,) = (made / "sessions").iterdir()
    shutil.move(session, folder / "session")
    shutil.rmtree(made)
    shutil.rmtree(clone)
    return folder / "session"


def copied(session: Path, to: Path) -> Path:
    copy = to / session.name
    shutil.copytree(session, copy)
    return copy


def checked(session: Path, code: int = 0) -> str:
    """Return all findings of `rig check`, in one line."""
    done = rig("check", str(session), "--wide")
    assert done.returncode == code, done.stdout
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("kws", "accuracy"),
        ("kws", "performance"),
        ("vww", "accuracy"),
        ("ad", "accuracy"),
        ("ad", "energy"),
    ],
)
def test_every_answer_is_computed_again_from_the_session_alone(
    measured: Measured, name: str, mode: str
) -> None:
    session = measured(name, mode)
    lines = (session / "trial-1" / "completions.jsonl").read_text("utf-8").splitlines()
    answers = sum(bool(json.loads(line).get("output")) for line in lines)
    assert answers >= FILES - 1
    found = checked(session)
    said = f"{answers} of {answers} outputs are those of the model kept in the session"
    assert said in found
    samples = FILES * (WINDOWS if name == "ad" else 1)
    assert f"{samples} samples and labels made again" in found
    assert "not checked against its data" not in found


@pytest.mark.parametrize("mode", ["accuracy", "performance"])
def test_an_answer_that_was_changed_is_found_although_all_was_made_again(
    measured: Measured, tmp_path: Path, mode: str
) -> None:
    session = copied(measured("kws", mode), tmp_path)
    edited: list[int] = []

    def other(number: int, line: dict[str, Any]) -> None:
        if line.get("output") and not edited:
            edited.append(number)
            # The largest share stays the largest.
            numbers = bytearray.fromhex(line["output"])
            numbers[numbers.index(min(numbers))] ^= 1
            line["output"] = numbers.hex()

    edit_lines(session / "trial-1" / "completions.jsonl", other)
    remake(session)
    found = checked(session, code=1)
    assert "trial-1/completions.jsonl" in found
    assert "which [sut.virtual] cannot give: the right one is" in found


def _other_tensor(folder: Path) -> None:
    values = np.load(folder / "inputs.npy")
    values[3, 17] ^= 1
    np.save(folder / "inputs.npy", values)


def _one_tensor_fewer(folder: Path) -> None:
    np.save(folder / "inputs.npy", np.load(folder / "inputs.npy")[1:])


def _one_long_tensor(folder: Path) -> None:
    np.save(folder / "inputs.npy", np.load(folder / "inputs.npy").reshape(-1))


def _relabelled(folder: Path, change: Callable[[LabelRow], str]) -> None:
    path = folder / "labels.csv"
    rows = read_labels(path)
    path.write_text("".join(f"{change(row)}\n" for row in rows), encoding="utf-8")


def _other_labels(folder: Path) -> None:
    _relabelled(folder, lambda row: f"{row.file},12,{(row.label + 1) % 12}")


def _a_window_at_every_byte(folder: Path) -> None:
    _relabelled(folder, lambda row: f"{row.file},12,{row.label},1,1")


def _no_list(folder: Path) -> None:
    (folder / "labels.csv").unlink()


def _other_model(folder: Path) -> None:
    other = fake_clone.images((1, 49, 10, 1), 12, 77)
    (folder / "model.tflite").write_bytes(other.content())


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (_other_tensor, "data_sha256"),
        (_one_tensor_fewer, "other files than labels.csv"),
        (_one_long_tensor, "other files than labels.csv"),
        (_other_labels, "catalogue.csv"),
        (_a_window_at_every_byte, "other tensors than catalogue.csv"),
        (_no_list, "labels.csv is missing"),
        (_other_model, "task, made again: model"),
    ],
)
def test_kept_files_that_were_forged_are_found_although_their_hashes_fit(
    measured: Measured, tmp_path: Path, forge: Callable[[Path], None], said: str
) -> None:
    session = copied(measured("kws", "accuracy"), tmp_path)
    forge(session / "task")
    rehash(session)
    assert said in checked(session, code=1)


def _windows_of(folder: Path, frames: Sequence[int]) -> Path:
    """Write a data folder of ad01 whose files have so many frames."""
    folder.mkdir()
    lines = []
    for number, count in enumerate(frames):
        reals = np.random.default_rng(number).normal(0, 20, count * 128)
        (folder / f"{number}.bin").write_bytes(reals.astype("<f4").tobytes())
        lines.append(f"{number}.bin,2,{number % 2},2560,512\n")
    (folder / "y_labels.csv").write_text("".join(lines), encoding="utf-8")
    return folder


def test_tensors_that_a_session_does_not_keep_are_open_with_the_reason(
    tmp_path: Path,
) -> None:
    data = _windows_of(tmp_path / "data", (6, 7, 6, 7, 6))
    session = run(tmp_path, "ad", "accuracy", "--inputs", str(data))
    assert [path.name for path in (session / "task").iterdir()] == ["model.tflite"]
    found = checked(session)
    assert "open catalogue.csv: not checked against its data: files of more" in found
    assert "data_sha256" in found


def test_files_of_more_than_the_limit_together_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = fake_clone.clone(tmp_path / "tiny")
    settings = MlperfTiny.Settings(
        data=str(_windows_of(tmp_path / "data", (6, 6))),
        model=str(clone / REFERENCES["ad"].model),
        benchmark="ad01",
    )
    task = MlperfTiny.open(settings, BenchContext())
    monkeypatch.setattr(kept, "INPUTS_B", 2 * 6 * 512)
    assert set(task.kept()) == {"model.tflite", "inputs.npy", "labels.csv"}
    monkeypatch.setattr(kept, "INPUTS_B", 2 * 6 * 512 - 1)
    assert set(task.kept()) == {"model.tflite"}


def test_a_session_of_an_earlier_rig_names_its_files_as_open(
    measured: Measured, tmp_path: Path
) -> None:
    session = copied(measured("kws", "accuracy"), tmp_path)
    shutil.rmtree(session / "task")
    remake(session)
    found = checked(session)
    assert "open catalogue.csv: not checked against its data: " in found
    assert "generated-kws01, " in found
    assert "compare your copy with what provenance.json says of it" in found
