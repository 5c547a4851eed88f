# SPDX-License-Identifier: Apache-2.0
"""The task: payloads, scores, which devices it is for, and its statement about its
data.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path

import pytest

from rig.errors import ConfigError, DataError, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.settings.check import checked
from scenarios.tasks.mlperf_tiny.task import MlperfTiny

from .conftest import DataFolder

DEVICE = SutInfo(name="board", kind="uart", simulated=False, tick_hz=1_000_000, task="")


def opened(data: Path, **settings: object) -> MlperfTiny:
    chosen = MlperfTiny.Settings(data=str(data), **settings)  # type: ignore[arg-type]
    return MlperfTiny.open(checked(chosen, "task.mlperf_tiny"), BenchContext())


def generated(cache: Path, **settings: object) -> MlperfTiny:
    return MlperfTiny.open(
        MlperfTiny.Settings(cache=str(cache), **settings), BenchContext()
    )


@pytest.fixture
def three_classes(folder: DataFolder) -> MlperfTiny:
    """Return a task over two files of three classes."""
    folder.labels("a.bin,3,2", "b.bin,3,0").tensor("a.bin", b"first input").tensor(
        "b.bin", b"other input"
    )
    return opened(folder.path)


@pytest.fixture
def windowed(folder: DataFolder) -> MlperfTiny:
    """Return a task over a file of two windows and a file of three."""
    folder.labels("a.bin,2,0,4,2", "b.bin,2,1,4,2").tensor("a.bin", b"abcdef").tensor(
        "b.bin", b"ABCDEFGH"
    )
    return opened(folder.path)


def test_it_is_a_task_whose_payloads_are_the_files(three_classes: MlperfTiny) -> None:
    task: Task = three_classes
    assert [task.payload(index) for index in range(len(task))] == [
        b"first input",
        b"other input",
    ]


def test_windows_of_a_file_are_samples_of_one_case(windowed: MlperfTiny) -> None:
    assert [windowed.payload(index) for index in range(len(windowed))] == [
        b"abcd",
        b"cdef",
        b"ABCD",
        b"CDEF",
        b"EFGH",
    ]
    assert [windowed.score(index, struct.pack("<i", 1)).case for index in range(5)] == [
        "a.bin"
    ] * 2 + ["b.bin"] * 3


def test_the_highest_number_is_the_answer_and_the_first_of_equal_ones(
    three_classes: MlperfTiny,
) -> None:
    score = three_classes.score(0, struct.pack("<3i", 125, 250, 625))
    assert (score.correct, score.label, score.answer, score.scores) == (
        True,
        "2",
        "2",
        (0.125, 0.25, 0.625),
    )
    assert three_classes.score(0, struct.pack("<3i", 0, 500, 500)).answer == "1"
    assert three_classes.score(1, struct.pack("<3i", -7, -7, -9)).correct


def test_one_number_is_a_score_and_no_answer(windowed: MlperfTiny) -> None:
    score = windowed.score(0, struct.pack("<i", 12_345))
    assert (score.correct, score.label, score.answer, score.scores) == (
        False,
        "0",
        "",
        (12.345,),
    )


@pytest.mark.parametrize(
    ("form", "output", "expected"),
    [
        ("thousandths", struct.pack("<3i", -1, 0, 2_000_001), (-0.001, 0.0, 2000.001)),
        ("float32", struct.pack("<3f", 0.5, -0.25, 3.0), (0.5, -0.25, 3.0)),
        ("int8", struct.pack("<3b", -128, 0, 127), (-128.0, 0.0, 127.0)),
        ("uint8", bytes([0, 1, 255]), (0.0, 1.0, 255.0)),
    ],
)
def test_a_device_may_write_its_numbers_in_several_ways(
    folder: DataFolder, form: str, output: bytes, expected: tuple[float, ...]
) -> None:
    folder.labels("a.bin,3,2").tensor("a.bin", b"x")
    assert opened(folder.path, output=form).score(0, output).scores == expected


@pytest.mark.parametrize("length_b", [0, 4, 11, 13, 48])
def test_an_output_of_another_length_is_refused(
    three_classes: MlperfTiny, length_b: int
) -> None:
    with pytest.raises(
        RemoteProtocolError,
        match=f"an output of {length_b} B, 3 numbers as thousandths are 12 B",
    ):
        three_classes.score(0, bytes(length_b))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_an_output_that_is_no_number_is_refused(
    folder: DataFolder, number: float
) -> None:
    folder.labels("a.bin,2,1").tensor("a.bin", b"x")
    with pytest.raises(RemoteProtocolError, match="no number"):
        opened(folder.path, output="float32").score(0, struct.pack("<2f", 0.5, number))


def test_how_many_numbers_are_due_can_be_set_where_it_can_be_meant(
    folder: DataFolder,
) -> None:
    folder.labels("a.bin,2,1").tensor("a.bin", b"x")
    assert opened(folder.path, outputs=1).score(0, struct.pack("<i", 7)).scores == (
        0.007,
    )
    for outputs in (3, -1):
        with pytest.raises(ConfigError, match=r"task\.mlperf_tiny\.outputs"):
            opened(folder.path, outputs=outputs)
    folder.labels("a.bin,3,1")
    with pytest.raises(ConfigError, match=r"task\.mlperf_tiny\.outputs"):
        opened(folder.path, outputs=1)


def test_a_folder_that_is_called_as_a_benchmark_must_hold_its_data(
    tmp_path: Path,
) -> None:
    folder = (
        DataFolder(tmp_path / "kws01").labels("a.bin,12,7").tensor("a.bin", bytes(489))
    )
    with pytest.raises(DataError, match="489 bytes, 490 are due"):
        opened(folder.path)
    folder.tensor("a.bin", bytes(490))
    facts = opened(folder.path).provenance()
    assert facts["benchmark"] == "kws01"
    assert facts["quality"] == {
        "metric": "accuracy",
        "minimum": 0.9,
        "division": "closed",
    }
    assert (facts["official"], facts["statement"]) == (
        False,
        "1 file, the evaluation set of kws01 has 1000",
    )


def test_another_list_in_the_folder_can_be_named(folder: DataFolder) -> None:
    folder.labels("a.bin,2,1", "b.bin,2,0").labels("a.bin,2,1", name="y_labels_alt.csv")
    folder.tensor("a.bin", b"x").tensor("b.bin", b"y")
    assert (
        len(opened(folder.path)),
        len(opened(folder.path, labels="y_labels_alt.csv")),
    ) == (2, 1)


def test_a_full_count_of_files_is_reported_as_one(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "ad01").labels(
        *(f"{number}.bin,2,{number % 2},2560,512" for number in range(72))
    )
    for number in range(72):
        folder.tensor(f"{number}.bin", bytes([number]) * 3072)
    facts = opened(folder.path).provenance()
    assert (facts["official"], facts["statement"]) == (
        True,
        "as many files as the evaluation set of ad01 has",
    )
    assert (facts["files"], facts["tensors"], facts["window"]) == (
        72,
        144,
        "2560 bytes, stride 512",
    )


def test_provenance_is_json_and_changes_with_the_data(
    three_classes: MlperfTiny, windowed: MlperfTiny
) -> None:
    facts = [task.provenance() for task in (three_classes, windowed)]
    json.dumps(facts, allow_nan=False)
    assert facts[0]["data_sha256"] != facts[1]["data_sha256"]
    assert (
        facts[0]["statement"] == "a folder of another data set than the benchmarks have"
    )


def test_only_of_generated_data_is_the_right_answer_known(
    tmp_path: Path, three_classes: MlperfTiny
) -> None:
    assert three_classes.reference is None
    task = generated(tmp_path, benchmark="vww01", files=4)
    assert task.reference is not None
    assert [
        task.score(index, task.reference(task.payload(index))).correct
        for index in range(4)
    ] == [True] * 4
    assert (
        task.provenance()["statement"] == "generated data, no data set of MLPerf Tiny"
    )
    assert "quality" not in task.provenance()


def test_generated_data_are_answered_in_one_way(tmp_path: Path) -> None:
    for settings in ({"output": "float32"}, {"outputs": 1}):
        with pytest.raises(ConfigError, match=r"task\.mlperf_tiny\.output"):
            generated(tmp_path, **settings)


@pytest.mark.parametrize(
    ("benchmark", "workload", "task", "model", "accepted"),
    [
        ("kws01", "", "any", "", True),
        ("kws01", "", "mlperf_tiny", "anything", True),
        ("kws01", "", "kws01", "ds-cnn 1f2e", True),
        ("kws01", "", "asc", "kws01", False),
        ("kws01", "", "", "kws01", True),
        ("kws01", "", "", "ic01", False),
        ("kws01", "", "", "", True),
        ("ic02", "", "", "ic02", True),
        ("ic02", "", "", "ic01", True),
        ("ic01", "", "", "ic02", False),
        ("", "", "", "kws01", True),
        ("", "", "null", "null", False),
        ("", "null", "null", "null", True),
        ("", "null", "asc", "null", False),
        ("kws01", "my kws", "", "my kws", True),
        ("kws01", "my kws", "", "kws01", False),
        ("kws01", "my kws", "any", "", True),
    ],
)
def test_a_device_is_known_by_what_it_says_of_itself(
    tmp_path: Path, benchmark: str, workload: str, task: str, model: str, accepted: bool
) -> None:
    mine = generated(tmp_path, benchmark=benchmark, workload=workload, files=2)
    assert mine.accepts(dataclasses.replace(DEVICE, task=task, model=model)) is accepted
