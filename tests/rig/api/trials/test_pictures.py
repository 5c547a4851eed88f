# SPDX-License-Identifier: Apache-2.0
"""Pictures of a session's trials from Python: drawn, labelled, and written into
files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import rig
from rig.errors import BenchError, DataError
from rig.model.picture import Picture
from rig.session.session import open_bench
from scenarios.offline import Offline
from tests.conftest import ROOT


@pytest.fixture
def offline(tmp_path: Path) -> Path:
    with open_bench(
        ROOT / "benches" / "virtual-offline.toml", ["task.asc.samples=4"]
    ) as bench:
        return bench.run(1, tmp_path).folder


def test_a_session_without_pictures_has_none(copied: Callable[[int], Path]) -> None:
    assert rig.pictures(rig.open_session(copied(1))) == ()


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_a_file_says_of_which_session_it_is_and_is_sharp(
    offline: Path, form: str
) -> None:
    session = rig.open_session(offline)
    (whole,) = rig.pictures(session)
    assert whole.title == "Throughput"
    path = offline.parent / f"picture.{form}"
    rig.save_picture(whole, path)
    content = path.read_bytes()
    if form == "svg":
        text = content.decode()
        assert offline.name in text and all(label in text for label in session.labels)
        assert "SIMULATED" in session.labels and "<image" not in text
    elif form == "pdf":
        assert content.startswith(b"%PDF")
    else:
        assert int.from_bytes(content[16:20], "big") >= 2000


def test_a_session_that_did_not_finish_says_so(offline: Path) -> None:
    (offline / "results.json").unlink()
    (cut,) = rig.pictures(rig.Session(offline))
    assert cut.figure is None and "did not finish" in cut.caption
    with pytest.raises(DataError, match="no picture"):
        rig.save_picture(cut, offline.parent / "picture.svg")


def test_a_scenario_that_fails_to_draw_is_a_sentence(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Offline, folder: Path) -> None:
        raise BenchError("no room")

    monkeypatch.setattr(Offline, "pictures", fails)
    (cut,) = rig.pictures(rig.open_session(offline))
    assert cut.caption == "Not drawn: no room."


def test_what_a_picture_cannot_be_written_as_is_reported(tmp_path: Path) -> None:
    picture = Picture("own", "Own", Figure(), "")
    with pytest.raises(DataError, match=r"picture\.xyz"):
        rig.save_picture(picture, tmp_path / "picture.xyz")
    with pytest.raises(DataError, match="nowhere"):
        rig.save_picture(picture, tmp_path / "nowhere" / "picture.svg")
