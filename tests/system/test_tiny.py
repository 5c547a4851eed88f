# SPDX-License-Identifier: Apache-2.0
"""MLPerf Tiny on the real firmware: its null workload returns the head of its input,
and in generated data this is the answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.errors import LocalProtocolError
from rig.session.session import SessionResult, open_bench
from tests.conftest import ROOT

BENCH = ROOT / "benches" / "virtual-tiny.toml"


def run(firmware: Path, folder: Path, *overrides: str) -> SessionResult:
    settings = [
        f"sut.posix.program={firmware / 'null'}",
        "sut.posix.sync_hold_us=400",
        "scenario.tiny.mode=accuracy",
        'task.mlperf_tiny.benchmark=""',
        "task.mlperf_tiny.files=16",
        f"task.mlperf_tiny.cache={folder / 'cache'}",
    ]
    with open_bench(BENCH, [*settings, *overrides]) as bench:
        return bench.run(1, folder / "sessions")


@pytest.mark.parametrize("layer", ["framed", "text"])
def test_accuracy_comes_out_as_constructed_over_either_layer(
    firmware: Path, tmp_path: Path, layer: str
) -> None:
    # The text layer has one length of SYNC pulses, which a slow monitor does not see.
    fast = ["monitor.virtual.sample_hz=100_000"] if layer == "text" else []
    result = run(
        firmware,
        tmp_path,
        "task.mlperf_tiny.workload=null",
        f"sut.posix.layer={layer}",
        *fast,
    )
    assert not result.content["problems"]
    # Two of sixteen files are made to be answered with the class after their own.
    assert result.metrics["accuracy"].value == 0.875
    assert (
        result.content["trials"][0]["lines"][1]
        == "neurorig, simulated, generated data: Top 1% = [simulated] 87.5000"
    )


def test_a_device_with_another_workload_is_refused_unless_it_is_named(
    firmware: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        LocalProtocolError, match="runs 'null', the bench asks for 'mlperf_tiny'"
    ):
        run(firmware, tmp_path)
