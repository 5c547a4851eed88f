# SPDX-License-Identifier: Apache-2.0
"""The hash of sources changes with every file of them, and with nothing else."""

from __future__ import annotations

from pathlib import Path

from rig.store.provenance import hash_of_files


def test_every_file_and_its_name_are_in_the_hash(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    for name in ("report/page.html", "a.py", "b.py"):
        (tmp_path / name).write_text("1")
    first = hash_of_files(tmp_path)
    hashes = {first}
    (tmp_path / "report" / "page.html").write_text("2")
    hashes.add(hash_of_files(tmp_path))
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    hashes.add(hash_of_files(tmp_path))
    (tmp_path / "a.py").unlink()
    hashes.add(hash_of_files(tmp_path))
    assert len(hashes) == 4


def test_compiled_files_are_not_in_the_hash(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    first = hash_of_files(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"1")
    assert hash_of_files(tmp_path) == first
