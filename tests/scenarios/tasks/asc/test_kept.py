# SPDX-License-Identifier: Apache-2.0
"""Sessions with a model of the bench's owner: the model, and the samples of a folder,
are kept, and a check runs them again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from lab.faults.forger import rehash
from rig.session.session import open_bench
from scenarios.tasks.asc import kept
from scenarios.tasks.asc.cnn import SHIPPED_CNN
from scenarios.tasks.asc.nirfile import read_model
from scenarios.tasks.asc.task import SHIPPED_MODEL
from tests.checking import check

from .conftest import EVALUATE, TRAIN, TinySet

GENERATED = ""
OWN = "data = 'recordings'\n"


def data_set(folder: Path) -> None:
    """Write recordings of two classes, of a city in no list of the generator's."""
    tiny = TinySet(folder, flat=True)
    tiny.audio.mkdir(parents=True)
    for name in (*TRAIN, *EVALUATE):
        tiny.add(name)
    tiny.list("fold1_train.csv", TRAIN)
    tiny.list("fold1_evaluate.csv", EVALUATE)
    names = (*TRAIN, *EVALUATE)
    columns = ("filename", "scene_label", "identifier", "source_label")
    tiny.list("meta.csv", names, columns)


def measured(folder: Path, model: Path, data: str) -> Path:
    """Measure a copy of a model that is gone afterwards, as are the recordings."""
    copy = folder / f"mine{model.suffix}"
    shutil.copy(model, copy)
    data_set(folder / "recordings")
    few = "" if data else "samples = 4\nfiles_per_class = 2\n"
    bench = folder / "bench.toml"
    bench.write_text(
        "[sut.cpu]\nprogram = 'integer'\n[monitor.none]\n[scenario.single_stream]\nidle_s = 0.1\n"
        f"[task.asc]\nmodel = '{copy.name}'\n{few}{data}",
        encoding="utf-8",
    )
    with open_bench(bench) as opened:
        session = opened.run(1, folder / "sessions").folder
    copy.unlink()
    shutil.rmtree(folder / "recordings")
    return session


CASES = {
    "spiking, generated": (SHIPPED_MODEL, GENERATED),
    "spiking, own recordings": (SHIPPED_MODEL, OWN),
    "cnn, generated": (SHIPPED_CNN, GENERATED),
    "cnn, own recordings": (SHIPPED_CNN, OWN),
}


@pytest.fixture(scope="module", params=CASES)
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A session of each case."""
    return measured(tmp_path_factory.mktemp("kept"), *CASES[request.param])


@pytest.fixture(scope="module")
def of_recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of the spiking network on recordings of a folder."""
    return measured(tmp_path_factory.mktemp("own"), SHIPPED_MODEL, OWN)


def stated_of(folder: Path, name: str, *, ok: bool) -> str:
    return "; ".join(
        finding.detail
        for finding in check(folder).findings
        if finding.ok is ok and finding.name.endswith(name)
    )


def test_a_changed_answer_is_found_although_all_hashes_fit(
    session: Path, tmp_path: Path
) -> None:
    assert check(session).ok
    stated = stated_of(session, "completions.jsonl", ok=True)
    assert "outputs are those of the model kept in the session, run again" in stated
    forged = tmp_path / session.name
    shutil.copytree(session, forged)
    path = forged / "trial-1" / "completions.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    changed = next(line for line in reversed(lines) if line.get("output"))
    output = bytearray.fromhex(changed["output"])
    output[0] ^= 1
    changed["output"] = output.hex()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    rehash(forged)
    found = stated_of(forged, "completions.jsonl", ok=False)
    assert "which [sut.cpu] cannot give" in found


def test_the_copies_are_those_of_the_owner(of_recordings: Path) -> None:
    folder = of_recordings / "task"
    assert {path.name for path in folder.iterdir()} == {"model.nir", "inputs.npy"}
    assert (folder / "model.nir").read_bytes() == SHIPPED_MODEL.read_bytes()
    # Two recordings of two seconds.
    assert np.load(folder / "inputs.npy").shape == (4, 8000)


def _other_recordings(folder: Path) -> None:
    values = np.load(folder / "inputs.npy")
    np.save(folder / "inputs.npy", values // 2 + 7)


def _fewer_recordings(folder: Path) -> None:
    np.save(folder / "inputs.npy", np.load(folder / "inputs.npy")[1:])


def _shorter_recordings(folder: Path) -> None:
    np.save(folder / "inputs.npy", np.load(folder / "inputs.npy")[:, 1:])


def _no_recordings(folder: Path) -> None:
    (folder / "inputs.npy").unlink()


def _other_model(folder: Path) -> None:
    model = read_model(SHIPPED_MODEL)
    content = SHIPPED_MODEL.read_bytes().replace(model.name.encode(), b"x")
    (folder / "model.nir").write_bytes(content)


def _no_model(folder: Path) -> None:
    (folder / "model.nir").unlink()


@pytest.mark.parametrize(
    ("forge", "blamed", "found"),
    [
        (_other_recordings, "completions.jsonl", "which [sut.cpu] cannot give"),
        (_fewer_recordings, "catalogue.csv", "holds other samples than catalogue.csv"),
        (_shorter_recordings, "catalogue.csv", "samples of 7,999, not 8,000"),
        (_no_recordings, "catalogue.csv", "inputs.npy is missing, of samples that fit"),
        (_other_model, "catalogue.csv", ""),
        (_no_model, "catalogue.csv", "the session holds no model.nir"),
    ],
)
def test_kept_files_that_were_forged_are_found(
    of_recordings: Path,
    tmp_path: Path,
    forge: Callable[[Path], None],
    blamed: str,
    found: str,
) -> None:
    forged = tmp_path / of_recordings.name
    shutil.copytree(of_recordings, forged)
    forge(forged / "task")
    rehash(forged)
    assert not check(forged).ok
    assert found in stated_of(forged, blamed, ok=False)


def test_many_recordings_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_INPUTS_B", 63_999)
    session = measured(tmp_path, SHIPPED_MODEL, OWN)
    assert [path.name for path in (session / "task").iterdir()] == ["model.nir"]
    assert check(session).ok
    stated = stated_of(session, "catalogue.csv", ok=True)
    assert "recordings of more than 32 MiB are not in the session" in stated
