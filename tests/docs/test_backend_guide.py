# SPDX-License-Identifier: Apache-2.0
"""The backend of docs/how-to/BACKEND_GUIDE.md runs as printed, its SDK under an
interpreter of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from rig.errors import BenchError, DataError
from rig.session.session import SessionResult, open_bench
from tests.docs.scratch_package import blocks, installed

PAGE = "BACKEND_GUIDE.md"
SDK = Path(__file__).with_name("acme") / "acme_sdk.py"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the page; make an interpreter that has only numpy and the SDK."""
    folder = tmp_path_factory.mktemp("guide")
    venv.create(folder / "acme", symlinks=True)
    packages = next((folder / "acme").glob("lib/python*/site-packages"))
    numpy = Path(np.__file__).parent
    for name in (numpy, *numpy.parent.glob("numpy.libs")):
        (packages / name.name).symlink_to(name)
    shutil.copy(SDK, packages)
    with installed(PAGE, folder) as file:
        yield file


def outputs(result: SessionResult) -> list[str]:
    """Return all answers, in their order."""
    files = sorted(result.folder.glob("trial-*/completions.jsonl"))
    texts = (path.read_text(encoding="utf-8") for path in files)
    lines = map(json.loads, chain.from_iterable(text.splitlines() for text in texts))
    return [line["output"] for line in lines if line["kind"] == "query"]


def test_the_file_is_about_a_hundred_lines_and_its_interpreter_has_nothing_of_the_rigs(
    bench: Path,
) -> None:
    (code,) = blocks(PAGE, "python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 115
    python = bench.parent / "acme" / "bin" / "python"
    for module in ("rig", "cattrs", "nir", "annotated_types"):
        done = subprocess.run(
            [python, "-c", f"import {module}"],
            cwd="/",
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1


def test_five_trials_give_the_answers_of_the_reference_and_are_called_simulated(
    bench: Path, tmp_path: Path
) -> None:
    with open_bench(bench) as opened:
        result = opened.run(root=tmp_path / "acme")
        details = opened.sut.info.details
    with open_bench(bench, ["sut.cpu.program=nir"]) as opened:
        reference = opened.run(root=tmp_path / "cpu")
    assert [trial.problems for trial in result.trials] == [()] * 5
    assert outputs(result) == outputs(reference) and len(outputs(result)) >= 30
    assert (details["acme_sdk"], details["neurons"]) == ("3.1.0", 100)
    assert details["wrote_to_its_home"] == ["home/.acme"]
    facts = json.loads((result.folder / "results.json").read_text(encoding="utf-8"))
    assert facts["origins"]["time"] == "simulated"
    assert not (Path.home() / ".acme").exists()


def test_an_interpreter_without_the_sdk_is_named_with_what_it_lacks(
    bench: Path,
) -> None:
    with (
        pytest.raises(BenchError, match="does not start") as refused,
        open_bench(bench, [f"sut.acme.interpreter={sys.executable}"]),
    ):
        pass
    assert "acme_sdk is missing" in refused.value.try_next


def test_a_network_that_the_chip_cannot_map_is_refused_with_its_node_and_the_limit(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_bench(bench):
        pass
    monkeypatch.setattr(sys.modules["acme_backend.sut"], "NEURONS_MAX", 10)
    with pytest.raises(DataError, match="the chip 10") as refused, open_bench(bench):
        pass
    assert "node " in refused.value.evidence
