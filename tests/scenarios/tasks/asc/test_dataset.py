# SPDX-License-Identifier: Apache-2.0
"""The split of the rules: lists, extra files, devices, and that it never shrinks
silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.errors import DataError
from scenarios.tasks.asc.dataset import (
    CLASSES,
    OFFICIAL_TEST_SAMPLES,
    OFFICIAL_TRAIN_SAMPLES,
    Clip,
    TauDataset,
    open_dataset,
)

from .conftest import EVALUATE, EXTRA, TRAIN, TinySet, wav


def names(clips: tuple[Clip, ...]) -> list[str]:
    """Return the file names of clips."""
    return [clip.path.name for clip in clips]


def test_the_split_is_the_lists_and_the_extra_files(tiny: TinySet) -> None:
    dataset = open_dataset(tiny.folder)
    assert names(dataset.train) == TRAIN
    assert names(dataset.test) == EVALUATE + EXTRA
    assert [clip.listed for clip in dataset.test] == [True, True, False]
    assert [CLASSES[clip.label] for clip in dataset.test] == ["airport", "park", "bus"]
    assert dataset.counts() == (8, 6)
    assert (
        dataset.split_statement()
        == "not the data set: 8/6 samples, with recordings of oslo, where it has none"
    )


def test_the_flattened_folder_may_be_named_by_its_parent(tmp_path: Path) -> None:
    made = TinySet(tmp_path / "data", flat=True)
    made.audio.mkdir(parents=True)
    for name in TRAIN + EVALUATE:
        made.add(name)
    made.list("fold1_train.csv", TRAIN)
    made.list("fold1_evaluate.csv", EVALUATE)
    assert open_dataset(tmp_path).counts() == (8, 4)


def test_the_official_counts_are_recognised() -> None:
    def clips(files: int) -> tuple[Clip, ...]:
        return tuple(
            Clip(Path(f"bus-lyon-{number}-0-a.wav"), 0, 10, 1, True)
            for number in range(files)
        )

    full = TauDataset(Path(), "original", clips(4136), clips(1624))
    assert full.counts() == (OFFICIAL_TRAIN_SAMPLES, OFFICIAL_TEST_SAMPLES)
    assert full.split_statement() == "official split"
    fewer = TauDataset(Path(), "original", clips(4135), clips(1624))
    assert fewer.split_statement() == "not the official split: 41350/16240 samples"


@pytest.mark.parametrize("name", [TRAIN[1], EVALUATE[1], EXTRA[0]])
def test_a_listed_file_that_is_missing_is_named(tiny: TinySet, name: str) -> None:
    (tiny.audio / name).unlink()
    with pytest.raises(DataError, match=f"{name} is listed and not on disk"):
        open_dataset(tiny.folder)


def test_a_missing_file_of_another_device_does_not_matter(tiny: TinySet) -> None:
    (tiny.audio / "airport-oslo-0-0-b.wav").unlink()
    assert open_dataset(tiny.folder).counts() == (8, 6)


def test_a_truncated_recording_is_found_without_reading_audio(tiny: TinySet) -> None:
    tiny.add(EXTRA[0], wav(88_200)[:-100])
    with pytest.raises(DataError, match=f"{EXTRA[0]} is truncated"):
        open_dataset(tiny.folder)


def test_a_file_in_both_lists_is_refused(tiny: TinySet) -> None:
    tiny.list("fold1_evaluate.csv", EVALUATE + TRAIN[:1])
    with pytest.raises(
        DataError, match=f"{TRAIN[0]} is in fold1_train.csv and in fold1_evaluate.csv"
    ):
        open_dataset(tiny.folder)


def test_a_file_listed_twice_is_refused(tiny: TinySet) -> None:
    tiny.list("fold1_train.csv", TRAIN + TRAIN[:1])
    with pytest.raises(DataError, match=r"fold1_train\.csv:6: .* listed twice"):
        open_dataset(tiny.folder)


def test_a_wrong_label_is_refused(tiny: TinySet) -> None:
    path = tiny.lists / "fold1_train.csv"
    path.write_text(path.read_text().replace("\tbus", "\tpark"))
    with pytest.raises(DataError, match="listed as park"):
        open_dataset(tiny.folder)


COMMAS = b"filename,scene_label\naudio/x.wav,park\n"
HEADLESS = b"audio/park-oslo-3-3-a.wav\tpark\nx\ty\n"


@pytest.mark.parametrize("content", [COMMAS, HEADLESS, b"\xff\xfe\x00"])
def test_a_list_without_tabs_header_or_text_is_refused(
    tiny: TinySet, content: bytes
) -> None:
    (tiny.lists / "fold1_train.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"fold1_train\.csv"):
        open_dataset(tiny.folder)


def test_windows_line_ends_are_read(tiny: TinySet) -> None:
    path = tiny.lists / "fold1_train.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert names(open_dataset(tiny.folder).train) == TRAIN


def test_a_missing_list_is_named(tiny: TinySet) -> None:
    (tiny.lists / "fold1_evaluate.csv").unlink()
    with pytest.raises(DataError, match=r"fold1_evaluate\.csv cannot be read"):
        open_dataset(tiny.folder)


def test_a_wav_of_another_name_is_refused(tiny: TinySet) -> None:
    tiny.add("holiday.wav")
    with pytest.raises(DataError, match=r"holiday\.wav is not named"):
        open_dataset(tiny.folder)


def test_an_empty_folder_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no TAU") as caught:
        open_dataset(tmp_path)
    assert "generated" in caught.value.try_next


def test_the_hash_covers_names_sizes_and_on_request_content(tiny: TinySet) -> None:
    before = open_dataset(tiny.folder)
    plain = before.file_list_sha256()
    deep = before.file_list_sha256(content=True)
    tiny.add(EXTRA[0], wav(88_200, level=0.5))
    changed = open_dataset(tiny.folder)
    assert changed.file_list_sha256() == plain
    assert changed.file_list_sha256(content=True) != deep
    tiny.add(EXTRA[0], wav(88_201))
    assert open_dataset(tiny.folder).file_list_sha256() != plain
