# SPDX-License-Identifier: Apache-2.0
"""Names of files in the bench files of `rig tiny`."""

from __future__ import annotations

import tomllib

import pytest

from scenarios.tasks.mlperf_tiny import benches
from scenarios.tasks.mlperf_tiny.benches import TensorTables

#: A character beyond the first plane, a quote, a backslash and a control character.
NAME = '/home/\U0001f600/a "b"\\c\x01d'


@pytest.mark.parametrize("on", ["posix", "qemu", NAME])
def test_a_bench_has_the_names_as_they_are(on: str) -> None:
    made = TensorTables(
        benchmark="kws01", model=NAME, data=NAME, labels=NAME, source=NAME
    )
    text = benches.bench(
        benchmark="kws01",
        mode="accuracy",
        sut=benches.sut(on, NAME, "machine"),
        monitor=benches.monitor(on, None),
        tables=made.text("accuracy"),
    )
    tree = tomllib.loads(text)
    task = tree["task"]["mlperf_tiny"]
    named = [task[key] for key in ("model", "data", "labels", "source")]
    (device,) = tree["sut"].values()
    named.append(device.get("program", device.get("port")))
    assert named == [NAME] * 5
