# SPDX-License-Identifier: Apache-2.0
"""The DUT loses power in the middle of a session: it goes on, the trial it happened in
says so, the others are good.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.session.session import open_bench
from rig.store import completion_lines
from tests.checking import check
from tests.conftest import ROOT

pytestmark = pytest.mark.posix
SMALL = [
    "task.null.samples=8",
    "task.null.payload_b=20_000",
    "scenario.single_stream.idle_s=0.1",
]


@pytest.mark.parametrize(
    "fault", ["restart_after_bytes=100_000", "restart_after_queries=5"]
)
def test_a_power_cut_costs_the_trial_it_happened_in_and_is_named(
    firmware: Path, tmp_path: Path, fault: str
) -> None:
    with open_bench(
        ROOT / "benches" / "posix-null.toml", [*SMALL, f"sut.posix.{fault}"]
    ) as bench:
        result = bench.run(2, tmp_path)
    first, second = result.trials
    named = [problem for problem in first.problems if problem.code == "restart"]
    assert len(named) == 1 and named[0].detail.startswith("1 restarts")
    assert second.valid
    assert not result.ok
    for number in (1, 2):
        done = completion_lines.read(result.folder / f"trial-{number}")
        scored = [item.score for item in done if item.score]
        assert len(scored) >= 8 and all(score.label == score.answer for score in scored)
        assert sum(item.completion.restarts for item in done) == (number == 1)
    assert check(result.folder).ok
