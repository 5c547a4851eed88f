# SPDX-License-Identifier: Apache-2.0
"""Data folders: which bytes a device gets, and the errors of inconsistent folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import DataError
from scenarios.tasks.mlperf_tiny.benchmarks import BENCHMARKS, Benchmark
from scenarios.tasks.mlperf_tiny.dataset import TinyDataset, open_dataset

from .conftest import DataFolder


def opened(folder: DataFolder, benchmark: Benchmark | None = None) -> TinyDataset:
    return open_dataset(folder.path, "y_labels.csv", benchmark)


def test_a_tensor_is_its_file_byte_by_byte_in_the_order_of_the_list(
    folder: DataFolder,
) -> None:
    contents = {
        "b.bin": bytes(range(100)),
        "a.bin": bytes(range(100, 200)),
        "c.bin": bytes(100),
    }
    folder.labels(*(f"{name},2,1" for name in contents))
    for name, content in contents.items():
        folder.tensor(name, content)
    data = opened(folder)
    assert [data.read(tensor) for tensor in data.tensors] == list(contents.values())


def test_a_file_of_ad01_gives_as_many_windows_as_fit(folder: DataFolder) -> None:
    # Ten frames of 128 float32; a window holds five of them and moves on by one: six
    # windows.
    content = b"".join(bytes([frame]) * 512 for frame in range(10))
    folder.labels("a.bin,2,0,2560,512").tensor("a.bin", content)
    data = opened(folder, BENCHMARKS["ad01"])
    windows = [data.read(tensor) for tensor in data.tensors]
    assert [(window[0], window[-1], len(window)) for window in windows] == [
        (frame, frame + 4, 2560) for frame in range(6)
    ]
    assert data.unused_b == 0


@given(
    size_b=st.integers(1, 60), window_b=st.integers(1, 60), stride_b=st.integers(1, 70)
)
def test_every_window_lies_in_its_file_and_one_more_would_not(
    tmp_path_factory: pytest.TempPathFactory, size_b: int, window_b: int, stride_b: int
) -> None:
    folder = DataFolder(tmp_path_factory.mktemp("any") / "data")
    folder.labels(f"a.bin,2,0,{window_b},{stride_b}").tensor(
        "a.bin", bytes(range(size_b))
    )
    if window_b > size_b:
        with pytest.raises(
            DataError,
            match=rf"line 1: a window of {window_b} bytes, a\.bin has {size_b}",
        ):
            opened(folder)
        return
    data = opened(folder)
    starts_b = [data.read(tensor)[0] for tensor in data.tensors]
    assert starts_b == [
        start_b
        for start_b in range(0, size_b, stride_b)
        if start_b + window_b <= size_b
    ]
    assert data.unused_b == size_b - starts_b[-1] - window_b


@pytest.mark.parametrize(
    ("line", "files", "benchmark", "said"),
    [
        ("b.bin,2,0", {}, "", "line 2: b.bin is not in"),
        ("b.bin,2,0", {"b.bin": 0}, "", "line 2: b.bin is empty"),
        (
            "b.bin,2,0",
            {"b.bin": 7},
            "",
            "line 2: a tensor of b.bin has 7 bytes, 8 are due",
        ),
        ("b.bin,2,0", {"b.bin": 8}, "kws01", "line 1: 2 classes, the benchmark has 12"),
        (
            "b.bin,2,0",
            {"b.bin": 8},
            "vww01",
            "line 1: a tensor of a.bin has 8 bytes, 27648 are due",
        ),
    ],
)
def test_a_folder_that_does_not_hold_together_is_named_with_file_and_line(
    folder: DataFolder, line: str, files: dict[str, int], benchmark: str, said: str
) -> None:
    folder.labels("a.bin,2,1", line).tensor("a.bin", bytes(8))
    for name, size_b in files.items():
        folder.tensor(name, bytes(size_b))
    with pytest.raises(DataError) as caught:
        opened(folder, BENCHMARKS.get(benchmark))
    assert said in caught.value.cause


def test_a_folder_in_place_of_a_tensor_is_no_tensor(folder: DataFolder) -> None:
    folder.labels("a.bin,2,1")
    (folder.path / "a.bin").mkdir()
    with pytest.raises(DataError, match=r"line 1: a\.bin is not in"):
        opened(folder)


@pytest.mark.parametrize("what", ["shorter", "gone"])
def test_a_file_that_changes_while_it_is_used_is_noticed(
    folder: DataFolder, what: str
) -> None:
    data = opened(folder.labels("a.bin,2,1").tensor("a.bin", bytes(8)))
    if what == "shorter":
        folder.tensor("a.bin", bytes(7))
    else:
        (folder.path / "a.bin").unlink()
    with pytest.raises(DataError, match=r"a\.bin"):
        data.read(data.tensors[0])


def test_the_hash_depends_on_names_labels_order_and_every_byte(tmp_path: Path) -> None:
    def made(number: int, *rows: tuple[str, int, bytes]) -> str:
        folder = DataFolder(tmp_path / str(number)).labels(
            *(f"{name},2,{label}" for name, label, _ in rows)
        )
        for name, _, content in rows:
            folder.tensor(name, content)
        return opened(folder).sha256()

    first = made(0, ("a.bin", 0, b"ab"), ("b.bin", 1, b"cd"))
    assert first == made(1, ("a.bin", 0, b"ab"), ("b.bin", 1, b"cd"))
    others = {
        made(2, ("b.bin", 1, b"cd"), ("a.bin", 0, b"ab")),
        made(3, ("a.bin", 1, b"ab"), ("b.bin", 1, b"cd")),
        made(4, ("a.bin", 0, b"ab"), ("c.bin", 1, b"cd")),
        made(5, ("a.bin", 0, b"ab"), ("b.bin", 1, b"ce")),
    }
    assert len(others) == 4 and first not in others
