# SPDX-License-Identifier: Apache-2.0
"""What a check says of files that a bench file names and the session does not keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rig.interfaces.task import Task
from scenarios.tasks.asc.task import AscTask
from scenarios.tasks.mlperf_tiny.task import MlperfTiny
from scenarios.tasks.network.task import NetworkTask
from scenarios.tasks.qubo.problem_task import ProblemSettings
from scenarios.tasks.qubo.task import QuboTask
from scenarios.tasks.sww.task import SwwTask
from scenarios.tasks.tflite.task import TfliteTask

FILE = "lab/own-file"


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        (AscTask, {"data": FILE}),
        (MlperfTiny, {"data": FILE}),
        (MlperfTiny, {"model": FILE}),
        (NetworkTask, {"inputs": FILE}),
        (QuboTask, {"targets": FILE}),
        (QuboTask, {"official": FILE}),
        (SwwTask, {"audio": FILE}),
        (TfliteTask, {"labels": FILE}),
    ],
)
def test_a_file_that_is_not_kept_is_named_with_what_to_do(
    task: type[Task], changes: dict[str, Any]
) -> None:
    made = task.regenerated(replace(task.Settings(), **changes))
    assert made is not None
    said = made.unknown
    assert said.startswith(f"{FILE} (bench.toml) is not kept in the session folder")
    assert "provenance.json" in said and "rig audit" in said


def test_problems_from_files_are_kept_without_their_files() -> None:
    problems = (ProblemSettings(file=FILE), ProblemSettings())
    made = QuboTask.regenerated(replace(QuboTask.Settings(), problems=problems))
    assert made is not None
    assert made.unknown.startswith(
        f"{FILE}, example.txt (bench.toml): provenance.json keeps what was read"
    )
    assert "file_sha256" in made.unknown


def test_generated_files_are_no_files_of_the_owner() -> None:
    many = replace(MlperfTiny.Settings(), files=2001)
    assert MlperfTiny.regenerated(many).unknown == (
        "more than 2000 generated files are not made again"
    )
