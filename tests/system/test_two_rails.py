# SPDX-License-Identifier: Apache-2.0
"""A host that measures itself by two counters: a GPU board's and the processor's, both
simulated; what each trial says of the board.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rig.session.session import open_bench
from tests.checking import check

BENCH = """
[bench]
name = "two-rails"

[sut.cpu]
program = "integer"
power_w = { idle = 2.0, preprocess = 10.0, infer = 10.0 }

[rail.board.nvml]
uuid = "simulator"
simulator = { base_w = 20.0, share = 0.75 }

[rail.processor.rapl]
root = "simulator"
gain_limit = 0.1
simulator = { base_w = 5.0, share = 0.25 }

[scenario.single_stream]
idle_s = 1.0
warmup = 0
repeat = 30

[task.asc]
samples = 1
"""


@pytest.mark.paced  # on a busy computer a counter is read too late
def test_two_rails_are_summed_and_the_board_is_in_the_record(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(BENCH, encoding="utf-8")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    with open_bench(path) as bench:
        result = bench.run(1, sessions)
    metrics = result.content["metrics"]
    assert metrics["power_idle"]["value"] == pytest.approx(20.0 + 5.0 + 2.0, rel=0.02)
    rails = result.content["provenance"]["monitors"]
    assert rails["board"]["details"]["shortest_window_s"] == 0.4
    assert "processor_energy_counter" in result.content["provenance"]["sut"]["details"]
    seen = json.loads(
        (result.folder / "trial-1" / "board" / "board.json").read_text("utf-8")
    )
    assert seen["simulated"] is True
    assert seen["looks"] >= 3
    assert check(result.folder).ok
    short = [item for item in result.content["problems"] if item["code"] == "short"]
    assert all("repeat" in item["detail"] for item in short)
