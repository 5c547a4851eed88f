# SPDX-License-Identifier: Apache-2.0
"""The workflow of examples/github-actions.yml: its form, and its commands in a shell."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.programs import captured

yaml = pytest.importorskip("yaml")

WORKFLOW = ROOT / "examples" / "github-actions.yml"
CONTAINER = ROOT / "examples" / "Containerfile"
#: Steps that fetch packages: they are not run here.
_INSTALLS = "Install "


def steps() -> list[dict[str, Any]]:
    """Return the steps of the one job."""
    (job,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def test_the_workflow_has_the_form_that_github_reads() -> None:
    tree = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    assert set(tree) == {"name", True, "permissions", "jobs"}
    (job,) = tree["jobs"].values()
    assert {"runs-on", "timeout-minutes", "steps"} == set(job)
    for step in steps():
        assert ("uses" in step) is not ("run" in step), step
        assert set(step) <= {"name", "uses", "run", "with", "if"}, step
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step


def test_sessions_are_uploaded_also_after_a_failure() -> None:
    (upload,) = [
        step
        for step in steps()
        if step.get("uses", "").startswith("actions/upload-artifact")
    ]
    assert upload["if"] == "always()"
    runs = "".join(step.get("run", "") for step in steps())
    assert f"--sessions {upload['with']['path']}" in runs


@pytest.mark.long
@pytest.mark.skipif(
    not shutil.which("qemu-system-arm") or not shutil.which("arm-none-eabi-gcc"),
    reason="needs qemu-system-arm and gcc-arm-none-eabi",
)
def test_every_command_succeeds(tmp_path: Path) -> None:
    """By the shell of GitHub's runners, `bash -e -o pipefail`."""
    shell = shutil.which("bash")
    assert shell is not None
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "rig").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rig "$@"\n')
    (tools / "rig").chmod(0o755)
    place = tmp_path / "checkout"
    place.mkdir()
    for step in steps():
        if "run" not in step or step["name"].startswith(_INSTALLS):
            continue
        script = f'PATH="{tools}:$PATH"\n{step["run"]}'
        done = captured(
            [shell, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            cwd=place,
            timeout=400,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"{step['name']}: {said}"
    sessions = sorted(path.name for path in (place / "sessions").iterdir())
    assert [name.split("-", 1)[1] for name in sessions] == ["virtual-asc", "mps2-asc"]


def test_the_container_installs_what_the_workflow_does() -> None:
    """Compiler and emulator; the rig itself with the versions of constraints.txt."""
    text = CONTAINER.read_text(encoding="utf-8")
    (install,) = [
        step for step in steps() if step.get("name", "").startswith(_INSTALLS)
    ]
    for package in ("gcc-arm-none-eabi", "qemu-system-arm"):
        assert package in text and package in install["run"]
    assert (ROOT / "constraints.txt").exists() and "-c /src/constraints.txt" in text
    assert "USER rig" in text
