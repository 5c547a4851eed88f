# SPDX-License-Identifier: Apache-2.0
"""A trace with values that are no numbers, outside its gaps: the trial is invalid, and
no file says NaN.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest
from click.testing import CliRunner

from rig.cli.measure import measure
from rig.model.trial import Trial
from rig.results import results
from rig.session.session import SessionResult
from rig.store import sample_lines, session_folder
from rig.store.session_folder import SessionFolder
from rig.trace.trace import CURRENT, SYNC, VOLTAGE, Trace
from tests.traces import trace_writer


def refused(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


@pytest.fixture
def session(run_virtual: Callable[..., SessionResult]) -> tuple[SessionFolder, int]:
    """A session, and a sample of its trace, in the middle of its first timed inference,
    that was made NaN; no gap tells of it.
    """
    folder = SessionFolder(run_virtual().folder)
    path = folder.trial(1)
    trace = Trace.open(path / "trace.jls")
    line = next(
        line
        for line in session_folder.read_lines(path / "samples.jsonl")
        if "windows" in line
    )
    window = line["windows"][1]
    at = round((window["start_s"] + window["stop_s"]) / 2 * trace.sample_hz)
    with pyjls.Reader(str(path / "trace.jls")) as reader:
        lengths = {
            signal.signal_id: signal.length for signal in reader.signals.values()
        }
        current, voltage = (
            reader.fsr(signal, 0, lengths[signal]) for signal in (CURRENT, VOLTAGE)
        )
        levels = reader.fsr(SYNC, 0, lengths[SYNC])
    current[at] = np.nan
    with trace_writer(path, trace.sample_hz, trace.edge_hz) as writer:
        writer.analog(current, voltage)
        writer.sync_packed(levels)
    (path / "gaps.jsonl").write_text("")
    return folder, at


def again(folder: SessionFolder) -> Trial:
    return results.reduce_trial(results.Context.of(folder), folder.trial(1), 1, 0)


def test_a_window_whose_energy_is_no_number_is_a_gap(
    session: tuple[SessionFolder, int],
) -> None:
    problems = again(session[0]).problems
    assert [problem.code for problem in problems] == ["gap"]
    assert problems[0].detail.startswith("1 of ")
    assert problems[0].detail.endswith(
        "have no energy: samples in them are no numbers, and no gap tells of it"
    )


def test_no_line_of_samples_says_nan(session: tuple[SessionFolder, int]) -> None:
    lines = [
        json.loads(line, parse_constant=refused)
        for line in sample_lines.text(again(session[0])).splitlines()
    ]
    infer = [line["windows"][1] for line in lines if "windows" in line]
    assert [window["energy_j"] is None for window in infer] == [True] + [False] * (
        len(infer) - 1
    )
    assert all(
        (window["energy_j"] is None) == (window["energy_u_j"] is None)
        for window in infer
    )


def test_rig_measure_says_of_such_a_window_that_it_holds_no_numbers(
    session: tuple[SessionFolder, int],
) -> None:
    folder, at = session
    path: Path = folder.trial(1) / "trace.jls"
    hz = Trace.open(path).sample_hz
    done = CliRunner().invoke(
        measure,
        [str(path), "--times", f"{(at - 100) / hz}-{(at + 100) / hz}"],
        standalone_mode=False,
    )
    assert (
        "1: no energy, samples in it are no numbers, and no gap tells of them"
        in done.stdout
    )
    assert "short" not in done.stdout
