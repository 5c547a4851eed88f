# SPDX-License-Identifier: Apache-2.0
"""Lists of labels: the accepted ones, and the errors of impossible ones."""

from __future__ import annotations

import pytest

from rig.errors import DataError
from scenarios.tasks.mlperf_tiny.labels import LabelRow, read_labels

from .conftest import DataFolder


def test_three_fields_name_a_file_its_classes_and_the_right_one(
    folder: DataFolder,
) -> None:
    folder.labels("tst_000000_Stop_7.bin,12,7", "tst_000001_Left_2.bin,12,2")
    rows = read_labels(folder.path / "y_labels.csv")
    assert rows == [
        LabelRow(1, "tst_000000_Stop_7.bin", 12, 7),
        LabelRow(2, "tst_000001_Left_2.bin", 12, 2),
    ]


def test_five_fields_slide_a_window_over_the_file(folder: DataFolder) -> None:
    folder.labels("normal_id_01_00000003.bin,2,0,2560,512")
    assert read_labels(folder.path / "y_labels.csv") == [
        LabelRow(1, "normal_id_01_00000003.bin", 2, 0, window_b=2560, stride_b=512)
    ]


def test_spaces_blank_lines_line_ends_and_a_byte_order_mark_do_not_matter(
    folder: DataFolder,
) -> None:
    (folder.path / "y_labels.csv").write_bytes(
        "\ufeffa.bin, 12, 7\r\n\r\n b.bin , 12 ,2\r\n\n".encode()
    )
    assert read_labels(folder.path / "y_labels.csv") == [
        LabelRow(1, "a.bin", 12, 7),
        LabelRow(3, "b.bin", 12, 2),
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a.bin,2,0", "b.bin,2"], "line 2 has 2 fields, 3 or 5 are due"),
        (["a.bin"], "line 1 has 1 fields"),
        (["a.bin,2,0,2560"], "line 1 has 4 fields"),
        (["a.bin,2,0,2560,512,9"], "line 1 has 6 fields"),
        (["file,classes,class"], "line 1: classes 'classes' is no whole number"),
        ([f"a.bin,12,{'1' * 5000}"], "is no whole number of up to 15 digits"),
        (["a.bin,2,1.0"], "line 1: class '1.0' is no whole number"),
        (["a.bin,2,-1"], "line 1: class '-1' is no whole number"),
        (["a.bin,2,0,2560,"], "line 1: stride bytes '' is no whole number"),
        (["a.bin,2,1", "b.bin,2,2"], "line 2: class 2 of 2 classes"),
        (["a.bin,1,0"], "line 1: class 0 of 1 classes"),
        (["a.bin,2,0,0,512"], "line 1: window and stride"),
        (["a.bin,2,0,2560,0"], "line 1: window and stride"),
        ([",2,0"], "line 1: '' is no file of this folder"),
        (["../a.bin,2,0"], "line 1: '../a.bin' is no file of this folder"),
        (["/etc/hostname,2,0"], "line 1: '/etc/hostname' is no file of this folder"),
        (
            ["a.bin,2,0", "b.bin,2,1", "a.bin,2,1"],
            "line 3: a.bin is listed twice, first in line 1",
        ),
        (["a.bin,2,0", "b.bin,3,1"], "line 2: 3 classes, line 1 has 2"),
        (["a.bin,2,0", "b.bin,2,1,8,4"], "line 2: a window in some rows only"),
        ([], "names no file"),
        (["", "", " "], "names no file"),
        (['"a.bin,2,0'], "cannot be read as a list of labels"),
    ],
)
def test_a_row_that_cannot_be_meant_is_named_with_its_line(
    folder: DataFolder, lines: list[str], said: str
) -> None:
    folder.labels(*lines)
    with pytest.raises(DataError, match=r"y_labels\.csv") as caught:
        read_labels(folder.path / "y_labels.csv")
    assert said in caught.value.cause


def test_bytes_that_are_no_text_are_refused(folder: DataFolder) -> None:
    folder.tensor("y_labels.csv", b"a.bin,2,0\n\xff\xfe,2,0\n")
    with pytest.raises(DataError, match="cannot be read as a list of labels"):
        read_labels(folder.path / "y_labels.csv")


def test_a_missing_list_is_looked_for_one_folder_deeper(folder: DataFolder) -> None:
    with pytest.raises(DataError, match=r"y_labels\.csv is missing"):
        read_labels(folder.path / "y_labels.csv")
    for name in ("kws01", "ad01"):
        DataFolder(folder.path / name).labels("a.bin,2,0")
    with pytest.raises(DataError, match="ad01, kws01"):
        read_labels(folder.path / "y_labels.csv")
