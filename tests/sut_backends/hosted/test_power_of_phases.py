# SPDX-License-Identifier: Apache-2.0
"""The simulated power of a task's phases: an inference draws that of an inference,
whether a phase stands before it or not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.session.session import open_bench
from tests.boards import image
from tests.builds import built
from tests.conftest import ROOT

INFER_W = 0.08
SHORT = (
    "task.network.samples=2",
    "scenario.single_stream.idle_s=0.1",
    "scenario.single_stream.warmup=0",
)


@pytest.mark.parametrize(
    ("bench", "device", "port"),
    [
        pytest.param("posix-network", "posix", "posix", marks=pytest.mark.posix),
        pytest.param("mps2-network", "qemu", "mps2", marks=pytest.mark.posix),
        ("cpu-network-virtual", "cpu", ""),
    ],
)
def test_the_only_phase_of_a_network_draws_the_power_of_an_inference(
    bench: str, device: str, port: str, tmp_path: Path
) -> None:
    if port == "posix":
        built("posix")
    elif port:
        image(port, "network")
    powers = [
        f"sut.{device}.power_w.{one}" for one in ("preprocess=0.02", "infer=0.08")
    ]
    with open_bench(ROOT / "benches" / f"{bench}.toml", [*SHORT, *powers]) as opened:
        result = opened.run(1, tmp_path)
    energy_j = result.metrics["energy_infer"].value
    latency_s = result.metrics["latency_infer"].value
    assert energy_j == pytest.approx(INFER_W * latency_s, rel=0.02)
