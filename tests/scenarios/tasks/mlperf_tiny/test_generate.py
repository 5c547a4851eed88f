# SPDX-License-Identifier: Apache-2.0
"""Generated data folders: the layout of the real ones, and answers that are known."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rig.errors import ConfigError, DataError
from scenarios.tasks.mlperf_tiny import generate
from scenarios.tasks.mlperf_tiny.benchmarks import BENCHMARKS
from scenarios.tasks.mlperf_tiny.dataset import open_dataset


@pytest.mark.parametrize("name", ["", *BENCHMARKS])
def test_it_has_the_layout_of_the_benchmark(tmp_path: Path, name: str) -> None:
    data = open_dataset(
        generate.ensure(tmp_path, name, 12, 1), "y_labels.csv", BENCHMARKS.get(name)
    )
    assert len(data.rows) == 12
    assert {tensor.length_b for tensor in data.tensors} == {
        BENCHMARKS[name].tensor_b if name else 64
    }
    assert len(data.tensors) == 12 * (6 if name == "ad01" else 1)
    assert {row.label for row in data.rows} == set(range(min(data.rows[0].classes, 12)))


@pytest.mark.parametrize("name", ["", "ic01", "kws01", "vww01"])
def test_every_eighth_file_is_answered_with_the_class_after_its_own(
    tmp_path: Path, name: str
) -> None:
    data = open_dataset(generate.ensure(tmp_path, name, 32, 5), "y_labels.csv", None)
    classes = data.rows[0].classes
    for number, tensor in enumerate(data.tensors):
        shares = struct.unpack(
            f"<{classes}i", generate.right_answer(name, data.read(tensor))
        )
        assert sum(shares) == 1000 and min(shares) >= 0
        wrong = number % 8 == 7
        assert shares.index(max(shares)) == (tensor.row.label + wrong) % classes


def test_the_scores_of_normal_and_unusual_files_overlap(tmp_path: Path) -> None:
    data = open_dataset(
        generate.ensure(tmp_path, "ad01", 40, 1), "y_labels.csv", BENCHMARKS["ad01"]
    )
    scores: dict[int, list[int]] = {0: [], 1: []}
    for tensor in data.tensors:
        scores[tensor.row.label] += struct.unpack(
            "<i", generate.right_answer("ad01", data.read(tensor))
        )
    assert min(scores[1]) < max(scores[0]) < max(scores[1])


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    tmp_path: Path,
) -> None:
    hashes = [
        open_dataset(
            generate.ensure(tmp_path / position, "kws01", 4, seed), "y_labels.csv", None
        ).sha256()
        for position, seed in (("first", 1), ("again", 1), ("other", 2))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    folder = generate.ensure(tmp_path, "kws01", 4, 1)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert generate.ensure(tmp_path, "kws01", 4, 1) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["kws01"]


def test_a_cache_that_cannot_be_written_and_a_set_of_one_file_are_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(DataError, match="cannot be written"):
        generate.ensure(tmp_path / "file", "kws01", 4, 1)
    with pytest.raises(ConfigError, match=r"task\.mlperf_tiny\.files"):
        generate.ensure(tmp_path, "kws01", 1, 1)
