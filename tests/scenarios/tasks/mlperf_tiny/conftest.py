# SPDX-License-Identifier: Apache-2.0
"""A data folder that a test fills file by file."""

from __future__ import annotations

from pathlib import Path

import pytest


class DataFolder:
    """A folder with a list of labels and tensors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)

    def labels(self, *lines: str, name: str = "y_labels.csv") -> DataFolder:
        """Write the list of labels."""
        (self.path / name).write_text(
            "".join(f"{line}\n" for line in lines), encoding="utf-8"
        )
        return self

    def tensor(self, name: str, content: bytes) -> DataFolder:
        """Write one file."""
        (self.path / name).write_bytes(content)
        return self


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    """Return an empty data folder of no benchmark's name."""
    return DataFolder(tmp_path / "data")
