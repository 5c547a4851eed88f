# SPDX-License-Identifier: Apache-2.0
"""The hash of sources changes with every file of them, and only with them; the revision
is read without a change to the checkout.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rig.store.provenance import SourceRevision, hash_of_files, revision
from tests.programs import captured


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


def test_the_index_of_the_checkout_is_left_as_it_is(tmp_path: Path) -> None:
    # git refreshes it in passing; killed at that, by a quota or a limit, it leaves a
    # lock that stops every later command that writes.
    source = tmp_path / "rig" / "store" / "provenance.py"
    source.parent.mkdir(parents=True)
    source.write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    os.utime(source, (1, 1))
    index = tmp_path / ".git" / "index"
    before = index.read_bytes()
    head = captured([*git, "rev-parse", "HEAD"], check=True)
    assert revision(tmp_path) == SourceRevision(head.stdout.strip())
    assert index.read_bytes() == before


def test_a_git_that_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "path" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'fatal: dubious ownership' >&2\nexit 128\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    assert revision(tmp_path) == SourceRevision("")
    (tmp_path / ".git").mkdir()
    said = str(revision(tmp_path))
    assert said == "not known: git ended with 128: fatal: dubious ownership"
