# SPDX-License-Identifier: Apache-2.0
"""A child Python: its forbidden imports, its readiness, and its last output."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

import pytest

from rig.errors import BenchError
from rig.host import python_child
from rig.host.python_child import PythonChild
from tests.conftest import ROOT


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "child_of_a_test.py"


def child() -> PythonChild:
    return PythonChild("child_of_a_test", (), "the child")


def test_a_child_says_when_it_is_ready_and_ends_with_its_pipe(module: Path) -> None:
    module.write_text("import sys; print('ready PATH', flush=True); sys.stdin.read()")
    running = child()
    assert running.words == "PATH" and running.ended() is None
    running.close(10.0)
    assert running.process.returncode == 0


def test_a_child_that_dies_before_it_is_ready_is_an_error_with_its_last_line(
    module: Path,
) -> None:
    module.write_text("print('nearly'); raise SystemError('no such thing')")
    with pytest.raises(BenchError, match="the child does not start") as caught:
        child()
    assert (
        "exit code 1" in caught.value.evidence
        and "no such thing" in caught.value.evidence
    )


def test_a_child_whose_output_ends_before_it_does_has_ended(module: Path) -> None:
    # A killed process closes its output before its parent can see its end.
    module.write_text(
        "import os, time; os.write(1, b'ready\\n'); os.close(1)\n"
        "time.sleep(0.3)  # it outlives its output\n"
        "os._exit(3)"
    )
    running = child()
    assert running.process.stdout is not None
    assert running.process.stdout.read() == ""
    error = running.ended()
    running.close(10.0)
    assert error is not None and error.evidence == "exit code 3"


def test_a_child_that_runs_is_seen_so_at_once(module: Path) -> None:
    """Every wait of a guarded bench looks at it."""
    module.write_text("print('ready', flush=True); input()")
    running = child()
    began_s = time.monotonic()
    assert running.ended() is None
    assert time.monotonic() - began_s < 1.0
    running.close(10.0)


def test_a_child_that_is_not_ready_in_time_is_an_error(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_child, "_READY_S", 0.3)
    monkeypatch.setattr(python_child, "_REAP_S", 0.1)
    module.write_text("import time; time.sleep(600)  # until it is killed")
    with pytest.raises(BenchError, match="does not start") as caught:
        child()
    assert "not ready" in caught.value.evidence


def test_a_file_of_the_current_folder_is_no_module_of_a_child(
    module: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path_factory.mktemp("current")
    (folder / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(folder)
    module.write_text("import json, sys; print('ready', json.__file__, flush=True)")
    running = child()
    running.close(10.0)
    assert str(folder) not in running.words


def test_every_python_of_our_own_is_started_without_the_current_folder() -> None:
    # A command line that begins with this Python has -P, or -I.
    allowed = {
        # one of several interpreters that are asked for their age
        "sut_backends/sdk/install.py",
        # also Python 3.10, which has no -P; its code does it
        "sut_backends/workers/process.py",
    }
    bare = set()
    for folder in ("rig", "drivers", "sut_backends", "scenarios", "gui"):
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            unsafe = [
                node
                for node in ast.walk(tree)
                if _is_loose(node) or (isinstance(node, ast.List) and _is_unsafe(node))
            ]
            if unsafe:
                bare.add(str(path.relative_to(ROOT)))
    assert bare - allowed == set()


def _is_unsafe(node: ast.List) -> bool:
    words = [ast.unparse(each) for each in node.elts]
    return "sys.executable" in words[:1] and not {"'-P'", "'-I'"} & set(words[1:2])


def _is_loose(node: ast.AST) -> bool:
    """Return whether this Python is put into a command in another way than as its first
    word."""
    if not isinstance(node, ast.Assign | ast.Yield):
        return False
    return node.value is not None and ast.unparse(node.value) == "sys.executable"


def test_the_rule_finds_a_command_without_it() -> None:
    (tree,) = ast.parse("[sys.executable, '-c', 'import serial']").body
    assert isinstance(tree, ast.Expr) and isinstance(tree.value, ast.List)
    assert _is_unsafe(tree.value) and sys.executable
