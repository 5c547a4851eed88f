# SPDX-License-Identifier: Apache-2.0
"""Interleaved trials of the real firmware: a slot stays as it was loaded, however often
it is run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.model.steps import Load, Query
from rig.session import session
from rig.session.session import open_bench
from rig.store.events import Event, StepBegun, StepDone
from tests.checking import check
from tests.conftest import ROOT

pytestmark = pytest.mark.posix

SAMPLES = 3
TRIALS = 5
SETTINGS = [
    f"task.null.samples={SAMPLES}",
    "task.null.payload_b=3_000",
    "scenario.single_stream.idle_s=0.1",
    "scenario.single_stream.warmup=0",
    "scenario.single_stream.interleaved=true",
]


def test_firmware_queries_a_sample_for_all_trials_and_goes_on_in_its_midst(
    firmware: Path, tmp_path: Path
) -> None:
    begun: list[Event] = []

    def stopping(event: Event) -> None:
        # In the midst of the second sample: trials 1 to 3 have it.
        if isinstance(event, StepDone) and len(queries(begun)) == TRIALS + 3:
            raise KeyboardInterrupt

    def heard(event: Event) -> None:
        begun.append(event)

    bench_file = ROOT / "benches" / "posix-null.toml"
    with (
        open_bench(bench_file, SETTINGS, [heard]) as bench,
        pytest.raises(KeyboardInterrupt),
    ):
        bench.run(TRIALS, tmp_path, [stopping])
    (folder,) = tmp_path.iterdir()
    result = session.resume(folder, [heard])
    assert [trial.problems for trial in result.trials] == [()] * TRIALS
    assert [len(trial.measured.samples) for trial in result.trials] == [
        SAMPLES
    ] * TRIALS
    assert result.metrics["accuracy"].value == 1.0
    loads = [
        each
        for each in begun
        if isinstance(each, StepBegun) and isinstance(each.step, Load)
    ]
    assert len(loads) == SAMPLES, "the interrupted one is brought back without a step"
    checked = check(folder)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]


def queries(events: list[Event]) -> list[Event]:
    return [
        each
        for each in events
        if isinstance(each, StepDone) and isinstance(each.done.step, Query)
    ]
